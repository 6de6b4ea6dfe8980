"""Questions about markets, news and events, and their lookups."""

import re
from collections.abc import Callable
from typing import Final

from config.offline.adapters import Call
from config.offline.coach.lookups import (
    AHEAD_HOURS,
    EVENTS,
    MARKETS,
    NEWS,
    NOW,
    SKILLS,
    SOON_HOURS,
    Ask,
    parse_question,
    refusal,
)
from config.offline.coach.market_answers import format_events, format_markets, format_news
from config.offline.coach.record_questions import skills_steps
from config.offline.reading.markets import COIN, events_in, symbols_in
from config.offline.reading.patterns import any_of
from config.offline.talk import Steps, Talk


def market_steps(talk: Talk, plain: str) -> Steps | None:
    """Return the steps that answer a market question, or None."""
    asked = parse_question(plain)
    for pattern, needed, ask, names in _QUESTIONS:
        match = pattern.fullmatch(asked)
        if match and needed in talk.acts and (names is None or names(match[0])):
            return ask(talk, match)
    return None


_FIELDS: Final = (
    ("funding_rate_pct", r"\bfunding\b"),
    ("basis_pct", r"\bbasis\b"),
    ("realised_vol_pct", r"\bvol(?:atility)?\b"),
    ("regime", r"\bregime\b"),
    ("last_price", r"\bprice\b|\btrading at\b"),
)


def _answer_markets(talk: Talk, match: re.Match[str]) -> Steps:
    symbols = symbols_in(match[0])
    field = next((key for key, pattern in _FIELDS if re.search(pattern, match[0], re.IGNORECASE)), "")
    [found] = yield (Call(MARKETS, {"symbols": symbols} if symbols else {}),)
    return refusal(talk, [found]) or format_markets(found.as_row, field)


def _answer_news(talk: Talk, match: re.Match[str]) -> Steps:
    symbols = symbols_in(match[0])
    hours = 168 if re.search(r"\bweek\b", match[0], re.IGNORECASE) else 24
    given: dict[str, object] = {"symbols": symbols} if symbols else {}
    [found] = yield (Call(NEWS, {**given, "lookbackHours": hours}),)
    return refusal(talk, [found]) or format_news(found.as_row, hours)


def _answer_events(talk: Talk, match: re.Match[str]) -> Steps:
    hours = SOON_HOURS if re.search(r"\btoday\b", match[0], re.IGNORECASE) else AHEAD_HOURS
    given: dict[str, object] = {"lookaheadHours": hours}
    if kinds := events_in(match[0]):
        given["types"] = kinds
    if symbols := symbols_in(match[0]):
        given["symbols"] = symbols
    [found] = yield (Call(EVENTS, given),)
    return refusal(talk, [found]) or format_events(found.as_row, hours)


_COIN = rf"(?:{COIN})"
_MEASURE = r"(?:price|funding(?: rate)?|basis|(?:realised |realized )?vol(?:atility)?|regime|24h change)"

# The last entry: what a sentence must name, where the pattern alone does not say it.
_QUESTIONS: Final[tuple[tuple[re.Pattern[str], str, Ask, Callable[[str], list[str]] | None], ...]] = (
    (
        any_of(
            rf"what(?:'s| is| are| was)? (?:the )?(?:crypto )?markets? (?:doing|up to|looking like|like){NOW}",
            rf"how(?:'s| is| are|'re) (?:the )?(?:crypto )?markets?(?: (?:doing|looking|today))?{NOW}",
            rf"(?:what(?:'s| is) )?(?:the )?market (?:overview|summary|situation){NOW}",
            rf"what(?:'s| is) happening (?:in|on) (?:the )?(?:crypto )?markets?{NOW}",
        ),
        MARKETS,
        _answer_markets,
        None,
    ),
    (
        any_of(
            rf"(?:what(?:'s| is| are|'re)|how(?:'s| is| high is| much is)) (?:the )?(?:current )?{_COIN}(?:'s)?"
            rf"(?: and {_COIN})? (?:current )?{_MEASURE}{NOW}",
            rf"(?:what(?:'s| is| are|'re)|how(?:'s| is| high is)) (?:the )?(?:current )?{_MEASURE}"
            rf" (?:of|for|on|in) {_COIN}(?:(?:,| and|, and) {_COIN})*{NOW}",
            rf"{_COIN} {_MEASURE}",
            rf"how(?:'s| is| are) {_COIN}(?: and {_COIN})?(?: (?:doing|looking|trading|moving))?{NOW}",
            rf"what(?:'s| is| are) {_COIN}(?: and {_COIN})? (?:doing|at|trading at|up to)(?: right)?{NOW}",
            rf"how much is (?:a |one )?{_COIN}{NOW}",
        ),
        MARKETS,
        _answer_markets,
        symbols_in,
    ),
    (any_of(rf"what(?:'s| is) (?:the )?(?:current )?funding(?: rate)?s?{NOW}"), MARKETS, _answer_markets, None),
    (
        any_of(
            r"(?:is there |are there |what(?:'s| is| are) |what )?(?:any |the |some |latest |recent |new |big "
            r"|important"
            rf" |market |crypto |{_COIN} )*?(?:news|headlines)(?: (?:is there|do you have|came out))?"
            rf"(?: (?:on|about|for|of|from) (?:{_COIN}|the (?:market|week|day)))?{NOW}",
            rf"what happened in (?:the )?(?:markets?|news|crypto){NOW}",
        ),
        NEWS,
        _answer_news,
        None,
    ),
    (
        any_of(
            r"(?:what(?:'s| is| are)? |which |are there |is there |any )+(?:the |any |upcoming |scheduled |next |big"
            r" |important |macro |economic |market )*events?(?: (?:are|is|do we have|do i have))?"
            rf"(?: (?:coming(?: up)?|ahead|scheduled|next|upcoming|soon|planned))?(?: (?:for|on) {_COIN})?"
            r"(?: (?:this week|today|tomorrow|in the next \w+ (?:hours|days)))?",
            r"(?:what(?:'s| is) )(?:coming up|on the (?:event |economic )?calendar|ahead)"
            r"(?: (?:this week|today|tomorrow))?",
            r"(?:the |my )?(?:upcoming |next |scheduled )events",
        ),
        EVENTS,
        _answer_events,
        None,
    ),
    (
        any_of(r"(?:when(?:'s| is| are)|what time is|is there an?y?) (?:the )?(?:next )?[\w' -]{2,40}"),
        EVENTS,
        _answer_events,
        events_in,
    ),
    (
        any_of(
            r"(?:what are )?(?:all )?(?:of )?my (?:saved )?skills",
            r"(?:what|which) skills (?:do i have|have i(?: got)?|are there)",
            r"(?:what are )?(?:my|the) (?:open )?drafts",
            r"(?:do i have )?any (?:open )?drafts",
            r"how many skills do i have",
        ),
        SKILLS,
        skills_steps,
        None,
    ),
)
