"""Actions on skills and deployments: draw, lock, run. Only `run_action` writes rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from config.lib.errors import StateConflict
from config.lib.figures import format_count, format_price, format_quantity, format_signed_usd, format_usd
from config.lib.owned import owner_id
from config.lib.proofs import Proof, require_factor
from trading.ledger.services import get_deployment
from trading.models import (
    BacktestRun,
    BrokerKind,
    CommandKind,
    Deployment,
    DeploymentStatus,
    ExperienceTier,
    Skill,
    SkillVersion,
    Trade,
    Trader,
)
from trading.models.deployments import ActionType
from trading.record import backtests
from trading.record.deployment_queries import (
    OpenPosition,
    find_last_backtest,
    find_trade_marks,
    list_open_positions,
    total_trades,
)
from trading.record.deployments import (
    STARTING_EQUITY_USD,
    deploy_skill,
    find_waiting_command,
    get_deployable_version,
    list_possible_commands,
    request_command,
)
from trading.record.trade_queries import list_open
from trading.skills.queries import compare_versions, get_skill
from trading.skills.schemas import RiskCaps, parse_payload

FEE_BPS: Final = Decimal(4)
SLIPPAGE_BPS: Final = Decimal(2)
MAX_CHANGES: Final = 8  # fields of a redeploy that are named
MAX_VALUE: Final = 40  # characters of a value; a longer one is only named
NOTE: Final = "Note"  # the label of warnings before the click

_NOTES: Final[dict[str, str]] = {
    CommandKind.PAUSE: "The agent decides nothing more until you resume it. Positions stay open.",
    CommandKind.RESUME: "The agent decides again, from its next decision on.",
    CommandKind.STOP: "The agent never decides again. Positions stay open; close them first if you want out.",
    CommandKind.FLATTEN: "Every open position is closed at the open of the next bar.",
    CommandKind.REDEPLOY: "From its next decision on the agent follows the newest version. Positions and lessons stay.",
}
_GOES_ON: Final = "The agent goes on: it may open positions again unless you pause it."
# The same for another program's agent, which Keel does not notify.
_LIVE_NOTES: Final[dict[str, str]] = {
    CommandKind.STOP: "Keel takes nothing more into this record. The program goes on, with its positions.",
    CommandKind.REDEPLOY: "What is pushed from then on counts for the newest version. The program is not told.",
}
BACKTEST_FIRST: Final = (
    "This version was not played over past bars yet. A backtest first shows what it would have done; you may still"
    " deploy it now."
)

Line = tuple[str, str]  # label, text


class ActionImpossible(StateConflict):
    """The action would be refused, so no card is drawn."""


@dataclass(frozen=True, slots=True)
class Action:
    type: str  # an ActionType
    skill_id: UUID | None = None
    deployment_id: UUID | None = None
    starts_on: date | None = None  # of a backtest: days of UTC, both part of it
    ends_on: date | None = None
    starting_equity_usd: Decimal = STARTING_EQUITY_USD
    broker: str = BrokerKind.PAPER


@dataclass(frozen=True, slots=True)
class Drawing:
    payload: dict[str, str]  # what runs
    lines: list[Line]  # what it says
    state: dict[str, Any]  # what both depend on


def draw_action(action: Action, now: datetime) -> Drawing:
    """Draw an action. Raises SkillNotFound, DeploymentNotFound, ActionImpossible, SkillArchived, BacktestRefused."""
    if action.type == ActionType.DEPLOY:
        return _draw_deploy(action)
    if action.type == ActionType.START_BACKTEST:
        return _draw_backtest(action, now)
    return _draw_command(action, now)


def lock_state(action_type: str, payload: Mapping[str, str]) -> dict[str, Any]:
    """Lock the rows behind an action; return their state. Raises SkillNotFound, DeploymentNotFound."""
    if action_type in (ActionType.DEPLOY, ActionType.START_BACKTEST):
        skill_id = UUID(payload["skill_id"])
        Skill.objects.select_for_update().filter(pk=skill_id).first()
        skill = get_skill(skill_id)
        return (
            _deploy_state(skill, _list_live_ids(skill_id)) if action_type == ActionType.DEPLOY else _skill_state(skill)
        )
    deployment_id = UUID(payload["deployment_id"])
    # In the order in which lessons are written, or the two could wait for each other: the deployment, then its skill.
    Deployment.objects.select_for_update().filter(pk=deployment_id).first()
    Skill.objects.select_for_update().filter(pk=get_deployment(deployment_id).skill_id).first()
    return _command_state(get_deployment(deployment_id), CommandKind(action_type))


def run_action(action_type: str, payload: Mapping[str, str], *, proof: Proof, now: datetime) -> dict[str, str]:
    """Queue an action; return the ids of the rows. Raises DomainError."""
    require_factor(proof, now=now)
    if action_type == ActionType.DEPLOY:
        deployment = deploy_skill(
            skill_id=UUID(payload["skill_id"]),
            broker_kind=payload["broker"],
            starting_equity_usd=Decimal(payload["starting_equity_usd"]),
            proof=proof,
            now=now,
        )
        return {"deployment_id": str(deployment.pk)}
    if action_type == ActionType.START_BACKTEST:
        run = backtests.start_backtest(
            skill_id=UUID(payload["skill_id"]),
            starts_at=datetime.fromisoformat(payload["starts_at"]),
            ends_at=datetime.fromisoformat(payload["ends_at"]),
            starting_equity_usd=Decimal(payload["starting_equity_usd"]),
            fee_bps=Decimal(payload["fee_bps"]),
            slippage_bps=Decimal(payload["slippage_bps"]),
            reflects=True,
            now=now,
        )
        return {"run_id": str(run.pk)}
    deployment_id, kind = UUID(payload["deployment_id"]), CommandKind(action_type)
    command = request_command(deployment_id=deployment_id, kind=kind, proof=proof, now=now)
    return {"command_id": str(command.pk), "deployment_id": str(deployment_id)}


def _draw_deploy(action: Action) -> Drawing:
    assert action.skill_id is not None, "a deploy names its skill"
    if action.broker != BrokerKind.PAPER:
        raise ActionImpossible("Keel deploys on paper only. A program that trades live pushes its own record.")
    version = get_deployable_version(action.skill_id)
    payload, running = parse_payload(version.payload), _list_live_ids(action.skill_id)
    schedule = payload.schedule
    backtest = find_last_backtest(version=version)
    lines = [
        ("Skill", _format_version(version)),
        ("Broker", "Paper: play money, at the market’s prices"),
        ("Starting equity", format_usd(action.starting_equity_usd)),
        ("Symbols", ", ".join(payload.context.symbols)),
        ("Schedule", f"Daily at {schedule.value} UTC" if schedule.type == "daily" else f"Every {schedule.value}"),
        ("Limits", _format_limits(payload.risk)),
        ("Backtest", _format_backtest(backtest) if backtest else "None of this version is finished"),
    ]
    if running:
        lines.append(
            (NOTE, f"This skill is deployed already, {format_count(len(running), 'time')}. This makes one more.")
        )
    if backtest is None and Trader.objects.filter(pk=owner_id(), experience_tier=ExperienceTier.NOVICE).exists():
        lines.append((NOTE, BACKTEST_FIRST))
    stored = {
        "skill_id": str(action.skill_id),
        "broker": str(action.broker),
        "starting_equity_usd": str(action.starting_equity_usd),
    }
    return Drawing(stored, lines, _deploy_state(version.skill, running))


def _draw_backtest(action: Action, now: datetime) -> Drawing:
    assert action.skill_id is not None, "a backtest names its skill"
    version = get_deployable_version(action.skill_id)
    payload = parse_payload(version.payload)
    starts_at, ends_at = backtests.resolve_range(action.skill_id, action.starts_on, action.ends_on, now)
    if starts_at == ends_at:
        raise backtests.BacktestRefused("Pick a day that has ended.")
    ticks = backtests.count_ticks(payload, starts_at, ends_at, now)
    bars = backtests.count_bars(action.skill_id, starts_at, ends_at)
    if not bars.total:
        symbols = ", ".join(payload.context.symbols)
        raise backtests.BacktestRefused(
            f"There are no {bars.interval} bars for {symbols} on these days. Choose other days."
        )
    lines = [
        ("Skill", _format_version(version)),
        ("Period", f"{_format_minute(starts_at)} to {_format_minute(ends_at)} UTC"),
        ("Bars", f"{bars.interval}: {', '.join(f'{symbol} {count:,}' for symbol, count in bars.symbols.items())}"),
        ("Decisions", f"About {ticks:,}, each of which asks the agent’s model"),
        ("Lessons", "Drawn at the skill’s own cadence"),
        ("Starting equity", format_usd(action.starting_equity_usd)),
        ("Costs", f"{FEE_BPS} basis points a fill, {SLIPPAGE_BPS} of slippage"),
        ("Volume", f"Orders take at most {backtests.VOLUME_PCT} % of a bar’s"),
    ]
    if bars.missing:
        lines.append((NOTE, f"There are no bars of {', '.join(bars.missing)} on these days."))
    if bars.is_simulated:
        lines.append((NOTE, "The market of these days is simulated."))
    stored = {
        "skill_id": str(action.skill_id),
        "starts_at": starts_at.isoformat(),
        "ends_at": ends_at.isoformat(),
        "starting_equity_usd": str(action.starting_equity_usd),
        "fee_bps": str(FEE_BPS),
        "slippage_bps": str(SLIPPAGE_BPS),
    }
    return Drawing(stored, lines, _skill_state(version.skill))


def _draw_command(action: Action, now: datetime) -> Drawing:
    assert action.deployment_id is not None, "a command names its deployment"
    kind, deployment = CommandKind(action.type), get_deployment(action.deployment_id)
    if kind not in list_possible_commands(deployment):
        raise ActionImpossible(_describe_impossibility(deployment))
    if find_waiting_command(deployment, kind):
        raise ActionImpossible("That is asked for already. The runner does it at its next round.")
    is_live = deployment.broker_kind == BrokerKind.LIVE
    lines = [
        ("Skill", str(deployment.skill.name)),
        ("Deployment", f"{deployment.get_broker_kind_display()} since {_format_minute(deployment.created_at)} UTC"),
        ("Now", f"{deployment.get_status_display()}, version {deployment.version.version}"),
    ]
    if kind == CommandKind.FLATTEN:
        lines += _position_lines(deployment, now)
    if kind == CommandKind.REDEPLOY:
        lines += _change_lines(deployment)
    lines.append((NOTE, describe_command(kind, is_live=is_live)))
    if kind == CommandKind.FLATTEN and deployment.status == DeploymentStatus.RUNNING:
        lines.append((NOTE, _GOES_ON))
    return Drawing({"deployment_id": str(deployment.pk)}, lines, _command_state(deployment, kind))


def describe_command(kind: str, *, is_live: bool) -> str:
    """Return what a command does."""
    return (_LIVE_NOTES if is_live else _NOTES)[kind]


def _describe_impossibility(deployment: Deployment) -> str:
    version, newest = deployment.version.version, deployment.skill.latest_version
    runs = f"version {version}, the newest" if version == newest else f"version {version} of {newest}"
    status = deployment.get_status_display().lower()
    kind = "run by another program" if deployment.broker_kind == BrokerKind.LIVE else "on paper"
    held = format_count(len(list_open(deployment.pk)), "open position")
    possible = ", ".join(list_possible_commands(deployment)) or "nothing any more"
    return f"Not possible now. The deployment is {status}, {kind}, at {runs}, with {held}. Possible: {possible}."


def _skill_state(skill: Skill) -> dict[str, Any]:
    return {"skill": str(skill.pk), "latest_version": skill.latest_version, "is_archived": bool(skill.archived_at)}


def _deploy_state(skill: Skill, running: Collection[UUID]) -> dict[str, Any]:
    # With those that run: of two cards for the same wish, the second must not make one more unseen.
    return {**_skill_state(skill), "running": sorted(map(str, running))}


def _command_state(deployment: Deployment, kind: CommandKind) -> dict[str, Any]:
    state: dict[str, Any] = {
        "deployment": str(deployment.pk),
        "status": deployment.status,
        "version": deployment.version.version,
        "waits": find_waiting_command(deployment, kind) is not None,
    }
    if kind == CommandKind.REDEPLOY:
        state["latest_version"] = deployment.skill.latest_version
    if kind == CommandKind.FLATTEN:
        state["positions"] = sorted([str(trade.pk), str(trade.quantity)] for trade in list_open(deployment.pk))
    return state


def _list_live_ids(skill_id: UUID) -> list[UUID]:
    rows = Deployment.objects.filter(skill=skill_id).exclude(broker_kind=BrokerKind.BACKTEST)
    return list(rows.exclude(status=DeploymentStatus.STOPPED).values_list("pk", flat=True))


def _format_version(version: SkillVersion) -> str:
    return f"{version.skill.name}, version {version.version}"


def _format_backtest(run: BacktestRun) -> str:
    totals = total_trades(Trade.objects.filter(deployment=run.deployment_id))
    days = f"{run.starts_at:%Y-%m-%d} to {run.ends_at:%Y-%m-%d}"
    count = format_count(totals.closed_trades, "closed trade")
    return f"{format_signed_usd(totals.net_usd)} net of {count}, {days}"


def _format_limits(risk: RiskCaps) -> str:
    return (
        f"{format_quantity(risk.max_position_pct)}% of equity in a position,"
        f" {format_quantity(risk.max_total_exposure_pct)}% in all,"
        f" leverage {format_quantity(risk.max_leverage)}x, {format_count(risk.max_orders_per_day, 'order')} a day,"
        f" a halt at {format_quantity(risk.daily_loss_halt_pct)}% lost in a day"
    )


def _position_lines(deployment: Deployment, now: datetime) -> list[Line]:
    trades = list_open(deployment.pk)
    held = list_open_positions(deployment, trades, find_trade_marks(trades, now))
    return [(f"{one.trade.symbol} {one.trade.side}", _format_position(one)) for one in held]


def _format_position(one: OpenPosition) -> str:
    held = f"{format_quantity(abs(one.trade.quantity))} at {format_price(one.trade.entry_price)}"
    if one.mark_price is None or one.unrealised_usd is None:
        return f"{held}; no price is known now"
    return f"{held}, now {format_price(one.mark_price)}: {format_signed_usd(one.unrealised_usd)} unrealised"


def _change_lines(deployment: Deployment) -> list[Line]:
    old, new = deployment.version.version, deployment.skill.latest_version
    changes = compare_versions(deployment.skill_id, old, new)
    lines = [("Version", f"{old} → {new}")]
    lines += [(_format_field(path), _format_change(before, after)) for path, before, after in changes[:MAX_CHANGES]]
    if len(changes) > MAX_CHANGES:
        lines.append(("Also changed", f"{format_count(len(changes) - MAX_CHANGES, 'field')} more"))
    return lines


def _format_field(path: str) -> str:
    *blocks, name = path.replace("_", " ").split(".")
    return " ".join([*(f"{block}:" for block in blocks), name]).capitalize()


def _format_change(before: Any, after: Any) -> str:
    texts = _format_value(before), _format_value(after)
    return " → ".join(texts) if max(map(len, texts)) <= MAX_VALUE else "The text differs"


def _format_value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or value in ("", []):
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _format_minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
