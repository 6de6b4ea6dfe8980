from django.urls import path

from chat.api import account, conversations, turns

app_name = "chat"

urlpatterns = [
    path("chat/", turns.TurnsView.as_view(), name="turns"),
    path("conversations/", conversations.ConversationsView.as_view(), name="conversations"),
    path("conversations/search/", conversations.SearchView.as_view(), name="search"),
    path("conversations/<uuid:conversation_id>/", conversations.ConversationView.as_view(), name="conversation"),
    path("conversations/<uuid:conversation_id>/messages/", conversations.MessagesView.as_view(), name="messages"),
    path("conversations/<uuid:conversation_id>/close/", conversations.CloseView.as_view(), name="close"),
    path("conversations/<uuid:conversation_id>/stop/", conversations.StopView.as_view(), name="stop"),
    path("export/", account.ExportView.as_view(), name="export"),
    path("usage/", account.UsageView.as_view(), name="usage"),
]
