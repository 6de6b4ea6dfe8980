"""What Keel writes before the user's words: time, focus and facts."""

import json
from datetime import timedelta
from uuid import uuid4

import factory
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.api.values import message_values
from chat.conversations.search import search_conversations
from chat.conversations.services import ask_about_fact, start_conversation
from chat.endings.erasure import erase_fact
from chat.models import Conversation, Message, MessageStatus
from chat.parts import INTERRUPTED, Reply, add_preamble, model_messages, split_preamble
from chat.prompt import receipts
from chat.turns.accept import accept_message, continue_reply, edit_message, retry_reply
from chat.turns.replies import finish_reply
from config.lib.llm.answer import ToolCall
from memory.facts.services import delete_fact, set_switches, supersede_fact
from tests.chat.talk import as_typed
from tests.factories.chat import MessageFactory
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.factories.record import DeploymentFactory
from trading.models import Deployment

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)
CLOCK = {"name": "clock", "text": "Current datetime: 2026-06-01T12:00:00Z"}
RECALL = {
    "name": "recall",
    "text": "## Recalled for this message",
    "facts": [{"id": "0190aaaa-0000-7000-8000-0000000000f1", "text": "- Wants a boat"}],
}


def send(chat, text, now):
    return accept_message(conversation_id=chat.pk, client_id=uuid4(), text=text, now=now)


def end(accepted, *, parts=(), status=MessageStatus.COMPLETE, now=JUNE):
    text = [*parts, {"kind": "text", "step": 1, "text": "Fine."}]
    finish_reply(reply_id=accepted.reply.pk, status=status, parts=text, text="Fine.", now=now)


def ask(chat, text="Why?", now=JUNE, **given):
    accepted = send(chat, text, now)
    end(accepted, now=now, **given)
    return accepted


def names(accepted):
    return [part["name"] for part in Message.objects.get(pk=accepted.reply.pk).preamble]


def open_on(deployment):
    return start_conversation(opening={"mode": "coach", "deployment_id": str(deployment.pk)}, now=JUNE)


@pytest.fixture
def focused(as_trader):
    """A chat about a deployment."""
    return open_on(DeploymentFactory(skill__name="Zebra fade"))


# --- What it holds ---


def test_message_begins_with_the_time_and_the_focus(focused):
    told = ask(focused, now=JUNE + MINUTE).turn.sent.messages[-1]["content"]

    before, typed = split_preamble(told)
    assert before.startswith("Current datetime: 2026-06-01T12:01:00Z\n\n## In focus\n- deployment_id: ")
    assert "\n- status: running\n" in before
    assert typed == "Why?"


def test_focus_is_repeated_only_when_it_changed(focused):
    turns = [ask(focused), ask(focused)]
    Deployment.objects.update(status="paused")
    turns += [ask(focused), ask(focused)]

    assert [names(turn) for turn in turns] == [["clock", "focus"], ["clock"], ["clock", "focus"], ["clock"]]
    assert "- status: paused" in turns[2].turn.sent.messages[-1]["content"]


def test_focus_that_left_the_prompt_is_sent_again(focused, settings):
    ask(focused)
    ask(focused, "filler " * 1_500)
    settings.CONTEXT_BUDGET_TOKENS = 4_000

    last = ask(focused)

    assert len(last.turn.sent.message_ids) < 5
    assert names(last) == ["clock", "focus"]


def test_deleted_focus_is_said_to_be_deleted(focused):
    ask(focused)
    Conversation.objects.update(opening_context={"mode": "coach", "deployment_id": str(uuid4())})

    last = ask(focused)

    assert "## In focus\n- nothing: it was deleted\n</context>" in last.turn.sent.messages[-1]["content"]


# --- The history keeps it ---


def test_retry_has_its_own_time_and_the_next_turn_repeats_that_one(focused):
    first = ask(focused)
    again = retry_reply(conversation_id=focused.pk, now=JUNE + MINUTE)
    end(again)

    following = ask(focused, now=JUNE + 2 * MINUTE)

    times = [turn.turn.sent.messages[0]["content"][28:48] for turn in (first, again, following)]
    assert times == ["2026-06-01T12:00:00Z", "2026-06-01T12:01:00Z", "2026-06-01T12:01:00Z"]
    assert names(again) == ["clock", "focus"]


def test_continuation_has_its_own_time_before_the_request_to_continue(focused):
    first = ask(focused, status=MessageStatus.INTERRUPTED)
    further = continue_reply(conversation_id=focused.pk, now=JUNE + MINUTE)
    end(further)

    following = ask(focused, now=JUNE + 2 * MINUTE)

    assert further.turn.sent.messages[0] == first.turn.sent.messages[0] == following.turn.sent.messages[0]
    assert further.turn.sent.messages[-1]["content"].startswith(
        "<context>\nCurrent datetime: 2026-06-01T12:01:00Z\n</context>"
    )
    assert [message["role"] for message in following.turn.sent.messages] == ["user", "assistant", "assistant", "user"]


def test_edited_message_gets_a_preamble_of_its_own(focused):
    first = ask(focused)

    edited = edit_message(conversation_id=focused.pk, message_id=first.message.pk, text="How?", now=JUNE + MINUTE)

    assert names(edited) == ["clock", "focus"]
    assert as_typed(edited.turn.sent.messages) == [{"role": "user", "content": "How?"}]


def test_replies_from_before_preambles_have_none_in_the_history(focused):
    ask(focused)
    Message.objects.update(preamble=[])

    later = ask(focused)

    assert later.turn.sent.messages[0]["content"] == "Why?"
    assert names(later) == ["clock", "focus"]


# --- The same bytes on both engines ---

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
numbers = st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(result=st.dictionaries(st.sampled_from(["deployments", "detail", "é", "id", "total", "ID"]), json_values))
def test_tool_result_is_sent_with_the_same_bytes_in_the_next_turn(as_trader, result):
    reply = Reply()
    reply.finish_tool(reply.start_tool(ToolCall("call_1", "list_my_skills", "{}")), result)

    stored = MessageFactory(role="assistant", parts=reply.parts)

    sent = model_messages(reply.parts)
    assert model_messages(Message.objects.get(pk=stored.pk).parts) == sent
    assert json.loads(sent[1]["content"]) == (result or {"error": INTERRUPTED})


# --- It is not the user's words ---


def test_nothing_but_a_model_sees_it(focused):
    turn = ask(focused)

    shown = json.dumps(message_values(list(Message.objects.order_by("pk"))), default=str)
    assert "In focus" not in shown
    assert "Current datetime" not in shown
    assert (turn.message.content, turn.turn.text, turn.title) == ("Why?", "Why?", "Why?")
    assert search_conversations(query="Zebra").rows == []
    assert Message.objects.filter(content__contains="Zebra").count() == 0


# --- Erasure ---


def test_erased_fact_leaves_the_stored_preambles(as_trader):
    fact = UserFactFactory(content="Max 5x leverage", body="since May")
    chat = ask_about_fact(fact_id=fact.pk, now=JUNE)
    first = ask(chat, "3x now")
    newer = supersede_fact(fact_id=fact.pk, content="Max 3x leverage", now=JUNE).fact
    assert "Max 5x leverage" in json.dumps(Message.objects.get(pk=first.reply.pk).preamble)

    delete_fact(fact_id=newer.pk, now=JUNE)
    erase_fact(fact_id=newer.pk)

    preamble = Message.objects.get(pk=first.reply.pk).preamble
    assert [part["name"] for part in preamble] == ["clock", "fact"]
    assert [fact["text"] for part in preamble for fact in part.get("facts", ())] == ["- Deleted for good."]
    assert "5x" not in str(ask(chat).turn.sent.messages)


def test_erased_fact_leaves_the_recalled_ones_beside_it(as_trader):
    fact, other = UserFactFactory(content="Wants a boat"), UserFactFactory(content="Wants a house")
    first = ask(start_conversation(now=JUNE))
    facts = [{"id": str(row.pk), "text": f"- {row.content}"} for row in (fact, other)]
    Message.objects.filter(pk=first.reply.pk).update(preamble=[CLOCK, {**RECALL, "facts": facts}])

    delete_fact(fact_id=fact.pk, now=JUNE)
    erase_fact(fact_id=fact.pk)

    recall = Message.objects.get(pk=first.reply.pk).preamble[1]
    assert [row["text"] for row in recall["facts"]] == ["- Deleted for good.", "- Wants a house"]


# --- Text and back ---


@given(typed=st.text(max_size=60) | st.sampled_from(["<context>\nx\n</context>\n\ny", "\n</context>\n\n"]))
def test_split_preamble_returns_what_add_preamble_joined(typed):
    told = add_preamble([CLOCK, RECALL], typed)

    assert split_preamble(told) == (f"{CLOCK['text']}\n\n## Recalled for this message\n- Wants a boat", typed)


def test_message_without_a_preamble_is_left_as_it_is():
    assert add_preamble([], "Hi") == "Hi"
    assert split_preamble("<context>\nnever closed") == ("", "<context>\nnever closed")


# --- Receipts ---


def keep(accepted):
    receipts.keep_receipt(reply_id=accepted.reply.pk, sent=accepted.turn.sent, tools=[], models=["m"])


def is_exact(accepted):
    reply = Message.objects.select_related("snapshot").get(pk=accepted.reply.pk)
    return receipts.rebuild_prompt(receipts.find_receipt(reply), reply).is_exact


def test_receipts_of_turn_retry_continuation_and_edit_are_exact(focused):
    turns = [ask(focused), ask(focused, status=MessageStatus.INTERRUPTED)]
    turns.append(continue_reply(conversation_id=focused.pk, now=JUNE + MINUTE))
    end(turns[-1])
    turns.append(retry_reply(conversation_id=focused.pk, now=JUNE + 2 * MINUTE))
    end(turns[-1])
    turns.append(ask(focused, now=JUNE + 3 * MINUTE))
    turns.append(
        edit_message(conversation_id=focused.pk, message_id=turns[-1].message.pk, text="Other", now=JUNE + 4 * MINUTE)
    )
    for turn in turns:
        keep(turn)

    assert [is_exact(turn) for turn in turns] == [True] * 6


# --- Recalled facts ---


@pytest.fixture
def outside_block(as_trader):
    """A fact that the block has no room for."""
    fact = UserFactFactory(content="My usual leverage is 3x", last_referenced_at=MAY)
    for number in range(12):
        UserFactFactory(content=f"Plays song number {number}", last_referenced_at=JUNE)
    return fact


def test_message_brings_the_facts_that_it_concerns_and_the_block_lacks(outside_block):
    chat = start_conversation(now=JUNE)

    accepted = ask(chat, "What is my max leverage?")

    recall = Message.objects.get(pk=accepted.reply.pk).preamble[-1]
    assert recall == {
        **recall,
        "name": "recall",
        "facts": [{"id": str(outside_block.pk), "text": f"- {outside_block.content}"}],
    }
    assert outside_block.content in accepted.turn.sent.messages[-1]["content"]
    assert names(ask(chat, "Tell me a joke.")) == ["clock"]


@pytest.mark.parametrize(("assistant", "referenced_at"), [("coach", JUNE), ("advisor", MAY)])
def test_message_to_the_coach_references_the_facts_that_it_brings(outside_block, assistant, referenced_at):
    UserFactFactory.create_batch(60, content=factory.Sequence("Filler {}".format), category="fact")
    chat = start_conversation(assistant=assistant, now=JUNE)

    ask(chat, "What is my max leverage?")

    outside_block.refresh_from_db()
    assert outside_block.last_referenced_at == referenced_at


@pytest.mark.parametrize("uses_facts", [True, False])
def test_message_brings_no_fact_that_the_block_has_nor_any_while_facts_are_switched_off(as_trader, uses_facts):
    UserFactFactory(content="I never use more than 3x leverage")
    set_switches(uses_facts=uses_facts)

    assert names(ask(start_conversation(now=JUNE), "What is my max leverage?")) == ["clock"]


def test_message_repeats_no_fact_of_an_earlier_message(outside_block):
    chat = start_conversation(now=JUNE)
    first = ask(chat, "What is my max leverage?")

    assert [names(first), names(ask(chat, "What is my max leverage again?"))] == [["clock", "recall"], ["clock"]]


def _push_out(chat, fact, settings):
    ask(chat, "filler " * 1_500)
    settings.CONTEXT_BUDGET_TOKENS = 4_000
    return ask(chat, "What is my max leverage?")


def _change(chat, fact, settings):
    supersede_fact(fact_id=fact.pk, content="My usual leverage is 2x", now=JUNE)
    return ask(chat, "What is my max leverage?")


@pytest.mark.parametrize("again", [lambda chat, *_: retry_reply(conversation_id=chat.pk, now=JUNE), _push_out, _change])
def test_fact_of_a_retried_message_that_left_the_prompt_or_changed_is_brought_again(outside_block, settings, again):
    chat = start_conversation(now=JUNE)
    ask(chat, "What is my max leverage?")

    assert names(again(chat, outside_block, settings)) == ["clock", "recall"]
