"""The history of a fact."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from config.lib.text import WordRun, list_word_changes
from memory.facts.history import list_history
from memory.facts.queries import find_last_version
from memory.facts.services import archive_fact, confirm_fact, demote_fact, remember_fact, supersede_fact
from memory.facts.undo import undo_event
from tests.factories.memory import JUNE, MAY, UserFactFactory

DAY = timedelta(days=1)


def test_list_history_tells_versions_and_acts_in_order(as_trader):
    fact = remember_fact(content="max 5x on BTC", topic="risk", now=MAY).fact
    second = supersede_fact(fact_id=fact.pk, content="max 3x on BTC", now=MAY + DAY).fact
    confirm_fact(fact_id=second.pk, now=MAY + 2 * DAY)
    demoted = demote_fact(fact_id=second.pk, now=MAY + 3 * DAY)
    undo_event(event_id=demoted.event.pk, now=MAY + 4 * DAY)
    last = find_last_version(fact.pk)
    archive_fact(fact_id=last.pk, now=JUNE)

    history = list_history(fact.lineage)

    assert [entry.label for entry in history] == [
        "Memory saved",
        "Memory updated",
        "Memory confirmed",
        "Memory marked as inferred",
        "Brought back by an undo",
        "Memory archived",
    ]
    assert [entry.version and entry.version.content for entry in history] == [
        "max 5x on BTC",
        "max 3x on BTC",
        None,
        "max 3x on BTC",
        "max 3x on BTC",
        None,
    ]
    assert history[1].words == [
        WordRun("kept", "max"),
        WordRun("removed", "5x"),
        WordRun("added", "3x"),
        WordRun("kept", "on BTC"),
    ]
    assert ("Confidence", "You said so", "Inferred") in history[3].changes
    assert history[3].event.undone_at == MAY + 4 * DAY
    assert [entry.words for entry in history if entry is not history[1]] == [[]] * 5


def test_list_history_names_what_a_fact_was_merged_into(as_trader):
    kept = UserFactFactory(content="trades BTC only")
    merged = UserFactFactory(content="trades bitcoin only")
    supersede_fact(fact_id=merged.pk, content="trades BTC only", now=JUNE)

    history = list_history(merged.lineage)

    assert [entry.label for entry in history] == ["Memory saved", "Memory merged"]
    assert (history[1].event.kind, history[1].event.after) == ("merge", kept)


def test_list_history_takes_two_queries(as_trader, django_assert_num_queries):
    fact = UserFactFactory()
    for number in range(5):
        fact = supersede_fact(fact_id=fact.pk, content=f"version {number}", now=JUNE + number * DAY).fact

    with django_assert_num_queries(2):
        list_history(fact.lineage)


LINES = st.lists(st.sampled_from(["a", "b", "c", "dd", "5x"]), max_size=12).map(" ".join)


@given(LINES, LINES)
def test_list_word_changes_contains_both_lines(old, new):
    runs = list_word_changes(old, new)

    assert " ".join(run.text for run in runs if run.kind != "added") == old
    assert " ".join(run.text for run in runs if run.kind != "removed") == new
