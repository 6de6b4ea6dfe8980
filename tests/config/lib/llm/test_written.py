import json
import random

import pytest

from config.lib.llm.written import MAX_HELD, WrittenCalls

NAMES = ("remember", "set_risk", "get_my_deployments")
RISK = '{"name": "set_risk", "arguments": {"maxPositionPct": 1}}'
RISK_CALL = ("set_risk", '{"maxPositionPct": 1}')
FORGET = '{"name": "delete_everything", "arguments": {}}'

# What a model wrote, the text shown, the calls run, and whether a call was held back.
CASES = {
    # --- Tuned on ---
    "plain text": ("You hold BTC.", "You hold BTC.", [], False),
    "bare JSON": (RISK, "", [RISK_CALL], False),
    "fenced": (f"```json\n{RISK}\n```", "", [RISK_CALL], False),
    "fenced without a language": (f"\n```\n{RISK}\n```\n", "\n\n", [RISK_CALL], False),
    "tagged": (f"<tool_call>\n{RISK}\n</tool_call>", "", [RISK_CALL], False),
    "two tagged": (f"<tool_call>{RISK}</tool_call>\n<tool_call>{RISK}</tool_call>", "\n", [RISK_CALL] * 2, False),
    "after text": (f"I set it.\n```json\n{RISK}\n```", "I set it.\n", [], True),
    "tagged in a sentence": (f"Here: <tool_call>{RISK}</tool_call> Done.", "Here:  Done.", [], True),
    "honest JSON": ('{"BTC": 1, "ETH": 2}', '{"BTC": 1, "ETH": 2}', [], False),
    "honest fence": ('```json\n{"name": "BTC"}\n```', '```json\n{"name": "BTC"}\n```', [], False),
    "honest parameters": (
        '{"name": "RSI", "parameters": {"period": 14}}',
        '{"name": "RSI", "parameters": {"period": 14}}',
        [],
        False,
    ),
    "code": ("```python\nprint({})\n```", "```python\nprint({})\n```", [], False),
    "unknown name": (FORGET, "", [], True),
    "parameters of an offered tool": ('{"name": "remember", "parameters": {"fact": "x"}}', "", None, False),
    "unclosed tag": (f"<tool_call>{RISK}", "", [RISK_CALL], False),
    "broken off": ('{"name": "set_risk", "argum', "", [], True),
    "broken off in a fence": ('```json\n{"name": "set_risk", "arguments": {"max', "", [], True),
    "link": ("[facts page](/profile/facts/)", "[facts page](/profile/facts/)", [], False),
    "less than": ("BTC < 40,000 and <b>", "BTC < 40,000 and <b>", [], False),
    "inline code": ("`{}` and ``x``", "`{}` and ``x``", [], False),
    # --- Unseen while tuning ---
    "OpenAI's shape": (
        '{"type": "function", "function": {"name": "set_risk", "arguments": "{\\"maxPositionPct\\": 1}"}}',
        "",
        [RISK_CALL],
        False,
    ),
    "a list": (f"[{RISK}, {RISK}]", "", [RISK_CALL] * 2, False),
    "Mistral's tag": (f"[TOOL_CALLS] [{RISK}]", "", [RISK_CALL], False),
    "tag within a fence": (f"```\n<tool_call>{RISK}</tool_call>\n```", "", [RISK_CALL], False),
    "tool and arguments": ('{"tool": "remember", "arguments": {"fact": "x"}}', "", None, False),
    "a mix of names": (f"<tool_call>{RISK}</tool_call><tool_call>{FORGET}</tool_call>", "", [], True),
    "nonsense in the tag": ("<tool_call>hello</tool_call>", "", [], True),
    "refused arguments": ('{"name": "remember", "arguments": {"refuse": 1}}', "", [], True),
    "text behind": (f"{RISK}\nThat sets the risk.", "\nThat sets the risk.", [], True),
    "a list of numbers": ("[1, 2, 3]", "[1, 2, 3]", [], False),
    "an honest list": ('[{"symbol": "BTC"}]', '[{"symbol": "BTC"}]', [], False),
    "braces in prose": ("Use {symbol} here", "Use {symbol} here", [], False),
    "a name without arguments": ('{"name": "set_risk"}', "", [], True),
    "other keys beside": (
        '{"name": "Trend", "arguments": {}, "entry": 1}',
        '{"name": "Trend", "arguments": {}, "entry": 1}',
        [],
        False,
    ),
    "a table": ("| a | b |\n|---|---|\n| `x` | {1} |", "| a | b |\n|---|---|\n| `x` | {1} |", [], False),
    "a fence of text": ("```text\n{\n```", "```text\n{\n```", [], False),
    "only white space around": (f"  \n{RISK}\n  ", None, [RISK_CALL], False),
    "an empty object": ("{}", "{}", [], False),
    "an open tag alone": ("<tool_call>", "", [], True),
    "a tag begun": ("The end <tool", "The end <tool", [], False),
}


def read(pieces, accepts=lambda name, arguments: "refuse" not in arguments):
    reader = WrittenCalls(NAMES, accepts)
    shown = "".join(reader.take(piece) for piece in pieces) + reader.take("", is_last=True)
    return shown, reader.finish(), reader.has_hidden


def cut(text, seed):
    """Cut a text into random pieces."""
    chance = random.Random(seed)
    pieces, at = [], 0
    while at < len(text):
        length = chance.randint(1, 9)
        pieces.append(text[at : at + length])
        at += length
    return pieces


@pytest.mark.parametrize("pieces", ["whole", "letters", "random"])
@pytest.mark.parametrize(("written", "shown", "calls", "is_hidden"), CASES.values(), ids=CASES)
def test_take_and_finish_tell_calls_from_text(written, shown, calls, is_hidden, pieces):
    parts = {"whole": [written], "letters": list(written), "random": cut(written, written)}[pieces]

    got_shown, got_calls, got_hidden = read(parts)

    assert shown is None or got_shown == shown
    assert got_hidden == is_hidden
    assert calls is None or [(name, json.loads(arguments)) for name, arguments in got_calls] == [
        (name, json.loads(arguments)) for name, arguments in calls
    ]
    assert calls is not None or len(got_calls) == 1


def test_text_without_an_opener_is_shown_at_once():
    reader = WrittenCalls(NAMES, None)

    assert [reader.take(piece) for piece in ("You ", "hold ", "BTC.")] == ["You ", "hold ", "BTC."]


def test_honest_json_is_shown_as_soon_as_its_first_key_is_known():
    reader = WrittenCalls(NAMES, None)

    assert reader.take('{"BTC": ') == '{"BTC": '


def test_endless_text_is_not_held_for_ever():
    reader = WrittenCalls(NAMES, None)

    shown = "".join(reader.take('{"name": "x", "arguments": "' if n == 0 else "y" * 1_000) for n in range(200))

    assert len(shown) > 100_000 > MAX_HELD
