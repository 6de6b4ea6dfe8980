"""A hundred questions of a trader, answered from the demo's rows and by no other figure."""

import re
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path
from statistics import fmean

import pytest
from django.conf import settings
from django.db import transaction

from chat.demo import seed_chats
from chat.prompt.focus import build_focus
from chat.tools import TOOLS
from chat.web.page_context import _BY_PAGE
from config.lib.figures import format_count, format_duration, format_pct, format_ratio, format_signed_usd, format_usd
from config.lib.owned import owned
from memory.models import UserFact
from offline.model import NO_RULE
from tests.factories.trading import TraderFactory
from tests.offline.chat import NEW_DRAFT
from tests.offline.real import RealChat
from tests.offline.sets import SETS
from trading.demo import Lengths, seed_demo
from trading.models import Trade

NOW = datetime(2026, 3, 5, 6, 42, 17, tzinfo=UTC)
LENGTHS = Lengths(
    history=timedelta(days=13),
    past=timedelta(0),
    backtest=timedelta(days=10),
    breakout=timedelta(days=9),
    funding=timedelta(hours=80),
)
pytestmark = [pytest.mark.django_db, pytest.mark.computing, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def trader(django_db_setup, django_db_blocker):
    """The demo's user, made once for all tests here, which only read."""
    with django_db_blocker.unblock(), transaction.atomic():
        user = TraderFactory(email="demo@example.com")
        seed_chats(user.pk, clock=lambda: NOW)
        seed_demo(user.pk, clock=lambda: NOW, lengths=LENGTHS)
        yield user
        transaction.set_rollback(True)


# --- The figures, from rows, without the code that answers ---


@cache  # the user is one for all tests here, which only read
def list_closed():
    rows = Trade.objects.filter(exit_at__isnull=False).exclude(deployment__broker_kind="backtest")
    return list(rows.select_related("deployment__skill", "deployment__version").order_by("exit_at"))


def find_days(period):
    """Return the first and the last day of a period's words, on NOW's calendar."""
    today = NOW.date()
    monday, first = today - timedelta(days=today.weekday()), today.replace(day=1)
    return {
        "yesterday": (today - timedelta(days=1), today - timedelta(days=1)),
        "last week": (monday - timedelta(days=7), monday - timedelta(days=1)),
        "this month": (first, today),
        "last 7 days": (today - timedelta(days=6), today),
    }[period]


def is_met(trade, filters):
    net = trade.realized_pnl_usd
    first, last = find_days(filters["period"]) if "period" in filters else (date.min, date.max)
    return (
        trade.symbol in filters.get("symbol", trade.symbol).split(",")
        and trade.side == filters.get("side", trade.side)
        and trade.entry_regime_tag == filters.get("regime", trade.entry_regime_tag)
        and trade.exit_kind == filters.get("exit", trade.exit_kind)
        and {"won": net > 0, "lost": net < 0}.get(filters.get("result"), True)
        and first <= trade.exit_at.date() <= last
    )


def measure(name, trades):
    nets = [trade.realized_pnl_usd for trade in trades]
    match name:
        case "net":
            return sum(nets, Decimal(0)), format_signed_usd
        case "count":
            return len(nets), format_count
        case "win_rate":
            return sum(net > 0 for net in nets) / len(nets), lambda value: format_pct(value, places=2)
        case "expectancy":
            return sum(nets, Decimal(0)) / len(nets), format_signed_usd
        case "profit_factor":
            lost = -sum(net for net in nets if net < 0)
            return (sum(net for net in nets if net > 0) / lost if lost else None), lambda value: format_ratio(
                float(value)
            )
        case "fees":
            return sum((trade.fees_usd for trade in trades), Decimal(0)), format_usd
        case "funding":
            return sum((trade.funding_usd for trade in trades), Decimal(0)), format_signed_usd
        case "holding":
            return fmean(float(trade.holding_minutes) for trade in trades), lambda value: format_duration(
                timedelta(minutes=int(round(value, 1)))
            )
        case _:
            return measure_drawdown(nets), format_usd


def measure_drawdown(nets):
    total = peak = worst = Decimal(0)
    for net in nets:
        total += net
        peak, worst = max(peak, total), max(worst, peak - total)
    return worst


GROUPS = {
    "symbol": lambda trade: trade.symbol,
    "skill": lambda trade: trade.deployment.skill.name,
    "side": lambda trade: trade.side.capitalize(),
    "hour": lambda trade: f"{trade.entry_at:%H}:00",
    "weekday": lambda trade: f"{trade.entry_at:%a}",
    "exit": lambda trade: trade.exit_kind,
    "month": lambda trade: f"{trade.exit_at:%Y-%m}",
    "regime": lambda trade: trade.entry_regime_tag.capitalize(),
    "version": lambda trade: f"{trade.deployment.skill.name} v{trade.deployment.version.version}",
    "trade": lambda trade: str(trade.pk),
}


def find_extreme(word, name, group, trades):
    grouped = defaultdict(list)
    for trade in trades:
        grouped[GROUPS[group](trade)].append(trade)
    pick = max if word == "top" else min
    label = pick(grouped, key=lambda key: measure(name, grouped[key])[0])
    value, write = measure(name, grouped[label])
    return [write(value), "" if group in {"trade", "exit"} else label]


def list_expected(wanted):
    """Return what an answer has to hold for an expectation of figures."""
    first, *rest = wanted.split(" ", 1)
    trades = list_closed()
    if first in {"top", "low"}:
        name, group = rest[0].split()
        return find_extreme(first, name, group, trades)
    words = {}
    if rest and "period" in rest[0]:
        words = {"period": rest[0].removeprefix("period=")}
    elif rest:
        words = dict(part.split("=") for part in rest[0].split())
    met = [trade for trade in trades if is_met(trade, words)]
    if not met:
        return ["No closed trade"]
    value, write = measure(first, met)
    return [write(value)] if value is not None else ["not known"]


def is_right(user, row):
    question, _, wanted = row.partition(" | ")
    chat = RealChat(user, TOOLS["coach"], NOW)
    answer, expected = chat.say(question), wanted
    if wanted.startswith("calls "):
        made = iter(name for name, _ in chat.calls)
        right = (
            all(name in made for name in wanted.split()[1:])
            and not any("error" in result for result in chat.results)
            and bool(answer)
        )
    elif wanted.startswith("says "):
        right = any(word.casefold() in answer.casefold() for word in wanted.removeprefix("says ").split("&"))
    else:
        expected = list_expected(wanted)
        right = all(word in answer for word in expected)
    return right, answer, expected, chat.calls


ORDINARY = SETS["questions ordinary: ordinary"]


@pytest.mark.parametrize(
    ("rows", "most"),
    [(SETS["questions: questions"][::2], 7), (SETS["questions: questions"][1::2], 7), (ORDINARY, len(ORDINARY) // 10)],
    ids=["tuned", "unseen", "in ordinary words"],
)
def test_questions_of_a_trader_are_answered_from_the_record(trader, rows, most):
    with owned(trader):
        found = [(row, *is_right(trader, row)) for row in rows]

    wrong = [(row, wanted, calls, answer) for row, right, answer, wanted, calls in found if not right]
    assert len(wrong) <= most, "\n\n".join(map(str, wrong))


@pytest.mark.parametrize("part", [slice(40), slice(40, None)], ids=["tuned", "unseen"])
def test_questions_about_own_trades_are_never_answered_from_facts(trader, part):
    with owned(trader):
        found = [(row, *is_right(trader, row)) for row in SETS["questions: of record"][part]]

    told = [(row, answer) for row, _, answer, _, _ in found if "You told me" in answer or "not among what" in answer]
    wrong = [(row, wanted, calls, answer) for row, right, answer, wanted, calls in found if not right]
    assert not told
    assert len(wrong) <= 5, "\n\n".join(map(str, wrong))


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("whats my pnl", "**Net: "),
        ("How many trades this week?", "**Trades: "),
        ("Win rate on longs?", "**Win rate: "),
        ("compare longs and shorts", "**Net: "),
        ("whats my max leverage", "You told me"),
    ],
)
def test_question_is_answered_under_its_name(trader, question, start):
    with owned(trader), transaction.atomic():
        answer = RealChat(trader, TOOLS["coach"], NOW).say(question)
        transaction.set_rollback(True)

    assert answer.startswith(start)


# The questions of the start page and of the README, beside those of the pages.
SAID_ELSEWHERE = ["Remember that I never risk more than 1% per trade.", "What do you know about me?"]
SUGGESTED = dict.fromkeys(text for texts in _BY_PAGE.values() for text in texts)


@pytest.mark.parametrize("question", [*SUGGESTED, *SAID_ELSEWHERE])
def test_each_suggestion_is_answered(trader, question):
    focus = NEW_DRAFT if question in _BY_PAGE["trading:new_skill"] else ""
    with owned(trader), transaction.atomic():
        chat = RealChat(trader, TOOLS["coach"], NOW, focus)
        answer = chat.say(question)
        transaction.set_rollback(True)

    assert answer
    assert NO_RULE not in answer
    assert not [result for result in chat.results if "error" in result]


@pytest.mark.parametrize(
    ("question", "key"),
    [("Why did you open this position?", "entry_reason"), ("Why was this position closed?", "exit_reason")],
)
def test_question_beside_a_closed_trade_is_answered_with_that_trade(trader, question, key):
    with owned(trader):
        newest = list_closed()[-1]
        trade = next(one for one in reversed(list_closed()) if one.deployment_id == newest.deployment_id)
        focus = build_focus({"mode": "ops", "trade_id": str(trade.pk)})["text"]
        answer = RealChat(trader, TOOLS["coach"], NOW, focus).say(question)

    assert f"**{trade.symbol} {trade.side}**" in answer
    assert format_signed_usd(trade.realized_pnl_usd) in answer
    assert getattr(trade, key) in answer


@pytest.mark.parametrize("text", ["Write a poem about funding rates", "What is the weather like in Berlin?"])
def test_message_without_a_rule_is_answered_by_three_questions_that_have_one(trader, text):
    with owned(trader):
        answer = RealChat(trader, TOOLS["coach"], NOW).say(text)
        suggested = re.findall("“([^”]+)”", answer)
        said = [RealChat(trader, TOOLS["coach"], NOW).say(question) for question in suggested]

    assert answer.startswith(NO_RULE)
    assert answer.count("\n\n") == 1
    assert len(suggested) == 3
    assert not [one for one in said if NO_RULE in one]


def test_example_of_the_start_page_is_answered_as_shown(trader):
    page = (Path(settings.BASE_DIR) / "templates" / "landing.html").read_text()
    with owned(trader), transaction.atomic():
        UserFact.objects.all().delete()
        RealChat(trader, TOOLS["coach"], NOW).say("Please remember: I never risk more than 1 % on a trade.")
        answer = RealChat(trader, TOOLS["coach"], NOW).say("How big can a BTC long be with a stop 4% away?")
        transaction.set_rollback(True)

    assert "How big can a BTC long be with a stop 4% away?" in page
    assert "Please remember: I never risk more than 1 % on a trade." in page
    assert re.search(r"BTC long of \$[\d,.]+ .*\(4\.0% away\) would lose \$[\d,.]+ there, 1\.0% of \$[\d,.]+", answer)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("Does a long of 0.2 BTC with a stop at 85000 fit my rules?", {"side": "long", "quantity": 0.2}),
        ("check a short of 3 ETH, stop 4,300", {"side": "short", "quantity": 3}),
        ("can I sell 10 SOL with a stop at 250", {"side": "short", "quantity": 10}),
        ("can I buy 1.5 bitcoin with a stop at 58000?", {"side": "long", "quantity": 1.5}),
        ("should I go long BTC here with stop 57000 and a size of 1000 dollars", {"side": "long", "size_usd": 1000}),
        ("long ETH for 2k usdt, stop 1500, ok?", {"side": "long", "size_usd": 2000}),
        ("size a short on ETH with stop at 5200 risking 50 dollars", {"side": "short", "risk_usd": 50}),
        ("would a $2000 ETH long with a stop at 1000 be ok?", {"side": "long", "size_usd": 2000}),
    ],
)
def test_question_about_a_planned_trade_checks_the_size_it_names(trader, question, wanted):
    with owned(trader), transaction.atomic():
        chat = RealChat(trader, TOOLS["coach"], NOW)
        chat.say(question)
        transaction.set_rollback(True)

    [check] = [given["check"] for _, given in chat.calls if "check" in given]
    assert {name: check[name] for name in check if name in {"side", "size_usd", "quantity", "risk_usd"}} == wanted
