import hashlib
import json
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from chat.conversations.services import start_conversation
from chat.models import Conversation, MemorySnapshot, Message, MessageStatus
from chat.prompt.assistants import preview_prompt, sent_prompt
from chat.prompt.texts import SEPARATOR, as_blocks
from chat.tools.base import ToolContext
from chat.turns.accept import accept_message, retry_reply
from chat.turns.replies import finish_reply
from chat.turns.start import Exchange, TurnStart
from config.lib.owned import owned_tx
from memory.facts.services import archive_fact, forget_fact, promote_fact, remember_fact, supersede_fact
from memory.models import UserFact
from tests.chat.tools.binding import bind_tools
from tests.factories.memory import UserFactFactory

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
HEADING = "## What I know about you"


def ask(conversation: Conversation, now: datetime) -> TurnStart:
    """Send a message, answer it, and return the turn that did."""
    accepted = accept_message(conversation_id=conversation.pk, client_id=uuid4(), text="Hello", now=now)
    return answered(accepted, now)


def answered(accepted: Exchange, now: datetime) -> TurnStart:
    text = [{"kind": "text", "step": 0, "text": "Hi."}]
    finish_reply(reply_id=accepted.reply.pk, status=MessageStatus.COMPLETE, parts=text, text="Hi.", now=now)
    return accepted.turn


def prefix(turn: TurnStart) -> str:
    return as_blocks(turn.sent.segments)[0]["text"]


def block(turn: TurnStart) -> list[str]:
    """The lines of the memory block in a turn's prompt."""
    parts = [part for part in prefix(turn).split(SEPARATOR) if part.startswith(HEADING)]
    return [line for part in parts for line in part.splitlines()[2:]]


def change_everything(now: datetime) -> None:
    first, second, third, fourth = UserFact.objects.believed().order_by("content")[:4]
    supersede_fact(fact_id=first.pk, content="Something else by now", now=now)
    forget_fact(id_or_substring=str(second.pk), now=now)
    promote_fact(fact_id=third.pk, now=now)
    archive_fact(fact_id=fourth.pk, now=now)
    remember_fact(content="A new fact", now=now)


def test_new_fact_is_in_the_next_chat_though_ten_were_there_before(as_trader):
    old = [UserFactFactory(content=f"Old fact {number}") for number in range(10)]
    chat = start_conversation(now=NOW)
    assert len(block(ask(chat, NOW))) == 10
    remember_fact(content="The new fact", topic="goal", now=NOW + MINUTE)

    *lines, _, more = block(ask(start_conversation(now=NOW + DAY), NOW + DAY))

    assert lines[0] == "- [goal] The new fact (inferred)"
    assert (len(lines), more) == (10, "1 more stored; recall them with recall_facts.")
    assert {line.removeprefix("- ") for line in lines[1:]} < {fact.content for fact in old}


def test_fact_of_a_chats_first_turn_is_in_the_next_chat_though_that_turn_marked_ten_others(as_trader):
    for number in range(10):
        UserFactFactory(content=f"Old fact {number}")
    turn = ask(start_conversation(now=NOW), NOW)
    tools = bind_tools("coach", ToolContext(as_trader.pk, now=turn.now, conversation_id=turn.conversation_id))
    tools["remember"].call(json.dumps({"fact": "The new fact", "confidence": "asserted"}))

    lines = block(ask(start_conversation(now=NOW), NOW + MINUTE))

    assert lines[0] == "- The new fact"


def test_block_stays_byte_for_byte_the_same_through_a_chat_whatever_changes(as_trader):
    UserFactFactory.create_batch(5, inferred=True)
    chat = start_conversation(now=NOW)
    first = ask(chat, NOW)
    change_everything(NOW + MINUTE)

    second, third = ask(chat, NOW + 2 * MINUTE), ask(chat, NOW + 40 * DAY)

    assert len(block(first)) == 5
    assert prefix(first) == prefix(second)
    assert block(first) == block(third)
    assert MemorySnapshot.objects.count() == 1


def test_next_chat_sees_what_changed(as_trader):
    UserFactFactory.create_batch(5, inferred=True)
    ask(start_conversation(now=NOW), NOW)
    change_everything(NOW + MINUTE)

    lines = block(ask(start_conversation(now=NOW + DAY), NOW + DAY))

    current = UserFact.objects.current(NOW + DAY)
    expected = {f"- {fact.content}" + " (inferred)" * (fact.confidence == "inferred") for fact in current}
    assert set(lines) == expected
    assert "- Something else by now" in lines


def test_snapshot_keeps_the_block_its_hash_and_its_facts(as_trader):
    facts = [UserFactFactory(last_referenced_at=NOW - number * DAY) for number in range(3)]
    chat = start_conversation(now=NOW)

    turn = ask(chat, NOW)

    snapshot = MemorySnapshot.objects.get()
    assert snapshot.text in prefix(turn).split(SEPARATOR)
    assert snapshot.sha256 == hashlib.sha256(snapshot.text.encode()).hexdigest()
    assert snapshot.fact_ids == [str(fact.pk) for fact in facts]
    chat.refresh_from_db()
    assert chat.snapshot == snapshot
    assert Message.objects.get(pk=turn.reply_id).snapshot == snapshot


def test_first_turn_marks_exactly_the_facts_in_the_block_and_no_other_turn_does(as_trader):
    facts = [UserFactFactory(last_referenced_at=NOW - number * DAY) for number in range(13)]
    before = {fact.pk: fact.last_referenced_at for fact in facts}
    chat = start_conversation(now=NOW)

    ask(chat, NOW + MINUTE)
    after_first = dict(UserFact.objects.values_list("pk", "last_referenced_at"))
    ask(chat, NOW + DAY)

    marked = {fact.pk: NOW + MINUTE for fact in facts[:10]}
    assert after_first == before | marked
    assert dict(UserFact.objects.values_list("pk", "last_referenced_at")) == after_first


def test_nothing_but_a_first_turn_marks_a_fact(as_trader):
    UserFactFactory.create_batch(3)
    before = list(UserFact.objects.order_by("pk").values())

    chat = start_conversation(now=NOW)
    preview_prompt(assistant="coach", now=NOW)
    sent_prompt(chat, now=NOW)

    assert list(UserFact.objects.order_by("pk").values()) == before
    assert not MemorySnapshot.objects.exists()


def test_retry_keeps_the_block(as_trader):
    UserFactFactory.create_batch(5, inferred=True)
    chat = start_conversation(now=NOW)
    first = ask(chat, NOW)
    change_everything(NOW + MINUTE)

    accepted = retry_reply(conversation_id=chat.pk, now=NOW + 2 * MINUTE)

    assert prefix(accepted.turn) == prefix(first)
    assert accepted.reply.snapshot == MemorySnapshot.objects.get()


def test_chat_without_facts_has_no_section_and_gets_none_later(as_trader):
    chat = start_conversation(now=NOW)
    first = ask(chat, NOW)
    remember_fact(content="Learned meanwhile", now=NOW + MINUTE)

    second = ask(chat, NOW + 2 * MINUTE)

    assert HEADING not in prefix(first).split(SEPARATOR)[2]
    assert block(first) == block(second) == []
    assert prefix(first) == prefix(second)
    assert (MemorySnapshot.objects.get().text, MemorySnapshot.objects.get().fact_ids) == ("", [])


def test_system_prompt_changes_with_the_day_of_the_user_alone(as_trader):
    UserFactFactory()
    as_trader.time_zone = "Asia/Tokyo"
    as_trader.save(update_fields=["time_zone"])
    chat = start_conversation(now=NOW)

    first, second, third = (ask(chat, NOW + hours) for hours in (0 * DAY, timedelta(hours=2), timedelta(hours=3)))

    assert as_blocks(first.sent.segments) == as_blocks(second.sent.segments)
    assert [block.get("cache") for block in as_blocks(first.sent.segments)] == [True]
    assert prefix(first).endswith("\n\n---\n\nToday is Monday, 2026-06-01 in the person's time zone, Asia/Tokyo.")
    assert prefix(third) == prefix(first).replace("Monday, 2026-06-01", "Tuesday, 2026-06-02")


@pytest.mark.parametrize("tier", ["novice", "expert"])
def test_prompt_paces_by_the_users_tier(as_trader, tier):
    as_trader.experience_tier = tier
    as_trader.save(update_fields=["experience_tier"])

    turn = ask(start_conversation(now=NOW), NOW)

    opening = {"novice": "The person is new to trading.", "expert": "The person is an expert."}
    assert prefix(turn).split(SEPARATOR)[1].startswith(opening[tier])


def test_block_holds_no_fact_of_a_stranger(stranger, trader):
    with owned_tx(stranger):
        UserFactFactory(content="The stranger trades gold only")

    with owned_tx(trader):
        turn = ask(start_conversation(now=NOW), NOW)

    assert block(turn) == []
    assert "gold" not in prefix(turn)
