from datetime import datetime, timedelta
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from chat.conversations.queries import (
    ConversationNotFound,
    find_last_reply,
    get_conversation,
    get_standing,
    history,
    last_message_id,
    list_messages,
    list_recent,
    list_threads,
)
from chat.models import Role
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE
from tests.owners import as_owner

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
PLENTY = 100_000  # tokens


def exchange(conversation, question, answer, **reply):
    """A message and its reply; return both."""
    message = MessageFactory(conversation=conversation, content=question)
    return message, ReplyFactory(reply_to=message, content=answer, **reply)


def contents(messages):
    return [message["content"] for message in messages]


# --- One conversation ---


def test_get_conversation_is_the_owners(as_trader):
    conversation = ConversationFactory()

    assert get_conversation(conversation.pk) == conversation


def test_get_conversation_does_not_tell_a_strangers_from_none(stranger, as_trader):
    theirs = as_owner(stranger, ConversationFactory)

    messages = set()
    for conversation_id in (theirs.pk, uuid4()):
        with pytest.raises(ConversationNotFound) as refusal:
            get_conversation(conversation_id)
        messages.add(str(refusal.value))

    assert messages == {"This chat does not exist."}


def test_list_messages_is_in_order_and_begins_after_one(as_trader):
    conversation = ConversationFactory()
    first, reply = exchange(conversation, "One", "First.")
    second, _ = exchange(conversation, "Two", "Second.")
    exchange(ConversationFactory(), "Elsewhere", "Not here.")

    assert contents_of(list_messages(conversation.pk)) == ["One", "First.", "Two", "Second."]
    assert contents_of(list_messages(conversation.pk, after=reply.pk)) == ["Two", "Second."]
    assert list_messages(conversation.pk, after=10**18) == []
    assert (first.pk < reply.pk < second.pk) is True


def contents_of(rows):
    return [row.content for row in rows]


def test_replaced_replies_are_out_of_sight(as_trader):
    conversation = ConversationFactory()
    message, _ = exchange(conversation, "One", "First try.", replaced=True)
    new = ReplyFactory(reply_to=message, content="Second try.")

    assert contents_of(list_messages(conversation.pk)) == ["One", "Second try."]
    assert find_last_reply(conversation.pk) == new
    assert last_message_id(conversation.pk) == new.pk


def test_newest_message_and_reply_of_an_empty_conversation(as_trader):
    conversation = ConversationFactory()

    assert (last_message_id(conversation.pk), find_last_reply(conversation.pk)) == (0, None)


def test_messages_of_a_stranger_are_not_listed(stranger, as_trader):
    conversation = as_owner(stranger, lambda: exchange(ConversationFactory(), "Theirs", "Theirs.")[0].conversation)

    assert list_messages(conversation.pk) == []
    assert (last_message_id(conversation.pk), find_last_reply(conversation.pk)) == (0, None)
    assert history(conversation.pk, before=10**9, budget_tokens=PLENTY).messages == []


# --- Lists ---


def test_list_recent_is_by_latest_message(as_trader):
    old, new = (ConversationFactory(last_message_at=JUNE + days * DAY) for days in (0, 1))

    assert list_recent(5) == [new, old]
    assert list_recent(1) == [new]


@pytest.mark.parametrize(
    ("zone", "written", "label"),
    [
        ("UTC", "2026-06-10T00:00", "Today"),
        ("UTC", "2026-06-09T23:59", "Yesterday"),
        ("UTC", "2026-06-08T23:59", "Previous 7 days"),
        ("UTC", "2026-06-03T00:00", "Previous 7 days"),
        ("UTC", "2026-06-02T23:59", "Previous 30 days"),
        ("UTC", "2026-05-11T00:00", "Previous 30 days"),
        ("UTC", "2026-05-10T23:59", "Older"),
        ("UTC", "2026-06-10T23:00", "Today"),
        ("America/New_York", "2026-06-10T01:00", "Yesterday"),
        ("Pacific/Auckland", "2026-06-09T13:00", "Today"),
    ],
)
def test_list_threads_groups_by_the_days_of_the_reader(as_trader, zone, written, label):
    ConversationFactory(last_message_at=datetime.fromisoformat(written).replace(tzinfo=ZoneInfo("UTC")))

    (group,) = list_threads(datetime(2026, 6, 10, 12, tzinfo=ZoneInfo(zone)))

    assert group.label == label


def test_list_threads_keeps_groups_and_threads_newest_first(as_trader):
    made = [ConversationFactory(last_message_at=JUNE - days * DAY) for days in (0, 40, 1, 0, 3)]

    groups = list_threads(JUNE)

    assert [group.label for group in groups] == ["Today", "Yesterday", "Previous 7 days", "Older"]
    assert {thread.pk for thread in groups[0].threads} == {made[0].pk, made[3].pk}


def test_list_threads_is_one_query(as_trader, django_assert_num_queries):
    ConversationFactory.create_batch(5)

    with django_assert_num_queries(1):
        list_threads(JUNE)


# --- What a model is told ---


def test_history_is_what_was_said_before_oldest_first(as_trader):
    conversation = ConversationFactory()
    exchange(conversation, "One", "First.")
    message, reply = exchange(conversation, "Two", "")

    told = history(conversation.pk, before=reply.pk, budget_tokens=PLENTY).messages

    assert told == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "First."},
        {"role": "user", "content": "Two"},
    ]
    assert contents(history(conversation.pk, before=message.pk, budget_tokens=PLENTY).messages) == ["One", "First."]


def test_history_is_one_query(as_trader, django_assert_num_queries):
    conversation = ConversationFactory()
    for number in range(5):
        exchange(conversation, f"Question {number}", f"Answer {number}")

    with django_assert_num_queries(1):
        history(conversation.pk, before=10**9, budget_tokens=PLENTY)


def test_history_leaves_out_the_oldest_when_it_does_not_fit(as_trader):
    conversation = ConversationFactory()
    for number in range(10):
        exchange(conversation, f"Question {number} " + "q" * 380, f"Answer {number} " + "a" * 380)

    told = history(conversation.pk, before=10**9, budget_tokens=500).messages

    assert contents(told)[0].startswith("Question 8")
    assert contents(told)[-1].startswith("Answer 9")
    assert sum(len(text) for text in contents(told)) // 4 <= 500


@pytest.mark.parametrize("budget", [-10, 0, 1, 150])
def test_history_never_begins_with_an_answer(as_trader, budget):
    conversation = ConversationFactory()
    exchange(conversation, "Question " + "q" * 4000, "Answer.")
    exchange(conversation, "The newest " + "q" * 380, "")

    told = history(conversation.pk, before=find_last_reply(conversation.pk).pk, budget_tokens=budget).messages

    assert told[0]["role"] == Role.USER
    assert contents(told)[-1].startswith("The newest")


def test_history_takes_in_the_newest_message_whatever_it_costs(as_trader):
    conversation = ConversationFactory()
    message = MessageFactory(conversation=conversation, content="x" * 16_000)

    assert contents(history(conversation.pk, before=message.pk + 1, budget_tokens=10).messages) == [message.content]


def test_history_never_separates_calls_from_their_results(as_trader):
    conversation = ConversationFactory()
    call = {"kind": "tool", "step": 0, "call_id": "a", "name": "remember", "arguments": "{}", "status": "done"}
    parts = [{**call, "result": {"saved": "x" * 900}}, {"kind": "text", "step": 1, "text": "Saved."}]
    exchange(conversation, "Remember it", "Saved.", parts=parts)
    exchange(conversation, "And now?", "")
    newest = find_last_reply(conversation.pk).pk

    whole = history(conversation.pk, before=newest, budget_tokens=PLENTY).messages
    cut = history(conversation.pk, before=newest, budget_tokens=100).messages

    assert [message["role"] for message in whole] == ["user", "assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in cut] == ["user"]


# --- Where a conversation and its user stand ---


def standing(conversation, client_id=None):
    return get_standing(
        conversation.pk,
        client_id=client_id,
        dead_before=JUNE - HOUR,
        recent_since=JUNE - DAY,
        today=JUNE.date(),
    )


def test_get_standing_counts_what_runs(as_trader):
    here, elsewhere = ConversationFactory(), ConversationFactory()
    ReplyFactory(reply_to__conversation=here, streaming=True, heartbeat_at=JUNE)
    ReplyFactory(reply_to__conversation=elsewhere, streaming=True, heartbeat_at=JUNE - 2 * HOUR)
    ReplyFactory(reply_to__conversation=here)

    found = standing(here)

    assert (found.running, found.running_here, found.dead) == (2, 1, 1)


def test_get_standing_finds_a_message_sent_before(as_trader):
    message = MessageFactory()

    assert standing(message.conversation, message.client_id).repeat_id == message.pk
    assert standing(ConversationFactory(), message.client_id).repeat_id is None
    assert standing(message.conversation, uuid4()).repeat_id is None
    assert standing(message.conversation).repeat_id is None


def test_get_standing_knows_nothing_of_a_stranger(stranger, as_trader):
    def busy():
        message = ReplyFactory(streaming=True, created_at=JUNE).reply_to
        return message.conversation, message.client_id

    theirs, client_id = as_owner(stranger, busy)

    mine = standing(ConversationFactory(), client_id)
    assert (mine.running, mine.recent, mine.repeat_id) == (0, 0, None)
    with pytest.raises(ConversationNotFound):
        standing(theirs, client_id)
