"""Replies made from tool results, whose every figure is true, and the same with one digit altered."""

import random
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from chat.grounding.sources import Sources
from config.lib.figures import (
    format_duration,
    format_instant,
    format_minute,
    format_pct,
    format_price,
    format_ratio,
    format_signed_usd,
    format_usd,
    format_whole_usd,
)

NOW = datetime(2026, 6, 20, 9, 30, tzinfo=UTC)
DIGIT = re.compile(r"\d")
PRICES = {"BTC": 65_000, "ETH": 3_400, "SOL": 150, "DOGE": 0.12}


@dataclass(frozen=True)
class Made:
    """A reply, and what its turn knew."""

    results: list[dict]
    facts: list[str]
    asked: str
    text: str

    def read_sources(self) -> Sources:
        sources = Sources(UTC, NOW)
        for number, result in enumerate(self.results):
            sources.add_result(f"c{number}", result)
        for fact in self.facts:
            sources.add_text(fact, {"kind": "fact"})
        sources.add_text(self.asked, {"kind": "chat"})
        return sources


def make_trade(rng: random.Random) -> dict:
    symbol = rng.choice(list(PRICES))
    price = PRICES[symbol] * rng.uniform(0.8, 1.2)
    size, net = rng.uniform(200, 5000), rng.gauss(5, 60)
    entered = NOW - timedelta(minutes=rng.randrange(2000, 80_000))
    held = rng.randrange(20, 1900)
    return {
        "trade_id": f"00000000-0000-0000-0000-{rng.randrange(10**12):012}",
        "deployment_id": "11111111-0000-0000-0000-000000000000",
        "symbol": symbol,
        "side": rng.choice(["long", "short"]),
        "size_usd": round(size, 2),
        "entry_at": format_instant(entered),
        "exit_at": format_instant(entered + timedelta(minutes=held)),
        "entry_price": float(f"{price:.8g}"),
        "exit_price": float(f"{price * (1 + net / size):.8g}"),
        "net_pnl_usd": round(net, 2),
        "net_pnl_pct": round(100 * net / size, 2),
        "mfe_pct": round(rng.uniform(0, 4), 2),
        "mae_pct": -round(rng.uniform(0, 4), 2),
        "holding_minutes": held,
        "entry_reason": f"Broke the {rng.choice([20, 55])}-bar high at {format_price(Decimal(str(round(price, 2))))}.",
    }


def make_record(rng: random.Random, trades: list[dict]) -> dict:
    nets = [trade["net_pnl_usd"] for trade in trades]
    wins = sum(net > 0 for net in nets)
    return {
        "deployment_id": "11111111-0000-0000-0000-000000000000",
        "net_pnl_usd": round(sum(nets), 2),
        "sharpe": round(rng.gauss(1, 1), 2),
        "sharpe_days": rng.randrange(20, 400),
        "max_drawdown_pct": round(rng.uniform(1, 20), 2),
        "win_rate_pct": round(100 * wins / len(nets), 2),
        "win_rate_90pct_interval_pct": [round(rng.uniform(20, 40), 2), round(rng.uniform(60, 90), 2)],
        "sample_size": len(nets),
        "wins": wins,
        "fees_usd": round(rng.uniform(1, 90), 2),
        "funding_usd": round(rng.gauss(0, 12), 2),
        "profit_factor": round(rng.uniform(0.4, 3), 2),
        "expectancy_usd": round(sum(nets) / len(nets), 2),
        "expectancy_90pct_interval_usd": [round(rng.uniform(-30, 0), 2), round(rng.uniform(0, 30), 2)],
        "mean_holding_minutes": rng.randrange(60, 4000),
        "trades": trades,
    }


def usd(value: float) -> str:
    return format_usd(Decimal(str(value)))


def signed(value: float) -> str:
    return format_signed_usd(Decimal(str(value)))


def whole(value: float) -> str:
    return format_whole_usd(Decimal(str(value)))


def pct(value: float, places: int = 1) -> str:
    return format_pct(Decimal(str(value)) / 100, places)


def price(value: float) -> str:
    return format_price(Decimal(str(value)))


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def span(minutes: int) -> str:
    return format_duration(timedelta(minutes=minutes))


SENTENCES = (
    "Net is **{net}** over {n} closed trades.",
    "- {one} {side}, {entry_day}: in at {entry}, {one_net} ({one_pct})",
    "You won {wins} of {n}, a win rate of {win_rate}.",
    "Fees took {fees}, funding came to {funding}.",
    "Expectancy is {expectancy}, with an interval from {low} to {high}.",
    "The {one} trade was held for {held}.",
    "Your {one} and {other} trades made {total} together: {one_net} and {other_net}.",
    "At {asked} % risk you would still be inside your own limit.",
    "| {one} | {entry} | {exit} | {one_net} |",
    "Sharpe is {sharpe} over {days} days; the worst drawdown was {drawdown}.",
    "It opened at {entry_time} UTC on {entry_date}.",
    "The entry of {one} was about {about_size} in size.",
    # The checks were tuned with those above, not with these.
    "After {fees} of fees you are {up} {net_size}.",
    "{one} ({side}) went from {entry} to {exit} between {entry_minute} and {exit_minute}.",
    "Roughly {about_rate} % of your trades win, so the profit factor is {factor}.",
    "The best moment of that {one} trade was {mfe}, the worst {mae}.",
    "The difference between {one_net} and {other_net} is {apart}.",
    "With n = {n}, an average of {expectancy_signed} per trade says little.",
    "On average you hold for {mean_held}.",
    "Your rule says at most {asked}%, and this is within it.",
    "You bought {size} of {one} on {entry_long}.",
    "1. {one}: {one_net}\n2. {other}: {other_net}",
    "Funding: {funding}. Fees: {fees}. Net: {net}.",
    "The interval of the win rate is {rate_low} to {rate_high}.",
    # These were written when the checks were done.
    "Your {one} {side} from {entry_day} closed {one_size} {one_up}.",
    "Of the {n} trades in your record, {wins} were winners.",
    "Each trade earned {expectancy} on average; fees alone were {fees}.",
    "I would not read much into a Sharpe of {sharpe} from {days} days.",
    "{one} was sold at {exit}, {held} after the entry at {entry}.",
    "The largest drawdown, {drawdown_fine}, is close to your {asked}% rule.",
)
KINDS = {"tuned": range(12), "held out": range(12, 24), "written later": range(24, 30)}


def show_figures(rng: random.Random, record: dict, asked: int) -> dict[str, object]:
    """Return the figures of a record as a reply writes them."""
    one, other = rng.sample(record["trades"], 2)
    low, high = record["expectancy_90pct_interval_usd"]
    entered, left = at(one["entry_at"]), at(one["exit_at"])
    return {
        **{"asked": asked, "n": record["sample_size"], "wins": record["wins"], "days": record["sharpe_days"]},
        **{"one": one["symbol"], "other": other["symbol"], "side": one["side"]},
        "net": signed(record["net_pnl_usd"]),
        "net_size": usd(abs(record["net_pnl_usd"])),
        "up": "up" if record["net_pnl_usd"] > 0 else "down",
        **{"win_rate": pct(record["win_rate_pct"]), "about_rate": round(record["win_rate_pct"])},
        "rate_low": pct(record["win_rate_90pct_interval_pct"][0]),
        "rate_high": pct(record["win_rate_90pct_interval_pct"][1]),
        **{"fees": usd(record["fees_usd"]), "funding": signed(record["funding_usd"])},
        "expectancy": usd(record["expectancy_usd"]),
        "expectancy_signed": signed(record["expectancy_usd"]),
        **{"low": usd(low), "high": usd(high)},
        **{"sharpe": format_ratio(record["sharpe"]), "factor": format_ratio(record["profit_factor"])},
        **{"drawdown": pct(record["max_drawdown_pct"]), "drawdown_fine": pct(record["max_drawdown_pct"], 2)},
        "mean_held": span(record["mean_holding_minutes"]),
        **{"one_net": signed(one["net_pnl_usd"]), "other_net": signed(other["net_pnl_usd"])},
        **{"one_size": usd(abs(one["net_pnl_usd"])), "one_up": "up" if one["net_pnl_usd"] > 0 else "down"},
        **{"one_pct": pct(one["net_pnl_pct"]), "mfe": pct(one["mfe_pct"], 2), "mae": pct(one["mae_pct"], 2)},
        "total": signed(round(one["net_pnl_usd"] + other["net_pnl_usd"], 2)),
        "apart": usd(abs(round(one["net_pnl_usd"] - other["net_pnl_usd"], 2))),
        **{"entry": price(one["entry_price"]), "exit": price(one["exit_price"])},
        **{"size": whole(one["size_usd"]), "about_size": whole(round(one["size_usd"], -1))},
        "held": span(one["holding_minutes"]),
        **{"entry_day": f"{entered.day} {entered:%b}", "entry_long": f"{entered:%B} {entered.day}"},
        **{"entry_time": f"{entered:%H:%M}", "entry_date": f"{entered:%Y-%m-%d}"},
        **{"entry_minute": format_minute(entered), "exit_minute": format_minute(left)},
    }


def make_sentence(rng: random.Random, kind: int, record: dict, asked: int) -> str:
    """Return one true sentence."""
    return SENTENCES[kind].format(**show_figures(rng, record, asked))


def make_reply(seed: int, kinds: range) -> Made:
    rng = random.Random(seed)
    record = make_record(rng, [make_trade(rng) for _ in range(rng.randrange(4, 30))])
    asked = rng.randrange(2, 9)
    text = "\n\n".join(make_sentence(rng, number, record, asked) for number in rng.sample(kinds, 4))
    return Made([record], [f"Risks at most {asked} % of the account per trade"], f"Would {asked} % be too much?", text)


def alter_digit(rng: random.Random, figure: str) -> str:
    """Return a figure with one digit altered, the first never to zero."""
    place = rng.choice([match.start() for match in DIGIT.finditer(figure)])
    digits = [digit for digit in "123456789" if digit != figure[place]]
    return figure[:place] + rng.choice(digits) + figure[place + 1 :]
