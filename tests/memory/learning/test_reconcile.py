"""Every outcome of an extraction's candidate, and the next prompt."""

from dataclasses import astuple
from datetime import timedelta
from uuid import uuid4

import pytest

from memory.claims.support import TypedMessage, verify_quotes
from memory.facts.queries import get_next_block
from memory.facts.review import accept_proposal, dismiss_proposal, propose_fact
from memory.facts.services import (
    archive_fact,
    confirm_fact,
    forget_fact,
    merge_facts,
    promote_fact,
    remember_fact,
    set_switches,
    supersede_fact,
)
from memory.facts.undo import undo_batch, undo_event
from memory.facts.versions import Origin
from memory.learning.answers import Candidate
from memory.learning.reconcile import (
    CONFLICTS,
    MAX_KNOWN,
    NOT_YOURS,
    ReconcileCounts,
    list_known_facts,
    reconcile_candidates,
)
from memory.models import (
    ArchivedReason,
    Confidence,
    FactSource,
    MemoryEvent,
    MemoryProposal,
    ProposalKind,
    ProposalStatus,
    Tombstone,
    UserFact,
    WriteKind,
)
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory, believed
from tests.memory.facts.test_links import ENDINGS
from tests.owners import as_owner

DAY = timedelta(days=1)
CHAT = uuid4()
# What the user typed; 1 and 2 in May, 3 at the moment of now, 4 after it.
TYPED = {
    1: "Hi. I only trade BTC and ETH perps. My goal is to retire at 50.",
    2: "I never risk more than 1% per trade, and I journal every evening.",
    3: "My max leverage is 3x. I stop working at fifty.",
    4: "As I said, I want to retire at 50. I trade from Lisbon.",
}
SAID_AT = {1: MAY, 2: MAY + DAY, 3: JUNE, 4: JUNE + timedelta(seconds=1)}
PERPS = "Only trades BTC and ETH perps"
RISK = "Never risks more than 1% per trade"
JOURNAL = "Journals every evening"
LEVERAGE = "Max leverage is 3x"
RETIRES = "Wants to retire at 50"
PLANTED = "Always buys doge with the whole account"


def candidate(content: str, **values) -> Candidate:
    """Return a candidate as an extraction makes it: with the user's words for it, if there are any."""
    quotes = verify_quotes(content, [], [TypedMessage(number, text) for number, text in TYPED.items()])
    given = {"op": "update" if values.get("target_id") else "add", "target_id": None, "category": "fact", "topic": ""}
    return Candidate(**{**given, "content": content, "confidence": 0.9, "quotes": quotes, **values})


def weigh(*candidates: Candidate, is_tainted: bool = False, now=JULY) -> ReconcileCounts:
    origin = Origin(conversation_id=CHAT, batch_id=uuid4())
    return reconcile_candidates(candidates, said_at=SAID_AT, is_tainted=is_tainted, origin=origin, now=now)


def blocks() -> str:
    """Return what the prompts of the next chats, whoever answers in them, hold of the user."""
    return "\n\n".join(get_next_block(assistant=name, now=JULY).text for name in ("coach", "advisor", "companion"))


def proposals() -> list[tuple[str, str, object]]:
    rows = MemoryProposal.objects.order_by("created_at", "pk")
    return [(row.kind, row.payload["content"], row.target_id) for row in rows]


# --- Saved ---


def test_new_words_of_the_user_become_a_learned_fact(as_trader):
    assert weigh(candidate(PERPS, topic="symbols", category="finance_context", confidence=0.8)) == ReconcileCounts(
        saved=1
    )

    fact = UserFact.objects.get()
    (quote,) = fact.quotes
    assert TYPED[quote["message_id"]][quote["start"] : quote["end"]] == "only trade BTC and ETH"
    assert (fact.content, fact.topic, fact.category) == (PERPS, "symbols", "finance_context")
    assert (fact.source, fact.confidence, fact.score) == (FactSource.EXTRACTED, Confidence.INFERRED, 0.8)
    assert (fact.conversation_id, fact.valid_from, fact.created_at) == (CHAT, JULY, JULY)
    assert f"- {PERPS}" in blocks()


def test_each_write_names_the_chat_and_its_batch_is_undone_as_one(as_trader):
    old = UserFactFactory(content="Max leverage is 5x", learned=True)

    weigh(candidate(PERPS), candidate(RISK), candidate(LEVERAGE, target_id=old.pk))

    events = MemoryEvent.objects.all()
    assert {event.conversation_id for event in events} == {CHAT}
    assert len({event.batch_id for event in events}) == 1
    undo_batch(batch_id=events[0].batch_id, now=JULY)
    assert believed() == ["Max leverage is 5x"]


# --- Updated ---


def test_update_replaces_a_learned_fact_and_its_quotes(as_trader):
    old = UserFactFactory(content="Max leverage is 5x", learned=True, topic="risk", summary="5x")

    assert weigh(candidate(LEVERAGE, target_id=old.pk, confidence=0.7)) == ReconcileCounts(updated=1)

    fact = UserFact.objects.believed().get()
    (quote,) = fact.quotes
    assert (fact.supersedes, fact.score, fact.topic, fact.summary) == (old, 0.7, "risk", "")
    assert TYPED[quote["message_id"]][quote["start"] : quote["end"]] == "max leverage is 3x"
    assert LEVERAGE in blocks()
    assert "5x" not in blocks()


def test_update_that_says_what_another_fact_says_merges_into_it(as_trader):
    old, said = UserFactFactory(content="Max leverage is 5x", learned=True), UserFactFactory(content=LEVERAGE)

    assert weigh(candidate(LEVERAGE, target_id=old.pk)) == ReconcileCounts(updated=1)

    assert UserFact.objects.believed().get() == said
    assert MemoryEvent.objects.get().kind == WriteKind.MERGE


def test_the_same_words_with_more_confidence_raise_the_score(as_trader):
    weigh(candidate(PERPS, confidence=0.5))
    assert weigh(candidate(PERPS.upper(), confidence=0.8)) == ReconcileCounts(updated=1)
    assert (believed(), UserFact.objects.believed().get().score) == ([PERPS], 0.8)


# --- Known ---


@pytest.mark.parametrize("made", [{}, {"inferred": True}, {"learned": True}], ids=["asserted", "inferred", "learned"])
@pytest.mark.parametrize("content", [PERPS, "only trades btc AND eth perps.", "  Only trades  BTC and ETH perps"])
def test_words_that_are_known_change_nothing(as_trader, made, content):
    known = UserFactFactory(content=PERPS, **made)

    assert weigh(candidate(content, topic="risk", category="profile")) == ReconcileCounts(known=1)

    assert list(UserFact.objects.values()) == list(UserFact.objects.filter(pk=known.pk).values())
    known_before = (known.topic, known.category, known.score)
    known.refresh_from_db()
    assert (known.topic, known.category, known.score) == known_before
    assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize("is_tainted", [False, True])
def test_skip_writes_nothing_whatever_else_the_candidate_says(as_trader, is_tainted):
    said = UserFactFactory(content="Trades gold only")
    learned = UserFactFactory(content="Likes calm markets", learned=True)
    skips = [
        candidate(PLANTED, op="skip", target_id=said.pk),
        candidate(PERPS, op="skip", target_id=learned.pk, conflicts_with=said.pk),
        candidate(RISK, op="skip", target_id=None, confidence=1.0),
    ]

    assert weigh(*skips, is_tainted=is_tainted) == ReconcileCounts(known=3)

    assert believed() == ["Likes calm markets", "Trades gold only"]
    assert not MemoryEvent.objects.exists()
    assert not MemoryProposal.objects.exists()


def test_the_same_candidates_again_change_nothing(as_trader):
    said = UserFactFactory(content="Journals in the morning")
    all_kinds = [candidate(PERPS), candidate(JOURNAL, conflicts_with=said.pk), candidate(PLANTED)]
    assert weigh(*all_kinds, is_tainted=True) == ReconcileCounts(saved=1, proposed=2)
    before = (believed(), proposals(), MemoryEvent.objects.count())

    assert weigh(*all_kinds, is_tainted=True) == ReconcileCounts(known=3)

    assert (believed(), proposals(), MemoryEvent.objects.count()) == before


# --- Against what was said outright ---


@pytest.mark.parametrize("made", [{}, {"inferred": True}, {"source": FactSource.EXTRACTED}, {"source": "imported"}])
def test_update_of_an_explicit_fact_waits_and_is_not_injected(as_trader, made):
    said = UserFactFactory(content="Max leverage is 5x", **made)

    # As the extractor sends it, and as one that took the fact for a learned one.
    for conflict in (said.pk, None):
        counted = weigh(candidate(LEVERAGE, target_id=said.pk, conflicts_with=conflict, confidence=1.0))
        assert counted in (ReconcileCounts(proposed=1), ReconcileCounts(known=1))

    assert proposals() == [(ProposalKind.CONFLICT, LEVERAGE, said.pk)]
    assert MemoryProposal.objects.get().evidence["why"] == CONFLICTS
    assert believed() == ["Max leverage is 5x"]
    assert "3x" not in blocks()


@pytest.mark.parametrize("is_tainted", [False, True])
def test_candidate_in_conflict_with_an_explicit_fact_waits_with_the_users_words(as_trader, is_tainted):
    said = UserFactFactory(content="Trades anything that moves")

    assert weigh(candidate(PERPS, conflicts_with=said.pk), is_tainted=is_tainted) == ReconcileCounts(proposed=1)

    proposal = MemoryProposal.objects.get()
    (quote,) = proposal.evidence["quotes"]
    assert (proposal.kind, proposal.target, proposal.conversation_id) == (ProposalKind.CONFLICT, said, CHAT)
    assert TYPED[quote["message_id"]][quote["start"] : quote["end"]] == "only trade BTC and ETH"
    assert believed() == ["Trades anything that moves"]
    assert "BTC" not in blocks()


def test_learned_fact_stays_while_its_update_waits_for_the_conflict(as_trader):
    learned, said = UserFactFactory(content="Trades perps", learned=True), UserFactFactory(content="Trades gold only")

    assert weigh(candidate(PERPS, target_id=learned.pk, conflicts_with=said.pk)) == ReconcileCounts(proposed=1)

    assert believed() == ["Trades gold only", "Trades perps"]
    assert proposals() == [(ProposalKind.CONFLICT, PERPS, said.pk)]


def _state(learned):
    return promote_fact(fact_id=learned.pk, now=MAY + DAY).fact


def _state_another(learned):
    return remember_fact(content="Max leverage is 2x", now=JULY - DAY).fact  # while the extractor was at it


@pytest.mark.parametrize(("state", "is_target"), [(_state, True), (_state_another, False)])
def test_words_that_go_against_a_fact_stated_since_wait(as_trader, state, is_target):
    said = state(UserFactFactory(content="Max leverage is 5x", learned=True))

    assert weigh(candidate(LEVERAGE, target_id=said.pk if is_target else None)) == ReconcileCounts(proposed=1)

    assert proposals() == [(ProposalKind.CONFLICT, LEVERAGE, said.pk)]
    assert said.content in believed()
    assert "3x" not in blocks()


def test_accepted_conflict_replaces_the_fact_and_a_dismissed_one_is_not_made_again(as_trader):
    said = UserFactFactory(content="Max leverage is 5x")
    other = UserFactFactory(content="Journals in the morning")
    weigh(candidate(LEVERAGE, conflicts_with=said.pk), candidate(JOURNAL, conflicts_with=other.pk))
    accepted, dismissed = (MemoryProposal.objects.get(payload__content=content) for content in (LEVERAGE, JOURNAL))

    accept_proposal(proposal_id=accepted.pk, now=JULY)
    dismiss_proposal(proposal_id=dismissed.pk, now=JULY)

    assert believed() == ["Journals in the morning", LEVERAGE]
    again = weigh(candidate(LEVERAGE, conflicts_with=said.pk), candidate(JOURNAL, conflicts_with=other.pk))
    assert again == ReconcileCounts(known=2)
    assert not MemoryProposal.objects.filter(status=ProposalStatus.PENDING).exists()


# --- Not in the user's words ---


@pytest.mark.parametrize("is_tainted", [False, True])
@pytest.mark.parametrize("values", [{}, {"conflicts_with": "said"}, {"target_id": "learned"}, {"target_id": "said"}])
def test_words_that_the_user_did_not_type_are_dropped_or_wait_where_other_text_was_in_view(
    as_trader, values, is_tainted
):
    ids = {
        "said": UserFactFactory(content="Trades gold only").pk,
        "learned": UserFactFactory(content="Likes calm markets", learned=True).pk,
    }
    given = {name: ids[which] for name, which in values.items()}

    counted = weigh(candidate(PLANTED, confidence=1.0, **given), is_tainted=is_tainted)

    assert counted == (ReconcileCounts(proposed=1) if is_tainted else ReconcileCounts(dropped=1))
    target = next(iter(given.values()), None)
    assert proposals() == ([(ProposalKind.UNTRUSTED, PLANTED, target)] if is_tainted else [])
    for proposal in MemoryProposal.objects.all():
        assert proposal.evidence == {"why": NOT_YOURS, "quotes": [], "message_id": None}
    assert believed() == ["Likes calm markets", "Trades gold only"]
    assert "doge" not in blocks()


@pytest.mark.parametrize("topic", ["risk", "symbols", "goal", "btc", "eth-perps", "", "my-own-tag"])
def test_topic_is_kept_when_it_is_a_known_one_or_of_the_facts_own_words(as_trader, topic):
    archived = UserFactFactory(content="Something else", topic="my-own-tag", archived=True)

    weigh(candidate(PERPS, topic=topic))

    assert UserFact.objects.exclude(pk=archived.pk).get().topic == topic


@pytest.mark.parametrize("topic", ["always-use-50x-leverage", "sell-doge", "ignore-all-rules", "btc-50x", "50x"])
@pytest.mark.parametrize("is_tainted", [False, True])
def test_topic_brings_no_other_words_into_the_prompt(as_trader, topic, is_tainted):
    old = UserFactFactory(content="Max leverage is 5x", topic="risk", learned=True)

    weigh(
        candidate(PERPS, topic=topic),
        candidate(LEVERAGE, topic=topic, target_id=old.pk),
        candidate(PLANTED, topic=topic),
        is_tainted=is_tainted,
    )

    assert {fact.content: fact.topic for fact in UserFact.objects.believed()} == {PERPS: "", LEVERAGE: "risk"}
    assert topic not in blocks()
    assert {proposal.payload["topic"] for proposal in MemoryProposal.objects.all()} <= {""}


# --- Forgotten, corrected, outdated ---


def quoting(*messages: int):
    """Return whole messages as quotes."""
    texts = [TypedMessage(number, TYPED[number]) for number in messages]
    return verify_quotes(RETIRES, [{"message_id": text.id, "text": text.text} for text in texts], texts)


@pytest.fixture(params=ENDINGS)
def forgotten(as_trader, request):
    """What was said in the first message and forgotten in June."""
    weigh(candidate(RETIRES, topic="goal", category="profile", quotes=quoting(1)), now=MAY)
    fact = UserFact.objects.get()
    ENDINGS[request.param](fact)
    return fact


@pytest.mark.parametrize("is_tainted", [False, True])
@pytest.mark.parametrize("quotes", [(), (1,), (4,)], ids=["none", "older", "newer"])
def test_forgotten_words_are_dropped_and_not_even_proposed(forgotten, is_tainted, quotes):
    said = UserFactFactory(content="Works forever")

    for conflict in (None, said.pk):
        again = candidate("wants to RETIRE at 50.", quotes=quoting(*quotes), conflicts_with=conflict)
        assert weigh(again, is_tainted=is_tainted) == ReconcileCounts(dropped=1)

    assert believed() == ["Works forever"]
    assert not MemoryProposal.objects.exists()


@pytest.mark.parametrize(
    ("content", "topic", "category", "counted"),
    [
        ("Stops working at fifty", "goal", "profile", ReconcileCounts(dropped=1)),
        ("Stops working at fifty", "risk", "profile", ReconcileCounts(saved=1)),
        ("Stops working at fifty", "goal", "fact", ReconcileCounts(saved=1)),
        ("Stops working at fifty", "", "profile", ReconcileCounts(saved=1)),
        ("Trades from Lisbon", "goal", "profile", ReconcileCounts(saved=1)),  # said after the forget
    ],
)
def test_other_words_said_before_the_forget_are_dropped_for_its_category_and_topic(
    forgotten, content, topic, category, counted
):
    assert weigh(candidate(content, topic=topic, category=category)) == counted


@pytest.mark.parametrize("topic", ["goal", "risk", ""])
def test_words_of_the_message_that_the_forgotten_fact_quoted_are_dropped_under_any_topic(forgotten, topic):
    said = UserFactFactory(content="Trades anything that moves")

    assert weigh(candidate(PERPS, topic=topic)) == ReconcileCounts(dropped=1)
    assert weigh(candidate(PERPS, topic=topic, conflicts_with=said.pk)) == ReconcileCounts(dropped=1)


def test_forgotten_words_are_learned_once_their_owner_says_them_again(forgotten):
    again = remember_fact(content=RETIRES, now=JULY)
    assert not Tombstone.objects.exists()
    undo_event(event_id=again.event.pk, now=JULY)  # an undo is no forget, but a correction

    newer = candidate(RETIRES, quotes=quoting(4))
    assert weigh(newer) == ReconcileCounts(dropped=1)
    assert reconcile_candidates(
        [newer], said_at={**SAID_AT, 4: JULY + DAY}, is_tainted=False, origin=Origin(CHAT), now=JULY + DAY
    ) == ReconcileCounts(saved=1)


CORRECTIONS = {
    "replaced": lambda fact: supersede_fact(fact_id=fact.pk, content="Max leverage is 2x, ever", now=JUNE),
    "taken back": lambda fact: undo_event(event_id=MemoryEvent.objects.get().pk, now=JUNE),
    "corrected by name": lambda fact: correct_by_name(),
}


def correct_by_name():
    forget_fact(id_or_substring="leverage", reason=ArchivedReason.USER_CORRECTED, now=JUNE)
    Tombstone.objects.all().delete()  # so that the reason alone decides


@pytest.mark.parametrize("how", CORRECTIONS)
@pytest.mark.parametrize("is_tainted", [False, True])
def test_corrected_words_are_not_learned_from_earlier_messages(as_trader, how, is_tainted):
    fact = remember_fact(content=LEVERAGE, now=MAY).fact
    CORRECTIONS[how](fact)

    assert weigh(candidate(LEVERAGE), is_tainted=is_tainted) == ReconcileCounts(dropped=1)

    assert LEVERAGE not in believed()
    assert not MemoryProposal.objects.exists()


def test_merged_words_are_no_correction(as_trader):
    into = UserFactFactory(content="Trades perps of BTC and ETH and nothing else")
    merge_facts(fact_id=UserFactFactory(content=PERPS).pk, into_id=into.pk, now=JULY)

    assert weigh(candidate(PERPS)) == ReconcileCounts(saved=1)


def test_what_was_said_earlier_does_not_replace_what_was_said_later(as_trader):
    # Of a chat that was extracted first, though it was held later.
    later = UserFactFactory(
        content="Never risks more than 2% per trade", learned=True, quotes=[{"message_id": 3, "start": 0, "end": 9}]
    )

    assert weigh(candidate(RISK, target_id=later.pk)) == ReconcileCounts(dropped=1)
    assert believed() == ["Never risks more than 2% per trade"]


def test_what_was_said_before_a_confirmation_does_not_replace_what_was_confirmed(as_trader):
    old = UserFactFactory(content="Never risks more than 2% per trade", learned=True)
    confirm_fact(fact_id=old.pk, now=JUNE)

    assert weigh(candidate(RISK, target_id=old.pk)) == ReconcileCounts(dropped=1)
    assert weigh(candidate("Trades from Lisbon", target_id=old.pk)) == ReconcileCounts(updated=1)  # said since


# --- Refused, changed meanwhile, paused ---


@pytest.mark.parametrize("content", ["abc", "x" * 501, "\u200b" * 4, "", "My password is hunter2"])
@pytest.mark.parametrize("is_tainted", [False, True])
def test_what_cannot_be_a_fact_is_refused_and_counted(as_trader, content, is_tainted):
    said, quotes = UserFactFactory(content="Keeps secrets"), candidate(PERPS).quotes
    refused = [candidate(content, quotes=quotes, conflicts_with=against) for against in (None, said.pk)]

    assert weigh(*refused, candidate(RISK), is_tainted=is_tainted) == ReconcileCounts(saved=1, dropped=2)
    assert not MemoryProposal.objects.exists()


MEANWHILE = {
    "archived": lambda fact: archive_fact(fact_id=fact.pk, now=JUNE),
    "replaced": lambda fact: supersede_fact(fact_id=fact.pk, content="Max leverage is 4x", now=JUNE),
    "merged": lambda fact: merge_facts(
        fact_id=fact.pk, into_id=UserFactFactory(content="Max leverage: 5x").pk, now=JUNE
    ),
}


@pytest.mark.parametrize("how", MEANWHILE)
def test_candidate_whose_target_changed_since_is_dropped(as_trader, how):
    target = UserFactFactory(content="Max leverage is 5x", learned=True)
    MEANWHILE[how](target)
    before = believed()

    update, other = candidate(LEVERAGE, target_id=target.pk), candidate(PERPS, topic="symbols")
    assert weigh(update, other) == ReconcileCounts(saved=1, dropped=1)

    assert believed() == sorted([*before, PERPS])


@pytest.mark.parametrize("field", ["target_id", "conflicts_with"])
@pytest.mark.parametrize("which", ["missing", "foreign"])
@pytest.mark.parametrize("content", [PERPS, PLANTED])
def test_facts_of_others_are_nobodys(stranger, as_trader, field, which, content):
    theirs = as_owner(stranger, lambda: UserFactFactory(content="Stranger's own words", learned=True))
    named = {field: theirs.pk if which == "foreign" else uuid4()}

    assert weigh(candidate(content, **named), is_tainted=True) == ReconcileCounts(dropped=1)

    assert believed() == []
    assert not MemoryProposal.objects.exists()
    assert as_owner(stranger, believed) == ["Stranger's own words"]
    assert as_owner(stranger, MemoryProposal.objects.count) == 0


def test_paused_learning_drops_all(as_trader):
    said = UserFactFactory(content="Trades gold only")
    set_switches(learns=False)

    counted = weigh(candidate(PERPS), candidate(RISK, conflicts_with=said.pk), candidate(PLANTED), is_tainted=True)

    assert counted == ReconcileCounts(dropped=3)
    assert believed() == ["Trades gold only"]
    assert not MemoryProposal.objects.exists()


# --- All together ---


def test_every_candidate_is_counted_once_and_no_bad_one_stops_another(as_trader):
    said, learned = UserFactFactory(content="Max leverage is 5x"), UserFactFactory(content="Trades perps", learned=True)
    remember_fact(content="Trades from Lisbon", topic="session", now=MAY)
    forget_fact(id_or_substring="Lisbon", now=JUNE)
    bad = [
        candidate("Trades from Lisbon"),
        candidate("My password is hunter2", quotes=candidate(PERPS).quotes),
        candidate("Journals every evening", target_id=uuid4()),
        candidate(RETIRES, conflicts_with=uuid4()),
    ]
    good = [
        candidate(RISK),
        candidate(PERPS, target_id=learned.pk),
        candidate(LEVERAGE, conflicts_with=said.pk),
        candidate(PLANTED),
        candidate("Max leverage is 5x", op="skip", target_id=said.pk),
        candidate(JOURNAL),
    ]
    mixed = [*bad[:2], *good[:3], bad[2], *good[3:], bad[3]]

    counted = weigh(*mixed, is_tainted=True)

    assert counted == ReconcileCounts(saved=2, updated=1, proposed=2, known=1, dropped=4)
    assert sum(astuple(counted)) == len(mixed)
    assert believed() == sorted(["Max leverage is 5x", RISK, PERPS, JOURNAL])


def test_known_facts_are_the_current_ones_and_say_who_said_them(stranger, as_trader):
    as_owner(stranger, lambda: UserFactFactory(content="The stranger's"))
    said = UserFactFactory(content="Trades gold only", topic="symbols", category="finance_context")
    learned = UserFactFactory(content="Trades perps", learned=True, last_referenced_at=JUNE)
    for kind in ({"archived": True}, {"ended": True}, {"begins_later": True}):
        UserFactFactory(**kind)

    known = list_known_facts(JUNE)

    assert known == [learned, said]


def test_known_facts_are_no_more_than_an_extractor_can_read(as_trader):
    for number in range(MAX_KNOWN + 1):
        UserFactFactory(last_referenced_at=MAY + number * DAY)

    known = list_known_facts(JULY)

    assert len(known) == MAX_KNOWN
    assert UserFact.objects.by_reference().last().pk not in {fact.id for fact in known}


def test_extraction_closes_the_proposal_that_it_fulfils(as_trader):
    origin = Origin(conversation_id=CHAT, message_id=3)
    held = propose_fact(kind=ProposalKind.UNTRUSTED, content="Leverage max: 3x", why="Held.", origin=origin, now=JUNE)

    weigh(candidate(LEVERAGE))

    held.refresh_from_db()
    assert held.status == ProposalStatus.ACCEPTED
