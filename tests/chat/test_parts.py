import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.parts import INTERRUPTED, Reply, close_running_tools, model_messages
from config.lib.llm.door import ToolCall

CALL = ToolCall("call_1", "remember", '{"fact": "Trades BTC"}')
EVENT = {
    "id": "11111111-1111-1111-1111-111111111111",
    "kind": "save",
    "before": None,
    "after": {"fact_id": "22222222-2222-2222-2222-222222222222", "fact": "Trades BTC", "topic": "", "confidence": "x"},
}


def test_reply_joins_text_of_a_step_and_keeps_steps_apart():
    reply = Reply()

    reply.add_text("Hello ")
    reply.add_text("Ann. ")
    reply.step = 1
    reply.add_text("\nMore.\n")

    assert [part["text"] for part in reply.parts] == ["Hello Ann. ", "\nMore.\n"]
    assert reply.text == "Hello Ann.\n\nMore."
    assert reply.length == len("Hello Ann. \nMore.\n")


def test_reply_begins_a_new_text_after_a_tool():
    reply = Reply()

    reply.add_text("Before.")
    reply.start_tool(CALL)
    reply.add_text("After.")

    assert [each["kind"] for each in reply.parts] == ["text", "tool", "text"]


STORABLE = {"n": 1.5, "yes": True, "none": None, "list": ["ä", {"deep": "👩‍💻"}], "tuple": ["a"]}


@pytest.mark.parametrize(
    ("result", "stored", "status"),
    [(STORABLE | {"tuple": ("a",)}, STORABLE, "done"), ({"error": "no"}, {"error": "no"}, "error")],
)
def test_finish_tool_sets_status_and_result(result, stored, status):
    reply = Reply()
    part = reply.start_tool(CALL)
    assert (part["status"], part["result"]) == ("running", None)
    reply.finish_tool(part, result)
    assert (part["status"], part["result"]) == (status, stored)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters()), inner, max_size=3),
    max_leaves=10,
)


@given(result=st.dictionaries(st.text(st.characters()), JSON, max_size=4))
def test_finished_result_can_be_stored_anywhere(result):
    reply = Reply()

    reply.finish_tool(part := reply.start_tool(CALL), result)

    text = json.dumps(part["result"], ensure_ascii=False)
    assert "\\u0000" not in text
    text.encode()


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (EVENT, "Trades BTC"),
        ({**EVENT, "kind": "forget", "before": EVENT["after"], "after": None}, "Trades BTC"),
        ({**EVENT, "before": {**EVENT["after"], "fact": "Old words"}}, "Trades BTC"),
    ],
    ids=["save", "forget", "update"],
)
def test_add_memory_shows_what_is_held_now_or_was(event, text):
    part = Reply().add_memory(event)

    assert (part["text"], part["event_id"], part["event_kind"]) == (text, event["id"], event["kind"])
    assert part["fact_id"] == "22222222-2222-2222-2222-222222222222"


def test_close_running_tools_ends_only_what_runs():
    running = {"kind": "tool", "status": "running", "result": None}
    parts = [{"kind": "text", "text": "x"}, running, {"kind": "tool", "status": "done", "result": {"ok": 1}}]

    closed = close_running_tools(parts)

    assert closed[1] == {"kind": "tool", "status": "error", "result": {"error": INTERRUPTED}}
    assert (closed[0], closed[2]) == (parts[0], parts[2])
    assert running["status"] == "running"  # the turn's own parts stay as they are


def tool(call_id, step, *, arguments="{}", status="done", result=None):
    return {
        "kind": "tool",
        "step": step,
        "call_id": call_id,
        "name": "remember",
        "arguments": arguments,
        "status": status,
        "result": {"saved": call_id} if result is None and status == "done" else result,
    }


def text(words, step):
    return {"kind": "text", "step": step, "text": words}


def test_model_messages_are_one_message_a_step_and_one_a_result():
    memory = {"kind": "memory", "step": 0, "event_id": "x", "event_kind": "save", "text": "y", "fact_id": "z"}
    parts = [text("Saving. ", 0), tool("a", 0), memory, tool("b", 0), text("Both saved.", 1)]

    messages = model_messages(parts)

    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "assistant"]
    assert messages[0]["content"] == "Saving."
    assert [call["id"] for call in messages[0]["tool_calls"]] == ["a", "b"]
    assert [message["tool_call_id"] for message in messages[1:3]] == ["a", "b"]
    assert json.loads(messages[1]["content"]) == {"saved": "a"}
    assert messages[3] == {"role": "assistant", "content": "Both saved."}


@pytest.mark.parametrize(
    ("parts", "messages"),
    [([], []), ([text("  \n", 0)], []), ([text("Hi.", 0)], [{"role": "assistant", "content": "Hi."}])],
    ids=["nothing", "white space", "text"],
)
def test_model_messages_omit_empty_parts(parts, messages):
    assert model_messages(parts) == messages


WRITTEN = '{"fact":   "Trades BTC",\n "fact": "twice"}'


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [(WRITTEN, WRITTEN)] + [(text, "{}") for text in ("", "{", "null", "[1]", '"x"', "[" * 100_000, '{"a": NaN', "1")],
)
def test_arguments_go_back_as_written_or_as_an_empty_object(arguments, sent):
    (call,) = model_messages([tool("a", 0, arguments=arguments)])[0]["tool_calls"]
    assert call["function"]["arguments"] == sent


def test_call_that_never_finished_has_an_answer_all_the_same():
    messages = model_messages([tool("a", 0, status="running")])

    assert json.loads(messages[1]["content"]) == {"error": INTERRUPTED}


PART = st.one_of(
    st.builds(text, st.text(max_size=5), st.integers(0, 3)),
    st.builds(
        tool,
        st.uuids().map(str),
        st.integers(0, 3),
        arguments=st.text(max_size=5) | st.just('{"a": 1}'),
        status=st.sampled_from(["done", "running"]),
    ),
)


@given(parts=st.lists(PART, max_size=12).map(lambda parts: sorted(parts, key=lambda part: part["step"])))
def test_every_call_is_answered_once_directly_after_its_message(parts):
    waiting: list[str] = []

    for message in model_messages(parts):
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            assert message["content"] or message["tool_calls"]
            waiting = [call["id"] for call in message.get("tool_calls", [])]
            for call in message.get("tool_calls", []):
                assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert waiting == []
