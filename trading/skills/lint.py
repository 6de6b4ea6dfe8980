"""Rule-based warnings about a draft; they never block it. Pure. The schema reports what prevents saving."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from functools import partial
from typing import Any, Final

from pydantic import ValidationError

from config.lib.text import prompt_line
from config.lib.words.compile import compile_rule
from config.lib.words.lexer import find_phrases
from config.lib.words.markets import find_base, is_market
from config.lib.words.rules import Symbols
from trading.models.choices import INTERVALS
from trading.skills.patches import iter_leaves
from trading.skills.schemas import BuiltInTool, Schedule

LONG_BETWEEN_TICKS: Final = timedelta(hours=12)  # too seldom for positions of a day
SHORT_BETWEEN_TICKS: Final = timedelta(minutes=15)  # too often for positions of weeks
WIDE_HALT_PCT: Final = 10.0  # of equity, in a day


class Severity(StrEnum):
    """How much a finding weighs, heaviest first (seed 003)."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class DraftFinding:
    severity: Severity
    title: str
    detail: str
    suggestion: str = ""
    is_basic: bool = False  # what an expert left out on purpose


_warning: Final = partial(DraftFinding, Severity.WARNING)


def lint_draft(payload: Mapping[str, object]) -> list[DraftFinding]:
    """Return findings, most severe first; missing fields raise none."""
    draft = _Draft(payload)
    return sort_by_weight(finding for check in _CHECKS for finding in check(draft))


def sort_by_weight(findings: Iterable[DraftFinding]) -> list[DraftFinding]:
    """Return findings, most severe first, otherwise in their order."""
    weights = list(Severity)
    return sorted(findings, key=lambda finding: weights.index(finding.severity))


class _Draft:
    """A payload in which anything may be missing."""

    def __init__(self, payload: Mapping[str, object]) -> None:
        self._leaves = dict(iter_leaves(payload))
        self.is_begun = bool(self.strategy_text("thesis", "entry", "exit", "risk_management"))
        self.schedule: Schedule | None = None  # None: type and value do not fit
        with suppress(ValidationError):
            self.schedule = Schedule.model_validate(payload.get("schedule") or {})

    def get_field(self, path: str, otherwise: Any = None) -> Any:
        """Return the value at a path such as `risk.max_leverage`."""
        value = self._leaves.get(path)
        return otherwise if value is None else value

    def strategy_text(self, *names: str) -> str:
        """Return what the strategy says in these fields."""
        return "\n".join(filter(None, (str(self.get_field(f"strategy.{name}", "")) for name in names)))


_EXITS: Final = ("LEAVE", "STOP", "STOPLOSS", "PROFIT", "BEFORE")
_STOPS: Final = ("STOP", "STOPLOSS", "LOSE", "ONELOSS", "AGAINST", "BEYOND", "OUTSIDE", "WRONG", "LEAVEWHEN")


def _check_exit(draft: _Draft) -> Iterator[DraftFinding]:
    mode = draft.get_field("strategy.mode")
    entry, exit_ = draft.strategy_text("entry"), draft.strategy_text("exit")
    if mode == "rules" and draft.is_begun and not (entry and exit_):
        missing = " and ".join(name for name, text in (("entry", entry), ("exit", exit_)) if not text)
        yield DraftFinding(
            Severity.ERROR,
            "Rules without rules",
            f"The strategy is written as rules, but its {missing} is empty: the agent would have to make them up.",
            "Spell the missing rules out, or write the strategy as a thesis.",
        )
    elif draft.is_begun and not exit_ and not any(find_phrases(draft.strategy_text("thesis"), *_EXITS)):
        yield DraftFinding(
            Severity.ERROR,
            "No exit",
            "Nothing says when a position is closed, neither for a profit nor for a loss.",
            "Write what ends a trade: a price, a signal, or a time.",
        )
    if draft.is_begun and not any(find_phrases(draft.strategy_text("exit", "risk_management"), *_STOPS)):
        yield _warning(
            "No stop",
            "Neither the exit nor the risk management says at which loss a position is given up.",
            "Name the price, the distance or the fact that proves the idea wrong.",
        )


def _check_rhythm(draft: _Draft) -> Iterator[DraftFinding]:
    name, lookback = draft.get_field("context.bars_interval", ""), draft.get_field("context.bars_lookback", 0)
    schedule, bar = draft.schedule, INTERVALS.get(name)
    if schedule is None or bar is None:
        return
    if schedule.every < bar:
        yield _warning(
            "It decides more often than a bar closes",
            f"It decides every {schedule.value}, but its bars are of {name}: most decisions see nothing new, and cost"
            " the same.",
            f"Decide every {name}, or look at shorter bars.",
        )
    elif schedule.every > bar * lookback > timedelta(0):
        yield _warning(
            "It does not see what happened since it last looked",
            f"Between two decisions more time passes than its {lookback} bars of {name} cover.",
            "Look at more bars, at longer ones, or decide more often.",
        )


def _check_style(draft: _Draft) -> Iterator[DraftFinding]:
    schedule, style = draft.schedule, draft.get_field("trading_style")
    if schedule is None:
        return
    if style == "day" and schedule.every >= LONG_BETWEEN_TICKS:
        yield _warning(
            "Too seldom for day trading",
            f"Positions are meant to last within a day, but it looks {schedule.ticks_per_day} times a day or less.",
            "Decide at least every few hours, or choose another trading style while the skill is new.",
        )
    if style == "position" and schedule.every <= SHORT_BETWEEN_TICKS:
        yield _warning(
            "Very often for position trading",
            f"Positions are meant to last for weeks, but the agent decides every {schedule.value}.",
            "Each decision is a chance to overtrade, and costs tokens; every four hours or once a day is usual.",
        )


def _check_leverage(draft: _Draft) -> Iterator[DraftFinding]:
    position, exposure = draft.get_field("risk.max_position_pct"), draft.get_field("risk.max_total_exposure_pct")
    leverage = draft.get_field("risk.max_leverage")
    if None in (position, exposure, leverage) or position * leverage <= exposure:
        return
    yield _warning(
        "More leverage than the caps can use",
        f"One position of {position:g} % at {leverage:g}x would be {position * leverage:g} % of equity, above the"
        f" {exposure:g} % for all positions. The caps hold, so that the leverage only brings the liquidation nearer.",
        f"Lower the leverage to {max(1.0, exposure / position):.3g}x, or say why the caps are what they are.",
    )


def _check_halt(draft: _Draft) -> Iterator[DraftFinding]:
    halt, exposure = draft.get_field("risk.daily_loss_halt_pct"), draft.get_field("risk.max_total_exposure_pct")
    if halt is None or exposure is None:
        return
    if halt >= exposure:
        yield _warning(
            "The daily halt can hardly ever come",
            f"It comes at a loss of {halt:g} % of equity in a day, but all positions together are {exposure:g} % at"
            " most: they would have to lose everything.",
            f"Set it well below {exposure:g} %; 2 to 5 % is usual.",
        )
    elif halt > WIDE_HALT_PCT:
        yield _warning(
            "A wide daily halt",
            f"It goes on trading until a day has cost {halt:g} % of equity.",
            "2 to 5 % a day is usual.",
        )


def _check_avoided(draft: _Draft) -> Iterator[DraftFinding]:
    symbols = draft.get_field("context.symbols", [])
    named = frozenset(map(find_base, symbols))
    rules = [
        (text, compile_rule(text.rstrip(" .!`*"), zone="UTC", symbols=named))
        for text in draft.get_field("strategy.avoid", [])
    ]
    for symbol in symbols:
        for text, rule in rules:
            if isinstance(rule, Symbols) and is_market(symbol, rule.symbols) is (rule.mode == "never"):
                yield _warning(
                    f"{symbol} is traded and avoided",
                    f"It is among the symbols, and a hard rule says “{prompt_line(text)}”.",
                    "Take it from the symbols, or say under which condition it is avoided.",
                )


def _check_tools(draft: _Draft) -> Iterator[DraftFinding]:
    built_in = draft.get_field("tools.built_in")
    if built_in is not None and BuiltInTool.PROPOSE_ORDER not in built_in:
        yield DraftFinding(
            Severity.ERROR,
            "It cannot trade",
            "The tool to propose an order is switched off, so that every decision ends without one.",
            "Switch it on again.",
        )
    if draft.get_field("tools.mcp_servers"):
        yield DraftFinding(
            Severity.INFO,
            "Its own servers are not called yet",
            "Servers of further tools are kept with the skill; this version of Keel does not call them.",
        )


def _check_sight(draft: _Draft) -> Iterator[DraftFinding]:
    if draft.get_field("strategy.style") == "event" and draft.get_field("context.events.lookahead_hours") == 0:
        yield _warning(
            "An event strategy that sees no events",
            "It looks zero hours ahead in the calendar.",
            "Let it see the next 24 hours at least.",
        )
    if draft.get_field("context.memory.enabled") is False:
        yield DraftFinding(
            Severity.INFO,
            "It does not see its own record",
            "Its last trades and its lessons are left out of its prompt, so that it cannot learn from them.",
            is_basic=True,
        )


def _check_rules(draft: _Draft) -> Iterator[DraftFinding]:
    if draft.is_begun and not draft.get_field("strategy.avoid"):
        yield DraftFinding(
            Severity.INFO,
            "No hard rules",
            "Nothing is forbidden: all that stands between an idea and an order is the agent's judgement.",
            "Write one or two lines of when not to trade, such as “No new position within 2 hours before FOMC”.",
            is_basic=True,
        )


_CHECKS: Final[tuple[Callable[[_Draft], Iterator[DraftFinding]], ...]] = (
    _check_exit,
    _check_rhythm,
    _check_style,
    _check_leverage,
    _check_halt,
    _check_avoided,
    _check_tools,
    _check_sight,
    _check_rules,
)
