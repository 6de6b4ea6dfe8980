"""Whether a new statement replaces a known line, repeats it, stands beside it, or has to be asked about.

One judge for every path: the tools, the pages, REST, extraction at the end of a chat, and imports.
"""

from typing import Final, Literal

from memory.claims.line import Line, read_line
from memory.claims.subjects import Subject, read_subject

Verdict = Literal["same", "replaces", "unsure", "apart"]

# Several of these may hold at a time, so without a word of change the person is asked.
_OF_MANY: Final = frozenset({"exchange", "trading style", "profit target"})


def judge_change(old: str, new: str) -> Verdict:
    """Compare a known line with a new statement.

    `same`: the new line says nothing else. `replaces`: they cannot both hold. `unsure`: they may exclude each other, so
    the user has to be asked. `apart`: both can hold. Words that say when a line holds do not count. A line replaces
    another on a word of change, or where subject, scope and owner are equal and one value holds at a time.
    """
    before, after = read_subject(old), read_subject(new)
    if before.key != after.key or before.owner != after.owner:
        return "apart"
    if before.is_single and after.is_single:
        return _judge_values(before, after)
    return _judge_lines(read_line(old), read_line(new), is_change=after.is_change)


def excludes(old: str, new: str) -> bool:
    """Tell whether a new statement replaces a known line, or may do so."""
    return judge_change(old, new) in {"replaces", "unsure"}


def may_turn(old: str, new: str) -> bool:
    """Tell whether a statement that ends, resumes or changes something may mean a line of another subject."""
    line, known = read_line(new), read_line(old)
    return line.turns(known) or line.changes(known)


def _judge_values(before: Subject, after: Subject) -> Verdict:
    if before.is_denied or after.is_denied:
        if before.is_denied == after.is_denied:
            return "same" if before.values == after.values and before.scope == after.scope else "apart"
        is_other = before.values and after.values and before.values.isdisjoint(after.values)
        return "apart" if is_other or before.scope != after.scope else "replaces"
    if before.scope != after.scope:
        return _judge_scopes(before, after)
    if before.values == after.values:
        return _judge_bounds(before, after)
    if before.bound != after.bound and {before.bound, after.bound} != {"", "max"}:
        return "apart"  # a minimum beside a maximum
    if before.key == "leverage" and before.bound != after.bound:
        # "Max leverage is 5x" allows "I use 3x leverage".
        limit, used = (before, after) if before.bound else (after, before)
        return "unsure" if _greatest(used) > _greatest(limit) else "apart"
    if before.key == "trading hours" and _names(before).isdisjoint(_names(after)):
        return "apart"  # a beginning beside an end
    if after.is_added:
        return "apart"
    if _units(before).isdisjoint(_units(after)):
        return "unsure"  # a share of the account beside an amount of money
    is_change = after.is_change or after.is_begun or before.is_begun
    return "replaces" if is_change or before.key not in _OF_MANY else "unsure"


def _judge_bounds(before: Subject, after: Subject) -> Verdict:
    """Judge one value with two bounds: a limit is not known from what is used, nor a maximum from a minimum."""
    if before.bound == after.bound:
        return "same"
    if not (before.bound and after.bound):
        return "apart" if before.key == "leverage" else "same"
    return "unsure"


def _judge_scopes(before: Subject, after: Subject) -> Verdict:
    """Judge a rule and its exception: the special one may be stricter, not looser."""
    if before.scope and after.scope:
        return "apart"
    general, special = (before, after) if after.scope else (after, before)
    if general.bound != "max" or not general.values or _greatest(special) <= _greatest(general):
        return "apart"
    return "unsure"


def _greatest(subject: Subject) -> float:
    numbers = [
        float(value[0]) for value in subject.values if isinstance(value, tuple) and not isinstance(value[0], str)
    ]
    return max(numbers, default=0.0)


def _units(subject: Subject) -> set[object]:
    return {value[1] for value in subject.values if isinstance(value, tuple) and len(value) == 3} or {""}


def _names(subject: Subject) -> set[object]:
    return {value[0] for value in subject.values if isinstance(value, tuple)}


def _judge_lines(before: Line, after: Line, *, is_change: bool) -> Verdict:
    """Judge two lines with the same words."""
    if before.contradicts(after):
        return "replaces" if is_change else "unsure"
    if after.turns(before):
        return "unsure"
    return "same" if before.terms == after.terms and before.flags == after.flags else "apart"
