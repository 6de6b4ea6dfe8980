import re
from html import unescape
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.conversations.lifecycle import trash_conversation
from chat.models import Conversation, Message
from config.lib.owned import owned_tx
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import MemoryEventFactory
from tests.factories.record import DeploymentFactory, SkillDraftFactory, TradeFactory
from tests.owners import as_owner
from tests.tables import each_case


@pytest.fixture
def chat(trader) -> Conversation:
    """A chat of two exchanges."""

    def make() -> Conversation:
        conversation = ConversationFactory(title="Sizing", last_message_at=timezone.now())
        for number in (1, 2):
            message = MessageFactory(conversation=conversation, content=f"Question {number} <b>")
            ReplyFactory(reply_to=message, content=f"Answer **{number}**")
        return conversation

    return as_owner(trader, make)


def url(name: str, conversation=None) -> str:
    return reverse(f"chat:{name}", args=[conversation.pk if hasattr(conversation, "pk") else conversation])


def text_of(response) -> str:
    assert response.status_code == 200, response.status_code
    return response.content.decode()


# --- Pages ---


def test_chat_shows_its_messages_in_order(ann, chat):
    html = text_of(ann.get(url("conversation", chat)))

    marks = ("Question 1 &lt;b&gt;", "Answer <strong>1</strong>", "Question 2", "Answer <strong>2</strong>")
    places = [html.index(mark) for mark in marks]
    assert places == sorted(places)
    assert html.count('data-action="retry"') == 1
    assert f'data-socket="/ws/chat/{chat.pk}/"' in html


def test_number_of_queries_does_not_grow_with_the_chat(ann, chat, trader, django_assert_max_num_queries):
    def grow() -> None:
        ConversationFactory.create_batch(20, last_message_at=timezone.now())
        for _ in range(20):
            event = MemoryEventFactory()
            part = {"kind": "memory", "event_id": str(event.pk), "event_kind": "save", "text": "x", "fact_id": None}
            ReplyFactory(reply_to=MessageFactory(conversation=chat), parts=[part])

    as_owner(trader, grow)

    # Twelve, those of the session and its user, and the four by which PostgreSQL enters and leaves the scope.
    with django_assert_max_num_queries(18):
        ann.get(url("conversation", chat))


# --- Long chats ---


@pytest.fixture
def long_chat(trader) -> tuple[Conversation, list[int]]:
    """A chat of 200 messages, with their ids."""

    def make() -> tuple[Conversation, list[int]]:
        conversation = ConversationFactory(title="Long")
        rows = MessageFactory.build_batch(200, conversation=conversation, user_id=trader.pk)
        return conversation, [row.pk for row in Message.objects.bulk_create(rows)]

    return as_owner(trader, make)


def shown_ids(html: str) -> list[int]:
    return [int(found) for found in re.findall(r'id="message-(\d+)"', html)]


def gaps_of(html: str) -> list[tuple[int, int]]:
    found = re.findall(r'data-after="(\d+)" data-before="(\d+)"', html)
    return [(int(after), int(before)) for after, before in found]


def test_long_chat_opens_with_its_newest_messages_and_at_a_linked_one_with_the_gaps_around_it(ann, long_chat):
    chat, ids = long_chat

    newest = text_of(ann.get(url("conversation", chat)))
    linked = text_of(ann.get(url("conversation", chat), {"message": ids[60]}))

    assert (shown_ids(newest), gaps_of(newest)) == (ids[-50:], [(0, ids[-50])])
    assert shown_ids(linked) == [*ids[36:86], *ids[-50:]]
    assert gaps_of(linked) == [(0, ids[36]), (ids[85], ids[-50])]


@each_case(
    "query, first, last, gaps",
    [
        ({"before": 150}, 100, 150, [(None, 100)]),
        ({"before": 30}, 0, 30, []),
        ({"before": 150, "after": 120}, 121, 150, []),
        ({"before": 150, "after": 20}, 100, 150, [(20, 100)]),
        ({"before": 150, "after": 20, "message": 60}, 36, 86, [(20, 36), (85, 150)]),
        ({"before": 150, "message": 3}, 0, 29, [(28, 150)]),
        ({"before": 150, "message": 149}, 125, 150, [(None, 125)]),
        ({}, 150, 200, [(None, 150)]),
    ],
)
def test_messages_between_two_are_the_newest_or_those_around_one(ann, long_chat, query, first, last, gaps):
    chat, ids = long_chat

    html = text_of(ann.get(url("messages", chat), {name: ids[index] for name, index in query.items()}))

    assert shown_ids(html) == ids[first:last]
    assert gaps_of(html) == [(0 if after is None else ids[after], ids[before]) for after, before in gaps]


def test_older_messages_cannot_be_retried(ann, trader):
    def make() -> Conversation:
        chat = ConversationFactory()
        for _ in range(60):
            ReplyFactory(reply_to=MessageFactory(conversation=chat), content="Fine.")
        return chat

    chat = as_owner(trader, make)
    newest = text_of(ann.get(url("conversation", chat)))
    older = text_of(ann.get(url("messages", chat), {"before": shown_ids(newest)[0]}))

    assert newest.count('data-action="retry"') == 1
    assert len(shown_ids(older)) == 50
    assert 'data-action="retry"' not in older


def test_times_are_shown_in_the_zone_of_the_reader(ann, chat, trader):
    trader.time_zone = "Asia/Tokyo"
    trader.save(update_fields=["time_zone"])

    html = text_of(ann.get(url("conversation", chat)))

    assert "21:00 JST" in html  # the factories' noon in UTC
    assert "12:00 UTC" in html  # in the title of the time


def test_home_shows_strangers_what_keel_is(client, db):
    response = client.get(reverse("home"))

    assert response.status_code == 200
    assert "landing.html" in [template.name for template in response.templates]


def test_empty_chat_asks_what_it_is_about_and_names_the_offline_model(ann, settings):
    html = text_of(ann.get(reverse("chat:index")))
    assert "data-conversation" not in html
    assert "What is on your mind?" in html
    assert "No language model is connected" not in html

    settings.CHAT_AGENT_MODEL = settings.OFFLINE_MODEL

    assert "No language model is connected" in text_of(ann.get(reverse("chat:index")))


# --- Fragments ---


def test_panel_shows_the_chat_it_is_asked_for(ann, chat):
    html = text_of(ann.get(reverse("chat:panel"), {"conversation": chat.pk}))

    assert "Answer <strong>2</strong>" in html
    assert f'data-conversation="{chat.pk}"' in html
    assert "<html" not in html


@each_case("wanted", ["", "nonsense", "00000000-0000-4000-8000-000000000000", "\x00", "'; --", "\u0661" * 32])
def test_panel_is_empty_without_a_chat_of_that_id(ann, wanted):
    html = text_of(ann.get(reverse("chat:panel"), {"conversation": wanted}))

    assert "data-conversation" not in html
    assert "What is on your mind?" in html


def test_messages_are_those_after_one(ann, chat, trader):
    with owned_tx(trader):
        first_reply = chat.messages.order_by("pk")[1]

    html = text_of(ann.get(url("messages", chat), {"after": first_reply.pk}))

    assert "Question 1" not in html
    assert "Question 2" in html
    assert "<html" not in html


@each_case("after", ["", "0", "-1", "x", "1.5", "9" * 30, "²", "٣", "\x00", "1 OR 1"])
def test_messages_after_nonsense_are_all_or_none(ann, chat, after):
    assert text_of(ann.get(url("messages", chat), {"after": after})) is not None


# --- Writing ---


def test_new_makes_a_conversation_and_says_where_it_is(ann, trader):
    response = ann.post(reverse("chat:new"))

    with owned_tx(trader):
        made = Conversation.objects.get()
    assert response.status_code == 201
    assert response.json() == {
        "id": str(made.pk),
        "url": f"/chat/{made.pk}/",
        "socket": f"/ws/chat/{made.pk}/",
        "assistant": "Coach",
        "temporary": False,
    }
    assert made.assistant == "coach"


def test_new_chat_keeps_what_it_was_opened_from(ann, trader):
    deployment = as_owner(trader, DeploymentFactory)
    skill = as_owner(trader, lambda: deployment.skill)
    asked = [
        {"mode": "coach", "deployment": deployment.pk},
        {"mode": "authoring", "skill": skill.pk},
        {"mode": "authoring"},
        {"mode": "ops"},
    ]

    made = [ann.post(reverse("chat:new"), given).json()["id"] for given in asked]

    with owned_tx(trader):
        told = [Conversation.objects.get(pk=pk).opening_context for pk in made]
    assert told == [
        {"mode": "coach", "deployment_id": str(deployment.pk)},
        {"mode": "authoring", "skill_id": str(skill.pk)},
        {"mode": "authoring"},
        {"mode": "ops"},
    ]


@each_case(
    "given",
    [
        {"mode": "coach"},
        {"mode": "coach", "deployment": "x"},
        {"mode": "god"},
        {"mode": "ops", "skill": "00000000-0000-4000-8000-000000000000"},
        {"deployment": "00000000-0000-4000-8000-000000000000"},
        {"mode": "authoring", "skill": "1; --"},
    ],
)
def test_new_chat_about_nonsense_is_refused(ann, trader, given):
    assert ann.post(reverse("chat:new"), given).status_code == 422
    with owned_tx(trader):
        assert not Conversation.objects.exists()


# --- The panel on the pages of others ---


def panel(client, **query) -> str:
    return text_of(client.get(reverse("chat:panel"), query))


def test_panel_tells_what_a_new_chat_is_about(ann, trader):
    deployment = as_owner(trader, lambda: DeploymentFactory(version__skill__name="Dip buyer"))

    html = panel(ann, mode="coach", deployment=deployment.pk)

    assert "About Dip buyer" in html
    assert 'data-page-subject="About Dip buyer"' in html
    assert "A new skill" in panel(ann, mode="authoring")
    assert "Editing Dip buyer" in panel(ann, mode="authoring", skill=deployment.skill_id)


def test_panel_turns_its_chat_to_the_trade_of_its_page(ann, chat, trader):
    trade = as_owner(trader, lambda: TradeFactory(symbol="SOL"))
    turn_to = reverse("chat:refocus", args=[chat.pk])

    before = panel(ann, conversation=chat.pk, trade=trade.pk)
    answer = ann.post(turn_to, {"trade": trade.pk})
    after = panel(ann, conversation=chat.pk, trade=trade.pk)

    assert answer.status_code == 204
    assert f'data-refocus="{turn_to}"' in before
    assert "About a trade: SOL long" in before
    assert "data-refocus" not in after
    with owned_tx(trader):
        chat.refresh_from_db()
    assert chat.opening_context == {"mode": "ops", "trade_id": str(trade.pk)}


@each_case("given", [{}, {"trade": "x"}, {"skill": str(uuid4())}, {"version": "1"}, {"mode": "coach"}])
def test_chat_does_not_turn_to_nonsense(ann, chat, given):
    assert ann.post(reverse("chat:refocus", args=[chat.pk]), given).status_code == 422


def test_new_chat_can_be_begun_about_a_trade_by_its_address(ann, trader):
    trade = as_owner(trader, lambda: TradeFactory(symbol="SOL"))

    html = text_of(ann.get(reverse("chat:index"), {"new": "1", "trade": trade.pk}))

    assert f'data-focus="mode=ops&amp;trade={trade.pk}"' in html
    assert "About a trade: SOL long" in html


def test_panel_shows_the_chat_that_writes_the_open_draft(ann, trader):
    writing, other = as_owner(trader, lambda: [ConversationFactory(), ConversationFactory()])
    as_owner(trader, lambda: SkillDraftFactory(conversation_id=writing.pk))

    assert f'data-conversation="{writing.pk}"' in panel(ann, mode="authoring", conversation=other.pk)
    assert f'data-conversation="{other.pk}"' in panel(ann, conversation=other.pk)

    as_owner(trader, lambda: trash_conversation(conversation_id=writing.pk, now=timezone.now()))
    assert "data-conversation" not in panel(ann, mode="authoring", conversation=other.pk)


@pytest.mark.parametrize(
    ("values", "is_shown"),
    [
        ({"opening_context": {"mode": "authoring"}}, True),
        ({"opening_context": {"mode": "authoring"}, "status": "idle"}, False),
        ({"opening_context": {"mode": "authoring", "skill_id": "00000000-0000-4000-8000-000000000000"}}, False),
        ({"opening_context": {"mode": "ops"}}, False),
    ],
    ids=["opened here", "ended", "of another skill", "of another page"],
)
def test_panel_goes_on_with_a_chat_that_was_opened_to_write(ann, trader, values, is_shown):
    chat = as_owner(trader, lambda: ConversationFactory(**values))

    assert (f'data-conversation="{chat.pk}"' in panel(ann, mode="authoring", conversation=chat.pk)) is is_shown


@each_case("query", [{"mode": "coach", "deployment": "x"}, {"mode": "god"}, {"skill": "\x00"}])
def test_panel_takes_nonsense_for_no_page(ann, chat, query):
    assert f'data-conversation="{chat.pk}"' in panel(ann, conversation=chat.pk, **query)


PROMPTS_OF_SEED = {
    "trading:new_skill": [
        "Help me build a BTC funding-flip mean-reversion strategy",
        "I want something safer than my last one",
        "Show me a template",
    ],
    "trading:deployment": [
        "Why did you open this position?",
        "What's my biggest risk right now?",
        "What would make you close it?",
        "Have you been rejected recently?",
    ],
    "trading:deployments": [
        "What's running and how is it doing?",
        "Anything I should worry about?",
        "What's the market doing today?",
    ],
}


@pytest.mark.parametrize("page", PROMPTS_OF_SEED)
def test_panel_suggests_what_seed_003_says_for_its_page(ann, page):
    html = ann.get(reverse("chat:panel"), {"page": page}).content.decode()

    chips = re.findall(r'data-action="suggest">([^<]*)</button>', html)
    assert [unescape(chip) for chip in chips] == PROMPTS_OF_SEED[page]


def test_page_tells_the_panel_what_it_is_about(ann, trader):
    deployment = as_owner(trader, DeploymentFactory)

    def told(name, *args):
        html = text_of(ann.get(reverse(name, args=args)))
        tag = re.search(r'<div class="panel"[^>]*>', html).group()
        return dict(re.findall(r'data-(page|mode|deployment|skill)="([^"]*)"', tag))

    page = {"page": "trading:deployment", "mode": "coach", "deployment": str(deployment.pk)}
    assert told("trading:deployment", deployment.pk) == page
    edit = {"page": "trading:edit_skill", "mode": "authoring", "skill": str(deployment.skill_id)}
    assert told("trading:edit_skill", deployment.skill_id) == edit
    assert told("trading:new_skill") == {"page": "trading:new_skill", "mode": "authoring"}
    assert told("memory:facts") == {"page": "memory:facts"}


def test_replies_lead_to_what_keel_knew_and_messages_can_be_edited(ann, chat, trader):
    with owned_tx(trader):
        reply = chat.messages.filter(role="assistant").order_by("pk").first()

    html = text_of(ann.get(url("conversation", chat)))

    assert f'href="{reverse("chat:receipt", args=[reply.pk])}"' in html
    assert html.count('data-action="edit"') == 2
    assert 'data-action="continue"' not in html


def test_rename_sets_the_title(ann, chat, trader):
    response = ann.post(url("rename", chat), {"title": " New\nname "}, headers={"accept": "application/json"})

    with owned_tx(trader):
        chat.refresh_from_db()
    assert (response.json(), chat.title) == ({"title": "New name"}, "New name")


@pytest.mark.parametrize("title", ["", " ", "x" * 81])
def test_rename_refuses_what_is_no_title(ann, chat, title):
    response = ann.post(url("rename", chat), {"title": title})

    assert (response.status_code, response.json()) == (422, {"error": "A title needs 1 to 80 characters."})
