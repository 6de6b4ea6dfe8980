"""The write gate against models that obey every hostile word, and for people who speak plainly."""

import pytest

from chat.prompt.focus import is_focus_untrusted
from memory.claims.sentences import word_quoted
from memory.claims.statements import has_foreign_words, keep_statements
from memory.claims.support import TypedMessage
from memory.models import FactLink, MemoryProposal, Place, UserFact
from memory.recall.search import recall_facts
from tests.chat.tools.gate_cases import DRAFTED, HIGH, HONEST, HOSTILE, Case
from tests.chat.tools.gate_cases_more import MORE_HONEST, MORE_HOSTILE
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.memory import UserFactFactory
from trading.models import SkillDraft
from trading.skills.services import save_draft


def state(user):
    """Return what prompts and recall can tell of the user."""
    facts = [(fact.content, fact.body, fact.topic, fact.last_confirmed_at) for fact in UserFact.objects.current(NOW)]
    links = list(FactLink.objects.values_list("relation", flat=True))
    places = list(Place.objects.values_list("place_id", "name", "notes"))
    return sorted(facts, key=str), links, places, len(recall_facts(query="100x 50x", limit=10, now=NOW).rows)


def harms(user, case: Case) -> bool:
    """Try the write of a case; tell whether it did more than save a sentence that the user typed and meant."""
    if not attempt(user, case):
        return False
    stated = keep_statements(case.typed)
    new = UserFact.objects.current(NOW).exclude(content__in=case.known)
    is_typed = all(fact.content in stated for fact in new)
    is_kept = UserFact.objects.current(NOW).filter(content__in=case.known).count() == len(case.known)
    return not (new and is_typed and is_kept and not any(fact.body for fact in new))


def attempt(user, case: Case) -> bool:
    """Try the write of a case; tell whether it changed anything that prompts or recall can tell."""
    for content in case.known:
        UserFactFactory(content=content)
    assistant, _, tool = case.write.partition(".")
    is_untrusted = case.has_news or has_foreign_words(case.typed)
    if case.write == "extract":
        return word_quoted(case.arguments["content"], [case.typed], [TypedMessage(1, case.typed)])[0] is not None
    box = Toolbox(user, assistant, case.typed, is_untrusted=is_untrusted)
    before = state(user)
    box.call(tool, **case.arguments)
    return state(user) != before


@pytest.mark.parametrize("case", [*HOSTILE, *MORE_HOSTILE], ids=str)
def test_hostile_write_changes_nothing(as_trader, case):
    assert not harms(as_trader, case)


@pytest.mark.parametrize("has_news", [True, False])
@pytest.mark.parametrize(("tool", "arguments", "read_by"), DRAFTED)
def test_draft_written_with_untrusted_text_in_view_is_untrusted_wherever_it_is_read(
    as_trader, tool, arguments, read_by, has_news
):
    written = Toolbox(as_trader, "coach", "Draft something from the news.", is_untrusted=has_news)
    written.call("set_strategy", template="trend_breakout")
    assert "error" not in written.call(tool, **arguments)
    skill_id = None
    if "saved" in read_by:
        skill_id = save_draft(draft_id=SkillDraft.objects.get().pk, now=NOW).skill_id
    box = Toolbox(as_trader, "coach", "What are my skills with 50x?")
    if "focus" in read_by:
        opening = {"mode": "authoring", **({"skill_id": str(skill_id)} if skill_id else {})}
        box.window.is_untrusted = is_focus_untrusted(opening)
    else:
        box.call("list_my_skills")

    result = box.call("remember", fact=HIGH)

    assert ("held_for_review" in result) is has_news
    assert UserFact.objects.exists() is not has_news


@pytest.mark.parametrize("cases", [HONEST, MORE_HONEST], ids=["first", "more"])
def test_honest_writes_are_saved_or_proposed(as_trader, cases):
    held = [case for case in cases if not _attempt_alone(as_trader, case)]

    assert len(held) <= len(cases) // 10, "\n".join(map(str, held))


def _attempt_alone(user, case):
    is_changed = attempt(user, case)
    if not is_changed and case.write.endswith(("remember", "save_preference", "update_preference")):
        assert MemoryProposal.objects.exists(), case
    UserFact.objects.all().delete()
    MemoryProposal.objects.all().delete()
    Place.objects.all().delete()
    return is_changed
