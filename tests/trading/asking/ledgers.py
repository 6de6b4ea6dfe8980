"""Random ledgers, and plain answers about them: lists and loops, nothing of the product."""

from datetime import datetime, timedelta
from decimal import Decimal
from statistics import fmean
from uuid import uuid4

from hypothesis import strategies as st

from tests.factories.memory import MAY
from tests.factories.record import DecisionSnapshotFactory, OrderFactory, TradeFactory
from trading.models import Trade

D = Decimal
CENTS = {"allow_nan": False, "allow_infinity": False, "places": 2}
MONEY = st.decimals("-900", "900", **CENTS)
ROWS = st.fixed_dictionaries(
    {
        "account": st.sampled_from(["paper", "second", "live"]),
        "symbol": st.sampled_from(["BTC", "ETH", "SOL"]),
        "side": st.sampled_from(["long", "short"]),
        "version": st.sampled_from([1, 2]),
        "regime": st.sampled_from(["trend", "chop", "unknown"]),
        "exit": st.sampled_from(["signal", "stop", "external"]),
        # Around an event of the third day, or anywhere in two months.
        "entry": (st.integers(3 * 1440 + 180, 3 * 1440 + 540) | st.integers(0, 60 * 1440)).map(
            lambda minutes: MAY + timedelta(minutes=minutes)
        ),
        "minutes": st.integers(1, 5000),
        "net": MONEY | st.just(D(0)),
        "fees": st.decimals("-5", "20", **CENTS),
        "funding": st.decimals("-20", "20", **CENTS) | st.just(D(0)),
        "above": st.decimals("0", "500", **CENTS),
        "below": st.decimals("0", "500", **CENTS),
        "has_path": st.booleans(),
        "is_priced": st.booleans(),
        "stop": st.none() | st.sampled_from([D(90), D("97.5"), D(104)]),
    }
)
LEDGERS = st.lists(ROWS, min_size=3, max_size=30)
PRICE, SIZE = D(100), D(1000)


def store(rows, deployments):
    """Write a ledger into the database; the rows get their ids."""
    trades = []
    for row in rows:
        deployment = deployments[row["account"]]
        gross = row["net"] + row["fees"] - row["funding"]
        snapshot = None
        if row["stop"] is not None:
            snapshot = DecisionSnapshotFactory(deployment=deployment)
            OrderFactory(deployment=deployment, snapshot=snapshot, stop_price=row["stop"])
        row["ends"] = row["entry"] + timedelta(minutes=row["minutes"])
        row["mfe"], row["mae"] = max(gross, D(0)) + row["above"], min(gross, D(0)) - row["below"]
        trade = TradeFactory.build(
            deployment=deployment,
            skill=deployment.skill,
            user_id=deployment.user_id,
            symbol=row["symbol"],
            side=row["side"],
            skill_version=row["version"],
            entry_regime_tag=row["regime"],
            exit_kind=row["exit"],
            entry_tick_at=row["entry"],
            exit_tick_at=row["ends"],
            holding_minutes=D(row["minutes"]),
            realized_pnl_usd=row["net"],
            gross_pnl_usd=gross,
            fees_usd=row["fees"],
            funding_usd=row["funding"],
            mfe_usd=row["mfe"],
            mae_usd=row["mae"],
            path_minutes=60 if row["has_path"] else None,
            unpriced_fees={} if row["is_priced"] else {"BNB": "0.1"},
            entry_price=PRICE,
            entry_size_usd=SIZE,
            entry_snapshot=snapshot,
            first_fill_id=uuid4().hex,
        )
        row["id"] = trade.pk
        trades.append(trade)
    Trade.objects.bulk_create(trades)


def value_of(row, measure, funded):
    """Return one trade's value; None: not known. `funded`: the accounts and symbols whose funding is on record."""
    match measure:
        case "fees":
            return row["fees"] if row["is_priced"] else None
        case "funding":
            return row["funding"] if row["funding"] or (row["account"], row["symbol"]) in funded else None
        case "holding":
            return row["minutes"]
        case "mfe" | "mae":
            return row[measure] if row["has_path"] else None
        case "r":
            if row["stop"] is None:
                return None
            risked = (PRICE - row["stop"]) * (1 if row["side"] == "long" else -1) * SIZE / PRICE
            return row["net"] / risked if risked > 0 else None
    return row["net"]


def group_of(row, group, zone, names, events):
    entry, ends = row["entry"].astimezone(zone), row["ends"].astimezone(zone)
    match group:
        case "skill":
            return names[row["account"]]
        case "version":
            return f"{names[row['account']]} v{row['version']}"
        case "record":
            return "Own trades" if row["account"] == "live" else "Agents' trades"
        case "result":
            return "Won" if row["net"] > 0 else "Lost" if row["net"] < 0 else "Even"
        case "hour":
            return entry.strftime("%H:00")
        case "weekday":
            return entry.strftime("%a")
        case "month":
            return ends.strftime("%Y-%m")
        case "event":
            gaps = [(abs(at - row["entry"]), at) for at in events if abs(at - row["entry"]) <= timedelta(hours=2)]
            return "Fed decision" if gaps else "No event"
    return row[group]


def figure_of(rows, measure, funded):
    """Return (n, value, mean) in plain numbers; rows in the order of their ends."""
    values = [value for row in rows if (value := value_of(row, measure, funded)) is not None]
    numbers = [float(value) for value in values]
    n = len(values)
    match measure:
        case "count":
            return n, n
        case _ if not n:
            return 0, None
        case "win_rate":
            return n, len([number for number in numbers if number > 0]) / n
        case "profit_factor":
            lost = -sum(value for value in values if value < 0)
            return n, float(sum(value for value in values if value > 0) / lost) if lost else None
        case "drawdown":
            sums = [sum(values[:end]) for end in range(n + 1)]
            return n, float(max(max(sums[: end + 1]) - sums[end] for end in range(n + 1)))
        case "net" | "fees" | "funding":
            return n, float(sum(values))
    return n, fmean(numbers)


def in_period(row, first: datetime | None, end: datetime | None):
    return (first is None or row["ends"] >= first) and (end is None or row["ends"] < end)
