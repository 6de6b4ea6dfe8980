"""The URLs of memory's REST API."""

from django.urls import path

from memory.api import facts, memory

app_name = "memory"

urlpatterns = [
    path("facts/", facts.FactsView.as_view(), name="facts"),
    path("facts/recall/", facts.RecallView.as_view(), name="recall"),
    path("facts/<uuid:fact_id>/", facts.FactView.as_view(), name="fact"),
    path("facts/<uuid:fact_id>/history/", facts.HistoryView.as_view(), name="history"),
    path("facts/<uuid:fact_id>/confirm/", facts.ConfirmView.as_view(), name="confirm"),
    path("facts/<uuid:fact_id>/promote/", facts.PromoteView.as_view(), name="promote"),
    path("facts/<uuid:fact_id>/demote/", facts.DemoteView.as_view(), name="demote"),
    path("facts/<uuid:fact_id>/archive/", facts.ArchiveView.as_view(), name="archive"),
    path("facts/<uuid:fact_id>/restore/", facts.RestoreView.as_view(), name="restore"),
    path("memory/block/", memory.BlockView.as_view(), name="block"),
    path("memory/document/", memory.DocumentView.as_view(), name="document"),
    path("memory/archive/", memory.ArchiveView.as_view(), name="import_archive"),
    path("memory/list/", memory.ListView.as_view(), name="list"),
    path("memory/events/", memory.EventsView.as_view(), name="events"),
    path("memory/events/<uuid:event_id>/undo/", memory.UndoView.as_view(), name="undo"),
    path("places/", memory.PlacesView.as_view(), name="places"),
    path("places/<uuid:place_id>/", memory.PlaceView.as_view(), name="place"),
]
