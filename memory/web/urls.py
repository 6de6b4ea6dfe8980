"""The URLs of memory's pages."""

from django.urls import path

from memory.web.views import facts, places, preview, review, settings, undo

app_name = "memory"

urlpatterns = [
    path("profile/facts/", facts.show_facts, name="facts"),
    path("profile/facts/bulk/", facts.change_facts, name="bulk"),
    path("profile/facts/review/", review.show_review, name="review"),
    path("profile/facts/review/all/", review.decide_all, name="decide_all"),
    path("profile/facts/review/all/reopen/", review.reopen_all, name="reopen_all"),
    *(
        path(f"profile/facts/review/<uuid:proposal_id>/{name}/", review.decision_view(decide), name=name)
        for name, decide in review.DECISIONS.items()
    ),
    path("profile/facts/places/", places.show_places, name="places"),
    path("profile/facts/places/<uuid:place_id>/edit/", places.edit_place, name="edit_place"),
    path("profile/facts/places/<uuid:place_id>/remove/", places.drop_place, name="remove_place"),
    path("profile/facts/changes/", undo.show_changes, name="changes"),
    path("profile/facts/preview/", preview.show_preview, name="preview"),
    path("profile/facts/export/", settings.export_memory, name="export"),
    path("profile/facts/import/", settings.bring_memory, name="import"),
    path("profile/facts/settings/", settings.show_settings, name="settings"),
    path("profile/facts/<uuid:fact_id>/", facts.show_fact, name="fact"),
    path("profile/facts/<uuid:fact_id>/edit/", facts.edit_fact, name="edit"),
    *(
        path(f"profile/facts/<uuid:fact_id>/{name}/", facts.act_view(write), name=name)
        for name, write in facts.ACTS.items()
    ),
    path("profile/facts/<uuid:fact_id>/links/", facts.link_fact, name="link"),
    path("profile/facts/<uuid:fact_id>/links/<uuid:link_id>/remove/", facts.unlink_fact, name="unlink"),
    path("profile/facts/events/<uuid:event_id>/", undo.show_event, name="event"),
    path("profile/facts/events/<uuid:event_id>/undo/", undo.undo_write, name="undo"),
    path("profile/facts/batches/<uuid:batch_id>/undo/", undo.undo_writes, name="undo_batch"),
]
