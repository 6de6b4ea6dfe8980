from django.urls import path

from chat import views

app_name = "chat"

urlpatterns = [
    path("chat/", views.index, name="index"),
    path("chat/new/", views.new, name="new"),
    path("chat/panel/", views.panel, name="panel"),
    path("chat/ask/<uuid:fact_id>/", views.ask_about_fact, name="ask_about_fact"),
    path("chat/<uuid:conversation_id>/", views.conversation, name="conversation"),
    path("chat/<uuid:conversation_id>/messages/", views.conversation_messages, name="messages"),
    path("chat/<uuid:conversation_id>/rename/", views.rename, name="rename"),
    path("chat/<uuid:conversation_id>/close/", views.close, name="close"),
    path("chat/<uuid:conversation_id>/leave/", views.leave, name="leave"),
    path("profile/facts/<uuid:fact_id>/quotes/", views.quotes, name="quotes"),
    path("profile/facts/<uuid:fact_id>/erase/", views.erase_fact, name="erase_fact"),
    path("profile/erase/", views.erase_account, name="erase_account"),
]
