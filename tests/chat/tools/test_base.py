import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from chat.tools.base import MAX_ARGUMENTS, MAX_RESULT, TOOL_FAILED, Tool, ToolContext
from config.lib.errors import DomainError
from config.lib.owned import current_owner, owned
from memory.models import UserFact
from tests.chat.tools.binding import BoundTool
from tests.factories.memory import UserFactFactory
from tests.properties import examples

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


class ProbeArgs(BaseModel):
    """What the probe takes."""

    model_config = ConfigDict(extra="forbid")

    word: str = Field(min_length=2, max_length=8, description="A word.")
    number: int = 3


class NotToday(DomainError):
    """A refusal that was foreseen."""


def probe(trader, *, result: Any = None, error: Exception | None = None) -> BoundTool:
    """A tool that writes a row, then fails with `error` or returns `result`, or else what it was given."""

    def run(args: ProbeArgs) -> dict[str, Any]:
        UserFactFactory()
        if error is not None:
            raise error
        return {"word": args.word, "number": args.number, "owner": current_owner()} if result is None else result

    tool = Tool("probe", "Probe", "Probe.", ProbeArgs, lambda context, args: run(args))
    return BoundTool(tool, ToolContext(user_id=trader.pk, now=NOW))


def rows(trader) -> int:
    with owned(trader):
        return UserFact.objects.count()


def test_call_runs_as_the_turns_user_and_keeps_what_it_wrote(trader):
    result = probe(trader).call('{"word": "alts"}')

    assert result == {"word": "alts", "number": 3, "owner": trader.pk}
    assert rows(trader) == 1


@pytest.mark.parametrize(
    ("arguments", "argument", "problem"),
    [
        ("", "word", "Field required"),
        ("{}", "word", "Field required"),
        ("{", "(all)", "Invalid JSON"),
        ('{"word": "alts",}', "(all)", "Invalid JSON"),
        ("[" * 5000, "(all)", "Invalid JSON"),
        ('{"word": "\\ud800"}', "(all)", "Invalid JSON"),
        ('{"word": "\ud800"}', "(all)", "unicode"),
        ('{"word": 7}', "word", "should be a valid string"),
        ('{"word": "a"}', "word", "at least 2"),
        ('{"word": "alts", "number": "three"}', "number", "valid integer"),
        ('{"word": "alts", "number": NaN}', "number", "finite number"),
        ('{"word": "alts", "number": 1e999}', "number", "finite number"),
        ('{"word": "alts", "colour": "red"}', "colour", "not permitted"),
    ],
)
def test_call_says_what_is_wrong_with_the_arguments_and_does_nothing(trader, arguments, argument, problem):
    result = probe(trader).call(arguments)

    assert result.keys() == {"error"}
    assert [entry["argument"] for entry in result["error"]] == [argument]
    assert problem in result["error"][0]["problem"]
    assert rows(trader) == 0


def test_call_names_all_that_is_wrong_but_never_without_end(trader):
    several = probe(trader).call('{"word": 7, "number": "three", "colour": "red"}')
    many = probe(trader).call(json.dumps({f"key{number}": number for number in range(500)}))

    assert [entry["argument"] for entry in several["error"]] == ["word", "number", "colour"]
    assert len(many["error"]) == 20


def test_call_does_not_repeat_what_the_model_wrote(trader):
    assert "canary" not in json.dumps(probe(trader).call('{"word": "canary canary", "number": "canary"}'))


def test_call_takes_the_last_of_two_equal_keys(trader):
    assert probe(trader).call('{"word": "BTC", "word": "alts"}')["word"] == "alts"


@pytest.mark.limit("chat.tools.base.MAX_ARGUMENTS", "chat.tools.base.MAX_RESULT")
@pytest.mark.parametrize(
    ("values", "word", "told"),
    [
        ({}, "x" * MAX_ARGUMENTS, "The arguments are too long; at most 65536 characters."),
        ({"error": NotToday("Not today. Try tomorrow.")}, "alts", "Not today. Try tomorrow."),
        ({"result": {"value": "x" * MAX_RESULT}}, "alts", "The result is too long. A narrower question fits."),
    ],
    ids=["arguments without end", "foreseen", "result without end"],
)
def test_call_tells_a_refusal_and_keeps_nothing(trader, values, word, told):
    assert probe(trader, **values).call(json.dumps({"word": word})) == {"error": told}
    assert rows(trader) == 0


BROKEN = [
    pytest.param({"error": ValueError("canary")}, id="exception"),
    pytest.param({"error": RecursionError("canary")}, id="recursion"),
    pytest.param({"result": {"value": float("nan")}}, id="NaN"),
    pytest.param({"result": {"value": [float("inf")]}}, id="infinity"),
    pytest.param({"result": {"value": NOW}}, id="no JSON"),
    pytest.param({"result": {"value": b"bytes"}}, id="bytes"),
]


@pytest.mark.parametrize("how", BROKEN)
def test_call_tells_of_a_failure_without_its_details_and_keeps_nothing(trader, caplog, how):
    result = probe(trader, **how).call('{"word": "alts"}')

    assert result == {"error": TOOL_FAILED}
    assert rows(trader) == 0
    assert [(record.levelno, record.getMessage()) for record in caplog.records] == [
        (logging.ERROR, "Tool probe failed")
    ]
    assert caplog.records[0].exc_info is not None


def test_call_takes_a_result_up_to_the_limit(trader):
    value = "x" * (MAX_RESULT - len(json.dumps({"value": ""})))

    assert probe(trader, result={"value": value}).call('{"word": "alts"}') == {"value": value}


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["word", "number", "x"]), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50), deadline=None)
@given(arguments=st.text(st.characters(), max_size=40) | json_values.map(json.dumps))
def test_call_answers_whatever_the_model_writes(trader, arguments):
    result = probe(trader).call(arguments)

    assert result.keys() in ({"error"}, {"word", "number", "owner"})
    json.dumps(result, allow_nan=False)


def test_schema_is_what_a_model_is_told(trader):
    assert probe(trader).schema == {
        "type": "function",
        "function": {
            "name": "probe",
            "description": "Probe.",
            "parameters": {
                "type": "object",
                "properties": {
                    "word": {"type": "string", "minLength": 2, "maxLength": 8, "description": "A word."},
                    "number": {"type": "integer", "default": 3},
                },
                "required": ["word"],
            },
        },
    }
