from datetime import timedelta

import pytest

from memory.facts.queries import FactCounts, FactFilter, count_facts, list_facts, list_shown_facts, list_topics
from memory.facts.services import archive_fact, supersede_fact
from memory.models import ArchivedReason
from tests.factories.memory import JUNE, MAY, UserFactFactory

DAY = timedelta(days=1)


def contents(wanted: FactFilter) -> list[str]:
    return [shown.fact.content for shown in list_facts(wanted, page=1, now=JUNE).facts]


def test_list_facts_lists_what_is_not_archived_whether_it_holds_now_or_not(as_trader, strangers_fact):
    UserFactFactory(content="holds now")
    UserFactFactory(content="ended before", ended=True)
    UserFactFactory(content="begins after", begins_later=True)
    UserFactFactory(content="is archived", archived=True)

    assert sorted(contents(FactFilter())) == ["begins after", "ended before", "holds now"]


def test_list_facts_lists_an_archived_fact_once_in_its_last_version(as_trader, strangers_fact):
    UserFactFactory(content="still believed")
    first = UserFactFactory(content="first words")
    second = supersede_fact(fact_id=first.pk, content="second words", now=JUNE).fact
    archive_fact(fact_id=second.pk, now=JUNE)

    page = list_facts(FactFilter(shelf="archived", order="archived"), page=1, now=JUNE)

    assert [shown.fact.content for shown in page.facts] == ["second words"]
    assert page.facts[0].fact.archived_reason == ArchivedReason.USER_ARCHIVED


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(FactFilter(words="BTC"), ["Trades BTC only"], id="a word, without case"),
        pytest.param(FactFilter(words="only trades"), ["Trades BTC only"], id="all words, in any order"),
        pytest.param(FactFilter(words="btc zebra"), [], id="one word is missing"),
        pytest.param(FactFilter(words="risk"), ["Never above 5%"], id="a word of the topic"),
        pytest.param(FactFilter(words="5%"), ["Never above 5%"], id="a wildcard of the database"),
        pytest.param(FactFilter(words="_"), [], id="another wildcard"),
        pytest.param(FactFilter(source="profile"), ["Wants Grüße short"], id="source"),
        pytest.param(FactFilter(confidence="inferred"), ["Trades BTC only"], id="confidence"),
        pytest.param(FactFilter(category="profile"), ["Never above 5%"], id="category"),
        pytest.param(FactFilter(topic="risk"), ["Never above 5%"], id="topic"),
        pytest.param(FactFilter(topic=""), ["Wants Grüße short"], id="without a topic"),
        pytest.param(FactFilter(words="GRÜSSE"), ["Wants Grüße short"], id="folded beyond ASCII"),
        pytest.param(FactFilter(words="btc", topic="risk"), [], id="all filters together"),
    ],
)
def test_list_facts_with_a_filter_returns_matching_facts(as_trader, wanted, expected):
    UserFactFactory(content="Trades BTC only", topic="symbols", inferred=True)
    UserFactFactory(content="Never above 5%", topic="risk", category="profile")
    UserFactFactory(content="Wants Grüße short", source="profile")

    assert contents(wanted) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("referenced", ["Beta", "Älter", "alpha"]),
        ("newest", ["alpha", "Beta", "Älter"]),
        ("oldest", ["Älter", "Beta", "alpha"]),
        ("topic", ["alpha", "Älter", "Beta"]),
        ("archived", ["Älter", "alpha", "Beta"]),
    ],
)
def test_list_facts_with_an_order_returns_sorted_facts(as_trader, order, expected):
    gone = {"archived_reason": ArchivedReason.UNDONE}
    UserFactFactory(content="Älter", topic="b", learned_at=MAY, last_referenced_at=MAY + DAY, archived_at=JUNE, **gone)
    UserFactFactory(
        content="Beta", learned_at=MAY + DAY, last_referenced_at=MAY + 2 * DAY, archived_at=MAY + 5 * DAY, **gone
    )
    UserFactFactory(
        content="alpha", topic="a", learned_at=MAY + 2 * DAY, last_referenced_at=MAY, archived_at=JUNE - DAY, **gone
    )

    assert contents(FactFilter(shelf="archived", order=order)) == expected


def test_list_facts_takes_as_many_queries_for_one_fact_as_for_many(as_trader, django_assert_num_queries):
    UserFactFactory.create_batch(30)

    with django_assert_num_queries(5):  # how many, the page; the coach's block: rules, count, others
        list_facts(FactFilter(), page=1, now=JUNE)


def test_list_as_shown_marks_the_ten_that_the_next_chat_starts_with(as_trader):
    facts = [UserFactFactory(last_referenced_at=MAY + timedelta(hours=hour)) for hour in range(12)]

    shown = list_shown_facts(facts, JUNE)

    assert [one.is_in_block for one in shown] == [False, False, *[True] * 10]


@pytest.mark.parametrize(
    ("unused_for", "confirmed_before", "is_stale", "is_affirmed"),
    [
        pytest.param(59 * DAY, None, False, False, id="used not long ago"),
        pytest.param(60 * DAY, None, True, False, id="unused for 60 days"),
        pytest.param(60 * DAY, 59 * DAY, True, True, id="unused, but confirmed since"),
        pytest.param(200 * DAY, 60 * DAY, True, False, id="confirmed too long ago"),
    ],
)
def test_list_as_shown_tells_what_is_stale(as_trader, unused_for, confirmed_before, is_stale, is_affirmed):
    confirmed_at = confirmed_before and JUNE - confirmed_before
    fact = UserFactFactory(last_referenced_at=JUNE - unused_for, last_confirmed_at=confirmed_at)

    (shown,) = list_shown_facts([fact], JUNE)

    assert (shown.is_stale, shown.is_affirmed) == (is_stale, is_affirmed)


@pytest.mark.parametrize(
    ("traits", "has_begun", "has_ended"),
    [({}, True, False), ({"ended": True}, True, True), ({"begins_later": True}, False, False)],
    ids=["holds", "ended", "begins later"],
)
def test_list_as_shown_tells_when_it_holds(as_trader, traits, has_begun, has_ended):
    (shown,) = list_shown_facts([UserFactFactory(**traits)], JUNE)

    assert (shown.has_begun, shown.has_ended) == (has_begun, has_ended)


def test_count_facts_counts_each_lineage_once(as_trader, strangers_fact):
    supersede_fact(fact_id=UserFactFactory().pk, content="corrected", now=JUNE)
    UserFactFactory(archived=True, topic="tax", left_document_at=MAY)
    UserFactFactory(ended=True, left_document_at=MAY)
    UserFactFactory(archived=True, trashed_at=MAY)
    UserFactFactory(topic="risk", left_document_at=MAY)

    assert count_facts(JUNE) == FactCounts(believed=3, archived=1, trashed=1, outside=1, topics=["risk", "tax"])


def test_list_topics_lists_each_topic_in_use_once(as_trader, strangers_fact):
    for topic in ("risk", "", "goal", "risk"):
        UserFactFactory(topic=topic)
    UserFactFactory(topic="tax", archived=True)

    assert list_topics() == ["goal", "risk", "tax"]
