"""The coach's failure table (seed 003): the rows that no test of a tool, a card or the matrix proves."""

import pytest

from chat.models import MessageStatus
from chat.tools.base import TOOL_FAILED
from chat.turns import turn
from tests.chat.talk import answer

pytestmark = pytest.mark.django_db(transaction=True)


async def test_model_error_in_mid_stream_keeps_the_partial_answer_to_be_retried(model, talk):
    model.say("So far ", RuntimeError("the provider is gone"))
    model.say("So far so good.")

    failed = await talk.ask()

    reply = await talk.reply()
    assert (reply.status, reply.content.strip()) == (MessageStatus.FAILED, "So far")
    assert failed.last.may_retry
    assert (await answer(await talk.retry())).text == "So far so good."


async def test_tool_that_throws_says_so_to_the_model_which_goes_on(model, talk, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError

    monkeypatch.setattr("chat.tools.skills.list_skills", broken)
    model.call("list_my_skills", {})
    model.say("I cannot see your skills now.")

    result = await talk.ask("What skills have I?")

    assert result.tool_results == [{"error": TOOL_FAILED}]
    assert (result.text, result.last.status) == ("I cannot see your skills now.", "complete")


@pytest.mark.limit("chat.turns.turn.MAX_CALLS_PER_STEP")
async def test_fifty_calls_at_once_run_no_more_than_a_step_may(model, talk, trader):
    model.call_all(*[("set_risk", {"maxOrdersPerDay": number + 1}) for number in range(50)])
    model.say("Enough.")

    result = await talk.ask("Set it")

    assert len(result.tool_results) == 50
    assert sum("error" not in result for result in result.tool_results) == turn.MAX_CALLS_PER_STEP


async def test_tool_arguments_of_five_megabytes_are_refused(model, talk):
    model.call("set_basics", '{"description": "' + "x" * 5_000_000 + '"}')
    model.say("That was long.")

    result = await talk.ask("Describe it")

    assert "error" in result.tool_results[0]
    assert len(str((await talk.reply()).parts)) < 1_000_000
