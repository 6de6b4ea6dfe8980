from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from django.conf import settings as configured

from chat.conversations.services import start_conversation
from chat.models import AssistantName, Conversation, MemorySnapshot
from chat.prompt.assistants import ASSISTANTS, default_assistant, preview_prompt, sent_prompt
from chat.prompt.texts import SEPARATOR, as_blocks
from chat.turns.accept import accept_message
from memory.models import MemorySwitches, Place, PlaceMention, UserFact
from tests.factories.memory import UserFactFactory

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FACES = ["coach", "advisor", "companion"]
BLOCKS = {
    "coach": "## What I know about you\n\n- [goal] Retires at 50",
    "advisor": "## Your stored preferences\n### Facts\n- Retires at 50",
    "companion": (
        "USER'S STORED MEMORIES:\n- [2026-05-01] Retires at 50\n\n"
        "PLACES OF INTEREST:\n- Home: 123 Main St (mentioned in 1 conversation)"
    ),
}


def know() -> UserFact:
    """Store a fact and a place."""
    home = Place.objects.create(
        place_id="home", name="Home", notes="123 Main St", added_at=NOW - DAY, updated_at=NOW - DAY
    )
    PlaceMention.objects.create(place=home, conversation_ref="a", message_ref="1", mentioned_at=NOW - DAY)
    return UserFactFactory(content="Retires at 50", topic="goal")


def ask(conversation: Conversation, now: datetime = NOW):
    return accept_message(conversation_id=conversation.pk, client_id=uuid4(), text="Hello", now=now).turn


def test_assistants_are_those_that_a_conversation_can_have():
    assert list(ASSISTANTS) == AssistantName.values
    assert [face.label for face in ASSISTANTS.values()] == AssistantName.labels
    assert [face.name for face in ASSISTANTS.values()] == FACES


@pytest.mark.parametrize(
    ("assistant", "name"), [("coach", "a trading coach"), ("advisor", "an advisor"), ("companion", "a companion")]
)
def test_face_says_who_it_is_and_speaks_with_the_voice_of_the_product(assistant, name):
    persona = ASSISTANTS[assistant].persona

    assert persona.startswith(f"You are Keel, {name}. You speak for the product, as one calm, ")
    assert "No flattery, no exclamation marks, no promises of profit. Losses are named as losses." in persona


@pytest.mark.parametrize(("assistant", "referenced"), [("coach", True), ("advisor", False), ("companion", False)])
def test_only_the_coachs_render_marks_what_is_in_it(as_trader, assistant, referenced):
    fact = know()
    before = fact.last_referenced_at

    ASSISTANTS[assistant].render_block(now=NOW, uses_facts=True)

    fact.refresh_from_db()
    assert fact.last_referenced_at == (NOW if referenced else before)


@pytest.mark.parametrize("assistant", FACES)
def test_turn_sends_the_prompt_of_its_assistant_with_the_day_last(as_trader, assistant):
    know()
    preview = preview_prompt(assistant=assistant, now=NOW)
    chat = start_conversation(assistant=assistant, now=NOW)
    assert sent_prompt(chat, now=NOW) == preview

    turn = ask(chat)

    face = ASSISTANTS[assistant]
    parts = as_blocks(turn.sent.segments)[0]["text"].split(SEPARATOR)
    assert [parts[0], parts[2], parts[-2]] == [face.persona, BLOCKS[assistant], face.trust_rules]
    assert parts[-1] == "Today is Monday, 2026-06-01 in the person's time zone, UTC."
    assert [block["text"] for block in as_blocks(turn.sent.segments)] == [preview]
    assert sent_prompt(chat, now=NOW + DAY) == preview


@pytest.mark.parametrize("assistant", FACES)
def test_chat_of_who_lets_no_prompt_hold_a_fact_has_none(as_trader, assistant):
    fact = know()
    MemorySwitches.objects.create(uses_facts=False)

    turn = ask(start_conversation(assistant=assistant, now=NOW))

    assert "Retires" not in as_blocks(turn.sent.segments)[0]["text"]
    assert preview_prompt(assistant=assistant, now=NOW) == SEPARATOR.join(
        part["text"] for part in as_blocks(turn.sent.segments)
    )
    assert (MemorySnapshot.objects.get().text, MemorySnapshot.objects.get().fact_ids) == ("", [])
    before = fact.last_referenced_at
    fact.refresh_from_db()
    assert fact.last_referenced_at == before


def test_switch_for_learning_changes_no_block(as_trader):
    know()
    MemorySwitches.objects.create(learns=False)

    assert "Retires at 50" in preview_prompt(assistant="coach", now=NOW)


@pytest.mark.parametrize("assistant", FACES)
def test_new_chat_gets_the_default_assistant_unless_one_is_named(settings, as_trader, assistant):
    settings.DEFAULT_ASSISTANT = assistant

    assert default_assistant() is ASSISTANTS[assistant]
    assert start_conversation(now=NOW).assistant == assistant
    assert start_conversation(assistant="coach", now=NOW).assistant == "coach"


def test_coach_is_the_default():
    assert configured.DEFAULT_ASSISTANT == "coach"
