"""Conversations, their messages and what was used, over REST."""

from datetime import timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
import time_machine

from chat.models import Conversation, Message, UsageDay
from memory.facts.services import remember_fact
from memory.facts.undo import undo_event
from tests.factories.chat import ActionCardFactory, ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, UserFactFactory
from tests.factories.record import BacktestRunFactory, DeploymentFactory, MarketEventFactory, SkillFactory, TradeFactory
from tests.owners import as_owner
from tests.trading.conftest import api

__all__ = ["api"]

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def clock():
    with time_machine.travel(JUNE, tick=False) as clock:
        yield clock


@pytest.fixture
def conversation(trader):
    return as_owner(trader, lambda: ConversationFactory(title="Plans"))


def now_of(conversation, trader):
    return as_owner(trader, lambda: Conversation.objects.get(pk=conversation.pk))


# --- Conversations ---


def test_conversations_are_listed_that_of_the_latest_message_first(api, trader):
    def make():
        for number in range(3):
            ConversationFactory(title=f"{number}", last_message_at=JUNE + timedelta(minutes=number))
        ConversationFactory(title="old", archived=True)
        ConversationFactory(title="gone", trashed_at=JUNE)

    as_owner(trader, make)

    first = api("get", "conversations/", limit=3)
    rest = api("get", "conversations/", limit=3, cursor=first["next_cursor"])
    assert [item["title"] for item in [*first["items"], *rest["items"]]] == ["2", "1", "0", "old"]
    assert rest["next_cursor"] == ""
    assert [item["title"] for item in api("get", "conversations/?status=archived")["items"]] == ["old"]
    assert [item["title"] for item in api("get", "conversations/", trashed="true")["items"]] == ["gone"]


def test_conversation_is_made_as_it_was_asked_for(api, trader):
    made = api("post", "conversations/", {"assistant": "advisor", "temporary": True}, 201)

    assert made == api("get", f"conversations/{made['id']}/")
    assert (made["assistant"], made["is_temporary"], made["title"], made["status"]) == ("advisor", True, "", "active")
    assert (made["opening_context"], made["created_at"]) == ({"mode": "ops"}, "2026-06-01T12:00:00Z")
    assert api("post", "conversations/", {}, 201)["assistant"] == "coach"


def test_conversation_may_be_about_whatever_a_page_can_be_about(api, trader):
    deployment, skill, trade, fact, event, run = as_owner(
        trader,
        lambda: (
            DeploymentFactory(),
            SkillFactory(name="Dips"),
            TradeFactory(),
            UserFactFactory(),
            MarketEventFactory(),
            BacktestRunFactory(),
        ),
    )

    for opening in (
        {"mode": "coach", "deployment_id": str(deployment.pk)},
        {"mode": "authoring", "skill_id": str(skill.pk)},
        {"mode": "authoring"},
        {"mode": "ops", "trade_id": str(trade.pk)},
        {"mode": "ops", "backtest_id": str(run.pk)},
        {"mode": "ops", "event_id": str(event.pk)},
        {"mode": "ops", "about_fact_id": str(fact.pk)},
        {"mode": "ops", "skill_id": str(deployment.skill_id), "version": str(deployment.version.version)},
    ):
        made = api("post", "conversations/", {"opening_context": opening}, 201)

        assert made["opening_context"] == opening


def test_conversation_about_two_things_or_in_an_unfit_mode_is_422(api):
    one = {"trade_id": str(uuid4())}

    for opening in (
        {"mode": "coach", **one},
        {"mode": "authoring", **one},
        {"mode": "ops", **one, "event_id": 1},
        {"mode": "ops", "version": 1},
        {"mode": "ops", "deployment_id": str(uuid4())},
    ):
        api("post", "conversations/", {"opening_context": opening}, 422)


def test_conversation_is_renamed_and_keeps_the_title_it_was_given(api, conversation, trader):
    renamed = api("patch", f"conversations/{conversation.pk}/", {"title": "  My \n plans "})

    assert renamed["title"] == "My plans"
    assert now_of(conversation, trader).is_title_chosen


@pytest.mark.limit("chat.models.MAX_TITLE")
@pytest.mark.parametrize("title", ["", " \u200b", "x" * 81, None, ["x"]])
def test_title_needs_1_to_80_characters(api, conversation, trader, title):
    api("patch", f"conversations/{conversation.pk}/", {"title": title}, 422)

    assert now_of(conversation, trader).title == "Plans"


def test_conversation_goes_into_the_trash(api, conversation):
    deleted = api("delete", f"conversations/{conversation.pk}/")

    assert deleted["trashed_at"] == "2026-06-01T12:00:00Z"
    assert api("get", "conversations/")["items"] == []


def test_conversation_is_closed_by_the_worker(api, conversation):
    assert api("post", f"conversations/{conversation.pk}/close/", status=202)["status"] == "closing"


def test_stop_leaves_word_for_the_process_that_runs_the_turn(api, conversation, trader):
    assert api("post", f"conversations/{conversation.pk}/stop/", status=202) == {"was_running": False}

    as_owner(trader, lambda: ReplyFactory(reply_to__conversation=conversation, streaming=True))

    assert api("post", f"conversations/{conversation.pk}/stop/", status=202) == {"was_running": True}
    assert as_owner(trader, lambda: Message.objects.streaming().get().stop_requested_at) == JUNE


# --- Messages ---


def test_messages_are_listed_with_their_parts_as_values(api, conversation, trader):
    fact = as_owner(trader, lambda: remember_fact(content="Never trades alts", now=JUNE))
    lines = [["Skill", "Dips"]]
    card = as_owner(
        trader, lambda: ActionCardFactory(conversation=conversation, type="flatten", lines=lines, created_at=JUNE)
    )
    call = {"kind": "tool", "step": 0, "status": "done"}
    parts = [
        {"kind": "text", "step": 0, "text": "<b>One</b>"},
        {**call, "call_id": "a", "name": "remember", "arguments": "{}", "result": {"saved": "x"}},
        {**call, "call_id": "b", "name": "list_things", "arguments": '{"a": 1}', "result": {"total": 3}},
        {
            **{"kind": "memory", "step": 0, "event_id": str(fact.event.pk), "event_kind": "save"},
            **{"text": "Never trades alts", "fact_id": str(fact.fact.pk)},
        },
        {"kind": "card", "step": 0, "card_id": str(card.pk)},
        {"kind": "card", "step": 0, "card_id": str(UUID(int=1))},
    ]
    reply = as_owner(
        trader,
        lambda: ReplyFactory(
            reply_to__conversation=conversation,
            reply_to__content="Say one",
            content="<b>One</b>",
            parts=parts,
            usage={"prompt_tokens": 12},
            interrupted=True,
        ),
    )

    typed, answered = api("get", f"conversations/{conversation.pk}/messages/")["items"]

    assert (typed["role"], typed["content"], typed["parts"], typed["reply_to"]) == ("user", "Say one", [], None)
    assert typed["client_id"] == str(reply.reply_to.client_id)
    assert (answered["id"], answered["reply_to"], answered["content"]) == (reply.pk, typed["id"], "<b>One</b>")
    assert (answered["status"], answered["error"]) == ("interrupted", "Keel was restarted while it answered.")
    assert (answered["model"], answered["usage"]) == ("scripted/model", {"prompt_tokens": 12})
    assert answered["created_at"] == "2026-05-01T12:00:00Z"
    assert answered["parts"] == [
        {"part": "text", "text": "<b>One</b>", "figures": []},
        {
            **{"part": "tool", "call_id": "b", "name": "list_things", "status": "done", "summary": "3 found"},
            "arguments": '{"a": 1}',
        },
        {
            **{"part": "memory", "kind": "save", "text": "Never trades alts", "is_undone": False},
            **{"event_id": str(fact.event.pk), "fact_id": str(fact.fact.pk)},
        },
        {
            **{"part": "card", "card_id": str(card.pk), "type": "flatten", "lines": [["Skill", "Dips"]]},
            **{"status": "pending", "expires_at": "2026-06-01T12:15:00Z", "url": f"/chat/{conversation.pk}/"},
        },
        {"part": "card", "card_id": str(UUID(int=1))},
    ]

    as_owner(trader, lambda: undo_event(event_id=fact.event.pk, now=JUNE))
    [_, answered] = api("get", f"conversations/{conversation.pk}/messages/")["items"]
    assert [part["is_undone"] for part in answered["parts"] if part["part"] == "memory"] == [True]


def test_messages_come_in_pages_from_either_end_without_what_was_replaced(api, conversation, trader):
    def make():
        for number in range(3):
            message = MessageFactory(conversation=conversation, content=f"ask {number}")
            ReplyFactory(reply_to=message, content="old", replaced=True)
            ReplyFactory(reply_to=message, content=f"told {number}")

    as_owner(trader, make)
    address = f"conversations/{conversation.pk}/messages/"
    told = ["ask 0", "told 0", "ask 1", "told 1", "ask 2", "told 2"]

    for order, expected in (("oldest", told), ("newest", told[::-1])):
        first = api("get", address, order=order, limit=4)
        rest = api("get", address, order=order, limit=4, cursor=first["next_cursor"])
        assert [item["content"] for item in [*first["items"], *rest["items"]]] == expected
        assert rest["next_cursor"] == ""


def test_messages_cost_the_same_queries_however_many_they_are(api, conversation, trader, django_assert_max_num_queries):
    def reply():
        event = remember_fact(content=f"Trades {uuid4()}", now=JUNE).event
        memory = {"kind": "memory", "step": 0, "event_id": str(event.pk), "event_kind": "save", "text": "x"}
        card = {"kind": "card", "step": 0, "card_id": str(ActionCardFactory(conversation=conversation).pk)}
        ReplyFactory(reply_to__conversation=conversation, parts=[{**memory, "fact_id": None}, card])

    as_owner(trader, lambda: [reply() for _ in range(10)])

    with django_assert_max_num_queries(12):  # the session's and the door's among them
        assert len(api("get", f"conversations/{conversation.pk}/messages/")["items"]) == 20


# --- Search ---


def test_search_finds_conversations_and_says_where_the_words_stand(api, trader):
    def make():
        funding = ConversationFactory(title="Funding flips")
        message = MessageFactory(conversation=funding, content="What does funding tell me?")
        MessageFactory(conversation__title="Metals", content="Only gold")
        ConversationFactory(title="Funding, gone", trashed_at=JUNE)
        return funding, message

    funding, message = as_owner(trader, make)

    found = api("get", "conversations/search/", q="funding")

    assert [hit["conversation"]["id"] for hit in found["items"]] == [str(funding.pk)]
    [hit] = found["items"]
    assert (hit["message_id"], hit["snippet"]) == (message.pk, "What does funding tell me?")
    assert [hit["snippet"][start:end] for start, end in hit["snippet_ranges"]] == ["funding"]
    assert [hit["conversation"]["title"][start:end] for start, end in hit["title_ranges"]] == ["Funding"]
    assert (found["total"], found["truncated"]) == (1, False)
    api("get", "conversations/search/", status=422)
    api("get", "conversations/search/", q="x", limit=51, status=422)


# --- Usage ---


def test_usage_tells_what_is_left_of_the_day_and_what_was_used_before(api, trader, settings):
    settings.DAILY_TOKEN_BUDGET = 10_000
    nothing = api("get", "usage/")
    assert nothing["today"] == {
        **{"day": "2026-06-01", "budget_tokens": 10_000, "used_tokens": 0, "left_tokens": 10_000}
    }

    def make():
        used = {"prompt_tokens": 1_000, "completion_tokens": 200, "cached_tokens": 900, "reserved_tokens": 50}
        UsageDay.objects.create(day=JUNE.date(), turns=3, cost_usd=Decimal("0.0125"), **used)
        UsageDay.objects.create(day=JUNE.date() - timedelta(days=1), turns=1, prompt_tokens=7)

    as_owner(trader, make)
    shown = api("get", "usage/")

    assert (shown["today"]["used_tokens"], shown["today"]["left_tokens"]) == (1_250, 8_750)
    assert [(item["day"], item["turns"], item["prompt_tokens"]) for item in shown["items"]] == [
        ("2026-06-01", 3, 1_000),
        ("2026-05-31", 1, 7),
    ]
    assert shown["items"][0]["cost_usd"] == "0.012500"
    page = api("get", "usage/", limit=1)
    assert api("get", "usage/", limit=1, cursor=page["next_cursor"])["items"] == shown["items"][1:]


def test_usage_beyond_the_budget_leaves_nothing(api, trader, settings):
    settings.DAILY_TOKEN_BUDGET = 1_000
    as_owner(trader, lambda: UsageDay.objects.create(day=JUNE.date(), prompt_tokens=1_500))

    assert api("get", "usage/")["today"]["left_tokens"] == 0
