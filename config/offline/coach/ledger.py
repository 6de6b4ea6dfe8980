"""Questions to the record: `query_trades`, its arguments and one telling of its results."""

import re
from collections.abc import Sequence
from typing import Final

from chat.tools.market import GET_MARKET_OVERVIEW
from chat.tools.questions import QUERY_TRADES
from config.lib.search.sentences import Pattern, parse_table
from config.offline.coach.telling import VIEWS, tell
from config.offline.facts import Call
from config.offline.figures import Row, block, escape, exact, fill, listing, number, paragraphs, rows, spell
from config.offline.talk import Steps, Talk
from memory.claims.subjects import read_subject
from trading.asking.in_words import read_question
from trading.asking.query import MEASURES
from trading.asking.words import Words
from trading.market.names import symbols_in

_KEYS: Final = {"usd": "pnl_usd", "pct": "value_pct", "minutes": "minutes", "count": "count", "ratio": "profit_factor"}
_FIRST: Final = {"long": "Longest", "short": "Shortest"}
_MOST_GROUPS: Final = 8
_LIKE: Final = ("symbol", "side", "regime", "exit")  # groups in which losing trades may be alike
_ASK_CHECK: Final = (
    "Name the market, the side and the stop, and I size it and check it against your rules and record: “how big can a"
    " BTC long be with a stop 4% away?”"
)


def query_steps(talk: Talk, words: Words, view: str) -> Steps:
    """Return the steps that ask the record and tell its answer."""
    where = read_question(words)
    first = {key: where.pop(key, "") for key in ("measure", "period", "group")}
    if words.has("it -me") and "deployment_id" in talk.scene.focus:
        where["deployment"] = talk.scene.focus["deployment_id"]
    groups = _LIKE if "common" in words.tags else (first["group"],)
    return (yield from ask_record(talk, words, [{**first, "where": where, "group": one} for one in groups]))


def ask_record(talk: Talk, words: Words, asked: Sequence[Row]) -> Steps:
    """Ask the record several questions and tell the answers."""
    found = yield tuple(Call(QUERY_TRADES.name, {key: one[key] for key in one if one[key]}) for one in asked)
    told = [part for outcome in found for part in _list_parts(outcome.as_row, words) if not outcome.error]
    return paragraphs(talk.tell_errors(found), *dict.fromkeys(told))


# --- Telling ---


def _list_parts(result: Row, words: Words) -> list[str]:
    """Return value, sample, interval, groups and link of an answer."""
    measure, unknown = exact(result, "measure"), number(result, "not_known")
    label = MEASURES[measure].label if measure in MEASURES else "Net"
    if not number(result, "n"):
        scope = escape(exact(result, "scope"))
        return [f"{label}: not known for {unknown} trades." if unknown else f"No closed trade fits: {scope}."]
    told = {key: _spell(result, result.get(key)) for key in ("value", "mean", "interval_90pct")}
    link = exact(result, "link")
    return [
        fill(VIEWS["record"].head, {**result, "label": label, **told}),
        _format_groups(result, words),
        fill("|{groups_left_out} more groups not shown.", result),
        _judge(result) if "trust" in words.tags else "",
        f"[The trades behind it]({link})" if re.fullmatch(r"/trades/[\w/?&=%+.,:-]*", link) else "",
    ]


def _spell(result: Row, value: object) -> str:
    """Return a value of an answer, or the bounds of its interval, in its unit."""
    unit = exact(result, "unit")
    is_paid = unit == "usd" and exact(result, "measure") in {"fees", "drawdown"}
    key = "paid_usd" if is_paid else _KEYS.get(unit, "profit_factor")
    key = f"interval_{key}" if isinstance(value, list) else key
    told = spell({key: value}, key)
    return f"{told} R" if told and unit == "r" else told


def _judge(result: Row) -> str:
    bounds = result.get("interval_90pct")
    if not isinstance(bounds, list) or result.get("is_too_few") or None in bounds:
        return "That is too few trades to tell an edge from luck."
    if bounds[0] <= 0 <= bounds[-1]:
        return "The interval holds zero: this cannot be told from luck yet."
    return "The interval does not hold zero: that is more than luck would usually give."


def _format_groups(result: Row, words: Words) -> str:
    """List the groups, the one that was asked for first."""
    is_low = words.has("low|short") or (exact(result, "measure") == "net" and words.has("result=lost|effect|pay"))
    groups = sorted(rows(result, "groups"), key=lambda one: number(one, "value") or 0, reverse=not is_low)
    lines = []
    for one in groups[:_MOST_GROUPS]:
        told = {**one, "told": _spell(result, one.get("value"))}
        lines.append(fill(VIEWS["ranked" if "trade_id" in one else "record"].row, told))
    if not lines or not words.has("top|low|long|short|which|versus"):
        return listing(lines)
    which = next((word for tag, word in _FIRST.items() if tag in words.tags), "Worst" if is_low else "Best")
    return paragraphs(f"{which}: **{lines[0]}**", listing(lines[1:]))


# --- The check of a planned trade ---

_NUMBERS: Final = r"""
away: (\d+(?:\.\d+)?) ?%(?= (?:away|below|above|from|stop))|\bstops?(?: at| of)? (\d+(?:\.\d+)?) ?%
stop: \bstops?(?: loss)?(?: is)?(?: at| of)? \$?(\d[\d,.]*k?)(?! ?%|\d)
risk_usd: \brisk\w*(?: of)? \$?(\d[\d,]*(?:\.\d+)?)(?![\d.]* ?%)|\$(\d[\d,]*(?:\.\d+)?) risk\b
risk_pct: \brisk\w*(?: of)? (\d+(?:\.\d+)?) ?%|(\d+(?:\.\d+)?) ?% (?:of )?(?:risk|my account|equity)
leverage: (\d+(?:\.\d+)?)x\b
equity_usd: \$?(\d[\d,]*(?:\.\d+)?k?) (?:account|equity|capital)\b
size_usd: (?<!risking )(?<!risk )(?:\$(\d[\d,]*(?:\.\d+)?k?)\b|\b(\d[\d,]*(?:\.\d+)?k?) (?:usdt?|usdc|dollars|bucks)\b)
    (?! (?:account|equity|capital|risk))
"""
_COINS: Final = re.compile(r"(?<![$\w.,])(\d[\d,]*(?:\.\d+)?k?) ?([a-z]+)", re.IGNORECASE)
_ASKS: Final = Pattern(
    r"^(?:can|could|should|may|what if|would) (?:i|we|an?)\b|^(?:i'd|i would) like to\b|^i want to\b"
)


def is_check(words: Words) -> bool:
    """Tell whether a question is about a trade that is planned."""
    is_trade = words.has("coin") and bool(_find_side(words))
    if is_trade and words.has("-why -when -count -last -exit") and {"stop", "away"} & _read_numbers(words.text).keys():
        return True
    is_planned = is_trade and words.has("broken") and bool(words.has("size") or _ASKS.match(words.text))
    return words.is_covered and (words.has("size -result -average") or is_planned)


def check_steps(talk: Talk, words: Words) -> Steps:
    """Check and size a planned trade, a stop in percent by the price of the market."""
    symbol, side = next(iter(words.symbols), ""), _find_side(words)
    check = _read_numbers(words.text)
    limit = next((fact.text for fact in talk.known if read_subject(fact.text).key == "risk per trade"), "")
    if not symbol or not side or not {"stop", "away"} & check.keys():
        return f"You told me: {escape(limit)}. {_ASK_CHECK}" if limit else _ASK_CHECK
    if coins := next((one for one in _COINS.finditer(words.text) if symbols_in(one[2].upper()) == [symbol]), None):
        check["quantity"] = _read_amount(coins[1])
    share = re.search(r"(\d+(?:\.\d+)?) ?%", limit)
    if share and not {"risk_pct", "risk_usd", "size_usd", "quantity"} & check.keys():
        check["risk_pct"] = _read_amount(share[1])
    if "away" in check:
        [market] = yield (Call(GET_MARKET_OVERVIEW.name, {"symbols": [symbol]}),)
        price = next((value for one in market.entries("markets") if (value := number(one, "last_price"))), None)
        if price is None:
            return f"I see no price of {symbol}, so I cannot place a stop in percent of it. Name its price."
        away = check.pop("away") / 100
        check["stop"] = float(f"{float(price) * (1 - away if side == 'long' else 1 + away):.6g}")
    [answer] = yield (Call(QUERY_TRADES.name, {"check": {"symbol": symbol, "side": side, **check}}),)
    plan = block(answer.as_row, "check")
    why = [one for one in plan.get("why") or () if isinstance(one, str)]
    # A reason begins with the rule that it is about.
    others = [one for one in rows(plan, "rules") if not any(text.startswith(f"{exact(one, 'rule')}:") for text in why)]
    told = tell("check", {**plan, **block(plan, "similar")}, [*({"told": one} for one in why), *others])
    return talk.tell_errors([answer]) or told


def _find_side(words: Words) -> str:
    """Return the side of a planned trade; to sell a number of coins is a short."""
    is_sold = re.search(r"\bsell(?:ing)? (?:\$?\d|a\b|some\b)", words.text)
    return words.given.get("side", "").partition(",")[0] or ("short" if is_sold else "")


def _read_numbers(text: str) -> dict[str, float]:
    found = {name: match for name, pattern in parse_table(_NUMBERS).items() if (match := pattern.search(text))}
    if "risk_pct" in found:
        found.pop("risk_usd", None)
    return {name: _read_amount(next(filter(None, match.groups()))) for name, match in found.items()}


def _read_amount(text: str) -> float:
    amount = float(text.rstrip(".k").replace(",", "")) * (1000 if text.endswith("k") else 1)
    return int(amount) if amount == int(amount) else amount
