"""The coach's failure table, one test per row (seed 003)."""

import pytest
from django.test import Client
from django.urls import reverse

from chat.models import ActionCard, CardStatus, MessageStatus
from chat.tools.base import TOOL_FAILED
from chat.turns import saving, turn
from config.lib.threads import run_in_thread
from tests.chat.tabs import open_tab
from tests.chat.talk import answer
from tests.factories.record import DeploymentFactory
from tests.fakes import Gate
from tests.owners import as_owner
from trading.models import DeploymentCommand, SkillDraft

pytestmark = pytest.mark.django_db(transaction=True)


def test_unauthenticated_request_is_401_and_reads_no_conversation(django_assert_num_queries):
    with django_assert_num_queries(0):
        said = Client().post("/api/chat/", {"message": "Hello"}, content_type="application/json")

    assert said.status_code == 401


async def test_unauthenticated_socket_is_told_and_closed(talk):
    async with open_tab(Client(), talk.conversation_id) as tab:
        assert await tab.closed_with() == 4401


async def test_asking_about_another_users_data_finds_nothing(model, talk, stranger):
    theirs = await run_in_thread(as_owner, stranger, DeploymentFactory)
    model.call("get_my_deployments", {"deployment_id": str(theirs.pk), "detail": "full"})
    model.say("I don't see that.")

    result = await talk.ask("How is my friend's deployment doing?")

    assert result.tool_results == [{"error": "You have no such deployment."}]
    assert result.text == "I don't see that."


async def test_draft_patch_that_fails_comes_back_and_is_tried_again(model, talk, trader):
    model.call("set_risk", {"maxLeverage": 1_000})
    model.call("set_risk", {"maxLeverage": 4})
    model.say("Leverage is 4x.")

    result = await talk.ask("Use 4x leverage")

    refused, taken = result.tool_results
    assert [problem["field"] for problem in refused["error"]] == ["risk.max_leverage"]
    assert taken["changed"] == ["risk.max_leverage"]
    draft = await run_in_thread(as_owner, trader, lambda: SkillDraft.objects.get())
    assert draft.payload["risk"]["max_leverage"] == 4


async def test_cancelled_card_runs_nothing_and_the_chat_goes_on(model, talk, trader):
    deployment = await run_in_thread(as_owner, trader, DeploymentFactory)
    model.call("prepare_action", {"type": "pause", "deployment_id": str(deployment.pk)})
    model.say("A card is ready.")
    model.say("As you like.")
    await talk.ask("Pause it")

    def cancel():
        client = Client()
        client.force_login(trader)
        card = as_owner(trader, lambda: ActionCard.objects.get())
        return client.post(reverse("chat:cancel_card", args=[card.pk]), {"digest": card.digest}).status_code

    assert await run_in_thread(cancel) in {200, 302}
    assert (await talk.ask("I changed my mind")).text == "As you like."
    card, commands = await run_in_thread(
        as_owner, trader, lambda: (ActionCard.objects.get(), DeploymentCommand.objects.count())
    )
    assert (card.status, commands) == (CardStatus.CANCELLED, 0)


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


async def test_answer_that_outlasts_its_time_is_cut_and_kept_to_be_retried(model, talk, settings, monkeypatch):
    monkeypatch.setattr(saving, "SAVE_SECONDS", 0.05)
    settings.TURN_TIMEOUT_SECONDS = 0.5
    gate = Gate()
    model.say("At length", gate)
    model.say("In short.")

    result = await talk.ask()
    gate.open()

    reply = await talk.reply()
    assert result.failures == [turn.TOOK_TOO_LONG]
    assert (reply.status, reply.content) == (MessageStatus.FAILED, "At length")
    settings.TURN_TIMEOUT_SECONDS = 300
    assert (await answer(await talk.retry())).text == "In short."


async def test_fifty_calls_at_once_run_no_more_than_a_step_may(model, talk, trader):
    model.call_all(*[("set_risk", {"maxOrdersPerDay": number + 1}) for number in range(50)])
    model.say("Enough.")

    result = await talk.ask("Set it")

    assert len(result.tool_results) == 50
    assert sum("error" not in result for result in result.tool_results) == turn.MAX_CALLS_PER_STEP


@pytest.mark.parametrize("name", ["set_risk", "get_my_deployments"])
@pytest.mark.parametrize(
    "arguments",
    ["{", "null", "[]", '"x"', '{"deployment_id": 7}', '{"x": NaN}', "{}" * 40_000, '{"a":' * 5_000],
    ids=["torn", "null", "list", "text", "number", "NaN", "too long", "too deep"],
)
async def test_arguments_that_are_none_go_back_to_the_model(model, talk, trader, name, arguments):
    model.call(name, arguments)
    model.say("I will not.")

    result = await talk.ask("Do it")

    assert "error" in result.tool_results[0]
    assert result.last.status == "complete"
    assert (
        await run_in_thread(as_owner, trader, lambda: SkillDraft.objects.exists() or ActionCard.objects.exists())
        is False
    )


async def test_tool_arguments_of_five_megabytes_are_refused(model, talk):
    model.call("set_basics", '{"description": "' + "x" * 5_000_000 + '"}')
    model.say("That was long.")

    result = await talk.ask("Describe it")

    assert "error" in result.tool_results[0]
    assert len(str((await talk.reply()).parts)) < 1_000_000
