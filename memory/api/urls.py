from django.urls import path

from memory.api import views

app_name = "memory"

urlpatterns = [
    path("facts/", views.FactsView.as_view(), name="facts"),
    path("facts/recall/", views.RecallView.as_view(), name="recall"),
    path("facts/links/<uuid:link_id>/", views.LinkView.as_view(), name="link"),
    path("facts/<uuid:fact_id>/", views.FactView.as_view(), name="fact"),
    path("facts/<uuid:fact_id>/history/", views.HistoryView.as_view(), name="history"),
    path("facts/<uuid:fact_id>/confirm/", views.ConfirmView.as_view(), name="confirm"),
    path("facts/<uuid:fact_id>/promote/", views.PromoteView.as_view(), name="promote"),
    path("facts/<uuid:fact_id>/demote/", views.DemoteView.as_view(), name="demote"),
    path("facts/<uuid:fact_id>/archive/", views.ArchiveView.as_view(), name="archive"),
    path("facts/<uuid:fact_id>/restore/", views.RestoreView.as_view(), name="restore"),
    path("facts/<uuid:fact_id>/links/", views.LinksView.as_view(), name="links"),
    path("memory/block/", views.BlockView.as_view(), name="block"),
    path("memory/document/", views.DocumentView.as_view(), name="document"),
    path("memory/list/", views.ListView.as_view(), name="list"),
    path("memory/switches/", views.SwitchesView.as_view(), name="switches"),
    path("memory/events/", views.EventsView.as_view(), name="events"),
    path("memory/events/<uuid:event_id>/undo/", views.UndoView.as_view(), name="undo"),
    path("memory/batches/<uuid:batch_id>/undo/", views.UndoBatchView.as_view(), name="undo_batch"),
    path("proposals/", views.ProposalsView.as_view(), name="proposals"),
    path("proposals/<uuid:proposal_id>/accept/", views.AcceptView.as_view(), name="accept"),
    path("proposals/<uuid:proposal_id>/dismiss/", views.DismissView.as_view(), name="dismiss"),
    path("proposals/<uuid:proposal_id>/reopen/", views.ReopenView.as_view(), name="reopen"),
    path("places/", views.PlacesView.as_view(), name="places"),
    path("places/<uuid:place_id>/", views.PlaceView.as_view(), name="place"),
]
