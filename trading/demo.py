"""The demo's record: a simulated market and two skills.

Nothing is made up but the market: the skills come of the services, and every trade, lesson and number of the same
ticks, backtest and reflections as anybody's, decided by the offline model.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import fmean
from typing import Any, Final
from uuid import UUID, uuid4

from django.conf import settings

from config.lib.owned import owned, owned_tx
from config.lib.proofs import OPERATOR
from config.lib.work.jobs import Clock
from trading.agent.decide import Ask, model_client
from trading.ledger.services import get_deployment
from trading.market import simulation
from trading.market.imports.bars import aggregate_bars
from trading.market.imports.events import iter_shipped_events, store_events
from trading.market.imports.news import make_news_key, store_news
from trading.market.tape import ReplayTape
from trading.models import Bar, NewsItem, Skill, SkillVersion, Trade
from trading.record.backtests import claim_backtest, start_backtest
from trading.record.deployments import claim_deployment, deploy_skill, release_deployment
from trading.runs.backtest import BacktestProgress, play_instants, run_backtest, schedule_instants
from trading.runs.runner import Ticker
from trading.skills import services
from trading.skills.schemas import parse_payload

Report = Callable[[str], None]

NEWS_SOURCE: Final = "Demo"
_SEEDS_TRIED: Final = 200
_LEASE: Final = timedelta(minutes=15)  # no worker plays them meanwhile
_EVERY_TICKS: Final = 20  # between two progress reports


@dataclass(frozen=True, slots=True)
class Lengths:
    history: timedelta = simulation.HISTORY
    past: timedelta = simulation.PAST  # of hourly bars before, for the moves after past events
    backtest: timedelta = timedelta(days=30)
    breakout: timedelta = timedelta(days=16)
    funding: timedelta = timedelta(days=3)


ALL: Final = Lengths()


@dataclass(frozen=True, slots=True)
class _Made:
    backtest_ids: tuple[UUID, ...]
    deployment_ids: tuple[UUID, ...]
    lease: UUID


# Rows of news: hours ago, headline, symbols, sentiment.
_DATA: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
_BREAKOUT, _BREAKOUT_AGAIN, _FUNDING, _DRAFT, _NEWS = _DATA.values()


def seed_demo(user_id: int, *, clock: Clock, report: Report = lambda _: None, lengths: Lengths = ALL) -> dict[str, int]:
    """Create the demo's skills and record once, in own scopes."""
    now = clock()
    with owned(user_id):
        if Skill.objects.exists():
            return {"skills": 0}
    store_events(iter_shipped_events())
    _publish_news(now)
    first = simulation.SEED if simulation.list_simulated_symbols() else _find_breakout_seed(now)
    extended = simulation.extend_market(now=now, history=lengths.history, past=lengths.past, seed=first, report=report)
    skipped = extended.skipped
    with owned_tx(user_id):
        made = _make_skills(now, lengths, is_played=not skipped)
    if made is None:
        report(f"{', '.join(skipped)} have a market from elsewhere, so nothing is simulated and no skill runs.")
        return {"skills": 2, "trades": 0}
    with model_client([settings.OFFLINE_MODEL], clock=clock) as ask:
        for deployment_id in made.deployment_ids:
            _play_deployment(deployment_id, made.lease, user_id=user_id, ask=ask, clock=clock, report=report)

        def tell(done: BacktestProgress) -> None:
            report(f"Backtest: {done.ticks_done} of {done.ticks_total} ticks, {done.at:%Y-%m-%d %H:%M}")

        for run_id in made.backtest_ids:
            run_backtest(run_id, user_id=user_id, clock=clock, ask=ask, report=tell, lease=made.lease)
    with owned(user_id):
        return {"skills": 2, "trades": Trade.objects.filter(deployment__in=made.deployment_ids).count()}


# --- The market ---


def _publish_news(now: datetime) -> None:
    if NewsItem.objects.filter(source=NEWS_SOURCE).exists():
        return
    items = []
    for hours, headline, symbols, sentiment in _NEWS:
        at = now - timedelta(hours=hours)
        values = {"symbols": symbols, "sentiment": sentiment, "is_simulated": True}
        key = make_news_key(NEWS_SOURCE, headline, at)
        items.append(NewsItem(key=key, headline=headline, source=NEWS_SOURCE, published_at=at, **values))
    store_news(items)


def _find_breakout_seed(now: datetime) -> int:
    """Return the first seed by which a four-hour breakout skill would hold a position now."""
    since = now - timedelta(days=6)
    for seed in range(simulation.SEED, simulation.SEED + _SEEDS_TRIED):
        for symbol in simulation.SYMBOLS:
            bars = list(aggregate_bars(simulation.iter_simulated_bars(symbol, since, now, seed=seed), "4h"))
            if sum(_holds_since(bars, entry) for entry in range(len(bars) - 6, len(bars) - 1)) > 1:
                return seed
    return simulation.SEED


def _holds_since(bars: list[Bar], entry: int) -> bool:
    before, after = bars[entry - 20 : entry], bars[entry + 1 :]
    if bars[entry].close <= max(bar.high for bar in before):
        return False
    stop = float(bars[entry].close) - 2 * fmean(float(bar.high - bar.low) for bar in before)
    means = (fmean(float(bar.close) for bar in bars[at - 9 : at + 1]) for at in range(entry + 1, len(bars)))
    return all(float(bar.low) > stop and float(bar.close) > mean for bar, mean in zip(after, means, strict=True))


# --- The skills ---


def _make_skills(now: datetime, lengths: Lengths, *, is_played: bool) -> _Made | None:
    """Write the demo's skills, draft, backtest and deployments."""
    breakout = _save_skill("trend_breakout", _BREAKOUT, now - lengths.breakout - timedelta(days=9))
    lease, until, models = uuid4(), now + _LEASE, services.list_reflection_models(parse_payload(breakout.payload))

    def start(at: datetime) -> UUID:  # of the version of that moment
        run = start_backtest(
            skill_id=breakout.skill_id,
            starts_at=now - lengths.backtest,
            ends_at=now - lengths.breakout,  # then it was deployed
            reflects=models == [settings.OFFLINE_MODEL],
            now=at,
        )
        claim_backtest(run_id=run.pk, lease=lease, until=until, now=at)
        return run.pk

    runs = [start(now - timedelta(minutes=1))] if is_played else []
    again = services.start_draft(skill_id=breakout.skill_id, now=now - lengths.breakout - timedelta(days=1))
    services.patch_draft(draft_id=again.pk, patch=_BREAKOUT_AGAIN, now=again.created_at)
    services.save_draft(draft_id=again.pk, now=again.created_at + timedelta(minutes=7))
    funding = _save_skill("funding_mean_reversion", _FUNDING, now - lengths.funding - timedelta(hours=3))
    draft = services.start_draft(now=now - timedelta(hours=2))
    services.patch_draft(draft_id=draft.pk, patch=_DRAFT, now=draft.created_at)
    if not is_played:
        return None
    runs.append(start(now))
    deployments = [
        deploy_skill(skill_id=breakout.skill_id, proof=OPERATOR, now=now - lengths.breakout),
        deploy_skill(skill_id=funding.skill_id, proof=OPERATOR, now=now - lengths.funding),
    ]
    for deployment in deployments:
        claim_deployment(deployment_id=deployment.pk, lease=lease, until=until, now=now)
    return _Made(tuple(runs), tuple(deployment.pk for deployment in deployments), lease)


def _save_skill(template: str, patch: dict[str, Any], now: datetime) -> SkillVersion:
    draft = services.start_draft(now=now)
    services.apply_template_to_draft(draft_id=draft.pk, template=template, now=now)
    services.patch_draft(draft_id=draft.pk, patch=patch, now=now)
    return services.save_draft(draft_id=draft.pk, now=now + timedelta(minutes=11))


# --- What they did ---


def _play_deployment(deployment_id: UUID, lease: UUID, *, user_id: int, ask: Ask, clock: Clock, report: Report) -> None:
    with owned(user_id):
        deployment = get_deployment(deployment_id)
        name, began = deployment.skill.name, deployment.created_at
        payload = parse_payload(deployment.version.payload)
    instants = [at for at in schedule_instants(payload.schedule, began, clock()) if at > began]
    ticker = Ticker(deployment_id, user_id=user_id, ask=ask, tape=ReplayTape(began - payload.schedule.every))
    # A model that is away shall not hold up the demo.
    for number, at in play_instants(ticker, instants, payload, clock=clock, gives_up=True):
        if number % _EVERY_TICKS == 0 or number == len(instants):
            report(f"{name} on paper: {number} of {len(instants)} ticks, {at:%Y-%m-%d %H:%M}")
    with owned_tx(user_id):
        release_deployment(deployment_id=deployment_id, lease=lease)
