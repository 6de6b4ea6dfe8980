import pytest

from chat.conversations.history import read_history
from chat.conversations.queries import last_message_id
from chat.models import Role
from tests.chat.exchanges import exchange
from tests.factories.chat import ConversationFactory, MessageFactory

PLENTY = 100_000  # tokens


def contents(messages):
    return [message["content"] for message in messages]


def test_read_history_is_what_was_said_before_oldest_first(as_trader):
    conversation = ConversationFactory()
    exchange(conversation, "One", "First.")
    message, reply = exchange(conversation, "Two", "")

    told = read_history(conversation.pk, before=reply.pk, budget_tokens=PLENTY).messages

    assert told == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": "First."},
        {"role": "user", "content": "Two"},
    ]
    assert contents(read_history(conversation.pk, before=message.pk, budget_tokens=PLENTY).messages) == [
        "One",
        "First.",
    ]


def test_read_history_is_one_query(as_trader, django_assert_num_queries):
    conversation = ConversationFactory()
    for number in range(5):
        exchange(conversation, f"Question {number}", f"Answer {number}")

    with django_assert_num_queries(1):
        read_history(conversation.pk, before=10**9, budget_tokens=PLENTY)


def test_read_history_leaves_out_the_oldest_when_it_does_not_fit(as_trader):
    conversation = ConversationFactory()
    for number in range(10):
        exchange(conversation, f"Question {number} " + "q" * 380, f"Answer {number} " + "a" * 380)

    told = read_history(conversation.pk, before=10**9, budget_tokens=500).messages

    assert contents(told)[0].startswith("Question 8")
    assert contents(told)[-1].startswith("Answer 9")
    assert sum(len(text) for text in contents(told)) // 4 <= 500


@pytest.mark.parametrize("budget", [-10, 0, 1, 150])
def test_read_history_never_begins_with_an_answer(as_trader, budget):
    conversation = ConversationFactory()
    exchange(conversation, "Question " + "q" * 4000, "Answer.")
    exchange(conversation, "The newest " + "q" * 380, "")

    told = read_history(conversation.pk, before=last_message_id(conversation.pk), budget_tokens=budget).messages

    assert told[0]["role"] == Role.USER
    assert contents(told)[-1].startswith("The newest")


def test_read_history_takes_in_the_newest_message_whatever_it_costs(as_trader):
    conversation = ConversationFactory()
    message = MessageFactory(conversation=conversation, content="x" * 16_000)

    assert contents(read_history(conversation.pk, before=message.pk + 1, budget_tokens=10).messages) == [
        message.content
    ]


def test_read_history_never_separates_calls_from_their_results(as_trader):
    conversation = ConversationFactory()
    call = {"kind": "tool", "step": 0, "call_id": "a", "name": "remember", "arguments": "{}", "status": "done"}
    parts = [{**call, "result": {"saved": "x" * 900}}, {"kind": "text", "step": 1, "text": "Saved."}]
    exchange(conversation, "Remember it", "Saved.", parts=parts)
    exchange(conversation, "And now?", "")
    newest = last_message_id(conversation.pk)

    whole = read_history(conversation.pk, before=newest, budget_tokens=PLENTY).messages
    cut = read_history(conversation.pk, before=newest, budget_tokens=100).messages

    assert [message["role"] for message in whole] == ["user", "assistant", "tool", "assistant", "user"]
    assert [message["role"] for message in cut] == ["user"]
