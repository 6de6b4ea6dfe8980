from datetime import UTC

from chat.grounding.checks import ground_parts, list_figures
from tests.chat.grounding.replies import NOW

TOOL = {
    **{"kind": "tool", "step": 0, "call_id": "c1", "name": "get_my_deployments", "arguments": "{}", "status": "done"},
    "result": {"deployment_id": "d-1", "net_pnl_usd": 18.7},
}


def ground(text, *, messages=(), memory="", parts=(TOOL,)):
    parts = [*parts, {"kind": "text", "step": 1, "text": text}]
    ground_parts(parts, messages=messages, memory=memory, zone=UTC, now=NOW)
    return {figure["text"]: figure["source"] for figure in list_figures(parts)}


def test_reply_is_grounded_in_its_tools_its_facts_and_the_users_words():
    asked = {"role": "user", "content": "<context>\nRecalled: at most 3 % a day\n</context>\n\nIs 2 % too much?"}
    said = {"role": "assistant", "content": "You lost $99.00."}

    found = ground("Net +$18.70, 2 % asked, 3 % recalled, 5x remembered, $99.00 made up.",
                   messages=[said, asked], memory="- [risk] Max 5x leverage")  # fmt: skip

    assert found == {
        "+$18.70": {"kind": "deployment", "id": "d-1"},
        "2 %": {"kind": "chat"},
        "3 %": {"kind": "context"},
        "5x": {"kind": "fact"},
        "$99.00": None,
    }


def test_reply_is_grounded_in_earlier_look_ups_of_the_chat():
    earlier = {"role": "tool", "tool_call_id": "c0", "content": '{"trade_id": "t-1", "net_pnl_usd": 7.25}'}

    assert ground("It made $7.25.", messages=[earlier], parts=()) == {"$7.25": {"kind": "trade", "id": "t-1"}}


def test_reply_without_figures_gets_none():
    parts = [{"kind": "text", "step": 0, "text": "Hello."}]

    ground_parts(parts, messages=(), memory="", zone=UTC, now=NOW)

    assert parts == [{"kind": "text", "step": 0, "text": "Hello."}]
