"""Trade by the terms of the strategy that the prompt gives as true or false.

`trading.agent.term_values` computed the values, once for every model. What is not understood is never traded on. Pure.
"""

import re
from typing import Any, Final

from config.lib.text import one_line
from trading.agent.term_values import BLOCKED, TERMS
from trading.skills.schemas import MAX_REASON

Call = tuple[str, dict[str, Any]]  # name and arguments of a tool

DECIDING: Final = "hold"  # the tool that is there when a trading agent is asked

_CAP_USED: Final = 0.5  # of the largest position that is allowed

_SYMBOL: Final = r"([A-Z0-9@][A-Z0-9@/:._-]{0,31})"
_NUMBER: Final = r"([0-9][0-9,]{0,14}(?:\.[0-9]{1,12})?)"
_CAP = re.compile(r"^Caps held by the engine: a position ([0-9]{1,5}(?:\.[0-9]+)?)% of equity", re.MULTILINE)
_ALL_CAP = re.compile(r"^Caps held by the engine: .*, all together ([0-9]{1,5}(?:\.[0-9]+)?)%,", re.MULTILINE)
_EQUITY = re.compile(rf"^Equity: \${_NUMBER};", re.MULTILINE)
_POSITION = re.compile(rf"^- {_SYMBOL} (long|short) [\d.]+ ", re.MULTILINE)
_REFUSED = re.compile(r"^## Last decision\n- \S+ refused (R[0-9]_[A-Z_]{1,40})\b", re.MULTILINE)
_RULE = re.compile(rf"^- {_SYMBOL} (entry|exit|avoid) (long|short|any) = (true|false|unknown): (.*)$", re.MULTILINE)
_STOP = re.compile(rf"^- {_SYMBOL} stop (long|short) = {_NUMBER} \(.*, {_NUMBER}% away\)$", re.MULTILINE)
_RISK = re.compile(rf"^- risk {_NUMBER}% of equity to the stop$", re.MULTILINE)
_BLOCKED = re.compile(rf"^- {BLOCKED} (.+)$", re.MULTILINE)
_PROOF = re.compile(r"(?: \(by [^)]*\))? = true\b")


def decide_by_rules(system: str, seen: str) -> Call:
    """Decide a tick by the system and the user text of its prompt: propose_order, close_position or hold."""
    rules, portfolio = (seen.partition(f"\n## {name}")[2].partition("\n## ")[0] for name in (TERMS, "Portfolio"))
    held, judged = dict(_POSITION.findall(portfolio)), _RULE.findall(rules)
    for symbol, act, side, truth, why in judged:
        if act == "exit" and truth == "true" and held.get(symbol) == side:
            return "close_position", {"symbol": symbol, "reason": _format_reason(why)}
    if refused := _REFUSED.search(seen):
        return _hold_position(f"The last order was refused ({refused[1]}), so I wait")
    if "Halted:" in portfolio:
        return _hold_position("The deployment is halted")
    if blocked := _BLOCKED.search(rules):
        return _hold_position(f"I open nothing. {blocked[1]}")
    avoided = {(symbol, side): why for symbol, act, side, truth, why in judged if act == "avoid" and truth != "false"}
    forbidden = ""
    for symbol, act, side, truth, why in judged:
        if act != "entry" or truth != "true" or symbol in held:
            continue
        if reason := avoided.get((symbol, side)) or avoided.get((symbol, "any")):
            forbidden = forbidden or f"An avoid rule forbids {symbol} {side}: {reason}"
        else:
            return _propose_order(symbol, side, why, rules=rules, system=system, portfolio=portfolio)
    return _hold_position(forbidden or "No signal on the closed bars")


def _propose_order(symbol: str, side: str, why: str, *, rules: str, system: str, portfolio: str) -> Call:
    stops = {(name, way): (_amount(price), _amount(away)) for name, way, price, away in _STOP.findall(rules)}
    stop, away = stops.get((symbol, side), (0.0, 0.0))
    equity = _find_number(_EQUITY, portfolio)
    room = equity * _find_number(_CAP, system) / 100
    size, risk = room * _CAP_USED, _find_number(_RISK, rules)
    if away and risk:
        size = min(room, risk / away * equity)
    if int(size) <= 0:
        return _hold_position("There is no room for an order")
    order = {"symbol": symbol, "side": side, "size_usd": int(size), "reason": _format_reason(why)}
    if (exposure := _find_number(_ALL_CAP, system) / 100) > 1:
        order["leverage"] = min(exposure, 100)  # so that the margin of all positions is within the equity
    return "propose_order", order | ({"stop_price": stop} if stop else {})


def _find_number(pattern: re.Pattern[str], text: str) -> float:
    """Return the last number of a form, 0 without one: the strategy's words stand before the engine's."""
    return _amount(["0", *pattern.findall(text)][-1])


def _amount(number: str) -> float:
    return float(number.replace(",", ""))


def _format_reason(why: str) -> str:
    return one_line(_PROOF.sub("", why))[:MAX_REASON] or "The rule is true"


def _hold_position(reason: str) -> Call:
    return "hold", {"reason": reason[:MAX_REASON]}
