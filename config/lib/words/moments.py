"""Dates and times of day in a text."""

import re
from typing import Final

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH_PATTERN: Final = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?"
)
_MONTH: Final = rf"(?:{MONTH_PATTERN})\b\.?".replace("may", "(?-i:May|MAY)")  # else the verb
# A date or a time, for a verbose pattern without regard to case; `spell_moment` reads its match.
MOMENT: Final = rf"""
    (?P<iso>\d{{4}}-\d\d(?:-\d\d(?:(?:[T ]|\ at\ )\d\d:\d\d(?::\d\d)?)?)?(?:Z|\b))
    | (?P<day>\d\d?)(?:st|nd|rd|th)?\ (?:of\ )?(?P<month>{_MONTH})(?:,?\ (?P<year>\d{{4}})\b)?
    | (?P<month_2>\b{_MONTH})\ (?:(?P<year_3>\d{{4}})\b
        | (?P<day_2>\d\d?)(?:st|nd|rd|th)?\b(?!,\d)(?:,?\ (?P<year_2>\d{{4}})\b)?)
    | (?P<time>\d\d?:\d\d)(?::\d\d)?(?P<half>\ ?[ap]\.?m\b\.?)?
"""


def spell_moment(match: re.Match[str]) -> str:
    """Return what MOMENT found as `2026-03-12 14:30`, `2026-03-12`, `2026-03`, `03-12` or `14:30`; empty: nothing."""
    if match["iso"]:
        return match["iso"].replace(" at ", " ").replace("T", " ").rstrip("Z")[:16]
    if match["time"]:
        return spell_time(match["time"], match["half"])
    month, day = match["month"] or match["month_2"], match["day"] or match["day_2"]
    if not month:
        return ""
    year = match["year"] or match["year_2"] or match["year_3"]
    found = f"{MONTHS.index(month[:3].casefold()) + 1:02}"
    return "-".join([*([year] if year else []), found, *([f"{int(day):02}"] if day else [])])


def spell_time(time: str, half: str | None) -> str:
    """Return a time of day such as `2:30` or `2` with its half of the day as `14:30`."""
    hour, minute = map(int, f"{time}:00".split(":")[:2])
    if half and hour <= 12:
        hour = hour % 12 + 12 * ("p" in half.lower())
    return f"{hour:02}:{minute:02}"
