from django.urls import path

from chat.web.views import cards, chats, conversations, exports, home, journal, receipts, rules, search, usage

app_name = "chat"

urlpatterns = [
    path("first-steps/", home.take_step, name="first_steps"),
    path("chat/", chats.index, name="index"),
    path("chat/new/", chats.new, name="new"),
    path("chat/panel/", chats.panel, name="panel"),
    path("chat/search/", search.search, name="search"),
    path("chat/trash/", conversations.trashed, name="trashed"),
    path("chat/ask/<uuid:fact_id>/", chats.ask_about_fact, name="ask_about_fact"),
    path("chat/cards/<uuid:card_id>/", cards.card, name="card"),
    path("chat/cards/<uuid:card_id>/confirm/", cards.confirm, name="confirm_card"),
    path("chat/cards/<uuid:card_id>/cancel/", cards.cancel, name="cancel_card"),
    path("chat/<uuid:conversation_id>/", chats.conversation, name="conversation"),
    path("chat/<uuid:conversation_id>/messages/", chats.conversation_messages, name="messages"),
    path("chat/<uuid:conversation_id>/rename/", chats.rename, name="rename"),
    path("chat/<uuid:conversation_id>/archive/", conversations.archive, name="archive"),
    path("chat/<uuid:conversation_id>/unarchive/", conversations.unarchive, name="unarchive"),
    path("chat/<uuid:conversation_id>/trash/", conversations.trash, name="trash"),
    path("chat/<uuid:conversation_id>/restore/", conversations.restore, name="restore"),
    path("chat/<uuid:conversation_id>/focus/", chats.refocus, name="refocus"),
    path("chat/<uuid:conversation_id>/close/", chats.close, name="close"),
    path("chat/<uuid:conversation_id>/leave/", chats.leave, name="leave"),
    path("chat/messages/<int:message_id>/answers/", receipts.answers, name="answers"),
    path("chat/messages/<int:message_id>/bookmark/", journal.bookmark, name="bookmark"),
    path("chat/receipts/<int:message_id>/", receipts.receipt, name="receipt"),
    path("journal/", journal.journal, name="journal"),
    path("journal/restore/", journal.restore, name="restore_bookmark"),
    path("journal/<uuid:bookmark_id>/note/", journal.edit_note, name="edit_note"),
    path("journal/<uuid:bookmark_id>/remove/", journal.remove, name="remove_bookmark"),
    path("profile/facts/<uuid:fact_id>/quotes/", chats.quotes, name="quotes"),
    path("profile/facts/<uuid:fact_id>/erase/", chats.erase_fact, name="erase_fact"),
    path("profile/facts/<uuid:fact_id>/rule/", rules.read, name="fact_rule"),
    path("trades/rules/", rules.show_rules, name="rules"),
    path("trades/rules/<uuid:rule_id>/", rules.decide, name="decide_rule"),
    path("profile/usage/", usage.usage, name="usage"),
    path("profile/export/", exports.show_export, name="export"),
    path("profile/export/zip/", exports.export_everything, name="export_everything"),
    path("profile/erase/", chats.erase_account, name="erase_account"),
]
