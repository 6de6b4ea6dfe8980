"""New statements beside known facts: superseded at once, asked about once, or known already."""

import inspect
import sys
from collections import Counter
from types import FrameType

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.claims.claims import read_claims
from memory.claims.subjects import read_subject
from memory.claims.validity import read_validity, strip_dates
from memory.facts.conflicts import list_clashes, list_conflicts
from memory.models import ArchivedReason, MemoryProposal, ProposalStatus, UserFact
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.chat import MessageFactory
from tests.factories.memory import UserFactFactory
from trading.models import TradingRule

SAVES = [
    ("coach", "remember", "fact", {}),
    ("advisor", "save_preference", "content", {"category": "fact"}),
    ("companion", "manage_user_memory", "content", {"operation": "add_fact"}),
]


def current():
    return sorted(UserFact.objects.current(NOW).values_list("content", flat=True))


def save(user, case, text, typed):
    assistant, tool, argument, more = case
    box = Toolbox(user, assistant, typed)
    return box.call(tool, **{argument: text, **more}), box


@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
def test_save_of_a_new_value_supersedes_the_old_one_and_names_it(as_trader, case):
    old = UserFactFactory(content="My max leverage is 5x", topic="risk")

    result, _ = save(as_trader, case, "My max leverage is 3x", "My max leverage is 3x")

    old.refresh_from_db()
    assert (current(), old.archived_reason) == (["My max leverage is 3x"], ArchivedReason.SUPERSEDED)
    assert result["replaced"] == "My max leverage is 5x"
    assert (result["memoryEvent"]["kind"], UserFact.objects.current(NOW).get().topic) == ("update", "risk")


@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
@pytest.mark.parametrize(
    ("known", "said"),
    [
        ("I trade BTC and ETH only", "I only trade BTC and ETH"),
        ("I never use more than 3x", "I never use more than 3x"),
    ],
)
def test_save_of_the_same_meaning_changes_nothing(as_trader, case, known, said):
    UserFactFactory(content=known, **({"topic": "calm", "category": "fact"} if case is not SAVES[0] else {}))
    before = list(UserFact.objects.values("id", "content", "topic"))

    result, _ = save(as_trader, case, said, said)

    assert list(UserFact.objects.values("id", "content", "topic")) == before
    assert "memoryEvent" not in result


@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
@pytest.mark.parametrize(
    ("answer", "left"),
    [("Yes, it replaces that.", ["I trade alts"]), ("Both hold.", ["I never trade alts", "I trade alts"])],
)
def test_save_that_may_contradict_is_asked_about_once(as_trader, case, answer, left):
    _, tool, argument, more = case
    UserFactFactory(content="I never trade alts")
    asked, box = save(as_trader, case, "I trade alts", "I trade alts")

    assert "Does it replace that, or do both hold?" in asked["note"]
    assert asked["conflicts_with"]["fact"] == "I never trade alts"
    assert current() == ["I never trade alts"]
    waiting = MemoryProposal.objects.get()

    MessageFactory(conversation=box.conversation, content=answer)
    result = box.call(tool, **{argument: "I trade alts", **more})

    waiting.refresh_from_db()
    assert "memoryEvent" in result
    assert (current(), waiting.status) == (left, ProposalStatus.DISMISSED)
    assert list_clashes(NOW) == []  # the page does not ask again


def test_save_of_older_words_with_untrusted_text_in_view_replaces_nothing(as_trader):
    UserFactFactory(content="My max leverage is 3x")
    box = Toolbox(as_trader, "coach", "My max leverage is 10x", "No, it is 3x. News?", is_untrusted=True)

    assert "held_for_review" in box.call("remember", fact="My max leverage is 10x")
    assert current() == ["My max leverage is 3x"]


def test_forget_and_remember_of_a_limit_in_one_message_are_one_update(as_trader):
    old = UserFactFactory(content="My stop is 2 %")
    box = Toolbox(as_trader, "coach", "Forget my stop, it's 1.5 % now")

    box.call("forget", fact_id="My stop")
    box.call("remember", fact="My stop is 1.5 %")

    new = UserFact.objects.current(NOW).get()
    assert (new.content, new.lineage) == ("My stop is 1.5 %", old.lineage)


def test_forget_of_everything_about_a_subject_ends_each_of_its_facts(as_trader):
    for content in ("I never trade SOL", "I hold SOL for the long run", "I trade BTC only"):
        UserFactFactory(content=content)
    box = Toolbox(as_trader, "coach", "Forget everything about SOL")

    for candidate in box.call("forget", fact_id="SOL")["candidates"]:
        box.call("forget", fact_id=candidate["fact_id"])

    assert [fact.content for fact in UserFact.objects.current(NOW)] == ["I trade BTC only"]


FIVE = [
    *("I only trade BTC and ETH", "I trade on Kraken", "I risk at most 1% per trade"),
    *("My max leverage is 3x", "I live in Lisbon"),
]


@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
@pytest.mark.parametrize("untrusted", [False, True], ids=["clean", "untrusted"])
def test_five_facts_of_one_sentence_are_all_saved(as_trader, case, untrusted):
    assistant, tool, argument, more = case
    typed = (
        "I only trade BTC and ETH, I trade on Kraken, I risk at most 1% per trade, my max leverage is 3x"
        " and I live in Lisbon. Any news?"
    )
    box = Toolbox(as_trader, assistant, typed, is_untrusted=untrusted)

    results = [box.call(tool, **{argument: text, **more}) for text in FIVE]

    assert all("memoryEvent" in result for result in results)
    assert current() == sorted(FIVE)


@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
@pytest.mark.parametrize("untrusted", [False, True], ids=["clean", "untrusted"])
def test_update_in_a_second_clause_replaces_its_subject_alone(as_trader, case, untrusted):
    assistant, tool, argument, more = case
    for text in ("I only trade BTC", "I trade on Binance"):
        UserFactFactory(content=text)
    box = Toolbox(
        as_trader,
        assistant,
        "I still only trade BTC, but I moved from Binance to Kraken. Any news?",
        is_untrusted=untrusted,
    )

    result = box.call(tool, **{argument: "I moved from Binance to Kraken", **more})

    assert result["replaced"] == "I trade on Binance"
    assert current() == ["I moved from Binance to Kraken", "I only trade BTC"]


def test_save_of_a_rule_is_read_at_once(as_trader):
    result, box = save(as_trader, SAVES[0], "My max leverage is 5x", "My max leverage is 5x")
    assert [row.payload["limit"] for row in TradingRule.objects.all()] == ["5"]

    MessageFactory(conversation=box.conversation, content="Forget that my max leverage is 5x")
    box.call("forget", fact_id=result["fact_id"])

    assert not TradingRule.objects.exists()  # forgotten at once, it never held


@pytest.mark.parametrize(
    ("old", "new"),
    [("My max leverage is 5x", "My max leverage is 3x"), ("I trade on Binance", "I moved from Binance to Kraken")],
    ids=["rule", "no rule"],
)
@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
def test_save_that_replaces_a_fact_takes_fifteen_statements(as_trader, case, old, new, django_assert_max_num_queries):
    """The ends of the transaction and what keeps the rules in step are counted."""
    UserFactFactory(content=old)
    assistant, tool, argument, more = case
    box = Toolbox(as_trader, assistant, new)
    of_postgresql = 2 if connection.features.has_select_for_update else 0  # the owner of its policies, the lock

    with django_assert_max_num_queries(15 + of_postgresql):
        result = box.call(tool, **{argument: new, **more})

    assert result["replaced"] == old


def test_save_reads_each_text_once_and_lists_conflicts_once(as_trader):
    UserFactFactory(content="My max leverage is 5x")
    box = Toolbox(as_trader, "coach", "My max leverage is 3x until July")
    codes = {inspect.unwrap(read).__code__ for read in (read_claims, strip_dates, read_validity, list_conflicts)}
    calls: Counter[tuple[str, str]] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls[frame.f_code.co_name, frame.f_locals["text"]] += 1

    for cached in (read_claims, strip_dates, read_subject):
        cached.cache_clear()
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        box.call("remember", fact="My max leverage is 3x until July")
    finally:
        sys.setprofile(before)

    assert {name for name, _ in calls} == {"read_claims", "strip_dates", "read_validity", "list_conflicts"}
    assert set(calls.values()) == {1}


@pytest.mark.parametrize("case", SAVES, ids=lambda case: case[1])
def test_save_closes_the_proposal_that_it_fulfils(as_trader, case):
    assistant, tool, argument, more = case
    box = Toolbox(as_trader, assistant, "Any news?")
    box.window.note("News")
    box.call(tool, **{argument: "Trades the London session", **more})
    proposal = MemoryProposal.objects.get()
    assert proposal.evidence["in_view"] == ["News"]

    said = Toolbox(as_trader, assistant, "I trade the London session", conversation=box.conversation)
    said.call(tool, **{argument: "Trades the London session", **more})

    proposal.refresh_from_db()
    assert proposal.status == ProposalStatus.ACCEPTED


def test_forget_reads_what_the_user_typed_once(as_trader):
    UserFactFactory(content="I trade alts")
    box = Toolbox(as_trader, "coach", "Hello", "Forget that I trade alts.")

    with CaptureQueriesContext(connection) as sent:
        assert "memoryEvent" in box.call("forget", fact_id="I trade alts")

    assert sum('FROM "agent_messages"' in query["sql"] for query in sent.captured_queries) == 1


@pytest.mark.parametrize(
    ("old", "said", "line"),
    [
        ("My max leverage is 5x", "I'm cutting my max leverage to 3x from today", "Lev cap: 3x"),
        ("I risk 1% per trade", "From now on I risk only 0.5% per trade", "R/T 0.5%"),
        ("I live in Lisbon", "We have moved, I live in Porto now", "Base: Porto"),
        ("My daily loss limit is 3%", "My daily loss limit is 2% now", "DLL 2%"),
    ],
)
def test_line_without_a_subject_of_its_own_is_stored_as_the_sentence_that_has_one(as_trader, old, said, line):
    known = UserFactFactory(content=old)

    result = Toolbox(as_trader, "coach", said).call("remember", fact=line)

    assert result["replaced"] == old
    known.refresh_from_db()
    assert known.archived_reason == ArchivedReason.SUPERSEDED


def test_line_with_less_than_its_sentence_stays_as_it_is(as_trader):
    said = "My max leverage is 3x since I blew up twice"

    result = Toolbox(as_trader, "coach", said).call("remember", fact="Blew up twice")

    assert result["saved"] == "Blew up twice"
