from django.urls import path
from rest_framework.routers import SimpleRouter

from chat.api import account, conversations, turns

app_name = "chat"

router = SimpleRouter(use_regex_path=False)
router.register("conversations", conversations.ConversationViewSet, "conversations")
urlpatterns = [
    *router.urls,
    path("chat/", turns.TurnsView.as_view(), name="turns"),
    path("export/", account.ExportView.as_view(), name="export"),
    path("usage/", account.UsageView.as_view(), name="usage"),
]
