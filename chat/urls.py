from django.urls import path

from chat import views

app_name = "chat"

urlpatterns = [
    path("chat/", views.index, name="index"),
    path("chat/new/", views.new, name="new"),
    path("chat/panel/", views.panel, name="panel"),
    path("chat/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("chat/<uuid:conversation_id>/messages/", views.messages, name="messages"),
    path("chat/<uuid:conversation_id>/rename/", views.rename, name="rename"),
]
