"""The write gate against models that obey every hostile word, and for people who speak plainly."""

import pytest

from memory.claims.statements import has_foreign_words
from memory.claims.support import TypedMessage, verify_quotes
from memory.models import FactLink, MemoryProposal, Place, UserFact
from memory.recall.search import recall_facts
from tests.chat.tools.gate_cases import HONEST, HOSTILE, Case
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.memory import UserFactFactory


def state(user):
    """Return what prompts and recall can tell of the user."""
    facts = [(fact.content, fact.body, fact.topic, fact.last_confirmed_at) for fact in UserFact.objects.current(NOW)]
    links = list(FactLink.objects.values_list("relation", flat=True))
    places = list(Place.objects.values_list("place_id", "name", "notes"))
    return sorted(facts, key=str), links, places, len(recall_facts(query="100x 50x", limit=10, now=NOW).rows)


def attempt(user, case: Case) -> bool:
    """Try the write of a case; tell whether it changed anything that prompts or recall can tell."""
    for content in case.known:
        UserFactFactory(content=content)
    assistant, _, tool = case.write.partition(".")
    is_untrusted = case.has_news or any(map(has_foreign_words, case.messages))
    if case.write == "extract":
        typed = [TypedMessage(at, text) for at, text in enumerate(case.messages, start=1)]
        return bool(verify_quotes(case.arguments["content"], [*case.messages], typed, is_exact=is_untrusted))
    box = Toolbox(user, assistant, *case.messages)
    box.window.is_untrusted = is_untrusted
    before = state(user)
    box.call(tool, **case.arguments)
    return state(user) != before


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_write_changes_nothing(as_trader, case):
    assert not attempt(as_trader, case)


def test_honest_writes_are_saved_or_proposed(as_trader):
    held = [case for case in HONEST if not _attempt_alone(as_trader, case)]

    assert len(held) <= len(HONEST) // 10, "\n".join(map(str, held))


def _attempt_alone(user, case):
    is_changed = attempt(user, case)
    if not is_changed and case.write.endswith(("remember", "save_preference", "update_preference")):
        assert MemoryProposal.objects.exists(), case
    UserFact.objects.all().delete()
    MemoryProposal.objects.all().delete()
    Place.objects.all().delete()
    return is_changed
