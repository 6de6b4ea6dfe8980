"""The daily token budget: reserved before a turn, settled after."""

from dataclasses import asdict
from datetime import timedelta
from decimal import Decimal
from functools import partial
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.conversations.services import MessageRefused, TooMuchAsked
from chat.conversations.summaries import _Older, _write_summary
from chat.conversations.titles import _save_title
from chat.conversations.usage import REPLY_ALLOWANCE, list_days, note_usage
from chat.models import Message, MessageStatus, UsageDay
from chat.turns.accept import accept_message
from chat.turns.replies import finish_reply, interrupt_dead_turns
from config.lib.llm.door import Completion, Usage, cost_usd
from config.lib.work.models import SiteDay
from tests.chat.talk import answer
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE

DAY = timedelta(days=1)
PRICED = "openrouter/anthropic/claude-haiku-4.5"


def send(conversation=None, text="Hello", now=JUNE):
    chat = conversation or ConversationFactory()
    return accept_message(conversation_id=chat.pk, client_id=uuid4(), text=text, now=now)


def finish(accepted, usage=None, model="offline/keel", status=MessageStatus.COMPLETE):
    return finish_reply(
        reply_id=accepted.reply.pk, status=status, parts=[], text="", usage=usage, model=model, now=JUNE
    )


def used(prompt=0, completion=0, cached=0):
    return asdict(Usage(prompt, completion, cached))


def test_turn_reserves_what_it_sends_and_room_for_its_answer(as_trader):
    accepted = send(text="Hello")

    day = UsageDay.objects.get()
    told = sum(len(segment.text) for segment in accepted.turn.sent.segments)
    assert (day.day, day.turns) == (JUNE.date(), 1)
    assert day.reserved_tokens == accepted.reply.reserved_tokens >= told // 4 + REPLY_ALLOWANCE
    assert (day.prompt_tokens, day.completion_tokens) == (0, 0)


def test_site_without_tokens_left_begins_no_turn_of_anybody(as_trader, settings):
    settings.TURNS_PER_USER = 10
    spent = send().reply.reserved_tokens
    settings.SITE_DAILY_TOKEN_BUDGET = 3 * spent
    SiteDay.objects.create(day=JUNE.date(), tokens=2 * spent - 100)

    send()
    with pytest.raises(TooMuchAsked, match="this site has for all its users"):
        send(text="Hello " * 100)
    assert UsageDay.objects.get().turns == 2
    send(now=JUNE + DAY)
    settings.CHAT_AGENT_MODEL = "offline/keel"
    send(text="Hello " * 100)


def test_end_of_a_turn_counts_what_it_used_and_frees_the_rest(as_trader):
    finish(send(), used(1000, 50, 800))
    finish(send(), used(10, 5))

    day = UsageDay.objects.get()
    assert (day.turns, day.reserved_tokens) == (2, 0)
    assert (day.prompt_tokens, day.completion_tokens, day.cached_tokens) == (1010, 55, 800)
    assert set(Message.objects.values_list("reserved_tokens", flat=True)) == {0}


def test_end_is_counted_once(as_trader):
    accepted = send()

    assert finish(accepted, used(1000, 50))
    assert not finish(accepted, used(1000, 50))

    assert UsageDay.objects.get().prompt_tokens == 1000


def test_turn_is_counted_on_the_day_it_began(as_trader):
    accepted = send(now=JUNE)
    finish_reply(reply_id=accepted.reply.pk, status="complete", parts=[], text="", usage=used(7, 1), now=JUNE + DAY)

    assert [(day.day, day.prompt_tokens) for day in list_days(5)] == [(JUNE.date(), 7)]


def test_turn_that_died_gives_its_reservation_back_and_counts_its_usage_when_it_ends_later(as_trader):
    accepted = send()
    interrupt_dead_turns(now=JUNE + timedelta(minutes=1))
    assert UsageDay.objects.get().reserved_tokens == 0

    finish(accepted, used(30, 3))

    day = UsageDay.objects.get()
    assert (day.prompt_tokens, day.completion_tokens, day.reserved_tokens) == (30, 3, 0)


@pytest.mark.limit("config.settings.DAILY_TOKEN_BUDGET")
def test_budget_that_is_used_up_refuses_with_a_clear_message(settings, as_trader):
    settings.DAILY_TOKEN_BUDGET = 5_000
    finish(send(), used(4_900, 50))

    with pytest.raises(MessageRefused, match=r"5,000 tokens are used up.*00:00 UTC.*Your text is kept"):
        send()

    assert Message.objects.filter(role="user").count() == 1


def test_budget_counts_reservations_of_other_turns(settings, as_trader):
    reserved = send().reply.reserved_tokens
    settings.DAILY_TOKEN_BUDGET = reserved + REPLY_ALLOWANCE - 1

    with pytest.raises(MessageRefused, match="set aside for answers under way"):
        send()


def test_next_day_begins_anew(settings, as_trader):
    settings.DAILY_TOKEN_BUDGET = 5_000
    finish(send(), used(4_900, 50))

    send(now=JUNE + DAY)

    assert [day.day for day in list_days(5)] == [(JUNE + DAY).date(), JUNE.date()]


def test_prices_are_counted_where_they_are_known(settings, as_trader):
    settings.DAILY_TOKEN_BUDGET = 10**9
    finish(send(), used(1_000_000, 1_000_000), model=PRICED)
    finish(send(), used(1_000_000, 1_000_000), model="nobody/knows")

    assert UsageDay.objects.get().cost_usd == Decimal("6.000000")


def test_work_beside_turns_is_counted_too(as_trader):
    note_usage(Usage(100, 10), "offline/keel", now=JUNE)
    note_usage(Usage(1, 1), "offline/keel", now=JUNE)

    day = UsageDay.objects.get()
    assert (day.prompt_tokens, day.completion_tokens, day.turns) == (101, 11, 0)


@pytest.mark.django_db(transaction=True)
async def test_turn_counts_all_calls_of_the_model(model, talk):
    model.call("remember", {"fact": "Trades BTC only"})
    model.say("Noted.")

    result = await answer(await talk.say("I trade BTC only"))

    (day,) = await talk.look(partial(list_days, 5))
    assert (day.turns, day.reserved_tokens) == (1, 0)
    assert day.prompt_tokens == result.last.usage["prompt_tokens"] > 0
    site = await talk.look(SiteDay.objects.get)
    assert site.tokens == day.prompt_tokens + day.completion_tokens


@pytest.mark.django_db(transaction=True)
async def test_stopping_an_answer_again_and_again_is_not_free(model, talk):
    model.say("Half an answer", RuntimeError("the provider broke off"))

    await answer(await talk.say())

    (day,) = await talk.look(partial(list_days, 5))
    assert day.prompt_tokens > 500


@pytest.mark.parametrize(
    ("usage", "model", "saved"),
    [
        # Haiku 4.5: $1 per million prompt tokens, $0.10 from the cache, $1.25 to write it.
        (Usage(1_000, 200, cached_tokens=800), PRICED, "0.00072"),
        (Usage(1_000, 200, cache_write_tokens=1_000), PRICED, "-0.00025"),
        (Usage(10_000, 0, cached_tokens=8_000, cache_write_tokens=1_000), PRICED, "0.00695"),
        (Usage(1_000, 200), PRICED, "0"),
        (Usage(1_000, 200, cached_tokens=800), "openai/nobody-knows", "0"),
        (Usage(1_000, 200, cached_tokens=800), "offline/keel", "0"),
    ],
)
def test_settling_counts_what_caching_saved(as_trader, usage, model, saved):
    finish(send(), asdict(usage), model=model)

    day = UsageDay.objects.get()
    assert day.saved_usd == Decimal(saved)
    assert day.cache_write_tokens == usage.cache_write_tokens
    uncached = cost_usd(model, Usage(usage.prompt_tokens, usage.completion_tokens)) or 0
    assert day.cost_usd + day.saved_usd == uncached


def save_title(chat, usage):
    _save_title(chat.pk, chat.user_id, "A title", Completion("A title", (), "stop", usage, PRICED), JUNE)


def save_summary(chat, usage):
    _write_summary(chat.pk, chat.user_id, _Older("", [], 1, is_untrusted=False), "Earlier.", PRICED, usage, JUNE)


@pytest.mark.parametrize("save", [save_title, save_summary])
def test_usage_is_counted_after_the_locks_that_a_new_turn_takes_first(save, as_trader):
    chat = ConversationFactory()
    note_usage(Usage(0, 0), PRICED, now=JUNE)

    with CaptureQueriesContext(connection) as queries:
        save(chat, Usage(1_000, 100))

    statements = [query["sql"] for query in queries]
    counts = [number for number, sql in enumerate(statements) if sql.startswith('UPDATE "usage_days"')]
    others = [n for n, sql in enumerate(statements) if "agent_conversations" in sql or "FOR NO KEY UPDATE" in sql]
    assert counts
    assert max(others, default=-1) < min(counts)
