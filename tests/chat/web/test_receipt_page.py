from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.urls import reverse

from chat.models import Message, MessageStatus, UsageDay
from chat.prompt.receipts import keep_receipt
from chat.turns.accept import accept_message
from chat.turns.replies import finish_reply
from config.lib.owned import owned_tx
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, UserFactFactory
from tests.factories.record import TradeFactory
from tests.owners import as_owner

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def answered(parts=()):
    """Return a reply whose turn has ended, with its receipt."""
    fact = UserFactFactory(content="Trades BTC only")
    chat = ConversationFactory()
    accepted = accept_message(conversation_id=chat.pk, client_id=uuid4(), text="Why?", now=JUNE)
    tool = {"type": "function", "function": {"name": "get_my_deployments", "parameters": {}}}
    made = {"tools": [tool], "models": ["scripted/model"], "effort": "low"}
    keep_receipt(reply_id=accepted.reply.pk, sent=accepted.turn.sent, **made)
    usage = {"prompt_tokens": 1200, "completion_tokens": 40, "cached_tokens": 800, "estimated": False}
    finish_reply(
        reply_id=accepted.reply.pk,
        status=MessageStatus.COMPLETE,
        parts=[*parts, {"kind": "text", "step": 0, "text": "So."}],
        text="So.",
        model="scripted/model",
        usage=usage,
        now=JUNE,
    )
    return accepted.reply, fact


def tool_part(result):
    return {
        **{"kind": "tool", "step": 0, "call_id": "c", "name": "get_my_deployments", "arguments": "{}"},
        **{"status": "done", "result": result},
    }


def page(ann, reply):
    return ann.get(reverse("chat:receipt", args=[reply.pk]))


def on_one_line(response) -> str:
    return " ".join(response.content.decode().split())


def test_receipt_shows_what_the_reply_was_written_from(ann, trader):
    reply, fact = as_owner(trader, answered)

    html = on_one_line(page(ann, reply))

    assert "Trades BTC only" in html
    assert reverse("memory:fact", args=[fact.pk]) in html
    assert "<b>1</b> fact, <b>0</b> look-ups, <b>1</b> message of this chat, <b>1200</b> tokens read." in html
    assert "1 message, word for word" in html
    assert "What Keel knows about you</summary>" in html
    assert "Current datetime: 2026-06-01T12:00:00Z" in html
    assert "get_my_deployments" in html
    assert "1200 read (800 from the cache), 40 written" in html
    assert "scripted/model, reasoning effort low" in html
    assert "put together again, byte for byte" in html


def test_receipt_links_the_trades_that_tools_brought_in(ann, trader):
    def make():
        trade = TradeFactory(symbol="ETH")
        nested = {"trades": [{"trade_id": str(trade.pk)}], "lessons": [{"note_id": str(uuid4())}]}
        return answered([tool_part(nested), tool_part({"trades": [{"trade_id": str(trade.pk)}]})])[0], trade

    reply, trade = as_owner(trader, make)

    html = on_one_line(page(ann, reply))

    assert html.count(reverse("trading:trade", args=[trade.pk])) == 1
    assert "1 note of lessons" in html


def test_reply_from_before_receipts_says_so(ann, trader):
    reply = as_owner(trader, ReplyFactory)

    assert "No receipt of this reply" in page(ann, reply).content.decode()


def test_receipt_page_asks_few_questions(ann, trader, django_assert_max_num_queries):
    reply, _ = as_owner(trader, answered)

    with django_assert_max_num_queries(16):
        page(ann, reply)


# --- Usage ---


def test_usage_shows_the_days_and_what_is_left(ann, trader, settings, time_machine):
    time_machine.move_to(NOON, tick=False)
    settings.DAILY_TOKEN_BUDGET = 10_000
    as_owner(
        trader,
        lambda: UsageDay.objects.create(
            day=NOON.date(),
            turns=3,
            prompt_tokens=4_000,
            completion_tokens=500,
            reserved_tokens=1_000,
            cost_usd="0.0123",
            saved_usd="0.25",
        ),
    )

    html = on_one_line(ann.get(reverse("chat:usage")))

    for said in (
        "4,500</span> of",
        "10,000</span> tokens used, 1,000 set aside",
        "4,500</span> left",
        "1 Jun 2026",
        "$0.25</span>.",
    ):
        assert said in html


def test_usage_of_a_new_user_is_empty(ann, trader):

    assert "Nothing used yet" in ann.get(reverse("chat:usage")).content.decode()


def test_receipt_says_where_the_figures_of_the_reply_come_from(ann, trader):
    def answer_with_figures():
        trade = TradeFactory()
        figures = [
            {"start": 0, "end": 2, "text": "$7", "source": {"kind": "trade", "id": str(trade.pk)}},
            {"start": 3, "end": 5, "text": "$9", "source": None},
        ]
        return trade, answered([{"kind": "text", "step": 0, "text": "$7 $9", "figures": figures}])[0]

    trade, reply = as_owner(trader, answer_with_figures)

    said = on_one_line(page(ann, reply))

    assert f'<dt>$7</dt> <dd> <a href="{reverse("trading:trade", args=[trade.pk])}">A trade</a> </dd>' in said
    assert "<dt>$9</dt> <dd> Not from your record </dd>" in said


def retried():
    """Return a reply that a retry wrote, after two others."""
    message = MessageFactory(content="Why?")
    for number in (1, 2):
        ReplyFactory(reply_to=message, content=f"Answer **{number}**", replaced_at=JUNE)
    ReplyFactory(reply_to=message, content="", replaced_at=JUNE)  # stopped before its first word
    return ReplyFactory(reply_to=message, content="Answer **3**")


def test_answers_of_retries_are_side_by_side(ann, trader):
    reply = as_owner(trader, retried)
    address = reverse("chat:answers", args=[reply.pk])

    chat = ann.get(reverse("chat:conversation", args=[reply.conversation_id])).content.decode()
    part = ann.get(address, headers={"HX-Request": "true"}).content.decode()

    assert f'href="{address}"' in chat
    assert "Compare 3 answers" in chat
    assert [part.index(f"<strong>{number}</strong>") for number in (1, 2, 3)] == sorted(
        part.index(f"<strong>{number}</strong>") for number in (1, 2, 3)
    )
    assert part.count("Replaced") == 2
    assert "<html" in ann.get(address).content.decode()


def test_answers_and_the_receipt_are_only_of_a_reply_that_stands(ann, trader):
    reply = as_owner(trader, retried)
    with owned_tx(trader):
        replaced = Message.objects.filter(reply_to=reply.reply_to_id, replaced_at__isnull=False).first()

    for pk in (replaced.pk, reply.reply_to_id, 10**9):
        assert ann.get(reverse("chat:answers", args=[pk])).status_code == 404
    assert ann.get(reverse("chat:receipt", args=[reply.reply_to_id])).status_code == 404
