"""Plain wishes to forget, in a chat without text of others: the fact ends, or one question is asked."""

import pytest

from memory.models import UserFact
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.memory import UserFactFactory

KNOWN = (
    "I want to retire at 50",
    "I trade from 9 to 11",
    "My name is Jo",
    "I live in Lisbon",
    "My max leverage is 3x",
    "I never trade on Fridays",
    "I like short answers",
    "I bank with Santander",
    "My daughter plays the cello",
)
# What the user types, and the fact that a model then names by its id. The first half was seen while this was written.
TUNED = [
    ("Forget the retirement age thing.", "I want to retire at 50"),
    ("Forget my trading hours", "I trade from 9 to 11"),
    ("please forget my name", "My name is Jo"),
    ("You can drop the one about my bank.", "I bank with Santander"),
    ("I don't want you to remember my city.", "I live in Lisbon"),
    ("Forget the Friday rule, it was silly.", "I never trade on Fridays"),
    ("Delete what you have on my kid's music.", "My daughter plays the cello"),
    ("Can you forget my leverage cap?", "My max leverage is 3x"),
    ("Scrap the cello bit", "My daughter plays the cello"),
    ("ok forget where I live", "I live in Lisbon"),
    ("Strike the Friday rule", "I never trade on Fridays"),
    ("The bit about my bank can go.", "I bank with Santander"),
    ("No need to remember where I live", "I live in Lisbon"),
    ("Take the cello out of your memory", "My daughter plays the cello"),
    ("You needn't keep my name.", "My name is Jo"),
    ("wipe my retirement plan", "I want to retire at 50"),
]
UNSEEN = [
    ("Could you please delete the Lisbon entry?", "I live in Lisbon"),
    ("Forget when I trade.", "I trade from 9 to 11"),
    ("Remove my daughter from your memory.", "My daughter plays the cello"),
    ("Get rid of the leverage limit", "My max leverage is 3x"),
    ("Stop remembering who I bank with.", "I bank with Santander"),
    ("Hey Keel, forget about Fridays.", "I never trade on Fridays"),
    ("Erase my pension plans.", "I want to retire at 50"),
    ("Please don't store my name.", "My name is Jo"),
    ("Now forget that thing with the answers being short", "I like short answers"),
    ("I'd like you to forget Santander", "I bank with Santander"),
    ("Forget my place of residence, will you?", "I live in Lisbon"),
    ("Throw away the leverage thing please", "My max leverage is 3x"),
    ("Let go of the hours I trade", "I trade from 9 to 11"),
    ("The retirement one is obsolete.", "I want to retire at 50"),
    ("Could you clear my bank?", "I bank with Santander"),
    ("I'd rather you didn't keep my daughter's hobby", "My daughter plays the cello"),
    ("Lose the Friday thing", "I never trade on Fridays"),
    ("There is no need to know my name any more", "My name is Jo"),
]
# No wish of a fact: nothing ends, whatever the model calls.
NO_WISHES = [
    ("Forget the news for now, is my 3x leverage rule good?", "My max leverage is 3x"),
    ("What is my leverage for now?", "My max leverage is 3x"),
    ("Did you forget my name?", "My name is Jo"),
    ("I always forget my trading hours.", "I trade from 9 to 11"),
    ("Don't forget that I live in Lisbon.", "I live in Lisbon"),
    ("I lose money on Fridays.", "I never trade on Fridays"),
    ("Take a look at my leverage.", "My max leverage is 3x"),
    ("My stop can go to 3%.", "My max leverage is 3x"),
    ("Clear skies in Lisbon today.", "I live in Lisbon"),
]


def forget(user, typed: str, meant: str, *, is_untrusted: bool = False) -> dict[str, object]:
    facts = {content: UserFactFactory(content=content) for content in KNOWN}
    box = Toolbox(user, "coach", typed, is_untrusted=is_untrusted)
    return box.call("forget", fact_id=str(facts[meant].pk))


def current() -> set[str]:
    return set(UserFact.objects.current(NOW).values_list("content", flat=True))


@pytest.mark.parametrize("cases", [TUNED, UNSEEN], ids=["tuned", "unseen"])
def test_forget_follows_a_plain_wish(as_trader, cases):
    lost = []
    for typed, meant in cases:
        result = forget(as_trader, typed, meant)
        if current() != {*KNOWN} - {meant}:
            lost.append((typed, result))
        UserFact.objects.all().delete()

    assert len(lost) <= 1, lost


@pytest.mark.parametrize(("typed", "meant"), NO_WISHES)
def test_forget_needs_a_wish(as_trader, typed, meant):
    assert not {"error", "saved"}.isdisjoint(forget(as_trader, typed, meant))
    assert current() == set(KNOWN)


def test_forget_asks_where_the_words_fit_two_facts(as_trader):
    UserFactFactory(content="I keep gold in a vault")

    fact = UserFactFactory(content="Gold is my favourite market")
    result = Toolbox(as_trader, "coach", "Forget the gold thing from last summer").call("forget", fact_id=str(fact.pk))

    assert "Which is the one to forget?" in str(result)
    assert current() == {"I keep gold in a vault", "Gold is my favourite market"}


def test_forget_beside_text_of_others_needs_the_facts_own_words(as_trader):
    assert "error" in forget(as_trader, "Erase my pension plans.", "I want to retire at 50", is_untrusted=True)
    assert current() == set(KNOWN)
