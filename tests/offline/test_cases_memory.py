"""The sets of lasting facts, passing remarks and changes, by the rules and the real tools."""

from datetime import UTC, datetime

import pytest

from chat.tools import TOOLS
from config.lib.text import normal_form
from memory.facts.services import remember_fact
from memory.models import UserFact
from offline.statements import read_statements
from tests.offline.real import RealChat
from tests.offline.sets import SETS

NOW = datetime(2026, 11, 22, 9, 30, tzinfo=UTC)


def kept(message):
    return [normal_form(statement.text) for statement in read_statements(message)]


def is_kept_right(row):
    message, _, text = row.partition(" | ")
    return kept(message) == [normal_form(text or message)]


def tell(user, text):
    """Say a text to the coach, with the facts there are; return what is known afterwards."""
    RealChat(user, TOOLS["coach"], NOW).say(text)
    return {normal_form(fact.content) for fact in UserFact.objects.current(NOW)}


def is_changed_right(user, row):
    before, text, after = (part.strip() for part in row.split(" => "))
    UserFact.objects.all().delete()
    for fact in before.split(" / "):
        remember_fact(content=fact, topic="", confidence="asserted", source="chat", now=NOW)
    known = tell(user, text)
    readings = [{normal_form(fact) for fact in one.split(" / ") if fact != "-"} for one in after.split(" || ")]
    return known in readings, sorted(known)


halves = pytest.mark.parametrize("half", [0, 1], ids=["tuned", "unseen"])


@halves
@pytest.mark.parametrize(
    ("name", "most"), [("ordinary: statements", 12), ("typed: typed statements", 6), ("memory: lasting", 6)]
)
def test_statements_are_kept_in_the_users_words(name, most, half):
    missed = [row for row in SETS[name][half::2] if not is_kept_right(row)]

    assert len(missed) <= most, missed


@halves
@pytest.mark.parametrize(
    ("name", "most"), [("ordinary: remarks", 3), ("typed: typed remarks", 1), ("memory: passing", 1)]
)
def test_remarks_are_not_kept(name, most, half):
    saved = [row for row in SETS[name][half::2] if kept(row)]

    assert len(saved) <= most, saved


@halves
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "most"),
    # Some of them the memory's gate refuses, since the words do not name what they end.
    [("ordinary: value changes", 2), ("typed: typed changes", 2), ("typed: more changes", 1), ("memory: changes", 2)],
)
def test_changes_leave_what_is_expected(name, most, half, trader, as_trader):
    found = [(row, *is_changed_right(trader, row)) for row in SETS[name][half::2]]

    wrong = [(row, known) for row, is_right, known in found if not is_right]
    assert len(wrong) <= most, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("is_right", "statements", "remarks", "least", "most"),
    [
        (kept, "memory: more lasting", "memory: more passing", 0.9, 0),
        (is_kept_right, "ordinary: more statements", "ordinary: more remarks", 0.8, 0.05),
    ],
)
def test_later_statements_and_remarks_are_told_apart(is_right, statements, remarks, least, most):
    assert len([row for row in SETS[statements] if is_right(row)]) >= least * len(SETS[statements])
    assert len([row for row in SETS[remarks] if kept(row)]) <= most * len(SETS[remarks])


@pytest.mark.django_db
def test_later_changes_leave_what_is_expected(trader, as_trader):
    rows = SETS["typed: later changes"]

    assert len([row for row in rows if is_changed_right(trader, row)[0]]) >= 0.7 * len(rows)


def test_questions_without_a_mark_are_no_facts():
    questions = [row.partition(" | ")[0].rstrip("?") for row in SETS["questions: questions"]]

    assert [question for question in questions if kept(question)] == []


@pytest.mark.parametrize(
    "text", ["The button does nothing for me", "Nothing on my page loads", "My BTC long is at risk"]
)
def test_complaints_about_the_page_are_no_facts(text):
    assert kept(text) == []


@pytest.mark.django_db
@pytest.mark.parametrize("assistant", ["coach", "advisor", "companion"])
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("Trades BTC and ETH perps only, no alts", "I trade BTC and ETH only"),
        ("I only trade BTC and ETH", "I trade BTC and ETH only"),
        ("I avoid trading on Fridays", "I never trade on Fridays"),
        ("My max leverage is 3x", "I keep leverage at 3x or less"),
    ],
)
def test_fact_said_again_in_other_words_is_known_already(known, said, assistant, trader, as_trader):
    remember_fact(content=known, topic="", confidence="asserted", source="chat", now=NOW)

    told = RealChat(trader, TOOLS[assistant], NOW).say(said)

    assert f"I knew this already: **{known}**" in told
    assert [fact.content for fact in UserFact.objects.current(NOW)] == [known]


@pytest.mark.django_db
def test_new_value_of_a_subject_is_told_as_a_change(trader, as_trader):
    remember_fact(content="I only trade BTC and ETH", topic="", confidence="asserted", source="chat", now=NOW)

    told = RealChat(trader, TOOLS["coach"], NOW).say("Remember that I only trade BTC and SOL")

    assert "I have changed: **I only trade BTC and ETH** to **I only trade BTC and SOL**" in told
