"""Reads of the home page, at most twelve queries for an account of any size."""

from collections.abc import Sequence
from datetime import datetime, time, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, QuerySet, Subquery
from django.urls import reverse
from django.utils.safestring import SafeString

from chat.conversations.queries import list_recent
from chat.models import ActionCard
from config.lib.charts.svg import draw_sparkline
from config.lib.charts.values import Chart, draw_equity
from config.lib.figures import format_count
from config.lib.owned import owner_id
from config.lib.queries import compiled
from config.lib.words.rules import parse_rule
from memory.facts.queries import list_new_facts
from memory.models import MemoryProposal, UserFact
from trading.account.services import list_new_entries
from trading.asking.accounts import AccountNow, AccountsNow, Result, get_accounts
from trading.market.queries import is_about, list_events
from trading.models import (
    BacktestRun,
    DeploymentCommand,
    MarketEvent,
    ReflectionRun,
    RuleState,
    Skill,
    Trade,
    Trader,
    TradingRule,
    VenueAccount,
    WorkStatus,
)
from trading.record.deployment_queries import OpenPosition
from trading.rules.books import RoundTrip
from trading.rules.services import judge_period, list_rules, read_valid

SHOWN: Final = 5  # rows of a card
POSITIONS_SHOWN: Final = 10
AGENTS_SHOWN: Final = 8
FAILED_FOR: Final = timedelta(days=7)  # how long a failed job is shown
NEW_FOR: Final = timedelta(days=7)
EVENTS_AHEAD: Final = timedelta(days=7)
STEPS: Final = ("tier", "record", "rule")  # that begin an account


class Waiting(NamedTuple):
    text: str
    url: str
    is_grave: bool = False


def describe_home(user: Trader, *, zone: ZoneInfo, now: datetime) -> dict[str, object]:
    """Return what the home page shows."""
    [counts] = _count_rows(owner_id(), now, now - FAILED_FOR)
    accounts, rules = get_accounts(zone=zone, now=now), list_rules()
    positions = accounts.positions
    lessons = [one for one in accounts.accounts if one.note and one.note["generated_at"] > now - NEW_FOR]
    is_done = {"tier": user.experience_tier is not None, "record": counts["has_record"], "rule": bool(rules)}
    steps = [(name, is_done[name], name in user.skipped_steps) for name in STEPS]
    return {
        "at": now,
        "steps": steps,
        "steps_done": sum(done or skipped for _, done, skipped in steps),
        "waiting": _list_waiting(counts, accounts.accounts, rules, now),
        "now": accounts,
        "charts": [_draw_result(one, accounts) for one in accounts.results],
        "agents": [(one, _draw_account(one)) for one in accounts.accounts[:AGENTS_SHOWN]],
        "positions": positions,
        "events": _list_events([one for _, one in positions], now),
        "broken": _list_broken(rules, zone, now),
        "rules": sum(rule.state == RuleState.CONFIRMED for rule in rules),
        "facts": list_new_facts(since=now - NEW_FOR, now=now, limit=SHOWN),
        "facts_count": counts["facts"] or 0,
        "lessons": lessons[:SHOWN],
        "conversations": list_recent(SHOWN),
    }


def _draw_result(result: Result, accounts: AccountsNow) -> Chart:
    title = f"{result.account_label}: equity" if result.is_equity else f"{result.label}: net of closed trades"
    is_simulated = result.record == "agents" and bool(accounts.simulated)
    name = "Equity" if result.is_equity else "Net"
    return draw_equity(result.points, title=f"{title}, 30 days", name=name, drawdown=False, simulated=is_simulated)


def _draw_account(account: AccountNow) -> SafeString:
    values = [value for value in account.equity_usd if value is not None]
    return draw_sparkline(values, title=f"Equity of {account.deployment.title}, 30 days")


@compiled
def _count_rows(owner: int, now: datetime, failed_since: datetime) -> QuerySet[Any, dict[str, Any]]:
    """Count what home links to, with the newest row of each, in one query."""
    failed = {"status": WorkStatus.FAILED, "finished_at__gte": failed_since}
    rows: dict[str, tuple[QuerySet[Any], str, str]] = {
        "cards": (ActionCard.objects.filter(status="pending", expires_at__gt=now), "conversation", "-created_at"),
        "proposals": (MemoryProposal.objects.filter(status="pending"), "pk", "-created_at"),
        "backtests": (BacktestRun.objects.filter(**failed), "pk", "-finished_at"),
        "commands": (DeploymentCommand.objects.filter(**failed), "deployment", "-finished_at"),
        "reflections": (ReflectionRun.objects.filter(**failed), "deployment", "-finished_at"),
        "syncs": (VenueAccount.objects.exclude(error=""), "pk", "-created_at"),
        "looks": (list_new_entries(), "pk", "-created_at"),
        "facts": (UserFact.objects.current(now), "pk", "-created_at"),
    }
    columns: dict[str, Any] = {"has_record": Exists(Trade.objects.all()) | Exists(Skill.objects.all())}
    for name, (found, column, order) in rows.items():
        columns[name] = Subquery(found.order_by().values("user").annotate(number=Count("pk")).values("number"))
        columns[f"{name}_id"] = Subquery(found.order_by(order).values(column)[:1])
    users: Any = get_user_model()._default_manager.filter(pk=owner)
    counted: QuerySet[Any, dict[str, Any]] = users.annotate(**columns).values(*columns)
    return counted


# What waits: its name in `_count_rows`, the words, the page of one row, the page of several, whether it is grave.
_WAITING: Final = (
    ("cards", "{} to confirm", "action", "chat:conversation", "chat:conversation", False),
    ("proposals", "{} of facts to review", "change", "memory:review", "memory:review", False),
    ("looks", "{} of staff on your data", "act", "trading:access", "trading:access", False),
    ("backtests", "{} failed", "backtest", "trading:backtest", "trading:backtests", True),
    ("commands", "{} to an agent failed", "command", "trading:deployment", "trading:deployment", True),
    ("reflections", "{} could not be drawn", "set of lessons", "trading:deployment", "trading:deployment", True),
    ("syncs", "{} could not be read", "account", "trading:imports", "trading:imports", True),
)
_OF_NO_ROW: Final = frozenset({"memory:review", "trading:access", "trading:backtests", "trading:imports"})


def _list_waiting(
    counts: dict[str, Any], accounts: Sequence[AccountNow], rules: Sequence[TradingRule], now: datetime
) -> list[Waiting]:
    found = []
    for name, words, noun, page_of_one, page_of_all, is_grave in _WAITING:
        if number := counts[name]:
            page = page_of_one if number == 1 else page_of_all
            # SQLite returns the key of a subquery as digits without hyphens.
            url = reverse(page, args=[] if page in _OF_NO_ROW else [UUID(str(counts[f"{name}_id"]))])
            found.append(Waiting(words.format(_count_noun(number, noun)), url, is_grave))
    if number := sum(rule.state == RuleState.WAITING for rule in rules):
        found.append(Waiting(f"{_count_noun(number, 'rule')} to confirm", reverse("chat:rules")))
    for account in accounts:
        deployment, url = account.deployment, reverse("trading:deployment", args=[account.deployment.pk])
        if deployment.is_halted_at(now):
            found.append(Waiting(f"{deployment.title} is halted by its risk limits", url, is_grave=True))
        elif account.is_late:
            found.append(Waiting(f"{deployment.title} missed a decision: its runner may be off", url, is_grave=True))
        if account.decided and account.decided["verdict"] == "failed":
            found.append(Waiting(f"The last decision of {deployment.title} failed", url, is_grave=True))
    return sorted(found, key=lambda one: not one.is_grave)


def _count_noun(number: int, noun: str) -> str:
    return format_count(number, noun) if noun != "set of lessons" or number == 1 else f"{number} sets of lessons"


def _list_events(positions: Sequence[OpenPosition], now: datetime) -> list[tuple[MarketEvent, list[OpenPosition]]]:
    """Return the next events that concern open positions, with these."""
    symbols = {one.trade.symbol for one in positions}
    events = list_events(now, until=now + EVENTS_AHEAD, symbols=symbols) if symbols else []
    return [
        (event, [one for one in positions if is_about(event.symbols, [one.trade.symbol])]) for event in events[:SHOWN]
    ]


def _list_broken(
    rules: Sequence[TradingRule], zone: ZoneInfo, now: datetime
) -> list[tuple[TradingRule, str, list[tuple[RoundTrip, str]]]]:
    """Return the rules broken since Monday in the reader's zone: in words, and the trades with why, newest first."""
    today = now.astimezone(zone).date()
    since = datetime.combine(today - timedelta(days=today.weekday()), time(), zone)
    used = {row.pk: row for row in rules if row.state == RuleState.CONFIRMED}
    broken: dict[UUID, list[tuple[RoundTrip, str]]] = {}
    valid = [read_valid(row) for row in used.values()]
    for trip, one in judge_period(valid, since=since, until=since + timedelta(days=7)):
        if one.verdict == "broken":
            broken.setdefault(one.rule_id, []).append((trip, one.why))
    return [(used[pk], parse_rule(used[pk].payload).describe(), trades) for pk, trades in broken.items()]
