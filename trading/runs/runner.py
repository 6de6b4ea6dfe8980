"""A tick: settle, ask the agent, check the risk, send the order.

A tick is two short transactions with the call of the model between them. Each transaction checks that the tick is still
the deployment's next one. The tick's number, its instant and the paper broker's account are written with the ledger, so
an interrupted or repeated tick continues where the record ends. A backtest runs the same code on another tape; with a
model that waits for nothing it replays many ticks in one transaction and writes their rows at its end.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from itertools import chain
from typing import Final
from uuid import UUID

from config.lib.owned import owned_tx
from trading import models
from trading.agent.context import AgentPrompt, Portfolio, Record, gather_context, read_closed, write_prompt
from trading.agent.decide import Ask, Decision, decide
from trading.ledger.positions import Tick
from trading.ledger.rebuild import Rebuilt
from trading.ledger.services import Ledger, TickOutOfTime, TickRecord, lock_deployment
from trading.ledger.trips import PathBar
from trading.market.queries import get_regime
from trading.market.tape import STORED, Tape, finest_bars
from trading.record.decisions import KeptPrompt, find_kept_prompt, keep_prompt
from trading.record.deployment_queries import count_orders, find_last_decision
from trading.record.deployments import halt_deployment, lift_halt
from trading.record.notes import find_active_note
from trading.record.trade_queries import get_latest_equity, list_open, utc_midnight
from trading.runs.orders import ON_PAPER, restore_broker, save_account, send_orders, settle_orders
from trading.runs.paper import Costs, PaperBroker, Report
from trading.runs.risk import RiskAccount, RiskCode, RiskVerdict, check_order
from trading.skills.schemas import ProposedOrder, SkillPayload, parse_payload

logger = logging.getLogger(__name__)

DAY: Final = timedelta(days=1)
ZERO: Final = Decimal(0)


class TickOutcome(StrEnum):
    DECIDED = "decided"
    SETTLED = "settled"  # only what happened was written: nothing is decided while paused or stopped
    REPEATED = "done before"


@dataclass(frozen=True, slots=True)
class Ticked:
    number: int
    at: datetime
    outcome: TickOutcome
    closed: int = 0  # trades
    snapshot: models.DecisionSnapshot | None = None


@dataclass(frozen=True, slots=True)
class _Settled:
    """The result of a tick's first half; no prompt: nothing to decide."""

    number: int
    payload: SkillPayload
    skill_version: int
    report: Report
    portfolio: Portfolio
    record: TickRecord
    prompt: AgentPrompt | None = None


@dataclass(slots=True)
class _Desk:
    """A locked deployment and its paper account; a replay keeps it, and writes the ledger now and then."""

    deployment: models.Deployment
    payload: SkillPayload
    broker: PaperBroker
    is_replay: bool = False


@dataclass(slots=True)
class _Carried:
    """Rows that the next tick of a deployment need not read."""

    ledger: Ledger
    closed: Record  # of its closed trades
    last_decision: models.DecisionSnapshot | None
    note: models.ReflectionNote | None
    kept: KeptPrompt | None
    keeps_contexts: bool
    open_trades: list[models.Trade] | None = None  # as last written; None: to be read
    day: datetime | None = None  # at 00:00 UTC, of the equity that follows
    day_start_equity_usd: Decimal = Decimal(0)


class Ticker:
    """Runs a deployment's ticks on paper, in own scopes."""

    def __init__(
        self,
        deployment_id: UUID,
        *,
        user_id: int,
        ask: Ask,
        tape: Tape = STORED,
        costs: Costs = ON_PAPER,
        keeps_contexts: bool = True,
    ) -> None:
        self.deployment_id, self.user_id = deployment_id, user_id
        self._ask, self._tape, self._costs = ask, tape, costs
        self._keeps_contexts = keeps_contexts  # what no model has read is written again from the record
        self._carried: tuple[int, _Carried] | None = None  # after which tick
        self._desk: _Desk | None = None  # of a replay

    def tick(self, at: datetime) -> Ticked:
        """Run the tick of an instant; idempotent. Raises DeploymentNotFound, TickOutOfTime."""
        with owned_tx(self.user_id):
            settled, carried = self._settle_tick(self._open_desk(), at)
        snapshot = None
        if settled.prompt is not None:
            decision = self._decide(settled.prompt, settled, at)
            with owned_tx(self.user_id):
                snapshot = _act_on_decision(self._open_desk(), settled, carried, decision, at=at)
        self._carried = (settled.number, carried) if snapshot else None
        return _note_decision(settled, carried, snapshot, at)

    def replay(self, at: datetime) -> Ticked:
        """Run the tick of an instant in the caller's transaction, which `save` completes; needs `owned_tx(user)`.

        For a model that waits for nothing, and a deployment that nobody else ticks or commands. Raises as `tick`.
        """
        desk = self._desk = self._desk or self._open_desk(is_replay=True)
        settled, carried = self._settle_tick(desk, at)
        snapshot = None
        if settled.prompt is not None:
            decision = self._decide(settled.prompt, settled, at)
            snapshot = _act_on_decision(desk, settled, carried, decision, at=at)
        self._carried = settled.number, carried
        return _note_decision(settled, carried, snapshot, at)

    def save(self) -> None:
        """Write the ledger of the replayed ticks; needs `owned_tx(user)`. Raises TickMissing."""
        if self._desk is not None and self._carried is not None:
            _write_ledger(self._desk, self._carried[1])

    def forget(self) -> None:
        """Read all rows again at the next tick."""
        self._carried = self._desk = None

    def _open_desk(self, *, is_replay: bool = False) -> _Desk:
        deployment = lock_deployment(self.deployment_id)
        broker = restore_broker(deployment, self._costs)
        return _Desk(deployment, parse_payload(deployment.version.payload), broker, is_replay)

    def _decide(self, prompt: AgentPrompt, settled: _Settled, at: datetime) -> Decision:
        return decide(prompt, settled.payload, at=at, tape=self._tape, ask=self._ask)

    def _settle_tick(self, desk: _Desk, at: datetime) -> tuple[_Settled, _Carried]:
        """Write the ledger up to an instant; return the agent's input."""
        deployment, payload, broker = desk.deployment, desk.payload, desk.broker
        if deployment.last_tick_at is not None and at < deployment.last_tick_at:
            raise TickOutOfTime(f"This deployment has ticked at {deployment.last_tick_at:%Y-%m-%d %H:%M} already.")
        version = deployment.version.version
        sent = {order.order_id for order in broker.pending}
        after = deployment.last_tick_at or at - payload.schedule.every
        bars = _feed_broker(broker, payload, after=after, until=at, tape=self._tape)
        report = broker.report(at)
        gone = sent - {order.order_id for order in broker.pending}
        tick = Tick(at, report.fills, report.funding, _list_paths(bars, report), report.marks, report.positions)
        carried = self._read_carried(deployment, payload, tick)
        record = TickRecord(is_applied=False)
        if deployment.last_tick_at != at:
            record = carried.ledger.apply(
                deployment.last_tick + 1,
                tick,
                skill_version=version,
                intents=settle_orders(report, gone, at),
                regimes={fill.symbol: get_regime(fill.symbol, at, self._tape).value for fill in report.fills},
                equity_usd=report.equity_usd,
            )
            deployment.last_tick, deployment.last_tick_at = deployment.last_tick + 1, at
            deployment.account = broker.state()
            # The first tick of a day asks for the equity at its begin.
            if not desk.is_replay or report.fills or report.funding or carried.day != utc_midnight(at):
                late = _write_ledger(desk, carried)
                record = replace(record, opened=record.opened + late.opened, closed=record.closed + late.closed)
            if record.closed:
                carried.closed = read_closed(deployment.pk, payload)
        portfolio = _update_portfolio(deployment, payload, report, carried, at)
        settled = _Settled(deployment.last_tick, payload, version, report, portfolio, record)
        last = carried.last_decision
        has_decided = last is not None and last.tick_at == at
        if has_decided or deployment.status != models.DeploymentStatus.RUNNING:
            return settled, carried
        inputs = gather_context(
            payload,
            record=replace(carried.closed, open_trades=_list_open(deployment, carried) if report.positions else ()),
            portfolio=portfolio,
            last_decision=last,
            at=at,
            tape=self._tape,
        )
        return replace(settled, prompt=write_prompt(payload, inputs, carried.note)), carried

    def _read_carried(self, deployment: models.Deployment, payload: SkillPayload, tick: Tick) -> _Carried:
        if self._carried is not None and self._carried[0] == deployment.last_tick:
            return self._carried[1]
        ledger, closed = Ledger.load(deployment, tick), read_closed(deployment.pk, payload)
        last = find_last_decision(deployment)
        return _Carried(
            ledger, closed, last, find_active_note(deployment), find_kept_prompt(last), self._keeps_contexts
        )


def _note_decision(
    settled: _Settled, carried: _Carried, snapshot: models.DecisionSnapshot | None, at: datetime
) -> Ticked:
    if snapshot is not None:
        carried.last_decision = snapshot
    outcome = TickOutcome.DECIDED if snapshot else TickOutcome.REPEATED
    if settled.prompt is None and settled.record.is_applied:
        outcome = TickOutcome.SETTLED
    return Ticked(settled.number, at, outcome, settled.record.closed, snapshot)


def _write_ledger(desk: _Desk, carried: _Carried) -> Rebuilt:
    carried.open_trades = None
    now = desk.deployment.last_tick_at
    assert now is not None, "it has ticked"
    return carried.ledger.flush(now, account=desk.broker.state())


def _list_open(deployment: models.Deployment, carried: _Carried) -> list[models.Trade]:
    """Return the open trades as of this tick: since the ledger was written, only how far prices went has moved."""
    if carried.open_trades is None:
        carried.open_trades = list_open(deployment.pk)
    for trade in carried.open_trades:
        trip = carried.ledger.book.open[trade.symbol]
        trade.mfe_usd, trade.mae_usd, trade.path_minutes = trip.mfe_usd, trip.mae_usd, trip.path_minutes or None
    return carried.open_trades


def _list_paths(bars: Mapping[str, Sequence[models.Bar]], report: Report) -> dict[str, list[PathBar]]:
    """Return the bars of what was held."""
    held = {*report.positions, *(fill.symbol for fill in report.fills)}
    return {
        symbol: [PathBar(bar.opened_at, bar.closed_at, bar.high, bar.low, bar.close) for bar in rows]
        for symbol, rows in bars.items()
        if symbol in held
    }


def _feed_broker(
    broker: PaperBroker, payload: SkillPayload, *, after: datetime, until: datetime, tape: Tape
) -> Mapping[str, list[models.Bar]]:
    """Give the broker the market of its symbols, late bars and payments of held ones too; return the bars."""
    sent = {order.symbol for order in broker.pending}
    bars, rates = {}, []
    for symbol in sorted({*payload.context.symbols, *broker.holdings, *sent}):
        holding = broker.holdings.get(symbol)
        is_live = holding is not None or symbol in sent
        since = min(after, broker.seen_until.get(symbol, after)) if is_live else after
        bars[symbol] = finest_bars(tape, symbol, after=since, until=until)
        rates += tape.rates(symbol, after if holding is None else holding.paid_until, until)
    broker.feed(chain.from_iterable(bars.values()), rates)
    return bars


def _update_portfolio(
    deployment: models.Deployment, payload: SkillPayload, report: Report, carried: _Carried, at: datetime
) -> Portfolio:
    """Return the account at a tick; set or lift the daily halt."""
    if carried.day != utc_midnight(at):
        carried.day = utc_midnight(at)
        carried.day_start_equity_usd = get_latest_equity(deployment, carried.day) or ZERO
    day_start = carried.day_start_equity_usd
    if not deployment.is_halted_at(at) and deployment.halt_code:
        lift_halt(deployment_id=deployment.pk, now=at)
        deployment.halt_code, deployment.halted_until = "", None
    limit = day_start * payload.risk.daily_loss_halt_pct / 100
    if not deployment.is_halted_at(at) and day_start - report.equity_usd >= limit:
        until = utc_midnight(at) + DAY
        halt_deployment(deployment_id=deployment.pk, code=RiskCode.DAILY_LOSS_HALT, until=until)
        deployment.halt_code, deployment.halted_until = RiskCode.DAILY_LOSS_HALT, until
    return Portfolio(report.equity_usd, day_start, is_halted=deployment.is_halted_at(at))


def _act_on_decision(
    desk: _Desk, settled: _Settled, carried: _Carried, decision: Decision, *, at: datetime
) -> models.DecisionSnapshot | None:
    """Check and save the decision, send its order; None if repeated."""
    deployment, number, prompt = desk.deployment, settled.number, settled.prompt
    if prompt is None or deployment.last_tick != number:
        return None
    # In a replay nobody else decides.
    if not desk.is_replay and models.DecisionSnapshot.objects.filter(deployment=deployment, tick=number).exists():
        return None
    verdict = _check_risk(deployment, desk.broker, settled, decision, at)
    outcome = models.Verdict.FAILED if decision.has_failed else models.Verdict.NONE
    if decision.order is not None:
        outcome = models.Verdict.ACCEPTED if verdict.is_accepted else models.Verdict.REFUSED
    snapshot = models.DecisionSnapshot(
        deployment=deployment,
        tick=number,
        tick_at=at,
        skill_version=settled.skill_version,
        account=settled.portfolio.dump(deployment.account),
        steps=decision.steps,
        proposal=None if decision.order is None else decision.order.model_dump(mode="json"),
        verdict=outcome,
        verdict_code=verdict.code or "",
        verdict_text=(verdict.text or decision.reason)[:500],
        note_id=prompt.note_id,
        model=decision.model,
        input_tokens=decision.input_tokens,
        output_tokens=decision.output_tokens,
        cost_usd=decision.cost_usd,
    )
    carried.kept = keep_prompt(
        snapshot, prompt.system, prompt.context, carried.kept, with_context=carried.keeps_contexts
    )
    snapshot.insert()
    if decision.order is not None:
        _place_order(desk, snapshot, decision.order, verdict)
    return snapshot


def _place_order(desk: _Desk, snapshot: models.DecisionSnapshot, proposed: ProposedOrder, verdict: RiskVerdict) -> None:
    """Save a proposed order, and send it if it was accepted."""
    order = models.Order.objects.create(
        deployment=desk.deployment,
        snapshot=snapshot,
        tick=snapshot.tick,
        origin=models.OrderOrigin.AGENT,
        **proposed.model_dump(),
        state=models.OrderState.PENDING if verdict.is_accepted else models.OrderState.REFUSED,
        verdict_code=verdict.code or "",
        proposed_at=snapshot.tick_at,
        updated_at=snapshot.tick_at,
    )
    if verdict.is_accepted:
        send_orders(desk.broker, [order], snapshot.tick_at)
        if not desk.is_replay:
            save_account(desk.deployment, desk.broker)


def _check_risk(
    deployment: models.Deployment, broker: PaperBroker, settled: _Settled, decision: Decision, at: datetime
) -> RiskVerdict:
    """Check an order against the account with all pending orders filled."""
    order = decision.order
    if order is None:
        return RiskVerdict()
    if deployment.status != models.DeploymentStatus.RUNNING:
        return RiskVerdict(RiskCode.HALTED, "the deployment was paused or stopped while this was decided")
    sent = [one for one in broker.pending if one.symbol == order.symbol]
    if order.side != "close" and any(one.side == "close" for one in sent):
        return RiskVerdict(RiskCode.HALTED, f"the position in {order.symbol} is being closed")
    account = RiskAccount(
        equity_usd=settled.portfolio.equity_usd or ZERO,
        day_start_equity_usd=settled.portfolio.day_start_equity_usd or ZERO,
        positions=_positions_to_come(broker, settled.report),
        marks=settled.report.marks,
        leverages={one.symbol: one.leverage for one in broker.pending}
        | {symbol: held.leverage for symbol, held in broker.holdings.items()},
        orders_today=count_orders(deployment, since=utc_midnight(at)),
        is_halted=settled.portfolio.is_halted,
    )
    return check_order(order, account=account, caps=settled.payload.risk, symbols=settled.payload.context.symbols)


def _positions_to_come(broker: PaperBroker, report: Report) -> dict[str, Decimal]:
    """Return the positions after all pending orders."""
    positions = dict(report.positions)
    for sent in broker.pending:
        mark = report.marks.get(sent.symbol)
        if sent.side != "close" and sent.size_usd and mark:
            size = sent.size_usd / mark if sent.left is None else sent.left
            positions[sent.symbol] = positions.get(sent.symbol, ZERO) + (size if sent.side == "long" else -size)
    return positions
