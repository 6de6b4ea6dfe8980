"""Races between processes, which only the database can decide."""

import os
from collections import Counter
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection

from chat.endings.closing import ClosingOutcome
from chat.models import Conversation, ConversationStatus, Message
from config.lib.owned import owned, owned_tx
from memory.facts.services import remember_fact, supersede_fact
from memory.facts.undo import UndoRefused, undo_event
from memory.facts.versions import FactChanged, FactWrite
from memory.models import ArchivedReason, MemoryEvent, UserFact, WriteKind
from tests.chat.closings import make_chat
from tests.factories.memory import JULY, JUNE, UserFactFactory
from tests.factories.trading import TraderFactory
from tests.racing import PROCESSES, close_chat, racers_at, write

pytestmark = [
    pytest.mark.race,
    pytest.mark.processes,
    pytest.mark.django_db(transaction=True),
    pytest.mark.xdist_group("racing"),  # one set of processes serves all
]

RACERS = 20
ROUNDS = 4
TYPED = "I only trade BTC and ETH perps."


def moment(number):
    """The clocks of processes never agree to the millisecond."""
    return JULY + timedelta(milliseconds=(number * 7) % RACERS)


@pytest.fixture(scope="module")
def racers(django_db_setup, tmp_path_factory):
    """The processes, on the test's database."""
    with racers_at(str(connection.settings_dict["NAME"]), tmp_path_factory.mktemp("racing")) as racers:
        yield racers


@pytest.fixture
def traders(db):
    """A user for each round, who knows nothing yet."""
    return TraderFactory.create_batch(ROUNDS)


def test_acts_are_done_by_processes_of_their_own(racers):
    ids = set(racers.race(*[os.getpid] * RACERS))

    assert len(ids) == PROCESSES
    assert os.getpid() not in ids


def test_what_nobody_foresaw_is_told_with_its_traceback(racers):
    with pytest.raises(AssertionError, match=r"1 of 2 broke:[\s\S]*ValueError: invalid literal"):
        racers.race(os.getpid, partial(int, "x"))


def test_twenty_closes_at_once_extract_once(traders, racers):
    for trader in traders:
        with owned_tx(trader):
            chat = make_chat((TYPED, "Noted."))
            newest = Message.objects.order_by("-pk").first().pk

        outcomes = racers.race(*[partial(close_chat, trader.pk, chat.pk)] * RACERS)

        assert Counter(outcomes) == {ClosingOutcome.IDLE: 1, ClosingOutcome.NOT_NEEDED: RACERS - 1}
        assert racers.extracted.count(newest) == 1
        with owned(trader):
            assert UserFact.objects.get().content == TYPED
            assert MemoryEvent.objects.count() == 1
            row = Conversation.objects.get()
            assert (row.status, row.extracted_through) == (ConversationStatus.IDLE, newest)


def test_one_of_twenty_supersedes_wins_and_the_others_are_told(traders, racers):
    for trader in traders:
        with owned_tx(trader):
            fact = UserFactFactory(content="Retires at 50")
        change = partial(write, trader.pk, supersede_fact, fact_id=fact.pk)

        results = racers.race(*[partial(change, content=f"Retires at {51 + n}", now=moment(n)) for n in range(RACERS)])

        assert Counter(map(type, results)) == {FactWrite: 1, FactChanged: RACERS - 1}
        winner = next(result for result in results if isinstance(result, FactWrite))
        with owned(trader):
            assert list(UserFact.objects.believed()) == [winner.fact]
            assert list(MemoryEvent.objects.all()) == [winner.event]
            assert UserFact.objects.count() == 2


def test_twenty_identical_saves_leave_one_row_and_one_event(traders, racers):
    words = ["Never trades alts", "never trades ALTS."]
    for trader in traders:
        save = partial(write, trader.pk, remember_fact, topic="symbols")

        results = racers.race(*[partial(save, content=words[n % 2], now=moment(n)) for n in range(RACERS)])

        with owned(trader):
            row = UserFact.objects.get()
            event = MemoryEvent.objects.get()
        assert [result.fact for result in results] == [row] * RACERS
        assert [result.event for result in results if result.event] == [event]
        assert event.kind == WriteKind.SAVE


def save() -> FactWrite:
    return remember_fact(content="Retires at 50", now=JUNE)


def update() -> FactWrite:
    return supersede_fact(fact_id=save().fact.pk, content="Retires at 55", now=JUNE)


@pytest.mark.parametrize(("event_of", "restored"), [(save, []), (update, ["Retires at 50"])], ids=["save", "update"])
def test_undo_of_an_event_and_a_supersede_of_its_fact_never_both_act(traders, racers, event_of, restored):
    half = RACERS // 2
    undo_won = {MemoryEvent: half, FactChanged: half}
    supersede_won = {FactWrite: 1, FactChanged: half - 1, UndoRefused: half}
    for trader in traders:
        with owned_tx(trader):
            written = event_of()
            closed = list(UserFact.objects.exclude(pk=written.fact.pk).values())
        undo = partial(write, trader.pk, undo_event, event_id=written.event.pk)
        change = partial(write, trader.pk, supersede_fact, fact_id=written.fact.pk)

        results = racers.race(
            *[
                act
                for n in range(half)
                for act in (
                    partial(undo, now=moment(n)),
                    partial(change, content=f"Retires at {60 + n}", now=moment(n)),
                )
            ]
        )

        assert Counter(map(type, results)) in (undo_won, supersede_won)
        changed = [result.fact.content for result in results if isinstance(result, FactWrite)]
        with owned(trader):
            assert [row.content for row in UserFact.objects.believed()] == (changed or restored)
            assert list(UserFact.objects.filter(pk__in=[row["id"] for row in closed]).values()) == closed
            old = UserFact.objects.get(pk=written.fact.pk)
            assert old.archived_reason == (ArchivedReason.SUPERSEDED if changed else ArchivedReason.UNDONE)
            assert UserFact.objects.count() == 1 + len(closed) + len(changed or restored)
            assert MemoryEvent.objects.filter(undone_at__isnull=False).exists() == (not changed)
