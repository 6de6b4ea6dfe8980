from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from chat.conversations.queries import find_streaming_reply, get_threads, last_message_id, list_messages, list_recent
from chat.models import MessageStatus
from tests.chat.exchanges import exchange
from tests.factories.chat import ConversationFactory, ReplyFactory
from tests.factories.memory import JUNE

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


# --- One conversation ---


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
    new = ReplyFactory(reply_to=message, content="Second try.", status=MessageStatus.STREAMING, heartbeat_at=JUNE)

    assert contents_of(list_messages(conversation.pk)) == ["One", "Second try."]
    assert find_streaming_reply(conversation.pk) == new
    assert last_message_id(conversation.pk) == new.pk


def test_newest_message_and_reply_of_an_empty_conversation(as_trader):
    conversation = ConversationFactory()

    assert (last_message_id(conversation.pk), find_streaming_reply(conversation.pk)) == (0, None)


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
def test_get_threads_groups_by_the_days_of_the_reader(as_trader, zone, written, label):
    ConversationFactory(last_message_at=datetime.fromisoformat(written).replace(tzinfo=ZoneInfo("UTC")))

    assert list(get_threads(datetime(2026, 6, 10, 12, tzinfo=ZoneInfo(zone))).groups) == [label]


def test_get_threads_keeps_groups_and_threads_newest_first(as_trader):
    made = [ConversationFactory(last_message_at=JUNE - days * DAY) for days in (0, 40, 1, 0, 3)]

    groups = get_threads(JUNE).groups

    assert list(groups) == ["Today", "Yesterday", "Previous 7 days", "Older"]
    assert {thread.pk for thread in groups["Today"]} == {made[0].pk, made[3].pk}


def test_get_threads_is_one_query_and_a_count(as_trader, django_assert_num_queries):
    ConversationFactory.create_batch(5)

    with django_assert_num_queries(2):
        get_threads(JUNE)
