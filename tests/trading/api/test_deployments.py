"""Deployments over REST: record, memory, commands."""

import json
from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
import time_machine

from config.lib.llm.tokens import count_tokens
from tests.factories.memory import JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    EquityPointFactory,
    ReflectionNoteFactory,
    SkillVersionFactory,
    TradeFactory,
)
from trading.agent.context import preview_prompt
from trading.agent.prompts import LESSONS_HEADER
from trading.api.deployments import WholeDeploymentSerializer
from trading.ledger.services import get_deployment

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("in_june")]


@pytest.fixture
def deployment(as_trader):
    return DeploymentFactory()


def test_deployments_are_listed_newest_first_without_those_of_backtests(api):
    for number in range(3):
        DeploymentFactory(created_at=MAY + timedelta(days=number), broker_kind="paper" if number else "live")
    BacktestRunFactory()

    first = api("get", "deployments/", limit=2)
    rest = api("get", "deployments/", limit=2, cursor=first["next_cursor"])
    assert [item["broker_kind"] for item in [*first["items"], *rest["items"]]] == ["paper", "paper", "live"]
    assert {item["version"] for item in first["items"]} == {1}
    assert len(api("get", "deployments/", broker_kind="live")["items"]) == 1
    assert len(api("get", "deployments/", skill_id=rest["items"][0]["skill"])["items"]) == 1
    assert api("get", "deployments/?status=stopped")["items"] == []


def test_a_list_of_deployments_takes_as_many_queries_for_many_as_for_one(
    api, deployment, django_assert_max_num_queries
):
    DeploymentFactory.create_batch(5)

    with django_assert_max_num_queries(12):  # of the session and the door, most of them
        assert len(api("get", "deployments/")["items"]) == 6


def test_a_deployment_of_another_program_is_made(api):
    version = SkillVersionFactory()

    made = api("post", "deployments/", {"skill_id": str(version.skill_id), "starting_equity_usd": "500.25"}, status=201)

    assert made | {"broker_kind": "live", "version": 1, "starting_equity_usd": "500.25"} == made
    assert api("get", f"deployments/{made['id']}/")["equity_usd"] == "500.25"


def test_what_is_no_deployment_of_another_program_or_of_a_backtest_is_refused(api):
    skill = str(SkillVersionFactory().skill_id)

    for wrong in ({"broker_kind": "paper"}, {"starting_equity_usd": "0"}, {"user": 2}):
        assert api("post", "deployments/", {"skill_id": skill, **wrong}, status=422)["code"] == "invalid"

    run = BacktestRunFactory()

    for address in ("", "commands/", "memory/", "prompt/"):
        problem = api("get", f"deployments/{run.deployment_id}/{address}", status=404)
        assert problem["code"] == "deployment_not_found"


def test_a_deployment_shows_its_account(api, deployment):
    EquityPointFactory(deployment=deployment, equity_usd=Decimal("10250.50"))
    TradeFactory(deployment=deployment, still_open=True, symbol="ETH")
    TradeFactory(deployment=deployment)

    shown = api("get", f"deployments/{deployment.pk}/")

    assert shown.keys() == WholeDeploymentSerializer().fields.keys()
    assert shown["equity_usd"] == "10250.5"
    assert [(trade["symbol"], trade["quantity"], trade["status"]) for trade in shown["positions"]] == [
        ("ETH", "2", "open")
    ]


def test_trades_of_a_deployment_are_filtered(api, deployment):
    TradeFactory(deployment=deployment)
    TradeFactory(deployment=deployment, symbol="ETH", side="short", exit_kind="stop")
    TradeFactory()
    address = f"deployments/{deployment.pk}/trades/"

    assert [trade["exit_kind"] for trade in api("get", address, side="short")["items"]] == ["stop"]
    assert len(api("get", address)["items"]) == 2
    assert "parameter" in api("get", address, deployment_id=str(uuid4()), status=422)["errors"][0]


def test_lessons_are_listed_with_those_of_the_past(api, deployment):
    ReflectionNoteFactory(
        deployment=deployment, status="superseded", superseded_at=MAY, generated_at=MAY - timedelta(days=1)
    )
    ReflectionNoteFactory(deployment=deployment, cost_usd=Decimal("0.0012"), findings=[{"code": "avoid"}])
    ReflectionNoteFactory(deployment=None, skill=deployment.skill)

    notes = api("get", f"deployments/{deployment.pk}/notes/")["items"]

    assert [note["status"] for note in notes] == ["active", "superseded"]
    assert (notes[0]["cost_usd"], notes[0]["findings"]) == ("0.0012", [{"code": "avoid"}])


def test_decisions_are_listed_without_their_texts_which_stand_on_each(api, deployment):
    for tick in range(1, 4):
        DecisionSnapshotFactory(
            deployment=deployment, tick=tick, context=f"saw {tick}", proposal={"symbol": "BTC"}, steps=[{"a": 1}]
        )
    DecisionSnapshotFactory(deployment=deployment, tick=4, verdict="refused", verdict_code="R1_HALTED")
    address = f"deployments/{deployment.pk}/decisions/"

    listed = api("get", address, limit=3)["items"]
    assert [(one["tick"], "context" in one) for one in listed] == [(4, False), (3, False), (2, False)]
    assert [one["verdict_code"] for one in api("get", address, verdict="refused")["items"]] == ["R1_HALTED"]
    whole = api("get", f"{address}2/")
    assert (whole["context"], whole["proposal"], whole["steps"]) == ("saw 2", {"symbol": "BTC"}, [{"a": 1}])
    assert api("get", f"{address}5/", status=404)["code"] == "decision_not_found"
    assert api("get", f"{address}99999999999999999999/", status=404)["code"] == "decision_not_found"


def test_equity_is_listed_newest_first_between_two_instants(api, deployment):
    for number in range(5):
        EquityPointFactory(deployment=deployment, at=MAY + timedelta(hours=number), equity_usd=Decimal(10_000 + number))
    address = f"deployments/{deployment.pk}/equity/"

    curve = [point["equity_usd"] for point in api("get", address)["items"]]
    assert curve == ["10004", "10003", "10002", "10001", "10000"]
    window = {"since": "2026-05-01T13:00:00Z", "until": "2026-05-01T16:00:00+02:00"}
    assert [point["at"] for point in api("get", address, **window)["items"]] == [
        "2026-05-01T14:00:00Z",
        "2026-05-01T13:00:00Z",
    ]


def test_the_record_of_a_backtest_is_read_by_its_deployment(api):
    deployment = BacktestRunFactory(done=True).deployment
    TradeFactory(deployment=deployment)
    ReflectionNoteFactory(deployment=deployment)
    DecisionSnapshotFactory(deployment=deployment)
    EquityPointFactory(deployment=deployment)
    played = deployment

    for address in ("trades/", "notes/", "decisions/", "equity/"):
        assert len(api("get", f"deployments/{played.pk}/{address}")["items"]) == 1, address
    api("get", f"deployments/{played.pk}/commands/", status=404)


def test_a_command_waits_once_and_makes_sense(api, deployment):
    address = f"deployments/{deployment.pk}/commands/"

    told = api("post", address, {"kind": "pause"}, status=201)
    with time_machine.travel(JUNE + timedelta(minutes=1), tick=False):
        again = api("post", address, {"kind": "pause"}, status=200)

    assert (again["id"], again["status"]) == (told["id"], "pending")
    assert [command["kind"] for command in api("get", address)["items"]] == ["pause"]
    assert api("post", address, {"kind": "resume"}, status=409)["code"] == "command_refused"


def test_memory_is_text_to_inject_with_its_tokens(api):
    def make():
        live = DeploymentFactory(broker_kind="live")
        TradeFactory(deployment=live, entry_reason="Flush into support")
        TradeFactory(deployment=live, still_open=True, symbol="ETH")
        TradeFactory(entry_reason="Of another deployment")
        BarFactory(symbol="ETH", close=Decimal("102.5"), opened_at=JUNE - timedelta(hours=1))
        return live, ReflectionNoteFactory(deployment=live)

    live, note = make()

    memory = api("get", f"deployments/{live.pk}/memory/")

    assert memory["lessons"].startswith(LESSONS_HEADER)
    assert "Longs after a flush paid" in memory["lessons"]
    assert memory["trades"].startswith("## Recent trades on this skill (closed)\n- ")
    assert "Flush into support" in memory["trades"]
    assert "Of another deployment" not in memory["trades"]
    assert "## Open positions (memory view)\n- ETH long" in memory["trades"]
    assert "mark=102.5" in memory["trades"]
    assert memory["text"] == f"{memory['lessons']}\n\n{memory['trades']}"
    assert (memory["tokens"], memory["note_id"]) == (count_tokens(memory["text"]), str(note.pk))
    assert memory["at"] == "2026-06-01T12:00:00Z"


def test_memory_is_the_same_text_as_in_the_agents_own_prompt(api, deployment):
    TradeFactory(deployment=deployment)
    TradeFactory(deployment=deployment, still_open=True, symbol="ETH")
    ReflectionNoteFactory(deployment=deployment)
    prompt = preview_prompt(get_deployment(deployment.pk), at=JUNE)

    memory = api("get", f"deployments/{deployment.pk}/memory/")

    assert memory["lessons"] == dict(prompt.segments)["LESSONS"]
    sections = memory["trades"].split("\n\n")
    assert [f"\n\n{section}\n" in prompt.context for section in sections] == [True, True]


def test_prompt_is_what_the_agent_would_be_sent(api, deployment):
    expected = preview_prompt(get_deployment(deployment.pk), at=JUNE)

    prompt = api("get", f"deployments/{deployment.pk}/prompt/")

    assert (prompt["system"], prompt["context"], prompt["note_id"]) == (expected.system, expected.context, None)
    assert [segment["name"] for segment in prompt["segments"]] == ["HEADER", "LEASH", "STRATEGY", "FOOTER"]
    tools = [tool["function"]["name"] for tool in prompt["tools"]]
    assert tools == ["propose_order", "close_position", "hold"]
    of_texts = count_tokens(expected.system) + count_tokens(expected.context)
    assert of_texts < prompt["tokens"] < of_texts + count_tokens(json.dumps(prompt["tools"]))
    assert prompt["tokens_per_day"] == 24 * prompt["tokens"]
    assert (prompt["model"], prompt["usd_per_day"]) == ("offline/keel", "0")
