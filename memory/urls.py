from django.urls import path

from memory import views

app_name = "memory"

urlpatterns = [
    path("profile/facts/", views.facts, name="facts"),
    path("profile/facts/<uuid:fact_id>/", views.fact, name="fact"),
    path("profile/facts/<uuid:fact_id>/edit/", views.edit, name="edit"),
    path("profile/facts/<uuid:fact_id>/promote/", views.promote, name="promote"),
    path("profile/facts/<uuid:fact_id>/demote/", views.demote, name="demote"),
    path("profile/facts/<uuid:fact_id>/confirm/", views.confirm, name="confirm"),
    path("profile/facts/<uuid:fact_id>/archive/", views.archive, name="archive"),
    path("profile/facts/<uuid:fact_id>/restore/", views.restore, name="restore"),
    path("profile/facts/events/<uuid:event_id>/undo/", views.undo, name="undo"),
]
