import asyncio
import json
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm import door
from config.lib.llm.door import Completion, LLMUnavailable, ToolCall, Usage
from config.lib.work.models import SiteDay
from tests.factories.memory import HOUR, MAY
from tests.factories.record import WHOLE, BarFactory, MarketEventFactory, NewsItemFactory
from tests.fakes import Gate, ScriptedModel
from trading.agent.context import AgentPrompt
from trading.agent.decide import (
    MAX_ARGUMENTS,
    MAX_CALLS,
    MAX_LOOKUP,
    MAX_PROBLEM,
    MAX_TEXT,
    Decision,
    decide,
    model_client,
)
from trading.market.tape import STORED
from trading.skills.schemas import MAX_REASON, BuiltInTool, ProposedOrder, parse_payload

D = Decimal
PROMPT = AgentPrompt([("HEADER", "You trade."), ("FOOTER", "Decide now.")], "## Tick\n")
BUY = {"symbol": "BTC", "side": "long", "size_usd": 250, "reason": "Breakout"}
WAIT = ("hold", {"reason": "Nothing to do"})
LOOK = ("get_upcoming_events", {})


def skill(*tools, max_steps=4):
    built_in = [tool.value for tool in BuiltInTool] if not tools else list(tools)
    return parse_payload({**WHOLE, "max_steps": max_steps, "tools": {"built_in": built_in}})


class Script:
    """A model that answers what the test wrote, the last answer again and again, and keeps what it was asked."""

    def __init__(self, *answers):
        self.answers = answers
        self.asked = []

    def __call__(self, messages, tools):
        self.asked.append((list(messages), list(tools)))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    @property
    def offered(self):
        return [tool["function"]["name"] for tool in self.asked[0][1]]

    def results(self, step):
        """Return what it was told of the calls of a step, counted from one."""
        told = self.asked[step][0]
        last = max(at for at, message in enumerate(told) if message["role"] == "assistant")
        return [message["content"] for message in told[last + 1 :]]


def answer(*calls, text="", model="scripted/one", usage=(100, 20)):
    """Return an answer that calls (name, arguments) each; arguments that are a string are sent as they are."""
    made = tuple(
        ToolCall(f"call_{number}", name, given if isinstance(given, str) else json.dumps(given))
        for number, (name, given) in enumerate(calls)
    )
    return Completion(text, made, "tool_calls" if made else "stop", Usage(*usage), model)


def decided(script, payload=None) -> Decision:
    return decide(PROMPT, payload or skill(), at=MAY, tape=STORED, ask=script)


# --- Decisions ---


def test_model_is_given_the_prompt_and_its_tools():
    script = Script(answer(WAIT))

    decided(script)

    messages, _ = script.asked[0]
    assert messages == [
        {"role": "system", "content": [{"type": "text", "text": "You trade.\n\nDecide now.", "cache": True}]},
        {"role": "user", "content": [{"type": "text", "text": "## Tick\n", "cache": True}]},
    ]
    assert script.offered == ["propose_order", "close_position", "hold", "get_bars", "get_news", "get_upcoming_events"]


def test_decide_with_a_valid_call_proposes_an_order():
    decision = decided(Script(answer(("propose_order", {**BUY, "leverage": 2, "stop_price": 95.5}), text="I buy.")))

    assert decision.order == ProposedOrder(
        symbol="BTC", side="long", size_usd=D(250), leverage=D(2), stop_price=D("95.5"), reason="Breakout"
    )
    assert (decision.has_failed, decision.reason) == (False, "")
    (step,) = decision.steps
    assert step["text"] == "I buy."
    assert [(call["name"], call["result"]) for call in step["calls"]] == [("propose_order", "Decided.")]
    assert json.loads(step["calls"][0]["arguments"])["stop_price"] == 95.5


def test_hold_is_a_decision_whose_step_notes_the_effort_of_reasoning(settings):
    settings.TRADING_REASONING_EFFORT = "low"

    decision = decided(script := Script(answer(WAIT)))

    assert (decision.order, decision.reason, decision.has_failed) == (None, "Nothing to do", False)
    assert len(script.asked) == 1
    assert decision.steps[0]["effort"] == "low"


def test_text_without_a_call_is_a_hold_and_a_close_an_order_that_only_reduces():
    wordless = "It said nothing."
    for text, reason in (("I wait\nfor a close.", "I wait for a close."), ("", wordless), (" \n\u200b", wordless)):
        decision = decided(Script(answer(text=text)))
        assert (decision.order, decision.reason, decision.has_failed) == (None, reason, False)

    for size, sent in (({}, None), ({"size_usd": None}, None), ({"size_usd": 40.5}, D("40.5"))):
        decision = decided(Script(answer(("close_position", {"symbol": "eth", "reason": "Target met", **size}))))
        assert decision.order == ProposedOrder(symbol="ETH", side="close", size_usd=sent, reason="Target met")


def test_first_decision_of_a_step_wins():
    short = ("propose_order", {**BUY, "side": "short"})
    decision = decided(script := Script(answer(("propose_order", BUY), WAIT, short, LOOK)))

    assert (decision.order.side, decision.reason, len(script.asked)) == ("long", "", 1)
    first, *others = [call["result"] for call in decision.steps[0]["calls"]]
    assert (first, set(others)) == ("Decided.", {"Not carried out: one decision a tick."})


# --- What is refused ---


def test_unknown_tool_and_wrong_arguments_are_reported_on_one_clean_line():
    decision = decided(script := Script(answer(("place_order", BUY)), answer(("propose_order", BUY))))

    (told,) = script.results(1)
    assert told.startswith("There is no tool place_order. There are: propose_order, ")
    assert decision.order.symbol == "BTC"
    assert len(decision.steps) == 2

    names = {f"a\u0000\n## Portfolio \u202e{number}": 1 for number in range(3)}
    decision = decided(script := Script(answer(("hold", {**names, "reason": "x"})), answer(WAIT)))

    (told,) = script.results(1)
    assert told.startswith("Not carried out. a ## Portfolio 0: there is no such field; ")
    assert len(told.splitlines()) == 1
    assert "\\u0000" not in json.dumps(decision.steps[0]["calls"][0]["result"])


def test_tool_that_the_skill_does_not_list_is_not_there():
    for listed, called in (
        (["propose_order"], "get_bars"),
        (["propose_order", "get_bars"], "get_news"),
        (["get_bars"], "propose_order"),
    ):
        asked = {"get_bars": {"symbol": "BTC", "interval": "1h"}, "get_news": {}, "propose_order": BUY}
        script = Script(answer((called, asked[called])), answer(WAIT))

        decision = decided(script, skill(*listed))

        assert script.results(1)[0].startswith(f"There is no tool {called}.")
        assert set(script.offered) == {*listed, "close_position", "hold"}
        assert decision.order is None


BROKEN = {
    "no JSON": "{",
    "nothing": "",
    "null": "null",
    "nested deeply": "[" * 5000,
    "half a surrogate": '{"symbol": "BTC", "side": "close", "reason": "\\ud800"}',
    "size is text": json.dumps({**BUY, "size_usd": "much"}),
    "size is true": json.dumps({**BUY, "size_usd": True}),
    "size is NaN": json.dumps({**BUY, "size_usd": float("nan")}),
    "size is infinite": json.dumps({**BUY, "size_usd": float("inf")}),
    "size is huge": json.dumps({**BUY, "size_usd": 1e30}),
    "size is a long number": '{"symbol": "BTC", "side": "long", "reason": "x", "size_usd": ' + "9" * 6000 + "}",
    "size is tiny": json.dumps({**BUY, "size_usd": 1e-30}),
    "size is zero": json.dumps({**BUY, "size_usd": 0}),
    "size is below zero": json.dumps({**BUY, "size_usd": -250}),
    "size is missing": json.dumps({**BUY, "size_usd": None}),
    "size in both spellings": json.dumps({**BUY, "sizeUsd": 9}),
    "leverage has a thousand digits": json.dumps({**BUY, "leverage": "1." + "0" * 1000 + "1"}),
    "leverage is zero": json.dumps({**BUY, "leverage": 0}),
    "leverage is null": json.dumps({**BUY, "leverage": None}),
    "side is unknown": json.dumps({**BUY, "side": "buy"}),
    "symbol is a sentence": json.dumps({**BUY, "symbol": "B T C"}),
    "reason is blank": json.dumps({**BUY, "reason": "\n\u200b"}),
    "reason is too long": json.dumps({**BUY, "reason": "x" * (MAX_REASON + 1)}),
    "field is unknown": json.dumps({**BUY, "urgent": True}),
    "five megabytes": json.dumps({**BUY, "reason": "x" * 5_000_000}),
    "five megabytes of fields": json.dumps({f"{number:0>250}": 1 for number in range(20_000)}),
}


@pytest.mark.parametrize("arguments", BROKEN.values(), ids=BROKEN)
def test_broken_arguments_are_no_order(arguments):
    decision = decided(script := Script(answer(("propose_order", arguments)), answer(WAIT)))

    assert script.results(1)[0].startswith("Not carried out. ")
    assert len(script.results(1)[0]) <= MAX_PROBLEM + 20
    assert (decision.order, decision.reason) == (None, "Nothing to do")
    assert len(decision.steps[0]["calls"][0]["arguments"]) <= MAX_ARGUMENTS


@given(st.text(max_size=400))
def test_reason_is_one_clean_bounded_line_or_refused(text):
    decision = decided(Script(answer(("hold", {"reason": text})), answer(WAIT)))

    assert decision.reason == "Nothing to do" or decision.reason == " ".join(decision.reason.split())
    assert 1 <= len(decision.reason) <= MAX_REASON
    assert not set(decision.reason) & set("\x00\u2028\u202e\u200b\x1b")


# --- Many calls, many steps ---


@pytest.mark.django_db
def test_of_fifty_calls_at_once_the_first_few_are_answered():
    calls = [LOOK] * 49 + [("propose_order", BUY)]
    decision = decided(script := Script(answer(*calls), answer(WAIT)))

    results = script.results(1)
    assert results[:MAX_CALLS] == ["- none"] * MAX_CALLS
    assert set(results[MAX_CALLS:]) == {f"Not carried out: {MAX_CALLS} calls at once are the most."}
    assert len(results) == 50
    assert (decision.order, decision.reason) == (None, "Nothing to do")
    assert len(decision.steps[0]["calls"]) == 2 * MAX_CALLS


def test_every_call_has_one_result_by_its_id():
    for text, told in (("Looking.", "Looking."), ("", None), (" \n", None)):
        decided(script := Script(answer(("what", {}), ("why", {}), text=text), answer(WAIT)))

        *_, said, first, second = script.asked[1][0]
        assert (said["role"], said["content"]) == ("assistant", told)
        assert [call["id"] for call in said["tool_calls"]] == ["call_0", "call_1"]
        assert [(one["role"], one["tool_call_id"]) for one in (first, second)] == [
            ("tool", "call_0"),
            ("tool", "call_1"),
        ]


@pytest.mark.django_db
def test_lookups_come_before_the_decision():
    BarFactory(opened_at=MAY - HOUR)
    script = Script(
        answer(("get_bars", {"symbol": "btc", "interval": "1h"})), answer(LOOK), answer(("propose_order", BUY))
    )

    decision = decided(script)

    assert script.results(1) == ["- 2026-05-01T11:00 100 105 95 101 1000"]
    assert [message["role"] for message in script.asked[2][0]] == ["system", "user", *["assistant", "tool"] * 2]
    assert decision.order.symbol == "BTC"
    assert [step["calls"][0]["name"] for step in decision.steps] == ["get_bars", "get_upcoming_events", "propose_order"]


@pytest.mark.django_db
def test_endless_lookups_end_as_failed():
    for max_steps in (1, 3):
        decision = decided(script := Script(answer(LOOK)), skill(max_steps=max_steps))
        assert len(script.asked) == len(decision.steps) == max_steps
        assert (decision.order, decision.has_failed) == (None, True)
        assert decision.reason == f"No decision in {max_steps} calls of the model."


def test_model_that_is_not_there_is_a_failure_that_keeps_the_steps_so_far():
    decision = decided(Script(LLMUnavailable("rate_limited")))
    assert (decision.order, decision.has_failed, decision.steps) == (None, True, [])
    assert decision.reason == str(LLMUnavailable("rate_limited"))

    decision = decided(Script(answer(("what", {}), usage=(7, 3)), LLMUnavailable("timeout")))
    assert (decision.has_failed, len(decision.steps), decision.input_tokens) == (True, 1, 7)


def test_tokens_and_cost_are_those_of_all_steps():
    known, unknown = "openrouter/anthropic/claude-haiku-4.5", "nobody/knows"
    steps = [
        answer(("what", {}), model=known, usage=(1000, 200)),
        answer(("what", {}), model=unknown, usage=(10, 1)),
        answer(WAIT, model=known, usage=(1000, 200)),
    ]

    decision = decided(Script(*steps))

    assert (decision.input_tokens, decision.output_tokens, decision.model) == (2010, 401, known)
    assert decision.cost_usd == D("0.004")


def test_steps_are_bounded_for_any_answer():
    long = json.dumps({"reason": "x" * 200_000})
    decision = decided(Script(answer(*[("hold", long)] * 128, text="y" * 2_000_000)))

    assert decision.has_failed
    assert len(decision.steps) == 4
    each = MAX_TEXT + 2 * MAX_CALLS * (MAX_ARGUMENTS + MAX_PROBLEM + 200)
    assert len(json.dumps(decision.steps)) <= 4 * each


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(["symbol", "side", "size_usd", "leverage", "stop_price", "reason", "x"])
proper = st.fixed_dictionaries(
    {},
    optional={
        "symbol": st.sampled_from(["BTC", "eth", "?"]),
        "side": st.sampled_from(["long", "short", "close"]),
        "size_usd": st.floats() | st.integers(),
        "leverage": st.floats(1, 100),
        "reason": st.text(max_size=20),
    },
)
calls = st.tuples(
    st.sampled_from(["propose_order", "close_position", "hold", "", "wipe"]),
    st.one_of(proper, st.dictionaries(fields, json_values, max_size=6), json_values, st.text(max_size=30)),
)


@given(st.lists(st.tuples(st.lists(calls, max_size=12), st.text(max_size=40)), min_size=1, max_size=4))
def test_decision_is_valid_and_storable_for_any_answer(said):
    script = Script(*(answer(*made, text=text) for made, text in said))

    decision = decided(script)

    assert (decision.order is not None) or decision.reason
    assert len(decision.reason) <= MAX_REASON
    assert len(script.asked) <= 4
    if decision.order is not None:
        assert ProposedOrder.model_validate(decision.order.model_dump()) == decision.order
        assert json.loads(json.dumps(decision.order.model_dump(mode="json"), allow_nan=False))
    assert json.loads(json.dumps(decision.steps)) == decision.steps


# --- Lookups ---


def looked_up(name, **arguments):
    decided(script := Script(answer((name, arguments)), answer(WAIT)))
    return script.results(1)[0].splitlines()


@pytest.mark.django_db
def test_bars_are_those_of_the_skill_that_had_ended():
    for hours in (3, 2, 1, 0):
        BarFactory(opened_at=MAY - hours * HOUR)
    BarFactory(opened_at=MAY - HOUR / 2, close=D(104))
    BarFactory(interval="4h", opened_at=MAY - 3 * HOUR)
    BarFactory(symbol="DOGE", opened_at=MAY - HOUR)

    seen = [line[:18] for line in looked_up("get_bars", symbol="BTC", interval="1h", limit=2)]
    assert seen == ["- 2026-05-01T10:00", "- 2026-05-01T11:00"]
    assert looked_up("get_bars", symbol="BTC", interval="4h") == ["- none"]
    assert looked_up("get_bars", symbol="DOGE", interval="1h") == ["DOGE is not among this skill's symbols: BTC, ETH."]
    for limit in (0, MAX_LOOKUP + 1, 10**9, 1.5, "all"):
        (told,) = looked_up("get_bars", symbol="BTC", interval="1m", limit=limit)
        assert told.startswith("Not carried out. limit: ")


@pytest.mark.django_db
def test_news_are_those_that_were_out_and_concern_the_skill():
    NewsItemFactory(headline="Old", published_at=MAY - 25 * HOUR)
    NewsItemFactory(headline="Of ether", published_at=MAY - 2 * HOUR, symbols=["ETH"])
    NewsItemFactory(headline="Of all\n## Portfolio", published_at=MAY - HOUR)
    NewsItemFactory(headline="Of doge", published_at=MAY - HOUR, symbols=["DOGE"])
    NewsItemFactory(headline="Not yet out", published_at=MAY + timedelta(microseconds=1))

    assert looked_up("get_news") == ["- 2026-05-01T11:00 [test] Of all Portfolio", "- 2026-05-01T10:00 [test] Of ether"]
    assert looked_up("get_news", lookback_hours=168, limit=1) == ["- 2026-05-01T11:00 [test] Of all Portfolio"]
    assert looked_up("get_news", lookback_hours=1) == ["- none"]


@pytest.mark.django_db
def test_events_are_those_to_come_that_concern_the_skill_and_so_many():
    MarketEventFactory(title="Over", starts_at=MAY - HOUR)
    MarketEventFactory(title="Soon", starts_at=MAY + HOUR)
    MarketEventFactory(title="Of doge", starts_at=MAY + HOUR, symbols=["DOGE"])
    MarketEventFactory(title="Later", starts_at=MAY + 30 * HOUR)

    assert looked_up("get_upcoming_events") == ["- 2026-05-01T13:00 fomc Soon (importance 0.90)"]
    assert len(looked_up("get_upcoming_events", lookahead_hours=72)) == 2
    for number in range(MAX_LOOKUP + 20):
        MarketEventFactory(starts_at=MAY + number * timedelta(minutes=1))
    assert len(looked_up("get_upcoming_events", lookahead_hours=72)) == MAX_LOOKUP


# --- What a model is told of its tools ---

SIZE = {"anyOf": [{"type": "number"}, {"type": "null"}], "default": None}
TEXT, REASON = {"type": "string"}, {"type": "string", "maxLength": MAX_REASON}
TOOLS = {
    "propose_order": {
        "symbol": TEXT,
        "side": {"type": "string", "enum": ["long", "short", "close"]},
        "size_usd": SIZE,
        "leverage": {"type": "number", "default": 1.0},
        "stop_price": SIZE,
        "reason": REASON,
    },
    "close_position": {"symbol": TEXT, "size_usd": SIZE, "reason": REASON},
    "hold": {"reason": REASON},
    "get_bars": {
        "symbol": TEXT,
        "interval": {"type": "string", "enum": ["1m", "5m", "15m", "30m", "1h", "4h", "1d"]},
        "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 50},
    },
    "get_news": {
        "lookback_hours": {"type": "integer", "minimum": 1, "maximum": 168, "default": 24},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 10},
    },
    "get_upcoming_events": {"lookahead_hours": {"type": "integer", "minimum": 1, "maximum": 72, "default": 24}},
}


def test_each_tool_lists_exactly_its_fields():
    decided(script := Script(answer(WAIT)))
    assert script.offered == list(TOOLS)

    for tool, fields in zip(script.asked[0][1], TOOLS.values(), strict=True):
        function, schema = tool["function"], tool["function"]["parameters"]
        hidden = {"title", "description"}
        told = {
            field: {key: value for key, value in one.items() if key not in hidden}
            for field, one in schema["properties"].items()
        }
        assert (tool["type"], set(function)) == ("function", {"name", "description", "parameters"})
        assert function["description"]
        assert told == fields
        assert schema.get("required", []) == [field for field, one in fields.items() if "default" not in one]
        assert set(schema) - {"required"} == {"type", "properties", "additionalProperties"}
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert json.loads(json.dumps(tool)) == tool


# --- Asking a real door ---


@pytest.fixture
def scripted():
    model = ScriptedModel()
    door.register_provider("scripted", lambda: model)
    return model


def hold_tool():
    decided(script := Script(answer(WAIT)))
    return script.asked[0][1]


@pytest.mark.django_db
def test_offline_model_decides_through_the_door():
    with model_client(["offline/keel"], clock=lambda: MAY) as ask:
        decision = decided(ask)

    assert (decision.order, decision.has_failed, decision.model) == (None, False, "offline/keel")
    assert decision.reason == "No signal on the closed bars"
    assert (decision.cost_usd, decision.input_tokens > 0) == (0, True)


@pytest.mark.django_db
def test_asking_falls_back_and_keeps_the_tools(scripted):
    scripted.say(RuntimeError("gone"))
    scripted.call("hold", {"reason": "Wait"})

    with model_client(["scripted/first", "scripted/second"], clock=lambda: MAY) as ask:
        decision = decided(ask)

    assert (decision.reason, decision.model) == ("Wait", "scripted/second")
    assert [tool["function"]["name"] for tool in scripted.requests[-1]["tools"]] == list(TOOLS)
    assert SiteDay.objects.get().tokens == decision.input_tokens + decision.output_tokens


class LoopSeen(ScriptedModel):
    """A model that remembers the event loop on which it was asked last."""

    def stream(self, *args):
        self.loop = asyncio.get_running_loop()
        return super().stream(*args)


@pytest.mark.django_db
def test_model_client_uses_one_loop_and_closes_it(scripted):
    model = LoopSeen()
    door.register_provider("scripted", lambda: model)
    model.say("One")
    model.say("Two")

    def break_off():
        with model_client(["scripted/model"], clock=lambda: MAY) as ask:
            ask([], [])
            first = model.loop
            ask([], [])
            assert (model.loop, first.is_closed()) == (first, False)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        break_off()

    assert model.loop.is_closed()


@pytest.mark.django_db
def test_model_that_hangs_is_given_up_and_may_be_asked_again(scripted, settings):
    settings.TURN_TIMEOUT_SECONDS = 0.2
    scripted.say(Gate())
    scripted.say("Here again")

    with model_client(["scripted/model"], clock=lambda: MAY) as ask:
        with pytest.raises(LLMUnavailable) as failure:
            ask([{"role": "user", "content": "hi"}], hold_tool())
        again = ask([{"role": "user", "content": "hi"}], hold_tool())

    assert failure.value.kind == "timeout"
    assert again.text == "Here again"
