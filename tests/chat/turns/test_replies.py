from datetime import timedelta

from chat.models import Message, MessageStatus
from chat.turns.accept import retry_reply
from chat.turns.replies import (
    HEARTBEAT_LEASE,
    RESTARTED,
    SaveOutcome,
    interrupt_dead_turns,
    request_stop,
    save_progress,
    shield_reply,
)
from config.lib.owned import system_tx
from tests.chat.talk import finish, send
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE
from tests.owners import as_owner

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def test_save_progress_keeps_text_and_beats(as_trader):
    reply = send(ConversationFactory()).reply
    parts = [{"kind": "text", "step": 0, "text": "So far"}]

    goes_on = save_progress(reply_id=reply.pk, parts=parts, text="So far", now=JUNE + SECOND)

    reply.refresh_from_db()
    assert goes_on is SaveOutcome.SAVED
    assert (reply.parts, reply.content, reply.heartbeat_at) == (parts, "So far", JUNE + SECOND)
    assert reply.status == MessageStatus.STREAMING


def test_save_progress_says_when_to_stop(as_trader):
    accepted = send(conversation := ConversationFactory())

    was_running = request_stop(conversation_id=conversation.pk, now=JUNE)

    assert was_running is True
    assert save_progress(reply_id=accepted.reply.pk, parts=[], text="", now=JUNE) is SaveOutcome.STOP_REQUESTED


def test_save_progress_revives_a_reply_that_a_sweep_interrupted(as_trader):
    reply = send(ConversationFactory()).reply
    interrupt_dead_turns(now=JUNE + MINUTE)

    saved = save_progress(reply_id=reply.pk, parts=[], text="Still here", now=JUNE + MINUTE)

    reply.refresh_from_db()
    assert saved is SaveOutcome.SAVED
    assert (reply.status, reply.error, reply.finished_at) == (MessageStatus.STREAMING, "", None)
    assert (reply.content, reply.heartbeat_at) == ("Still here", JUNE + MINUTE)


def test_save_progress_beside_the_next_turn_keeps_the_text_of_an_interrupted_reply(as_trader):
    first = send(conversation := ConversationFactory()).reply
    interrupt_dead_turns(now=JUNE + MINUTE)
    second = send(conversation).reply

    saved = save_progress(reply_id=first.pk, parts=[], text="Still here", now=JUNE + MINUTE)

    first.refresh_from_db()
    second.refresh_from_db()
    assert (saved, first.content, first.status) == (SaveOutcome.SAVED, "Still here", MessageStatus.INTERRUPTED)
    assert second.status == MessageStatus.STREAMING


def test_sweep_leaves_out_the_replies_of_this_process(as_trader):
    reply = send(ConversationFactory()).reply

    with shield_reply(reply.pk):
        while_running = interrupt_dead_turns(now=JUNE + MINUTE)

    assert while_running == []
    assert interrupt_dead_turns(now=JUNE + MINUTE) == [reply.conversation_id]


def test_finish_reply_closes_with_all_there_is(as_trader):
    reply = send(ConversationFactory()).reply
    usage = {"prompt_tokens": 3}

    finish(reply, status=MessageStatus.FAILED, text="Half", error="e" * 400, model="m" * 200, usage=usage)

    reply.refresh_from_db()
    assert (reply.status, reply.content, reply.usage) == (MessageStatus.FAILED, "Half", usage)
    assert (len(reply.error), len(reply.model), reply.finished_at) == (300, 120, JUNE)


def test_finish_reply_leaves_no_call_running(as_trader):
    reply = send(ConversationFactory()).reply
    running = {"kind": "tool", "step": 0, "call_id": "a", "name": "x", "arguments": "{}", "status": "running"}
    done = {**running, "call_id": "b", "status": "done", "result": {"ok": True}}

    finish(reply, parts=[{**running, "result": None}, done])

    reply.refresh_from_db()
    assert [part["status"] for part in reply.parts] == ["error", "done"]
    assert reply.parts[0]["result"] == {"error": "This call was interrupted."}


def test_closed_reply_is_left_alone_by_a_second_finish_and_later_progress(as_trader):
    reply = send(ConversationFactory()).reply

    assert finish(reply, text="First.") is True
    assert finish(reply, text="Second.") is False
    assert save_progress(reply_id=reply.pk, parts=[], text="less", now=JUNE) is SaveOutcome.TAKEN
    reply.refresh_from_db()
    assert reply.content == "First."


def test_finish_reply_writes_over_a_sweep_that_came_too_early(as_trader):
    reply = send(ConversationFactory()).reply
    interrupt_dead_turns(now=JUNE + MINUTE)

    assert finish(reply, text="All of it.") is True
    reply.refresh_from_db()
    assert (reply.content, reply.status, reply.error) == ("All of it.", MessageStatus.COMPLETE, "")


def test_finish_reply_leaves_a_swept_reply_that_was_retried_out_of_sight(as_trader):
    reply = send(conversation := ConversationFactory()).reply
    interrupt_dead_turns(now=JUNE + MINUTE)
    retry_reply(conversation_id=conversation.pk, now=JUNE + MINUTE)

    assert finish(reply, text="Too late.") is False


def test_request_stop_without_a_turn_says_so(as_trader):
    reply = send(conversation := ConversationFactory()).reply
    finish(reply)

    assert request_stop(conversation_id=conversation.pk, now=JUNE) is False
    reply.refresh_from_db()
    assert reply.stop_requested_at is None


def test_interrupt_dead_turns_waits_for_the_lease(as_trader):
    conversation = ConversationFactory()
    reply = send(conversation).reply
    save_progress(reply_id=reply.pk, parts=[{"kind": "text", "step": 0, "text": "Half"}], text="Half", now=JUNE)

    early = interrupt_dead_turns(now=JUNE + HEARTBEAT_LEASE)
    late = interrupt_dead_turns(now=JUNE + HEARTBEAT_LEASE + SECOND)

    reply.refresh_from_db()
    assert (early, late) == ([], [conversation.pk])
    assert (reply.status, reply.content, reply.error) == (MessageStatus.INTERRUPTED, "Half", RESTARTED)
    assert reply.finished_at == JUNE + HEARTBEAT_LEASE + SECOND


def test_interrupt_dead_turns_touches_ones_own_in_a_users_scope(stranger, as_trader):
    reply = as_owner(stranger, lambda: send(ConversationFactory()).reply)

    assert interrupt_dead_turns(now=JUNE + MINUTE) == []
    assert as_owner(stranger, lambda: Message.objects.get(pk=reply.pk).status) == MessageStatus.STREAMING


def test_interrupt_dead_turns_touches_everybodys_in_the_systems(trader, stranger):
    for user in (trader, stranger):
        as_owner(user, lambda: send(ConversationFactory()))

    with system_tx("test"):
        assert len(interrupt_dead_turns(now=JUNE + MINUTE)) == 2
