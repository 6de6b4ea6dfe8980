import re
from datetime import datetime, timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.conversations.lifecycle import ARCHIVED_AFTER, archive_old, unarchive_conversation
from chat.models import Conversation, ConversationStatus, ConversationSummary
from config.lib.owned import owned_tx
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE
from tests.memory.browsing import is_page, text_of
from tests.owners import as_owner

INDEX = "/chat/"
TRASH = "/chat/trash/"


@pytest.fixture
def chat(trader) -> Conversation:
    """A chat of today with one exchange."""
    return as_owner(trader, lambda: make_chat("Sizing"))


def make_chat(title: str, **values) -> Conversation:
    chat = ConversationFactory(title=title, **{"last_message_at": timezone.now(), **values})
    ReplyFactory(reply_to=MessageFactory(conversation=chat, content="How large?"), content="Half of it.")
    return chat


def act(name: str, chat) -> str:
    return reverse(f"chat:{name}", args=[getattr(chat, "pk", chat)])


def in_list(at: str = INDEX) -> dict[str, str]:
    """Return the headers of htmx where a menu of the list is used on the page of an address."""
    return {"HX-Request": "true", "HX-Target": "thread-list", "HX-Current-URL": f"http://testserver{at}"}


def reread(user, chat) -> Conversation:
    return as_owner(user, lambda: Conversation.objects.get(pk=chat.pk))


def tag_of(html: str, mark: str) -> str:
    """Return the first opening tag that holds some text."""
    found = re.search(rf"<[^<>]*{re.escape(mark)}[^<>]*>", html)
    assert found, f"there is no {mark}"
    return found.group()


# --- The list ---


def test_each_row_has_a_menu_that_works_without_scripts(ann, chat):
    html = ann.get(act("conversation", chat)).content.decode()
    row = html[html.index('<li class="thread-row">') :].split("</li>")[0]

    assert f'<form class="thread-menu__list" method="post" action="{act("rename", chat)}"' in row
    assert f'formaction="{act("archive", chat)}"' in row
    assert f'formaction="{act("trash", chat)}"' in row
    assert "csrfmiddlewaretoken" in row
    assert "More: Sizing" in row
    assert 'aria-current="page"' in tag_of(row, f'data-thread="{chat.pk}"')


def test_first_button_of_the_form_saves_the_title(ann, chat):
    # It is the one that Enter in the field presses.
    html = ann.get(INDEX).content.decode()
    form = html[html.index('<form class="thread-menu__list"') :].split("</form>")[0]

    assert re.findall(r"<button[^>]*>([^<]*)", form) == ["Save", "Archive", "Delete"]


def test_archived_chats_are_folded_apart(ann, trader):
    away = as_owner(trader, lambda: make_chat("Put away", archived=True))

    html = ann.get(INDEX).content.decode()
    folded = html[html.index("thread-list__folded") :].split("</details>\n")[0]

    assert "Put away" in folded
    assert "Take out of the archive" in html
    assert " open" not in tag_of(html, "thread-list__folded")
    assert " open" in tag_of(ann.get(act("conversation", away)).content.decode(), "thread-list__folded")


def test_list_tells_how_many_are_in_the_trash(ann, trader):
    as_owner(trader, lambda: [make_chat(f"{number}", trashed_at=timezone.now()) for number in range(3)])

    assert "Trash (3)" in text_of(ann.get(INDEX))


# --- Archiving ---


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("archive", {"status": "idle"}, "archived", "“ Sizing ”"),
        ("unarchive", {"status": "archived"}, "idle", "“ Sizing ”"),
        ("restore", {"trashed_at": JUNE}, None, "Nothing in the trash"),
    ],
)
def test_form_leads_back_to_where_it_came_from_with_what_was_done(ann, trader, name, before, after, said):
    chat = as_owner(trader, lambda: make_chat("Sizing", **before))

    response = ann.post(act(name, chat), {"next": INDEX} if after else {})

    assert (response.status_code, response.url) == (302, f"{INDEX}?{name}d={chat.pk}" if after else TRASH)
    row = reread(trader, chat)
    assert (row.trashed_at, after in (None, row.status)) == (None, True)
    assert said in text_of(ann.get(response.url))


def test_chat_out_of_the_archive_is_not_put_back_for_thirty_days(as_trader):
    old = ConversationFactory(archived=True, last_message_at=JUNE - 3 * ARCHIVED_AFTER)

    unarchive_conversation(conversation_id=old.pk, now=JUNE)

    assert archive_old(now=JUNE + ARCHIVED_AFTER - timedelta(seconds=1)) == 0
    assert archive_old(now=JUNE + ARCHIVED_AFTER) == 1
    old.refresh_from_db()
    assert (old.status, old.left_at) == (ConversationStatus.ARCHIVED, None)


def test_taking_out_of_the_archive_leaves_others_alone(as_trader):
    active = ConversationFactory(left_at=None)

    unarchive_conversation(conversation_id=active.pk, now=JUNE)

    active.refresh_from_db()
    assert (active.status, active.left_at) == (ConversationStatus.ACTIVE, None)


# --- The trash ---


def test_deleted_chat_is_in_the_trash_with_a_way_back(ann, chat, trader):
    response = ann.post(act("trash", chat), {"next": INDEX})

    page = ann.get(response.url)
    assert reread(trader, chat).trashed_at is not None
    assert "In the trash: “ Sizing ”" in text_of(page)
    assert f'data-thread="{chat.pk}"' not in page.content.decode()
    back = ann.post(act("restore", chat), {"act": "undo", "next": INDEX})
    assert reread(trader, chat).trashed_at is None
    assert f'data-thread="{chat.pk}"' in ann.get(back.url).content.decode()


def test_deleting_the_chat_that_is_shown_leads_to_a_new_one(ann, chat, trader):
    at = act("conversation", chat)

    by_form = ann.post(act("trash", chat), {"next": at})
    by_htmx = ann.post(act("trash", chat), headers=in_list(at))

    assert by_form.url == f"{INDEX}?trashed={chat.pk}"
    assert by_htmx["HX-Redirect"] == f"{INDEX}?trashed={chat.pk}"


def test_deleting_another_chat_answers_with_the_list(ann, chat, trader):
    other = as_owner(trader, lambda: make_chat("Other"))

    response = ann.post(act("trash", other), headers=in_list(act("conversation", chat)))

    html = response.content.decode()
    assert f'data-thread="{other.pk}"' not in html
    assert f'data-thread="{chat.pk}"' in html
    assert f'hx-post="{act("restore", other)}"' in html


@pytest.mark.parametrize(
    "query", ["trashed=x", "trashed=", "archived=\x00", "restored=00000000-0000-4000-8000-000000000000", "trashed={}"]
)
def test_address_that_says_nothing_true_or_is_of_a_chat_that_is_back_shows_no_undo(ann, chat, query):
    assert "undo-line" not in ann.get(f"{INDEX}?{query.format(chat.pk)}").content.decode()


def test_trash_says_until_when_each_can_be_restored(ann, trader):
    at = datetime.fromisoformat("2026-06-10T12:00:00+00:00")
    chat = as_owner(trader, lambda: make_chat("Sizing", trashed_at=at))

    page = ann.get(TRASH)

    assert "Can be restored until 10 Jul 2026, 12:00 UTC" in text_of(page)
    assert f'action="{act("restore", chat)}"' in page.content.decode()


def test_trash_with_many_chats_is_paged(ann, trader, django_assert_max_num_queries):
    as_owner(
        trader, lambda: [ConversationFactory(title=f"n{i:02}", trashed_at=JUNE + timedelta(hours=i)) for i in range(51)]
    )

    with django_assert_max_num_queries(8):
        first = text_of(ann.get(TRASH))

    assert "n50" in first
    assert "n00" not in first
    for number in ("2", "99", "9" * 30):
        assert "n00" in text_of(ann.get(TRASH, {"page": number}))
    for nonsense in ("0", "-1", "x", "²"):
        assert "n50" in text_of(ann.get(TRASH, {"page": nonsense}))


def test_trashed_chat_can_be_read_and_restored_but_not_written_in(ann, trader):
    chat = as_owner(trader, lambda: make_chat("Sizing", trashed_at=JUNE))

    html = ann.get(act("conversation", chat)).content.decode()

    assert "Half of it." in html
    assert "data-socket" not in html
    assert "composer__input" not in html
    assert 'data-action="edit"' not in html
    assert 'data-action="retry"' not in html
    assert f'action="{act("restore", chat)}"' in html
    back = ann.post(act("restore", chat), {"next": act("conversation", chat)})
    assert back.url == act("conversation", chat)


# --- Renaming in the list ---


def test_new_title_stands_in_the_list(ann, chat):
    response = ann.post(act("rename", chat), {"title": "Position size"}, headers=in_list(act("conversation", chat)))

    assert not is_page(response)
    assert "Position size" in text_of(response)


def test_refused_title_is_explained_at_its_field(ann, chat):
    response = ann.post(act("rename", chat), {"title": " "}, headers=in_list())

    html = response.content.decode()
    assert response.status_code == 422
    assert "A title needs 1 to 80 characters." in html
    assert " open" in tag_of(html, "thread-menu__rename")


def test_rename_of_a_form_leads_back_to_its_page(ann, chat):
    response = ann.post(act("rename", chat), {"title": "Position size", "next": INDEX})

    assert response.url == INDEX


# --- What the chat's own page has for each message ---


def test_summarised_part_ends_with_a_line_that_says_so(ann, chat, trader):
    def grow():
        first = chat.messages.order_by("pk")[1]
        ConversationSummary.objects.create(
            conversation=chat, text="Sizing.", sha256="0" * 64, through=first.pk, model="m", created_at=JUNE
        )
        ReplyFactory(reply_to=MessageFactory(conversation=chat, content="And then?"), content="The rest.")

    as_owner(trader, grow)

    html = text_of(ann.get(act("conversation", chat)))

    line = html.index("Older messages above are summarised for the model. Nothing was deleted.")
    assert html.index("Half of it.") < line < html.index("And then?")
    assert html.count("are summarised for the model") == 1


@pytest.mark.parametrize("values", [{"replaced_at": JUNE}, {"through": 10**15}], ids=["replaced", "nothing after"])
def test_no_line_without_a_summary_that_others_follow(ann, chat, trader, values):
    given = {"text": "Sizing.", "sha256": "0" * 64, "model": "m", "created_at": JUNE, "through": 1, **values}
    as_owner(trader, lambda: ConversationSummary.objects.create(conversation=chat, **given))

    assert "summarised" not in text_of(ann.get(act("conversation", chat)))


def test_messages_after_one_that_was_replaced_are_not_there(ann, chat, trader):
    with owned_tx(trader):
        first = chat.messages.order_by("pk").first()
        chat.messages.filter(pk=first.pk).update(replaced_at=JUNE)

    assert ann.get(act("messages", chat), {"after": first.pk}).status_code == 404
