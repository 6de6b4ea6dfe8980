"""The taint gate: foreign text neither adds nor ends a fact."""

import pytest

from chat.tools import TOOLS
from chat.tools.gate import HELD, NOT_ASKED, NOT_MEANT, NUMBER_HELD, TEMPORARY
from memory.facts.services import set_switches
from memory.models import MemoryEvent, MemoryProposal, Place, ProposalKind, UserFact
from tests.chat.tools.own_words_cases import TUNED, UNSEEN
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.memory import UserFactFactory

# Each way by which a tool could bring in new words: assistant, tool, arguments.
SAVES = [
    ("coach", "remember", {"fact": "Always uses 50x leverage"}),
    ("advisor", "save_preference", {"category": "profile", "content": "Always uses 50x leverage"}),
    ("companion", "manage_user_memory", {"operation": "add_fact", "content": "Always uses 50x leverage"}),
]
# Each way to end, confirm or relate a fact that is known.
CHANGES = [
    ("coach", "forget", {"fact_id": "Never uses leverage"}),
    ("advisor", "forget_preference", {"id_or_substring": "Never uses leverage"}),
    ("advisor", "confirm_preference", {"id_or_substring": "Never uses leverage"}),
    ("advisor", "link_preferences", {"from_id": "Never uses", "to_id": "Trades gold", "relation": "contradicts"}),
    ("companion", "manage_user_memory", {"operation": "deactivate_fact", "fact_id": "Never uses leverage"}),
]
TEMPORARY_WRITES = [
    *SAVES,
    *CHANGES,
    ("advisor", "update_preference", {"id_or_substring": "Never uses", "new_content": "Uses 2x leverage"}),
    ("companion", "manage_user_memory", {"operation": "add_poi", "place_id": "home", "place_name": "Home"}),
]


def name_of(case):
    return f"{case[1]}-{case[2].get('operation', '')}" if isinstance(case, tuple) else str(case)


@pytest.mark.parametrize("case", SAVES, ids=name_of)
def test_with_untrusted_text_in_view_what_the_user_did_not_say_waits_for_their_review(as_trader, case):
    assistant, tool, arguments = case
    box = Toolbox(as_trader, assistant, "What does the news say about gold?", is_untrusted=True)

    result = box.call(tool, **arguments)

    assert result == {"held_for_review": "Always uses 50x leverage", "note": HELD}
    assert not UserFact.objects.exists()
    proposal = MemoryProposal.objects.get()
    assert (proposal.kind, proposal.payload["content"]) == (ProposalKind.UNTRUSTED, "Always uses 50x leverage")
    assert proposal.conversation_id == box.conversation.pk


@pytest.mark.parametrize("case", SAVES, ids=name_of)
@pytest.mark.parametrize("said", ["first", "last"])
def test_with_untrusted_text_in_view_the_users_own_words_pass_and_are_quoted(as_trader, case, said):
    assistant, tool, arguments = case
    typed = ["I always use 50x leverage.", "What does the news say?"]
    box = Toolbox(as_trader, assistant, *(typed if said == "first" else reversed(typed)), is_untrusted=True)

    assert "memoryEvent" in box.call(tool, **arguments)

    fact = UserFact.objects.get()
    message = next(message for message in box.messages if "leverage" in message.content)
    [quote] = fact.quotes
    assert quote["message_id"] == message.pk
    assert message.content[quote["start"] : quote["end"]] == "I always use 50x leverage."


@pytest.mark.parametrize(
    ("topic", "kept"),
    [("risk", "risk"), ("leverage", "leverage"), ("obey every headline", ""), ("in-use", "in-use"), ("", "risk")],
)
def test_with_untrusted_text_in_view_a_topic_brings_in_no_words_either(as_trader, topic, kept):
    UserFactFactory(topic="in-use")
    box = Toolbox(as_trader, "coach", "I always use 50x leverage.", is_untrusted=True)

    box.call("remember", fact="Always uses 50x leverage", topic=topic)

    assert UserFact.objects.get(content="Always uses 50x leverage").topic == kept


@pytest.mark.parametrize(
    "typed",
    [
        'The article says: "always use 50x leverage".',
        "> always uses 50x leverage",
        "```\nalways uses 50x leverage\n```",
        "Should I always use 50x leverage?",
        "I always use 5x leverage.",
    ],
)
def test_words_that_are_not_the_users_own_statement_support_nothing(as_trader, typed):
    box = Toolbox(as_trader, "coach", typed, is_untrusted=True)

    assert "held_for_review" in box.call("remember", fact="Always uses 50x leverage")
    assert not UserFact.objects.exists()


def test_what_the_user_said_is_stored_and_not_its_opposite(as_trader):
    box = Toolbox(as_trader, "coach", "I never use 50x leverage.", is_untrusted=True)

    assert box.call("remember", fact="Always uses 50x leverage")["saved"] == "I never use 50x leverage"


@pytest.mark.parametrize("cases", [TUNED, UNSEEN], ids=["tuned", "unseen"])
def test_true_statements_are_saved_at_once_in_the_users_words_beside_news(as_trader, cases):
    held = []
    for typed, fact, _ in cases:
        box = Toolbox(as_trader, "coach", "Hello, what is new?", typed, is_untrusted=True)
        result = box.call("remember", fact=fact)
        if "saved" not in result:
            held.append((typed, result))
        UserFact.objects.all().delete()
        MemoryProposal.objects.all().delete()

    assert len(held) <= 1, held


def test_number_that_nobody_typed_waits_in_a_clean_chat(as_trader):
    box = Toolbox(as_trader, "coach", "I never risk more than 1 %. What is my maximum?")

    result = box.call("remember", fact="RiskManagement: maxLeverage: 100")

    assert result["note"] == NUMBER_HELD
    assert not UserFact.objects.exists()


def test_an_update_that_the_user_did_not_say_leaves_the_fact_and_names_it_in_the_review(as_trader):
    fact = UserFactFactory(content="Never uses leverage")
    box = Toolbox(as_trader, "advisor", "What is new?", is_untrusted=True)

    result = box.call("update_preference", id_or_substring=str(fact.pk), new_content="Always uses 50x leverage")

    assert result["held_for_review"] == "Always uses 50x leverage"
    assert UserFact.objects.current(NOW).get() == fact
    assert MemoryProposal.objects.get().target == fact


@pytest.mark.parametrize("case", CHANGES, ids=name_of)
@pytest.mark.parametrize(
    "last", ["What is new?", "What is new about leverage and gold?", "yes", "About leverage: do it."]
)
def test_with_untrusted_text_in_view_no_fact_changes_without_a_stated_wish(as_trader, case, last):
    assistant, tool, arguments = case
    UserFactFactory(content="Never uses leverage")
    UserFactFactory(content="Trades gold")
    box = Toolbox(as_trader, assistant, "I am new here.", last, is_untrusted=True)

    assert box.call(tool, **arguments)["error"] in {NOT_ASKED, NOT_MEANT}
    assert UserFact.objects.current(NOW).count() == 2
    assert not MemoryEvent.objects.exists()


@pytest.mark.parametrize(
    ("case", "wish"),
    [
        (CHANGES[0], "Forget that I never use leverage."),
        (CHANGES[1], "It is no longer true that I never use leverage."),
        (CHANGES[2], "Yes, I still never use leverage."),
        (CHANGES[3], "Please link my leverage rule to gold."),
        (CHANGES[4], "Delete the fact about leverage."),
    ],
)
def test_with_untrusted_text_in_view_a_stated_wish_passes(as_trader, case, wish):
    assistant, tool, arguments = case
    UserFactFactory(content="Never uses leverage")
    UserFactFactory(content="Trades gold")
    box = Toolbox(as_trader, assistant, wish, is_untrusted=True)

    assert "memoryEvent" in box.call(tool, **arguments)


@pytest.mark.parametrize("case", [CHANGES[0], CHANGES[1], CHANGES[4]], ids=name_of)
def test_forget_of_another_fact_than_the_message_names_returns_it_as_a_candidate(as_trader, case):
    assistant, tool, arguments = case
    UserFactFactory(content="Never uses leverage")
    box = Toolbox(as_trader, assistant, "Forget that I get angry about leverage.")

    result = box.call(tool, **arguments)

    assert result["error"] == NOT_MEANT
    assert [candidate["fact"] for candidate in result["candidates"]] == ["Never uses leverage"]
    assert UserFact.objects.current(NOW).count() == 1


@pytest.mark.parametrize("case", SAVES, ids=name_of)
def test_without_untrusted_text_in_view_an_inference_may_be_saved_unless_learning_is_paused(as_trader, case):
    assistant, tool, arguments = case
    box = Toolbox(as_trader, assistant, "What is new with 50x?")
    set_switches(learns=False)
    assert "paused" in box.call(tool, **arguments)["error"]
    assert not UserFact.objects.exists()
    set_switches(learns=True)

    assert "memoryEvent" in box.call(tool, **arguments)

    assert UserFact.objects.get().quotes == []


@pytest.mark.parametrize("case", TEMPORARY_WRITES, ids=name_of)
def test_a_temporary_chat_writes_nothing(as_trader, case):
    assistant, tool, arguments = case
    UserFactFactory(content="Never uses leverage")
    UserFactFactory(content="Trades gold")
    box = Toolbox(as_trader, assistant, "I always use 50x leverage at home.", is_temporary=True)

    assert box.call(tool, **arguments) == {"error": TEMPORARY}
    assert UserFact.objects.current(NOW).count() == 2
    assert not MemoryEvent.objects.exists()
    assert not MemoryProposal.objects.exists()
    assert not Place.objects.exists()


def test_every_tool_that_writes_to_the_memory_is_among_the_cases():
    cases = {name for _, name, _ in TEMPORARY_WRITES}
    writing = {tool.name for tools in TOOLS.values() for tool in tools if tool.acts}

    assert writing == cases
