"""A changed limit never vanishes: while its new line waits, the old one holds, in whatever order a model calls."""

import pytest

from memory.facts.review import accept_proposal, dismiss_proposal
from memory.models import MemoryProposal, ProposalStatus, UserFact
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.memory import UserFactFactory

# The fact, what the user types, and how a model words the new line: never as they typed it, so that it waits while
# text of others is in view.
CHANGES = [
    ("My max leverage is 3x", "Actually, make my leverage limit 2x from now on.", "I keep leverage at 2x or less"),
    ("I risk at most 1% per trade", "Lower my risk per trade to 0.5% now.", "Never risks above half a percent"),
    ("I never lose more than 3% a day", "My daily loss limit is 2% now.", "Stops for the day after losing 2%"),
    ("3x is my ceiling", "Change my ceiling to 2x.", "Leverage stays below 2x"),
    ("At most 3 open positions", "From now on at most 2 open positions.", "Holds two positions at the same time"),
    ("I trade from 9 to 17 UTC", "I now trade from 8 to 12 UTC.", "Trading hours are mornings, 8 to 12"),
    ("I trade on Binance", "I moved from Binance to Kraken.", "Uses Kraken as the exchange these days"),
    ("My stop is always 2%", "My stop is 1.5% now instead of 2%.", "Places stops 1.5% away from entries"),
    ("No trades after 20:00", "No trades after 18:00 from now on.", "Stops trading at six in the evening"),
    ("I only trade BTC and ETH", "I only trade BTC now, no ETH any more.", "Restricts trading to BTC"),
    ("At most 5 trades a day", "At most 3 trades a day from now on.", "Maximum of three entries daily"),
    ("I stop after 3 losses in a row", "Now I stop after 2 losses in a row.", "Pauses after two losers"),
    ("My base currency is USD", "My base currency is EUR now.", "Accounts are kept in euros"),
    ("Max drawdown is 10%", "Max drawdown is 8% now.", "Allows eight percent below the peak"),
    ("Position size is at most 20%", "Position size is at most 10% now.", "Limits each position to a tenth"),
    ("I plan to retire at 55", "Actually, I plan to retire at 60 now.", "Retirement goal is sixty"),
    ("I hold trades for 2 days at most", "I hold trades for 1 day at most now.", "Closes within a day"),
    ("I withdraw profits every month", "Now I withdraw profits every quarter.", "Takes gains out quarterly"),
]
# Of this one the gate does not see that the message means the fact, and refuses its end.
NOT_NAMED = {"3x is my ceiling"}
ORDERS = {
    "forget, save": ("forget", "save"),
    "save, forget": ("save", "forget"),
    "forget, save, forget": ("forget", "save", "forget"),
    "save, save, forget": ("save", "save", "forget"),
    "forget, save, save": ("forget", "save", "save"),
}
FACES = {
    "coach": (
        lambda fact: ("forget", {"fact_id": str(fact.pk)}),
        lambda line: ("remember", {"fact": line, "confidence": "asserted"}),
    ),
    "advisor": (
        lambda fact: ("forget_preference", {"id_or_substring": str(fact.pk)}),
        lambda line: ("save_preference", {"category": "profile", "content": line}),
    ),
    "companion": (
        lambda fact: ("manage_user_memory", {"operation": "deactivate_fact", "fact_id": str(fact.pk)}),
        lambda line: ("manage_user_memory", {"operation": "add_fact", "content": line}),
    ),
}


def current() -> list[str]:
    return sorted(UserFact.objects.current(NOW).values_list("content", flat=True))


# One function saves for all three, so each order is tried with the coach.
@pytest.mark.parametrize(
    ("face", "order"),
    [*(("coach", order) for order in ORDERS), ("advisor", "forget, save"), ("companion", "save, forget")],
)
@pytest.mark.parametrize(("old", "typed", "new"), CHANGES, ids=[old for old, _, _ in CHANGES])
def test_changed_limit_holds_in_its_old_line_or_in_the_words_that_the_user_typed(
    as_trader, old, typed, new, face, order
):
    end, save = FACES[face]
    fact = UserFactFactory(content=old, topic="")
    box = Toolbox(as_trader, face, "What is new?", typed, is_untrusted=True)

    results = []
    for act in ORDERS[order]:
        name, arguments = end(fact) if act == "forget" else save(new)
        results.append(box.call(name, **arguments))

    said = [line for line in current() if line in typed]
    assert set(current()) == {old, *said} if old in (*NOT_NAMED, *current()) else said, results
    if said:
        assert len(said) == 1
        return
    proposal = MemoryProposal.objects.get()
    accept_proposal(proposal_id=proposal.pk, now=NOW)
    assert new in current()
    if old not in NOT_NAMED:
        assert proposal.target.lineage == fact.lineage
        assert any(result.get("still_holds") == old for result in results)
        assert current() == [new]


def test_wish_to_forget_something_else_is_done_though_a_write_waits(as_trader):
    age = UserFactFactory(content="I plan to retire at 55", topic="")
    UserFactFactory(content="My max leverage is 3x", topic="")
    box = Toolbox(
        as_trader, "coach", "Forget that I plan to retire at 55. And max leverage is 2x now.", is_untrusted=True
    )

    box.call("forget", fact_id=str(age.pk))
    held = box.call("remember", fact="Leverage stays below 2x", confidence="asserted")

    assert "still_holds" not in held
    assert current() == ["max leverage is 2x now"]


# Two changes whose wordings have a number that the user does not type, so that they wait.
LIMIT, VENUE = "My daily loss limit is 3%", "I trade on Binance"
NEW_LIMIT, NEW_VENUE = "Stops for the day after losing 2% or 700 dollars", "Uses Kraken as the exchange with 40 dollars"
TYPED_LIMIT, TYPED_VENUE = "My daily loss limit is 2% now.", "I moved from Binance to Kraken."


@pytest.mark.parametrize(
    "acts",
    [
        [LIMIT, VENUE, NEW_VENUE, NEW_LIMIT],
        [LIMIT, NEW_VENUE, VENUE, NEW_LIMIT],
        [NEW_VENUE, NEW_LIMIT, LIMIT, VENUE],
        [VENUE, NEW_VENUE, LIMIT, NEW_LIMIT],
    ],
    ids=["ends first", "mixed", "saves first", "one by one"],
)
def test_each_of_two_changes_waits_for_its_own_line(as_trader, acts):
    facts = {text: UserFactFactory(content=text, topic="") for text in (LIMIT, VENUE)}
    box = Toolbox(as_trader, "coach", f"{TYPED_VENUE} {TYPED_LIMIT}", is_untrusted=True)

    for text in acts:
        if text in facts:
            box.call("forget", fact_id=str(facts[text].pk))
        else:
            box.call("remember", fact=text, confidence="asserted")

    assert set(current()) == {LIMIT, VENUE}
    accept_proposal(proposal_id=MemoryProposal.objects.get(payload__content=NEW_VENUE).pk, now=NOW)
    assert LIMIT in current()  # its own line still waits


def _again_in_another_chat(box, user):
    box = Toolbox(user, "coach", TYPED_VENUE, is_untrusted=True)
    box.call("remember", fact=NEW_VENUE, confidence="asserted")
    return box


def _again_after_no(box, user):
    dismiss_proposal(proposal_id=MemoryProposal.objects.get().pk, now=NOW)
    return _again_in_another_chat(box, user)


def _again_by_a_later_message(box, user):
    typed = f"As I said: {TYPED_VENUE}"
    again = Toolbox(user, "coach", typed, conversation=box.conversation, is_untrusted=True)
    again.call("remember", fact=NEW_VENUE, confidence="asserted")
    return again


@pytest.mark.parametrize("again", [_again_in_another_chat, _again_after_no, _again_by_a_later_message])
def test_write_that_was_asked_for_again_keeps_the_old_line_too(as_trader, again):
    fact = UserFactFactory(content=VENUE, topic="")
    box = Toolbox(as_trader, "coach", TYPED_VENUE, is_untrusted=True)
    box.call("remember", fact=NEW_VENUE, confidence="asserted")

    again(box, as_trader).call("forget", fact_id=str(fact.pk))

    assert current() == [VENUE]
    assert MemoryProposal.objects.get().status == ProposalStatus.PENDING


def test_end_of_another_fact_is_done_though_a_change_waits(as_trader):
    leverage, gold = (UserFactFactory(content=text, topic="") for text in (VENUE, "I trade gold"))
    box = Toolbox(as_trader, "coach", f"{TYPED_VENUE} I don't trade gold any more.", is_untrusted=True)

    box.call("remember", fact=NEW_VENUE, confidence="asserted")
    box.call("forget", fact_id=str(leverage.pk))
    box.call("forget", fact_id=str(gold.pk))

    assert current() == [VENUE]


def test_forget_of_a_later_message_is_its_own(as_trader):
    fact = UserFactFactory(content=VENUE, topic="")
    box = Toolbox(as_trader, "coach", TYPED_VENUE, is_untrusted=True)
    box.call("remember", fact=NEW_VENUE, confidence="asserted")
    later = Toolbox(as_trader, "coach", "Forget that I trade on Binance.", is_untrusted=True)

    later.call("forget", fact_id=str(fact.pk))

    assert current() == []


def test_line_in_the_users_words_still_replaces_at_once(as_trader):
    fact = UserFactFactory(content="My max leverage is 3x", topic="")
    box = Toolbox(as_trader, "coach", "My max leverage is 2x now.", is_untrusted=True)

    box.call("forget", fact_id=str(fact.pk))
    box.call("remember", fact="My max leverage is 2x", confidence="asserted")

    assert current() == ["My max leverage is 2x"]
    assert not MemoryProposal.objects.exists()
