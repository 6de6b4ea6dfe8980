"""Questions to the record: `query_trades`, its arguments and one telling of its results."""

import re
from typing import Any, Final

from chat.tools.market import GET_MARKET_OVERVIEW
from chat.tools.questions import QUERY_TRADES
from config.lib.figures import format_count
from config.offline.coach.answers import few
from config.offline.coach.words import Words
from config.offline.facts import Call, Known
from config.offline.figures import (
    Row,
    block,
    count,
    escape,
    exact,
    fill,
    fill_rows,
    listing,
    number,
    paragraphs,
    rows,
    spell,
)
from config.offline.memory.report import failure
from config.offline.reading.sentences import Pattern
from config.offline.talk import Steps, Talk, say_text
from memory.claims.subjects import read_subject

_MEASURES: Final = {  # by tag, in the order in which they are looked for
    "win_rate": "Win rate",
    "profit_factor": "Profit factor",
    "drawdown": "Max drawdown",
    "mfe": "Best excursion of a trade",
    "mae": "Worst excursion of a trade",
    "r": "R of a trade",
    "holding": "Time in a trade",
    "fees": "Fees",
    "funding": "Funding",
    "expectancy": "A trade makes",
    "count": "Closed trades",
    "net": "Net",
}
_KEYS: Final = {"usd": "pnl_usd", "pct": "value_pct", "minutes": "minutes", "count": "count", "ratio": "profit_factor"}
_FIRST: Final = (("low", "Worst"), ("long", "Longest"), ("short", "Shortest"))
_MOST_GROUPS: Final = 8
_GROUPED: Final = ("which", "top", "low", "per", "versus")
_LIKE: Final = ("symbol", "side", "regime", "exit")  # groups in which losing trades may be alike

ASK_CHECK: Final = (
    "Name the market, the side and the stop, and I size it and check it against your rules and record: “how big can a"
    " BTC long be with a stop 4% away?”"
)


def is_query(words: Words) -> bool:
    """Tell whether a question asks for a figure of the record."""
    is_of_trades = words.has("me|trade|agent|skill coin|period|exit|regime|weekday|kind|side doing|trade|result|agent")
    return words.has("trust|common|broken|rule") or words.has("me side -coin -stop -size -position") or (
        bool(words.tags & {*_MEASURES, "result", "average"}) or is_of_trades or words.has("me doing|period -you -event")
        or words.has("top|low|long|short trade|group|agent|skill|side")
    )  # fmt: skip


def query_steps(talk: Talk, words: Words) -> Steps:
    """Return the steps that ask the record and tell its answer."""
    if "common" in words.tags:
        return _common_steps(talk, words)
    return _single_steps(talk, words)


def _single_steps(talk: Talk, words: Words) -> Steps:
    arguments = _read_arguments(talk, words)
    [found] = yield (Call(QUERY_TRADES.name, arguments),)
    return failure(found, talk.names) if found.error else format_answer(found.as_row, words, arguments)


def _common_steps(talk: Talk, words: Words) -> Steps:
    """Tell the largest group of the trades by each of several groupings."""
    where = _read_where(words)
    found = yield tuple(
        Call(QUERY_TRADES.name, {"measure": "count", "group": group, "where": where}) for group in _LIKE
    )
    lines = []
    for group, outcome in zip(_LIKE, found, strict=False):
        if outcome.error:
            return failure(outcome, talk.names)
        groups = rows(outcome.as_row, "groups")
        if groups:
            largest = max(groups, key=lambda one: count(one, "n"))
            lines.append(
                f"{group}: {escape(exact(largest, 'group'))}, {count(largest, 'n')} of {count(outcome.as_row, 'n')}"
            )
    kind = "losing " if where.get("result") == "lost" else "winning " if where else ""
    total = count(found[0].as_row, "n") if found else 0
    if not lines:
        return f"There is no closed {kind}trade yet."
    return f"What {format_count(total, f'{kind}trade')} most often had{few(total)}:\n\n{listing(lines)}"


def _read_arguments(talk: Talk, words: Words) -> dict[str, Any]:
    arguments: dict[str, Any] = {"measure": _read_measure(words)}
    if group := _read_group(words):
        arguments["group"] = group
    where = _read_where(words, group)
    if talk.scene.deployment_id and words.has("it -me"):
        where["deployment"] = talk.scene.deployment_id
    if where:
        arguments["where"] = where
    if "period" in words.given:
        arguments["period"] = words.given["period"]
    return arguments


def _read_measure(words: Words) -> str:
    found = next((tag for tag in _MEASURES if tag in words.tags), "")
    if words.has("rule|broken") and not words.has("net|pay|effect|doing|fees"):
        return "count"
    if words.has("long|short trade|result"):
        return "holding"
    if found in {"", "net"} and words.has("average|trust"):
        return "expectancy"
    if found == "count" and words.has("low|top") and words.has("agent|skill"):
        return "net"
    return found or ("count" if words.has("result count") else "net")


def _read_group(words: Words) -> str:
    if words.has("rule|broken"):
        return "rule"
    if "," in words.given.get("side", "") and words.has("versus|per|top|low"):
        return "side"
    if "," in words.given.get("regime", ""):
        return "regime"
    if len(words.symbols) > 1 and "versus" in words.tags:
        return "symbol"
    if "group" in words.given:
        return words.given["group"].partition(",")[0]
    if words.has("skill|agent") and any(tag in words.tags for tag in _GROUPED):
        return "skill"
    if "when" in words.tags and words.has("net|result|top|low"):
        return "hour"
    is_extreme = words.has("top|low|long|short trade|result")
    return "trade" if is_extreme and not words.has("skill|agent") else ""


def _read_where(words: Words, group: str = "") -> dict[str, str]:
    where = {key: words.given[key] for key in ("side", "regime", "exit", "weekday", "result") if key in words.given}
    if words.symbols:
        where["symbol"] = ",".join(words.symbols)
    if words.kinds:
        where["event"] = ",".join(words.kinds)
    is_yes_or_no = re.match(r"(?:did|am|do|have|is|was|are)\b", words.text, re.IGNORECASE)
    # "Profit and loss", "did I lose money", "which agent is losing money" ask for the net of all trades.
    if group in {"trade", "side"} or ("net" in words.tags and (is_yes_or_no or group)):
        where.pop("result", None)
    return {key: value for key, value in where.items() if key not in {group}}


# --- Telling ---


def format_answer(result: Row, words: Words, arguments: dict[str, Any]) -> str:
    """Return value, sample, interval, groups and link of an answer."""
    trades, scope = count(result, "n"), escape(exact(result, "scope"))
    label = _MEASURES.get(exact(result, "measure"), "Net")
    if not trades:
        unknown = format_count(count(result, "not_known"), "trade")
        return f"{label}: not known for {unknown}." if count(result, "not_known") else f"No closed trade fits: {scope}."
    of = "" if exact(result, "measure") == "count" else f" of {format_count(trades, 'closed trade')}"
    told = f"**{label}: {_spell(result, result.get('value'))}**{of} ({scope}){few(trades)}{_format_doubt(result)}."
    left_out, link = count(result, "groups_left_out"), exact(result, "link")
    return paragraphs(
        told,
        _format_groups(result, words, str(arguments.get("group") or "")),
        f"{format_count(left_out, 'more group')} not shown." if left_out else "",
        _format_verdict(result) if "trust" in words.tags else "",
        f"[The trades behind it]({link})" if re.fullmatch(r"/trades/[\w/?&=%+.,:-]*", link) else "",
    )


def _spell(result: Row, value: object) -> str:
    """Return a value of an answer in its unit."""
    unit = exact(result, "unit")
    key = _KEYS.get(unit, "profit_factor")
    if unit == "usd" and exact(result, "measure") in {"fees", "drawdown"}:
        key = "paid_usd"
    told = spell({key: value}, key)
    return f"{told} R" if told and unit == "r" else told or "not known"


def _format_doubt(result: Row) -> str:
    interval, mean = result.get("interval_90pct"), number(result, "mean")
    each = f"; a trade {_spell(result, result.get('mean'))}" if mean is not None else ""
    if not isinstance(interval, list) or len(interval) != 2:
        return each
    low, high = (_spell(result, bound) if bound is not None else "no bound" for bound in interval)
    return f"{each}{',' if each else ';'} about 90 % between {low} and {high}"


def _format_verdict(result: Row) -> str:
    interval = result.get("interval_90pct")
    if not isinstance(interval, list) or result.get("is_too_few") or None in interval:
        return f"n={count(result, 'n')} is too few to tell an edge from luck."
    if interval[0] <= 0 <= interval[1]:
        return f"With n={count(result, 'n')} the interval holds zero: this cannot be told from luck yet."
    return f"With n={count(result, 'n')} the interval does not hold zero: that is more than luck would usually give."


def _format_groups(result: Row, words: Words, group: str) -> str:
    """List the groups, the one that was asked for first."""
    is_loss = exact(result, "measure") == "net" and words.has("result=lost|pay top")
    groups = sorted(rows(result, "groups"), key=lambda one: number(one, "value") or 0, reverse=True)
    groups = groups[::-1] if is_loss or words.has("low|short") else groups
    lines = [_format_group(result, one) for one in groups[: 3 if group == "trade" else _MOST_GROUPS]]
    if not lines or not words.has("top|low|long|short|which|versus"):
        return listing(lines)
    which = next((word for tag, word in _FIRST if tag in words.tags), "Best")
    return paragraphs(f"{'Worst' if is_loss else which}: **{lines[0]}**", listing(lines[1:]))


def _format_group(result: Row, one: Row) -> str:
    value = _spell(result, one.get("value"))
    if "trade_id" in one:
        return fill(f"{{symbol}} {{side}}: {value}|, closed {{exit_at}}", one)
    return (
        f"{escape(exact(one, 'group'))}: {value} (n={count(one, 'n')}{', too few to say' * bool(few(count(one, 'n')))})"
    )


# --- The check of a planned trade ---

_STOP: Final = Pattern(r"\bstops?(?: loss)?(?: is)?(?: at| of)? \$?(?P<price>\d[\d,.]*k?)(?! ?%|\d)")
_AWAY: Final = Pattern(
    r"(?P<away>\d+(?:\.\d+)?) ?%(?= (?:away|below|above|from|stop))|\bstops?(?: at| of)? (?P<at>\d+(?:\.\d+)?) ?%"
)
_RISK_PCT: Final = Pattern(
    r"\brisk\w*(?: of)? (?P<one>\d+(?:\.\d+)?) ?%|(?P<two>\d+(?:\.\d+)?) ?% (?:of )?(?:risk|my account|equity)"
)
_RISK_USD: Final = Pattern(r"\brisk\w*(?: of)? \$?(?P<one>\d[\d,]*(?:\.\d+)?)(?![\d.]* ?%)")
_LEVERAGE: Final = Pattern(r"(?P<one>\d+(?:\.\d+)?)x\b")
_SIZE: Final = Pattern(r"(?<!risking )(?<!risk )\$(?P<one>\d[\d,]*(?:\.\d+)?k?)\b")
_ASKS: Final = Pattern(r"^(?:can|could|should|may|what if) (?:i|we)\b")
_PLAN: Final = (
    "A {symbol} {side} of {size_usd}| at {price}| with the stop at {stop_price}| ({stop_distance_pct} away)| would lose"
    " {risk_usd} there|, {risk_pct} of {equity_usd}|. Leverage {leverage}"
)
_SIMILAR: Final = (
    "Similar trades of yours: n={n}, a trade makes {expectancy_usd}| (about 90 % between {interval_90pct_usd})|,"
    " win rate {win_rate_pct}"
)


def is_check(words: Words) -> bool:
    """Tell whether a question is about a trade that is planned."""
    has_stop = bool(_STOP.search(words.text) or _AWAY.search(words.text))
    is_planned = words.has("side coin") and has_stop and bool(words.has("size") or _ASKS.match(words.text))
    return is_planned or (words.has("size -result -average") and not words.unknown)


def check_steps(talk: Talk, words: Words) -> Steps:
    """Return the steps that check and size a planned trade."""
    symbol, side = next(iter(words.symbols), ""), words.given.get("side", "").partition(",")[0]
    stop, away = _STOP.search(words.text), _AWAY.search(words.text)
    limit = _find_risk(talk.known)
    if not symbol or not side or not (stop or away):
        known = f"You told me: {escape(limit[0])}. " if limit else ""
        return say_text(f"{known}{ASK_CHECK}")
    check: dict[str, Any] = {"symbol": symbol, "side": side}
    for key, pattern in (
        ("risk_pct", _RISK_PCT),
        ("risk_usd", _RISK_USD),
        ("leverage", _LEVERAGE),
        ("size_usd", _SIZE),
    ):
        match = pattern.search(words.text)
        if match and not ({"risk_pct"} & check.keys() and key == "risk_usd"):
            check[key] = _read_amount(next(part for part in match.groups() if part))
    if limit and not {"risk_pct", "risk_usd", "size_usd"} & check.keys():
        check["risk_pct"] = limit[1]
    return _check(talk, check, _read_amount(stop["price"]) if stop and not away else 0, away)


def _check(talk: Talk, check: dict[str, Any], stop: float, away: re.Match[str] | None) -> Steps:
    if away:
        [market] = yield (Call(GET_MARKET_OVERVIEW.name, {"symbols": [check["symbol"]]}),)
        price = next((value for one in market.entries("markets") if (value := number(one, "last_price"))), None)
        if price is None:
            return f"I see no price of {check['symbol']}, so I cannot place a stop in percent of it. Name its price."
        share = float(next(part for part in away.groups() if part)) / 100
        stop = float(f"{float(price) * (1 - share if check['side'] == 'long' else 1 + share):.6g}")
    [found] = yield (Call(QUERY_TRADES.name, {"check": {**check, "stop": stop}}),)
    return failure(found, talk.names) if found.error else _format_check(block(found.as_row, "check"))


def _format_check(plan: Row) -> str:
    why = [escape(one) for one in plan.get("why") or () if isinstance(one, str)]
    similar = block(plan, "similar")
    simulated = " The price is simulated." if plan.get("is_simulated") is True else ""
    return paragraphs(
        f"{fill(_PLAN, plan)}.{simulated}",
        f"Verdict: **{exact(plan, 'verdict') or 'not known'}**." + (f"\n\n{listing(why)}" if why else ""),
        fill_rows("{rule}: {verdict}", rows(plan, "rules")),
        f"{fill(_SIMILAR, similar)}{few(count(similar, 'n'))}." if count(similar, "n") else "",
        "I commit nothing: this is arithmetic on what you told me and your record.",
    )


def _find_risk(known: list[Known]) -> tuple[str, float] | None:
    for fact in known:
        share = re.search(r"(\d+(?:\.\d+)?) ?%", fact.text)
        if share and read_subject(fact.text).key == "risk per trade":
            return fact.text, float(share[1])
    return None


def _read_amount(text: str) -> float:
    amount = float(text.rstrip(".k").replace(",", "")) * (1000 if text.endswith("k") else 1)
    return int(amount) if amount == int(amount) else amount
