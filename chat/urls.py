from django.urls import path

from chat.views import chats

app_name = "chat"

urlpatterns = [
    path("chat/", chats.index, name="index"),
    path("chat/new/", chats.new, name="new"),
    path("chat/panel/", chats.panel, name="panel"),
    path("chat/ask/<uuid:fact_id>/", chats.ask_about_fact, name="ask_about_fact"),
    path("chat/<uuid:conversation_id>/", chats.conversation, name="conversation"),
    path("chat/<uuid:conversation_id>/messages/", chats.conversation_messages, name="messages"),
    path("chat/<uuid:conversation_id>/rename/", chats.rename, name="rename"),
    path("chat/<uuid:conversation_id>/close/", chats.close, name="close"),
    path("chat/<uuid:conversation_id>/leave/", chats.leave, name="leave"),
    path("profile/facts/<uuid:fact_id>/quotes/", chats.quotes, name="quotes"),
    path("profile/facts/<uuid:fact_id>/erase/", chats.erase_fact, name="erase_fact"),
    path("profile/erase/", chats.erase_account, name="erase_account"),
]
