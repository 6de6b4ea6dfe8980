import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chat.tools.base import MAX_RESULT
from chat.tools.deployments import POSITIONS
from tests.chat.tools.talking import NOW, Toolbox
from tests.factories.memory import MAY
from tests.factories.record import (
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    ReflectionNoteFactory,
    SkillVersionFactory,
    TradeFactory,
)
from trading.models import Trade

HOUR = timedelta(hours=1)
D = Decimal


@pytest.fixture
def box(as_trader) -> Toolbox:
    return Toolbox(as_trader, "coach", "What do I hold?")


@pytest.fixture
def deployment(as_trader):
    """Dips on paper: one trade that closed, and 2 BTC bought at 100 that stand at 103.5."""
    made = DeploymentFactory(version__skill__name="Dips")
    TradeFactory(deployment=made, symbol="ETH", exit_reason="Target")
    TradeFactory(deployment=made, still_open=True)
    BarFactory(opened_at=NOW - 2 * HOUR, close=D("103.5"))
    return made


def test_there_are_none_without_a_deployment(box):
    assert box.call("get_my_deployments") == {"deployments": []}
    assert box.call("get_my_deployments", detail="full") == {"deployments": [], "trades": [], "lessons": []}


def test_deployment_is_listed_with_what_it_holds_and_was_refused(box, deployment):
    skill = deployment.skill
    SkillVersionFactory(skill=skill, version=2)
    skill.latest_version = 2
    skill.save()
    DecisionSnapshotFactory(deployment=deployment, tick=1, tick_at=NOW - 2 * HOUR)
    DecisionSnapshotFactory(
        deployment=deployment,
        tick=2,
        tick_at=NOW - HOUR,
        verdict="refused",
        verdict_code="max_leverage",
        verdict_text="# Too\nmuch leverage",
    )
    DecisionSnapshotFactory(deployment=deployment, tick=3, tick_at=NOW, verdict="accepted")

    (listed,) = box.call("get_my_deployments")["deployments"]

    assert listed == {
        "deployment_id": str(deployment.pk),
        "skill_id": str(skill.pk),
        "skill_name": "Dips",
        "version": 1,
        "newest_version": 2,
        "status": "running",
        "halted_until": None,
        "broker_kind": "paper",
        "net_pnl_usd": 19.0,
        "closed_trades": 1,
        "open_so_far_usd": 0.0,
        "open_positions": 1,
        "positions": [
            {
                "trade_id": str(Trade.objects.open().get().pk),
                "symbol": "BTC",
                "side": "long",
                "size_usd": 200.0,
                "entry_at": "2026-05-01T12:00:00Z",
                "entry_price": 100.0,
                "mark_price": 103.5,
                "unrealised_pnl_usd": 7.0,
            }
        ],
        "last_decision_at": "2026-06-01T12:00:00Z",
        "recent_rejections": [{"tick_at": "2026-06-01T11:00:00Z", "code": "max_leverage", "text": "Too much leverage"}],
        "equity_usd": 10000.0,
    }


def test_position_without_a_price_has_no_mark(box):
    TradeFactory(still_open=True, symbol="DOGE")

    (position,) = box.call("get_my_deployments")["deployments"][0]["positions"]

    assert (position["mark_price"], position["unrealised_pnl_usd"]) == (None, None)


def test_a_halt_is_told_while_it_lasts(box):
    DeploymentFactory(halt_code="daily_loss", halted_until=NOW + HOUR)
    DeploymentFactory(halt_code="daily_loss", halted_until=NOW, created_at=MAY - HOUR)

    listed = box.call("get_my_deployments")["deployments"]

    assert [one["halted_until"] for one in listed] == ["2026-06-01T13:00:00Z", None]


@pytest.mark.parametrize(
    ("detail", "keys", "has_reasons"),
    [
        ("list", ["deployments", "all"], False),
        ("trades", ["deployments", "all", "trades"], True),
        ("lessons", ["deployments", "all", "lessons"], False),
        ("full", ["deployments", "all", "trades", "lessons"], True),
    ],
)
def test_detail_says_what_comes_with_the_list(box, deployment, detail, keys, has_reasons):
    result = box.call("get_my_deployments", detail=detail)

    assert list(result) == keys
    assert ("entry_reason" in result["deployments"][0]["positions"][0]) is has_reasons


def test_one_deployment_can_be_asked_about(box, deployment):
    other = DeploymentFactory(version=deployment.version)
    TradeFactory(deployment=other, symbol="SOL")
    TradeFactory(deployment=other, symbol="SOL", still_open=True)
    DecisionSnapshotFactory(deployment=other, tick_at=NOW, verdict="refused", verdict_code="R1")
    ReflectionNoteFactory(deployment=other)
    own = ReflectionNoteFactory(deployment=deployment)

    result = box.call("get_my_deployments", deployment_id=str(deployment.pk), detail="full")

    (listed,) = result["deployments"]
    assert listed["deployment_id"] == str(deployment.pk)
    assert [position["symbol"] for position in listed["positions"]] == ["BTC"]
    assert (listed["net_pnl_usd"], listed["recent_rejections"]) == (19.0, [])
    assert [trade["symbol"] for trade in result["trades"]] == ["ETH"]
    assert [note["note_id"] for note in result["lessons"]] == [str(own.pk)]


# --- Room ---


def fill(deployments: int, *, reason: str) -> None:
    """Write as much of a record as there may be."""
    for number in range(deployments):
        deployment = DeploymentFactory(created_at=MAY + number * HOUR)
        for symbol in ("BTC", "ETH"):
            TradeFactory(deployment=deployment, still_open=True, symbol=symbol, entry_reason=reason)
            for tick in range(2):
                reasons = {"entry_reason": reason, "exit_reason": reason}
                TradeFactory(deployment=deployment, symbol=symbol, entry_tick_at=MAY + tick * HOUR, **reasons)
        DecisionSnapshotFactory(
            deployment=deployment, tick_at=NOW, verdict="refused", verdict_code="R1", verdict_text="x" * 300
        )
        ReflectionNoteFactory(deployment=deployment, lessons_text="- " + "z" * 1_200)


@pytest.mark.parametrize("reason", ["x" * 280, "買" * 280], ids=["ascii", "escaped"])
def test_a_long_record_leaves_room_and_says_what_is_left_out(box, reason):
    fill(20, reason=reason)

    result = box.call("get_my_deployments", detail="full")

    assert "error" not in result
    assert len(json.dumps(result)) < MAX_RESULT
    left_out = result["left_out"]
    assert len(result["deployments"]) + left_out["deployments"] == 20
    assert len(result["lessons"]) + left_out["lessons"] == 20
    assert len(result["trades"]) + left_out.get("trades", 0) == 30


def test_twenty_deployments_take_no_more_queries_than_two(box):
    fill(2, reason="Dip")
    with CaptureQueriesContext(connection) as of_two:
        box.call("get_my_deployments", detail="full")
    fill(18, reason="Dip")
    with CaptureQueriesContext(connection) as of_twenty:
        result = box.call("get_my_deployments", detail="full")

    assert len(result["deployments"]) == 20
    assert len(of_twenty) == len(of_two) <= 10  # some of them begin and end the tool's transaction


def test_positions_beyond_the_newest_are_counted(box):
    deployment = DeploymentFactory()
    for number in range(POSITIONS + 5):
        TradeFactory(deployment=deployment, still_open=True, symbol=f"S{number}", entry_tick_at=MAY + number * HOUR)

    (listed,) = box.call("get_my_deployments")["deployments"]

    assert (listed["open_positions"], len(listed["positions"])) == (POSITIONS + 5, POSITIONS)
    assert listed["positions"][0]["symbol"] == f"S{POSITIONS + 4}"


# --- Whose ---
