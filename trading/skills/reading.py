"""Read the lines of a strategy as terms, or say why a line is not understood.

The grammar is in docs/strategy-grammar.md. A line counts only if each of its words was read. What is not understood is
never traded on: an entry or avoid line that is not understood could forbid a trade, so that none is opened. Pure.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, Literal

from trading.skills.conditions import Sided, take_condition
from trading.skills.schemas import SkillPayload
from trading.skills.terms import (
    DAY_END,
    KEPT,
    NEVER,
    OPPOSITE_ENTRY,
    Bound,
    Compare,
    Condition,
    HeldFor,
    RiskPct,
    Rule,
    Side,
    Term,
    find_direction,
    mirror_condition,
)
from trading.skills.words import DISTANCE, Charts, NotUnderstood, Words, make_bound, make_span

FOLLOWS: Final = {"trend", "breakout"}
FADES: Final = {"mean_reversion", "range"}
_SIDES: Final[dict[str, Side]] = {"long": "long", "buy": "long", "short": "short", "sell": "short"}


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
class Reading:
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


def read_strategy(payload: SkillPayload) -> Reading:
    """Return the reading of a skill."""
    strategy, context = payload.strategy, payload.context
    charts = Charts(context.bars_interval, tuple(context.higher_timeframes))
    texts = strategy.entry, strategy.exit, strategy.risk_management, tuple(strategy.avoid)
    return _read_texts(charts, strategy.style, *texts)


def read_draft(payload: Mapping[str, Any]) -> Reading:
    """Return the reading of a stored payload or a draft, in which anything may be missing."""
    strategy, context = payload.get("strategy") or {}, payload.get("context") or {}
    charts = Charts(context.get("bars_interval") or "1h", tuple(context.get("higher_timeframes") or ()))
    texts = (str(strategy.get(name) or "") for name in ("entry", "exit", "risk_management"))
    return _read_texts(charts, strategy.get("style") or "mixed", *texts, tuple(strategy.get("avoid") or ()))


# A skill is read at each tick, and again for each page.
@lru_cache(maxsize=256)
def _read_texts(charts: Charts, style: str, entry: str, exit_: str, risk: str, avoid: tuple[str, ...]) -> Reading:
    fades = True if style in FADES else False if style in FOLLOWS else None
    reader = _Reader(charts, fades)
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
    return Reading(tuple(lines))


def _split_sentences(text: str) -> list[str]:
    parts = re.split(r"\n+|(?<=[.!?;])\s+(?=\S)", text)
    return [part.strip(" -•*") for part in parts if part.strip(" -•*.")]


_WHEN: Final = r"(?:[,:]? ?\b(?:when(?:ever)?|if|once|only|where|while|on)\b)*[,:]? ?"
_SIDE: Final = re.compile(
    rf"(?:only )?(?:(?:go|enter|open|take) )?(?P<side>long|short|buy|sell)(?: short)?s?"
    rf"(?: (?:entry|entries|positions?|trades?))?\b{_WHEN}"
)
_ENTER: Final = re.compile(
    rf"(?:(?:(?:only )?(?:enter|open|trade)s?(?: (?:position|trade))?|only)\b{_WHEN})?(?P<fade>fade )?"
)
_SIDE_LAST: Final = re.compile(r",? ?(?:for|of) (?P<side>long|short)s?\b")
_EXIT: Final = re.compile(
    r"(?:when|if)\b ?|(?:exit|leave|get out|close out|flatten|out"
    r"|close(?= (?:position|trade|when|if|out|longs?|shorts?|all|on|at)\b)"
    rf"|take profits?(?= (?:when|if)))\b(?: of)?(?: (?:position|trade|all))?\b{_WHEN}"
)
_FOR_SIDE: Final = re.compile(r"(?:for )?(?P<side>long|short)s?\b[,:]? ?(?:(?:when|if|on)\b ?)*")
_AND: Final = re.compile(r",? ?\b(?:and|with|but only|but|provided|while|when|if)\b(?: (?:if|when|only|with))*")
_OR: Final = re.compile(r",? ?\bor\b(?: (?:if|when|on))*")
_AVOID: Final = re.compile(
    r"(?:no|never|not|avoid|stay out|stand aside|skip)\b"
    r"(?: (?:any|tak(?:e|ing)|trad(?:e|es|ing)|ent(?:ry|ries|er|ering)|positions?|open(?:ing)?|orders?|go"
    r"|(?P<long>buy(?:ing)?|longs?)|(?P<short>sell(?:ing)?|shorts?))\b)*"
    r"(?:[,:]? ?\b(?:when|while|if|in|at|during|on)\b)*[,:]? ?"
)
_NEVER: Final = re.compile(
    r"(?:no|never|avoid)(?: (?:ever|any|open|take|enter|trade|trading|positions?|trades?|entry|entries|anything))*"
    r"(?: at all)?$|(?:do )?nothing(?: at all)?$|(?:stay|stand) (?:flat|aside|in cash)$"
)
_KEPT: Final = re.compile(
    r"(?:no|never|avoid) (?:add(?:ing|s)?|averag(?:e|ing)|mean|pyramid(?:ing)?|double|doubling|martingale)"
    r"(?: (?:to|down|into|in|up|on))*(?: (?:los(?:er|ers|ing)|positions?|trades?))*$"
    r"|(?:no|never) (?:widen(?:ing)?|move|moving|loosen|remove)(?: of)? stops?(?: (?:away|further away|further))?$"
    r"|(?:no|never)(?: use)? leverage$"
)


_make_stop: Final = partial(make_bound, "stop")
_make_target: Final = partial(make_bound, "target")


def _make_limit(found: re.Match[str]) -> HeldFor:
    return HeldFor(bars=int(found["n"])) if found["u"] == "bar" else HeldFor(make_span(found))


_WORTH: Final = r"(?:entry|price|position|entry price)"
_TIME: Final = r"(?P<n>[1-9]\d{0,3}) ?(?P<u>minute|min|hour|h|day|bar)s?"
_ENDS: Final[tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Term]], ...]] = tuple(
    (re.compile(pattern), make)
    for pattern, make in (
        (
            r"(?:(?:(?:hard|initial|protective) )?stop(?: loss)?(?: order)?|sl)(?::|(?: (?:at|of|placed|set))*)"
            rf" {DISTANCE}(?: (?:below|from|against|away from|of) {_WORTH}| away)?",
            _make_stop,
        ),
        (rf"(?:price )?{DISTANCE} (?:stop(?: loss)?|against {_WORTH})", _make_stop),
        (rf"(?:at )?loss of {DISTANCE}", _make_stop),
        (
            rf"(?:take profit|profit target|target|profit|tp)(?::|(?: (?:at|of))*) {DISTANCE}"
            rf"(?: (?:above|from) {_WORTH})?",
            _make_target,
        ),
        (rf"(?:at )?{DISTANCE} (?:profit(?: target)?|gain|target)\b", _make_target),
        (
            r"(?:after|time (?:stop|exit|limit)(?: (?:after|of|at))?|(?:hold|held)(?: for)? (?:at most|no longer than"
            rf"|up to)) {_TIME}\b(?: in (?:trade|position))?",
            _make_limit,
        ),
        (rf"{_TIME} in (?:trade|position)\b", _make_limit),
        (r"(?:at )?(?:utc )?(?:end|close) of (?:utc )?day", lambda found: DAY_END),
        (r"(?:on )?(?:opposite|reverse) (?:entry )?signal", lambda found: OPPOSITE_ENTRY),
        (
            r"(?:never )?risk(?: (?:at most|up to|more than|no more than))* (?P<k>\d+(?:\.\d+)?)%(?: of equity)?"
            r"(?: (?:to stop|per trade|on trade|on 1 trade))?$",
            lambda found: RiskPct(min(float(found["k"]), 100.0)),
        ),
    )
)


@dataclass(slots=True)
class _Group:
    """Conditions that must hold together, for a side or for both."""

    side: Side = ""
    found: list[Sided] = field(default_factory=list)

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(condition for condition, _ in self.found)

    @property
    def directions(self) -> set[int]:
        return {find_direction(condition) for condition, goes_both_ways in self.found if not goes_both_ways} - {0}

    def rule(self, act: Literal["entry", "exit", "avoid"], side: Side) -> Rule:
        """Return the rule of a side; what goes both ways was read for a long."""
        conditions = (mirror_condition(one) if both and side == "short" else one for one, both in self.found)
        return Rule(act, side, tuple(conditions))


class _Reader:
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
        words = Words(text, self._charts)
        try:
            terms = tuple(self._read_terms(part, words))
        except NotUnderstood as problem:
            return ReadLine(part, text, problem=str(problem))
        return ReadLine(part, text, terms)

    def _read_terms(self, part: str, words: Words) -> list[Term]:
        if _KEPT.match(words.rest):
            return [KEPT]
        if part in {"Entry", "Avoid"} and _NEVER.match(words.rest):
            return [NEVER]
        if part == "Avoid" and words.rest.startswith("never risk") and (risk := _take_end(words)) and not words.rest:
            return [risk]
        if part == "Avoid" or (part == "Entry" and _AVOID.match(words.rest)):
            return self._read_avoid(words)
        ends = _take_end(words)
        if ends is not None and not words.rest:
            return [ends]
        return self._read_entry(words) if part == "Entry" else self._read_exit(words, ends)

    def _read_entry(self, words: Words) -> list[Term]:
        groups, has_or = [_Group()], False
        is_filter = words.rest.startswith("only ")
        while True:
            if found := words.take(_SIDE):
                groups += [_Group()] if groups[-1].found else []
                groups[-1].side = _SIDES[found["side"]]
            fades = bool((found := words.take(_ENTER)) and found["fade"]) or self._fades
            groups[-1].found.append(take_condition(words, fades=fades))
            if not words.rest:
                break
            if words.take(_OR):
                has_or |= not _SIDE.match(words.rest)
                groups.append(_Group(groups[-1].side))
            elif not words.take(_AND):
                words.take(_COMMA)
        if has_or and any(len(group.found) > 1 for group in groups):
            raise NotUnderstood("it has both “and” and “or”; write a line for each way in")
        if is_filter and any(not group.side and group.directions for group in groups):
            raise NotUnderstood("say for which side")
        return [rule for group in groups for rule in self._resolve_entry(group)]

    def _resolve_entry(self, group: _Group) -> list[Rule]:
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

    def _read_exit(self, words: Words, end: Term | None) -> list[Term]:
        terms: list[Term] = [] if end is None else [end]
        group, has_side = _Group(), False
        while words.rest:
            is_first = not (terms or group.found)
            # "... for longs and ... for shorts" are two ways out.
            is_and = not is_first and bool(words.take(_AND)) and not (has_side and group.found)
            if not is_first and not is_and:
                if not (words.take(_OR) or words.take(_COMMA) or has_side):
                    raise words.refuse()
                terms += self._resolve_exit(group)
                group, has_side = _Group(), False
            words.take(_EXIT)
            if found := words.take(_FOR_SIDE):
                group.side = _SIDES[found["side"]]
            end = None if is_and else _take_end(words)
            if end is None:
                if is_and and not group.found:
                    raise words.refuse()
                group.found.append(take_condition(words, fades=self._fades, is_exit=True))
                if found := words.take(_SIDE_LAST):
                    group.side, has_side = _SIDES[found["side"]], True
            else:
                terms.append(end)
        return terms + self._resolve_exit(group)

    def _resolve_exit(self, group: _Group) -> list[Rule]:
        if not group.found:
            return []
        if any(both for _, both in group.found) and not group.side:
            return [group.rule("exit", side) for side in self._sides]
        if group.side or not group.directions:
            return [group.rule("exit", group.side)]
        if len(self._sides) > 1:
            raise NotUnderstood("say for which side, such as “for longs”")
        return [group.rule("exit", self._sides[0])]

    def _read_avoid(self, words: Words) -> list[Term]:
        found = words.take(_AVOID)
        if found is None:
            raise NotUnderstood("begin with “No” or “Never”")
        group = _Group("long" if found["long"] else "short" if found["short"] else "")
        rules: list[Term] = []
        while True:
            group.found.append(take_condition(words, fades=None))
            if not words.rest:
                return [*rules, group.rule("avoid", group.side)]
            if words.take(_OR):
                rules.append(group.rule("avoid", group.side))
                group = _Group(group.side)
            elif not words.take(_AND) and words.rest.startswith(","):
                raise words.refuse()


_COMMA: Final = re.compile(r",")


def _take_end(words: Words) -> Term | None:
    return next((make(found) for pattern, make in _ENDS if (found := words.take(pattern))), None)


def _is_breakout(condition: Condition) -> bool:
    levels = {"high", "low", "highest close", "lowest close"}
    return isinstance(condition, Compare) and condition.left.what == "close" and condition.right.what in levels
