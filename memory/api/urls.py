from rest_framework.routers import SimpleRouter

from memory.api import facts, memory

app_name = "memory"

router = SimpleRouter(use_regex_path=False)
router.register("facts", facts.FactViewSet, "facts")
router.register("memory", memory.MemoryViewSet, "memory")
router.register("memory/events", memory.EventViewSet, "events")
router.register("places", memory.PlaceViewSet, "places")
urlpatterns = router.urls
