import re
from datetime import timedelta

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from chat.conversations.journal import (
    MAX_NOTE,
    PAGE_SIZE,
    NoteRefused,
    ReplyNotFound,
    ReplyNotKept,
    bookmark_reply,
    edit_note,
    page_of_journal,
    remove_bookmark,
    restore_bookmark,
)
from chat.conversations.lifecycle import purge_conversations
from chat.endings.erasure import erase_fact
from chat.models import Bookmark, Conversation, Message
from config.lib.owned import owned_tx
from memory.facts.services import delete_fact
from tests.chat.tabs import signed_in
from tests.factories.chat import BookmarkFactory, ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.memory.browsing import is_page, text_of
from tests.owners import as_owner

JOURNAL = "/journal/kept/"
HOUR = timedelta(hours=1)


@pytest.fixture
def strangers_reply(stranger):
    return as_owner(stranger, lambda: ReplyFactory(content="canary"))


def keep_address(reply) -> str:
    return reverse("chat:bookmark", args=[getattr(reply, "pk", reply)])


def act(name: str, bookmark) -> str:
    return reverse(f"chat:{name}", args=[getattr(bookmark, "pk", bookmark)])


def from_entry(bookmark) -> dict[str, str]:
    return {"HX-Request": "true", "HX-Target": f"kept-{bookmark.pk}"}


def undo_in(response) -> str:
    """Return the signed value with which an answer offers to take something back."""
    return re.search(r'name="undo" value="([^"]+)"', response.content.decode()).group(1)


def kept(user) -> list[Bookmark]:
    return as_owner(user, lambda: list(Bookmark.objects.order_by("created_at")))


# --- Keeping ---


def test_bookmark_copies_the_words_of_the_reply(as_trader):
    reply = ReplyFactory(content="Half **of it**.")

    bookmark = bookmark_reply(message_id=reply.pk, note=" My rule\r\nfrom now on ", now=JUNE)

    assert (bookmark.text, bookmark.note, bookmark.message) == ("Half **of it**.", "My rule\nfrom now on", reply)
    assert (bookmark.created_at, bookmark.updated_at) == (JUNE, JUNE)


def test_reply_is_kept_once(as_trader):
    reply = ReplyFactory()
    first = bookmark_reply(message_id=reply.pk, note="Mine", now=MAY)

    again = bookmark_reply(message_id=reply.pk, note="Other", now=JUNE)

    assert (again.pk, again.note, again.created_at) == (first.pk, "Mine", MAY)
    assert Bookmark.objects.count() == 1


@pytest.mark.parametrize("values", [{"streaming": True}, {"content": " \n"}], ids=["streaming", "empty"])
def test_unfinished_or_empty_reply_is_not_kept(as_trader, values):
    with pytest.raises(ReplyNotKept):
        bookmark_reply(message_id=ReplyFactory(**values).pk, now=JUNE)

    assert not Bookmark.objects.exists()


def test_users_own_message_and_strangers_reply_are_no_replies(as_trader, strangers_reply):
    for message_id in (MessageFactory().pk, strangers_reply.pk, 10**15):
        with pytest.raises(ReplyNotFound):
            bookmark_reply(message_id=message_id, now=JUNE)


@pytest.mark.limit("chat.conversations.journal.MAX_NOTE")
def test_note_can_be_changed_and_taken_away_and_has_a_limit(as_trader):
    bookmark = BookmarkFactory(note="Old")

    edited = edit_note(bookmark_id=bookmark.pk, note="New\x00", now=JUNE)

    assert (edited.note, edited.updated_at) == ("New", JUNE)
    with pytest.raises(NoteRefused, match="501"):
        edit_note(bookmark_id=bookmark.pk, note="x" * (MAX_NOTE + 1), now=JUNE)
    bookmark.refresh_from_db()
    assert bookmark.note == "New"
    assert edit_note(bookmark_id=bookmark.pk, note=" ", now=JUNE).note == ""


def test_removed_entry_comes_back_as_it_was(as_trader):
    bookmark = BookmarkFactory(note="Mine")

    removed = remove_bookmark(bookmark_id=bookmark.pk)
    assert not Bookmark.objects.exists()
    back = restore_bookmark(removed=removed, now=JUNE)

    assert (back.message, back.text, back.note) == (bookmark.message, bookmark.text, "Mine")
    assert (back.created_at, back.updated_at) == (bookmark.created_at, JUNE)


def test_restore_skips_a_reply_that_was_bookmarked_again(as_trader):
    bookmark = BookmarkFactory(note="Old")
    removed = remove_bookmark(bookmark_id=bookmark.pk)
    anew = bookmark_reply(message_id=bookmark.message_id, note="New", now=JUNE)

    assert restore_bookmark(removed=removed, now=JUNE) == anew
    assert [each.note for each in Bookmark.objects.all()] == ["New"]


def test_restore_refuses_a_reply_that_was_deleted(as_trader):
    bookmark = BookmarkFactory()
    removed = remove_bookmark(bookmark_id=bookmark.pk)
    Message.objects.filter(pk=bookmark.message_id).delete()

    with pytest.raises(ReplyNotFound):
        restore_bookmark(removed=removed, now=JUNE)


# --- Reading ---


def test_journal_is_newest_first_with_the_chat_each_came_from(as_trader):
    old, new = BookmarkFactory(created_at=MAY), BookmarkFactory(created_at=JUNE)
    chat = old.message.conversation
    Message.objects.filter(pk=new.message_id).update(replaced_at=JUNE)

    page = page_of_journal()

    assert list(page) == [new, old]
    assert [entry.conversation for entry in page] == [new.message.conversation, chat]
    assert [entry.shown_id for entry in page] == [None, old.message_id]


def test_entry_outlives_its_chat(as_trader):
    bookmark = BookmarkFactory(text="Half of it.")
    Conversation.objects.update(trashed_at=MAY)
    purge_conversations(now=JUNE + timedelta(days=30))

    (entry,) = page_of_journal()

    assert (entry.text, entry.conversation, entry.shown_id) == ("Half of it.", None, None)
    assert entry == bookmark


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("funding", ["b", "a"]),
        ("FUNDING flip", ["a"]),
        ("flip my", ["a"]),
        ("fund", ["b", "a"]),
        ("%", []),
        ("straße", ["c"]),
        ("STRASSE", ["c"]),
        (" ", ["c", "b", "a"]),
    ],
)
def test_journal_is_searched_by_words_of_reply_and_note(as_trader, query, found):
    BookmarkFactory(text="Funding flip", note="my rule a", created_at=MAY)
    BookmarkFactory(text="Funding", note="b", created_at=MAY + HOUR)
    BookmarkFactory(text="Die Straße", note="c", created_at=MAY + 2 * HOUR)

    assert [entry.note[-1] for entry in page_of_journal(query)] == found


@pytest.mark.parametrize("query", ["", "reply"])
def test_journal_with_many_entries_is_paged(as_trader, query):
    BookmarkFactory.create_batch(PAGE_SIZE + 1)

    pages = [page_of_journal(query, number) for number in (1, 2, 99)]

    assert [(len(page), page.number, page.paginator.num_pages, page.paginator.count) for page in pages] == [
        (PAGE_SIZE, 1, 2, PAGE_SIZE + 1),
        (1, 2, 2, PAGE_SIZE + 1),
        (1, 2, 2, PAGE_SIZE + 1),
    ]


# --- The page ---


def test_page_shows_the_kept_replies_rendered(ann, trader):
    bookmark = as_owner(trader, lambda: BookmarkFactory(text="Half **of it** <b>", note="My <i>"))

    page = ann.get(JOURNAL)

    html = page.content.decode()
    assert "Half <strong>of it</strong> &lt;b&gt;" in html
    assert "My &lt;i&gt;" in html
    assert (
        f"{reverse('chat:conversation', args=[bookmark.message.conversation_id])}#message-{bookmark.message_id}" in html
    )
    assert reverse("memory:facts") in html


def test_empty_journal_says_how_to_fill_it(ann):
    assert "Press Bookmark below a reply" in text_of(ann.get(JOURNAL))


def test_search_in_the_journal_answers_with_the_list_alone(ann, trader):
    as_owner(trader, lambda: [BookmarkFactory(text="Funding"), BookmarkFactory(text="Breakout")])

    response = ann.get(JOURNAL, {"q": "fund"}, headers={"HX-Request": "true", "HX-Target": "results"})

    assert not is_page(response)
    assert "Funding" in text_of(response)
    assert "Breakout" not in text_of(response)
    assert response["HX-Replace-Url"] == f"{JOURNAL}?q=fund"
    assert "Nothing kept says that" in text_of(ann.get(JOURNAL, {"q": "zebra"}))


def test_number_of_queries_does_not_grow_with_the_journal(ann, trader, django_assert_max_num_queries):
    as_owner(trader, lambda: BookmarkFactory.create_batch(PAGE_SIZE))

    with django_assert_max_num_queries(11):
        ann.get(JOURNAL)


def test_note_is_saved_in_its_place(ann, trader):
    bookmark = as_owner(trader, BookmarkFactory)

    response = ann.post(act("edit_note", bookmark), {"note": "My rule"}, headers=from_entry(bookmark))

    assert not is_page(response)
    assert "My rule" in text_of(response)
    assert [each.note for each in kept(trader)] == ["My rule"]


@pytest.mark.parametrize("is_htmx", [True, False])
def test_refused_note_is_not_lost(ann, trader, is_htmx):
    bookmark = as_owner(trader, BookmarkFactory)
    typed = "long " * 101

    response = ann.post(act("edit_note", bookmark), {"note": typed}, headers=from_entry(bookmark) if is_htmx else {})

    assert response.status_code == 422
    assert is_page(response) is not is_htmx
    assert typed in response.content.decode()
    assert "A note has at most 500 characters" in text_of(response)


@pytest.mark.parametrize("is_htmx", [True, False])
def test_removal_can_be_undone(ann, trader, is_htmx):
    bookmark = as_owner(trader, lambda: BookmarkFactory(note="Mine"))
    headers = from_entry(bookmark) if is_htmx else {}

    removed = ann.post(act("remove_bookmark", bookmark), headers=headers)
    gone = kept(trader)
    back = ann.post(reverse("chat:restore_bookmark"), {"undo": undo_in(removed)}, headers=headers)

    assert gone == []
    assert is_page(removed) is not is_htmx
    assert back.status_code == (200 if is_htmx else 302)
    assert [(each.note, each.text) for each in kept(trader)] == [("Mine", bookmark.text)]


def test_undo_is_good_for_an_hour_and_for_its_user(ann, trader, stranger):
    bookmark = as_owner(trader, BookmarkFactory)
    undo = undo_in(ann.post(act("remove_bookmark", bookmark), headers=from_entry(bookmark)))
    restore = reverse("chat:restore_bookmark")

    theirs = signed_in(stranger).post(restore, {"undo": undo}, headers={"HX-Request": "true"})
    forged = ann.post(restore, {"undo": f"{undo}x"}, headers={"HX-Request": "true"})
    with time_machine.travel(timezone.now() + HOUR + timedelta(minutes=1)):
        late = ann.post(restore, {"undo": undo}, headers={"HX-Request": "true"})

    assert [each.status_code for each in (theirs, forged, late)] == [409, 409, 409]
    assert "This can be undone no more." in text_of(late)
    assert (kept(trader), kept(stranger)) == ([], [])


# --- The button at the foot of a reply ---


def test_each_finished_reply_can_be_kept(ann, trader):
    def make():
        chat = ConversationFactory()
        rows = [ReplyFactory(reply_to=MessageFactory(conversation=chat)) for _ in range(2)]
        ReplyFactory(reply_to=MessageFactory(conversation=chat), streaming=True)
        bookmark_reply(message_id=rows[0].pk, now=JUNE)
        return chat, rows

    chat, rows = as_owner(trader, make)

    html = ann.get(reverse("chat:conversation", args=[chat.pk])).content.decode()

    buttons = re.findall(
        r'<form class="bookmark" method="post" action="([^"]+)".*?aria-pressed="(\w+)"', html, re.DOTALL
    )
    assert buttons == [(keep_address(rows[0]), "true"), (keep_address(rows[1]), "false")]


@pytest.mark.parametrize("is_same", [True, False], ids=["the reply", "another reply"])
def test_button_pressed_twice_more_brings_the_note_of_the_same_reply_back(ann, trader, is_same):
    bookmark, other = as_owner(trader, lambda: (BookmarkFactory(note="Mine"), ReplyFactory(content="Other")))
    address, headers = keep_address(bookmark.message_id), {"HX-Request": "true"}
    off = ann.post(address, {"to": "off"}, headers=headers)
    assert 'aria-pressed="false"' in off.content.decode()
    assert kept(trader) == []

    ann.post(address if is_same else keep_address(other), {"to": "on", "undo": undo_in(off)}, headers=headers)

    [again] = kept(trader)
    assert (again.note, again.text == "Other") == (("Mine", False) if is_same else ("", True))
    assert (again.created_at == bookmark.created_at) is is_same


def test_button_without_scripts_leads_back_to_the_reply(ann, trader):
    reply = as_owner(trader, ReplyFactory)

    response = ann.post(keep_address(reply), {"to": "on"})

    chat_url = reverse("chat:conversation", args=[reply.conversation_id])
    assert response.url == f"{chat_url}#message-{reply.pk}"
    assert "Kept in the journal." in text_of(ann.get(chat_url))


def test_reply_that_is_being_written_cannot_be_kept(ann, trader):
    reply = as_owner(trader, lambda: ReplyFactory(streaming=True))

    response = ann.post(keep_address(reply), {"to": "on"}, headers={"HX-Request": "true"})

    assert "still writing" in response["HX-Trigger"]
    assert kept(trader) == []


# --- Erasure ---


@pytest.mark.parametrize("with_messages", [True, False])
def test_erasing_the_source_of_a_fact_takes_the_kept_answer_too(trader, with_messages):
    with owned_tx(trader):
        source = MessageFactory(content="I want a zebrafinch")
        answer = ReplyFactory(reply_to=source, content="A zebrafinch, noted.")
        other = ReplyFactory(reply_to=MessageFactory(conversation=source.conversation), content="Something else.")
        for reply in (answer, other):
            bookmark_reply(message_id=reply.pk, now=JUNE)
        quote = {"message_id": source.pk, "start": 0, "end": 5}
        fact = UserFactFactory(content="Wants a zebrafinch", quotes=[quote])
        delete_fact(fact_id=fact.pk, now=JUNE)

        erase_fact(fact_id=fact.pk, with_messages=with_messages)

    texts = {each.text for each in kept(trader)}
    assert texts == ({"Something else."} if with_messages else {"Something else.", "A zebrafinch, noted."})
