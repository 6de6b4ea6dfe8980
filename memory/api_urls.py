from django.urls import path

from memory import api

app_name = "memory"

urlpatterns = [
    path("facts/", api.FactsView.as_view(), name="facts"),
    path("facts/recall/", api.RecallView.as_view(), name="recall"),
    path("facts/links/<uuid:link_id>/", api.LinkView.as_view(), name="link"),
    path("facts/<uuid:fact_id>/", api.FactView.as_view(), name="fact"),
    path("facts/<uuid:fact_id>/history/", api.HistoryView.as_view(), name="history"),
    path("facts/<uuid:fact_id>/confirm/", api.ConfirmView.as_view(), name="confirm"),
    path("facts/<uuid:fact_id>/promote/", api.PromoteView.as_view(), name="promote"),
    path("facts/<uuid:fact_id>/demote/", api.DemoteView.as_view(), name="demote"),
    path("facts/<uuid:fact_id>/archive/", api.ArchiveView.as_view(), name="archive"),
    path("facts/<uuid:fact_id>/restore/", api.RestoreView.as_view(), name="restore"),
    path("facts/<uuid:fact_id>/links/", api.LinksView.as_view(), name="links"),
    path("memory/block/", api.BlockView.as_view(), name="block"),
    path("memory/document/", api.DocumentView.as_view(), name="document"),
    path("memory/list/", api.ListView.as_view(), name="list"),
    path("memory/switches/", api.SwitchesView.as_view(), name="switches"),
    path("memory/events/", api.EventsView.as_view(), name="events"),
    path("memory/events/<uuid:event_id>/undo/", api.UndoView.as_view(), name="undo"),
    path("memory/batches/<uuid:batch_id>/undo/", api.UndoBatchView.as_view(), name="undo_batch"),
    path("proposals/", api.ProposalsView.as_view(), name="proposals"),
    path("proposals/<uuid:proposal_id>/accept/", api.AcceptView.as_view(), name="accept"),
    path("proposals/<uuid:proposal_id>/dismiss/", api.DismissView.as_view(), name="dismiss"),
    path("proposals/<uuid:proposal_id>/reopen/", api.ReopenView.as_view(), name="reopen"),
    path("places/", api.PlacesView.as_view(), name="places"),
    path("places/<uuid:place_id>/", api.PlaceView.as_view(), name="place"),
]
