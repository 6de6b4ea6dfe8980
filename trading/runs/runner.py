"""A tick: settle, ask the agent, check the risk, send the order.

A tick is two short transactions with the call of the model between them. Each transaction checks that the tick is still
the deployment's next one. The tick's number, its instant and the paper broker's account are written with the ledger, so
an interrupted or repeated tick continues where the record ends. A backtest runs the same code on another tape.
"""

import logging
from collections.abc import Collection, Mapping
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
from trading.ledger.rows import Intent
from trading.ledger.services import Ledger, TickOutOfTime, TickRecord, lock_deployment
from trading.ledger.trips import PathBar
from trading.market.queries import get_regime
from trading.market.tape import STORED, Tape, finest_bars
from trading.record.backtests import VOLUME_PCT
from trading.record.decisions import KeptPrompt, find_kept_prompt, keep_prompt
from trading.record.deployment_queries import count_orders, find_last_decision
from trading.record.deployments import halt_deployment, lift_halt
from trading.record.notes import find_active_note
from trading.record.trade_queries import get_latest_equity, list_open, utc_midnight
from trading.runs.paper import Costs, OrderRequest, PaperBroker, Report
from trading.runs.risk import RiskAccount, RiskCode, RiskVerdict, check_order
from trading.skills.schemas import SkillPayload, parse_payload

logger = logging.getLogger(__name__)

DAY: Final = timedelta(days=1)
ON_PAPER: Final = Costs(volume_share=VOLUME_PCT / 100)
ZERO: Final = Decimal(0)
NOTHING_LEFT: Final = "There was nothing left to trade."
EXPIRED: Final = "It expired: no bar began in time."
REST_EXPIRED: Final = "Part of it filled. The rest expired: the bars had too little volume."
STOPPED: Final = "The stop price was reached."


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
class _Carried:
    """Rows that the next tick of a deployment need not read."""

    ledger: Ledger
    closed_trades: list[models.Trade]
    last_decision: models.DecisionSnapshot | None
    note: models.ReflectionNote | None
    kept: KeptPrompt | None
    keeps_contexts: bool
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

    def tick(self, at: datetime) -> Ticked:
        """Run the tick of an instant; idempotent. Raises DeploymentNotFound, TickOutOfTime."""
        with owned_tx(self.user_id):
            deployment = lock_deployment(self.deployment_id)
            settled, carried = self._settle_tick(deployment, at)
        number, record = settled.number, settled.record
        outcome, snapshot = TickOutcome.SETTLED if record.is_applied else TickOutcome.REPEATED, None
        if settled.prompt is not None:
            decision = decide(settled.prompt, settled.payload, at=at, tape=self._tape, ask=self._ask)
            with owned_tx(self.user_id):
                snapshot = _act_on_decision(lock_deployment(self.deployment_id), settled, carried, decision, at=at)
            outcome = TickOutcome.DECIDED if snapshot else TickOutcome.REPEATED
        carried.last_decision = snapshot
        self._carried = (number, carried) if snapshot else None
        return Ticked(number, at, outcome, record.closed, snapshot)

    def forget(self) -> None:
        """Read all rows again at the next tick."""
        self._carried = None

    def _settle_tick(self, deployment: models.Deployment, at: datetime) -> tuple[_Settled, _Carried]:
        """Write the ledger up to an instant; return the agent's input."""
        if deployment.last_tick_at is not None and at < deployment.last_tick_at:
            raise TickOutOfTime(f"This deployment has ticked at {deployment.last_tick_at:%Y-%m-%d %H:%M} already.")
        version, payload = deployment.version.version, parse_payload(deployment.version.payload)
        broker = _restore_broker(deployment, self._costs)
        sent = {order.order_id for order in broker.pending}
        after = deployment.last_tick_at or at - payload.schedule.every
        bars = _feed_broker(broker, payload, after=after, until=at, tape=self._tape)
        report = broker.report(at)
        gone = sent - {order.order_id for order in broker.pending}
        held = {*report.positions, *(fill.symbol for fill in report.fills)}
        paths = {
            symbol: [PathBar(bar.opened_at, bar.closed_at, bar.high, bar.low, bar.close) for bar in rows]
            for symbol, rows in bars.items()
            if symbol in held
        }
        tick = Tick(at, report.fills, report.funding, paths, report.marks, report.positions)
        carried = self._read_carried(deployment, payload, tick)
        record = TickRecord(is_applied=False)
        if deployment.last_tick_at != at:
            record = carried.ledger.apply(
                deployment.last_tick + 1,
                tick,
                skill_version=version,
                intents=_settle_orders(report, gone, at),
                regimes={fill.symbol: get_regime(fill.symbol, at, self._tape).value for fill in report.fills},
                equity_usd=report.equity_usd,
            )
            late = carried.ledger.flush(at, account=broker.state())
            record = replace(record, opened=record.opened + late.opened, closed=record.closed + late.closed)
            deployment.last_tick, deployment.last_tick_at = deployment.last_tick + 1, at
            if record.closed:
                carried.closed_trades = read_closed(deployment.pk, payload)
        portfolio = _update_portfolio(deployment, payload, report, carried, at)
        settled = _Settled(deployment.last_tick, payload, version, report, portfolio, record)
        last = carried.last_decision
        has_decided = last is not None and last.tick_at == at
        if has_decided or deployment.status != models.DeploymentStatus.RUNNING:
            return settled, carried
        inputs = gather_context(
            payload,
            record=Record(list_open(deployment.pk) if report.positions else [], carried.closed_trades),
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


def _restore_broker(deployment: models.Deployment, costs: Costs) -> PaperBroker:
    return PaperBroker.restored(deployment.account, starting_equity_usd=deployment.starting_equity_usd, costs=costs)


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


def _settle_orders(report: Report, gone: Collection[str], at: datetime) -> dict[str, Intent]:
    """Save filled and ended orders; return intents by fill id."""
    filled = set(report.order_ids.values())
    wanted = {*gone, *filled, *filter(None, report.stopped.values())}
    orders = {str(order.pk): order for order in models.Order.objects.filter(pk__in=wanted)} if wanted else {}
    for order_id, order in orders.items():
        if order_id not in gone and order_id not in filled:
            continue
        is_filled = order_id in filled or order.state == models.OrderState.PARTLY_FILLED
        has_expired = order_id in report.expired
        order.state = models.OrderState.FILLED if is_filled and not has_expired else models.OrderState.CANCELLED
        if order_id not in gone:
            order.state = models.OrderState.PARTLY_FILLED
        elif order.state == models.OrderState.CANCELLED:
            order.error = REST_EXPIRED if is_filled else EXPIRED if has_expired else NOTHING_LEFT
        order.updated_at = at
        order.save(update_fields=["state", "error", "updated_at"])
    intents = {fill_id: _make_intent(orders[order_id]) for fill_id, order_id in report.order_ids.items()}
    for fill_id, order_id in report.stopped.items():
        stop = Intent(models.OrderOrigin.STOP, STOPPED)
        if setter := orders.get(order_id):  # the decision of a stop is the one that set it
            stop = replace(stop, snapshot_id=setter.snapshot_id, decided_at=setter.proposed_at)
        intents[fill_id] = stop
    return intents


def _make_intent(order: models.Order) -> Intent:
    origin, decided_at = models.OrderOrigin(order.origin), order.proposed_at
    return Intent(origin, order.reason, order.snapshot_id, order.pk, order.leverage, decided_at)


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
    deployment: models.Deployment, settled: _Settled, carried: _Carried, decision: Decision, *, at: datetime
) -> models.DecisionSnapshot | None:
    """Check and save the decision, send its order; None if repeated."""
    number, prompt = settled.number, settled.prompt
    rows = models.DecisionSnapshot.objects.filter(deployment=deployment, tick=number)
    if prompt is None or deployment.last_tick != number or rows.exists():
        return None
    broker = _restore_broker(deployment, ON_PAPER)  # asking what waits costs nothing
    verdict = _check_risk(deployment, broker, settled, decision, at)
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
    snapshot.save(force_insert=True)
    if decision.order is not None:
        order = models.Order.objects.create(
            deployment=deployment,
            snapshot=snapshot,
            tick=number,
            origin=models.OrderOrigin.AGENT,
            **decision.order.model_dump(),
            state=models.OrderState.PENDING if verdict.is_accepted else models.OrderState.REFUSED,
            verdict_code=verdict.code or "",
            proposed_at=at,
            updated_at=at,
        )
        if verdict.is_accepted:
            submit_orders(deployment, [order], at=at)
    return snapshot


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


def submit_orders(deployment: models.Deployment, orders: list[models.Order], *, at: datetime) -> None:
    """Send orders to a deployment's broker and save its state."""
    broker = _restore_broker(deployment, ON_PAPER)  # sending costs nothing
    for order in orders:
        values = {name: getattr(order, name) for name in ("symbol", "side", "size_usd", "leverage", "stop_price")}
        broker.submit(OrderRequest(order_id=str(order.pk), at=at, **values))
    deployment.account = broker.state()
    deployment.save(update_fields=["account"])
