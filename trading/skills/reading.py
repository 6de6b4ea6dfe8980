"""Read the lines of a strategy as terms, or say why a line is not understood.

The grammar is in docs/strategy-grammar.md. A line counts only if each of its words was read. What is not understood is
never traded on: an entry or avoid line that is not understood could forbid a trade, so that none is opened. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal

from trading.skills.conditions import Way, parse_line
from trading.skills.schemas import SkillPayload
from trading.skills.terms import (
    DAY_END,
    EXTREMES,
    NEVER,
    OPPOSITE_ENTRY,
    Bound,
    Compare,
    Condition,
    HeldFor,
    Plain,
    Rule,
    Side,
    Term,
    find_direction,
    mirror_condition,
)
from trading.skills.words import Charts, NotUnderstood

FOLLOWS: Final = {"trend", "breakout"}
FADES: Final = {"mean_reversion", "range"}


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line of a strategy, with its terms or the reason why there are none."""

    part: str
    text: str
    terms: tuple[Term, ...] = ()
    problem: str = ""

    @property
    def meaning(self) -> str:
        return "; ".join(map(str, self.terms))


@dataclass(frozen=True, slots=True)
class StrategyReading:
    """What the rules of a strategy are, as far as its lines are understood."""

    lines: tuple[ReadLine, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        return tuple(term for line in self.lines for term in line.terms)

    def list_rules(self, act: str) -> list[Rule]:
        """Return the rules that open, close or forbid positions; entries with the conditions of all entries."""
        rules = [term for term in self.terms if isinstance(term, Rule) and term.act == act]
        if act != "entry":
            return rules
        common = tuple(one for rule in rules if not rule.side for one in rule.conditions)
        return [replace(rule, conditions=rule.conditions + common) for rule in rules if rule.side]

    @property
    def problem(self) -> str:
        """Why no position is opened; empty if one may be."""
        if NEVER in self.terms:
            return "The strategy says never to open a position."
        if unread := next((line for line in self.lines if line.problem and line.part in {"Entry", "Avoid"}), None):
            return f"A line under {unread.part} is not understood: “{unread.text.rstrip('.')}”."
        if not self.list_rules("entry"):
            return "No line under Entry is understood."
        has_end = any(isinstance(term, Bound | HeldFor) or term in {DAY_END, OPPOSITE_ENTRY} for term in self.terms)
        return "" if has_end or self.list_rules("exit") else "No line under Exit is understood."


def read_strategy(payload: SkillPayload) -> StrategyReading:
    """Return the reading of a skill."""
    return read_draft(payload.stored())


def read_draft(payload: Mapping[str, Any]) -> StrategyReading:
    """Return the reading of a stored payload or a draft, in which anything may be missing."""
    strategy, context = payload.get("strategy") or {}, payload.get("context") or {}
    charts = Charts(context.get("bars_interval") or "1h", tuple(context.get("higher_timeframes") or ()))
    texts = (str(strategy.get(name) or "") for name in ("entry", "exit", "risk_management"))
    return _read_texts(charts, strategy.get("style") or "mixed", *texts, tuple(strategy.get("avoid") or ()))


# A skill is read at each tick, and again for each page.
@lru_cache(maxsize=256)
def _read_texts(
    charts: Charts, style: str, entry: str, exit_: str, risk: str, avoid: tuple[str, ...]
) -> StrategyReading:
    fades = True if style in FADES else False if style in FOLLOWS else None
    reader = _LineReader(charts, fades)
    lines = [reader.read_line("Entry", text) for text in _split_sentences(entry)]
    entries = [term for line in lines for term in line.terms if isinstance(term, Rule) and term.act == "entry"]
    reader.learn_entries(entries)
    for text in _split_sentences(exit_):
        line = reader.read_line("Exit", text)
        # Ways out are independent: one that is not understood leaves the others.
        parts = re.split(r", or\b", text) if line.problem else []
        lines += [reader.read_line("Exit", part.strip()) for part in parts] if len(parts) > 1 else [line]
    lines += [reader.read_line("Risk management", text) for text in _split_sentences(risk)]
    lines += [reader.read_line("Avoid", text) for text in avoid if text.strip()]
    return StrategyReading(tuple(lines))


def _split_sentences(text: str) -> list[str]:
    parts = re.split(r"\n+|(?<=[.!?;])\s+(?=\S)", text)
    return [part.strip(" -•*") for part in parts if part.strip(" -•*.")]


_Ends = Bound | HeldFor | Plain


@dataclass(slots=True)
class _SideGroup:
    """Conditions that must hold together, for a side or for both, each with whether it goes both ways."""

    side: Side = ""
    found: list[tuple[Condition, bool]] = field(default_factory=list)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(condition for condition, _ in self.found)

    @property
    def directions(self) -> set[int]:
        return {find_direction(condition) for condition, goes_both_ways in self.found if not goes_both_ways} - {0}

    def add(self, way: Way, fades: bool | None) -> None:
        """Add the condition of a way, one for both sides as `fades` tells."""
        condition = way.body(fades) if callable(way.body) else way.body
        assert isinstance(condition, Condition), "the grammar lets no end through"
        self.found.append((condition, callable(way.body)))

    def rule(self, act: Literal["entry", "exit", "avoid"], side: Side) -> Rule:
        """Return the rule of a side; what goes both ways was read for a long."""
        conditions = (mirror_condition(one) if both and side == "short" else one for one, both in self.found)
        return Rule(act, side, tuple(conditions))


class _LineReader:
    """Reads lines; an exit is read against the entries before it."""

    def __init__(self, charts: Charts, fades: bool | None) -> None:
        self._charts, self._fades = charts, fades
        self._sides: list[Side] = ["long", "short"]

    def learn_entries(self, rules: Iterable[Rule]) -> None:
        """Learn which sides are traded, and whether with moves or against them."""
        sided = [rule for rule in rules if rule.side]
        self._sides = sorted({rule.side for rule in sided}) or self._sides
        leans = {
            find_direction(condition) * (1 if rule.side == "long" else -1)
            for rule in sided
            for condition in rule.conditions
            if isinstance(condition, Compare) and "funding" not in condition.left.what
        } - {0}
        if len(leans) == 1:
            self._fades = leans == {-1}

    def read_line(self, part: str, text: str) -> ReadLine:
        """Read one line of a part of the strategy."""
        try:
            ways = parse_line(part, text, self._charts)
            if not isinstance(ways, list):
                return ReadLine(part, text, (ways,))
            is_denied = part == "Avoid" or ways[0].is_denied
            read = self._read_avoid if is_denied else self._read_entry if part == "Entry" else self._read_exit
            return ReadLine(part, text, tuple(read(ways)))
        except NotUnderstood as problem:
            return ReadLine(part, text, problem=str(problem))

    def _read_entry(self, ways: Sequence[Way]) -> list[Term]:
        groups, has_or = [_SideGroup()], False
        for way in ways:
            if way.joint == "or":
                has_or |= not way.side
                groups.append(_SideGroup(groups[-1].side))
            if way.side:
                groups += [_SideGroup()] if groups[-1].found else []
                groups[-1].side = way.side
            groups[-1].add(way, way.has_fade or self._fades)
        if has_or and any(len(group.found) > 1 for group in groups):
            raise NotUnderstood("it has both “and” and “or”; write a line for each way in")
        if ways[0].is_only and any(not group.side and group.directions for group in groups):
            raise NotUnderstood("say for which side")
        return [rule for group in groups for rule in self._resolve_entry(group)]

    def _resolve_entry(self, group: _SideGroup) -> list[Rule]:
        if group.side:
            return [group.rule("entry", group.side)]
        if any(both for _, both in group.found):
            if group.directions:
                raise NotUnderstood("one part is for one side only; write a line for each side")
            return [group.rule("entry", "long"), group.rule("entry", "short")]
        if not group.directions:
            return [group.rule("entry", "")]
        fades = self._fades
        if fades is None and all(_is_breakout(one) for one in group.conditions if find_direction(one)):
            fades = False
        if fades is None or len(group.directions) > 1:
            raise NotUnderstood("say whether to buy or to sell")
        return [group.rule("entry", "long" if group.directions == {-1 if fades else 1} else "short")]

    def _read_exit(self, ways: Sequence[Way]) -> list[Term]:
        terms: list[Term] = []
        group = _SideGroup()
        has_side = False
        for way in ways:
            # "... for longs and ... for shorts" are two ways out.
            is_and = way.joint == "and" and not has_side and not (way.side and group.side)
            if is_and and (isinstance(way.body, _Ends) or not group.found):
                raise NotUnderstood("a stop, a target or a time is a way out of its own: write “or”")
            if not is_and:
                terms += self._resolve_exit(group)
                group = _SideGroup()
            if isinstance(way.body, _Ends):
                terms.append(way.body)
            else:
                group.add(way, self._fades)
            group.side, has_side = way.side or group.side, way.is_side_last
        return terms + self._resolve_exit(group)

    def _resolve_exit(self, group: _SideGroup) -> list[Rule]:
        if not group.found:
            return []
        if any(both for _, both in group.found) and not group.side:
            return [group.rule("exit", side) for side in self._sides]
        if group.side or not group.directions:
            return [group.rule("exit", group.side)]
        if len(self._sides) > 1:
            raise NotUnderstood("say for which side, such as “for longs”")
        return [group.rule("exit", self._sides[0])]

    def _read_avoid(self, ways: Sequence[Way]) -> list[Term]:
        groups = [_SideGroup(ways[0].side)]
        for way in ways:
            if way.joint == "or":
                groups.append(_SideGroup(groups[-1].side))
            groups[-1].add(way, None)
        return [group.rule("avoid", group.side) for group in groups]


def _is_breakout(condition: Condition) -> bool:
    return isinstance(condition, Compare) and condition.left.what == "close" and condition.right.what in EXTREMES
