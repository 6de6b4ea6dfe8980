"""Patterns of a pitch, case-insensitive; `pitch` applies them."""

import re
from typing import Final

from config.offline.reading.patterns import any_of

_STYLE_WORDS: Final = (
    ("mean_reversion", r"mean[- ]?rever\w+|revert\w*|reversion"),
    ("breakout", r"break ?outs?|break(?:s|ing)? (?:out|above|below)"),
    ("trend", r"trend(?:s|ing)?(?:[- ]follow\w+)?|momentum|moving averages?|pullbacks?"),
    ("range", r"range(?:s|[- ]?bound)?|sideways|choppy"),
    ("mean_reversion", r"funding|fad(?:e|es|ing)|crowded|oversold|overbought|rsi|bollinger"),
    ("carry", r"carry|basis trade"),
    ("event", r"event[- ]driven|(?:trade|trading) the news"),
)
STYLE_PATTERNS: Final = tuple((style, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for style, words in _STYLE_WORDS)

_NUMBER: Final = r"(\d{1,6}(?:\.\d{1,4})?)"
_PCT: Final = rf"{_NUMBER}\s?(?:%|percent)"


LEVERAGE = any_of(
    rf"{_NUMBER}\s?[x×] (?:max(?:imum)? )?leverage",
    rf"leverage(?: cap| limit)?(?: (?:of|at|to|is|up to|max|at most|below|under))*[ :=]+{_NUMBER}\s?[x×]?(?![\d%])",
    rf"(?:max(?:imum)?|at most|at|up to|use|with|never above|no more than)(?: a)? {_NUMBER}\s?[x×](?!\w)(?! (?:the "
    rf"|atr|average))",
    rf"^{_NUMBER}\s?[x×](?: max)?$",
)
NO_LEVERAGE = re.compile(r"\b(?:no|without(?: any)?|zero) leverage\b|\bunlevered\b|\bspot only\b", re.IGNORECASE)
POSITION = any_of(
    rf"(?:max(?:imum)? )?(?:position(?: size)?|size|sizing)(?: (?:of|is|at|to|cap|max|at most|up to))*[ :=]+{_PCT}",
    rf"{_PCT}(?: of (?:the |my )?(?:equity|account|capital|nav|portfolio))?(?: (?:per|a|each|in one) (?:position"
    r"|trade)| positions?\b| size\b)",
    rf"{_PCT} of (?:the |my )?(?:equity|account|capital|nav|portfolio)",
)
TO_THE_STOP = re.compile(r"\brisk(?:ing|s)?\b", re.IGNORECASE)
EXPOSURE = any_of(
    rf"(?:total|overall|max(?:imum)? total) exposure(?: (?:of|is|at|to|cap|max|at most|up to))*[ :=]+{_PCT}",
    rf"{_PCT} (?:total exposure|exposure|in total|overall)",
)
DAY_LOSS = any_of(
    rf"(?:daily (?:loss|drawdown)(?: limit| halt| stop)?|(?:max(?:imum)? )?loss (?:per|a) day|day(?:'s)? loss|halt"
    rf"|loss limit|stop (?:for the day|trading)|kill switch)\b[^.;,%\d]{{0,30}}-?{_PCT}",
    rf"{_PCT} (?:max(?:imum)? )?(?:daily (?:loss|drawdown|stop)|(?:loss )?(?:a|per) day|day(?:'s)? loss)",
)
ORDERS = any_of(rf"{_NUMBER} (?:trades|orders|entries) (?:a|per|each) day")

BARE_LEVERAGE = re.compile(rf"\b{_NUMBER}\s?[x×](?!\w)", re.IGNORECASE)
BARE_PCT = re.compile(_PCT, re.IGNORECASE)
NOTHING = re.compile(r"(?:nothing|none|no|never|nope|not sure|i don't know)\b\W*$", re.IGNORECASE)

UNITS: Final = {
    **dict.fromkeys(["m", "min", "mins", "minute", "minutes"], "m"),
    **dict.fromkeys(["h", "hr", "hrs", "hour", "hours"], "h"),
    **dict.fromkeys(["d", "day", "days"], "d"),
}
_UNIT: Final = r"(m|min|mins|minutes?|h|hrs?|hours?|d|days?)"
BARS = any_of(
    rf"\b(\d{{1,2}})[ -]?{_UNIT}[ -](?:bars?|candles?|charts?|time ?frames?|tf|closes?)\b",
    rf"\b(?:on|using|with|use) (?:the |a )?(\d{{1,2}})[ -]?{_UNIT}\b(?! (?:before|after|ago|around|of))",
    rf"\b(?:bars?|time ?frame|interval)(?: (?:of|is|at|to))?[ :=]+(\d{{1,2}})[ -]?{_UNIT}\b",
    r"\b(hourly)[ -](?:bars?|candles?|charts?|time ?frame|closes?)\b",
    r"\b(daily)[ -](?:bars?|candles?|charts?|time ?frame|closes?)\b",
)
BARE_BARS = re.compile(rf"\b(\d{{1,2}})[ -]?{_UNIT}\b", re.IGNORECASE)
EVERY = any_of(
    rf"\bevery (\d{{1,2}}) ?{_UNIT}\b",
    r"\b(?:check|run|tick|look|decide|evaluate|act)\w*(?: \w+){0,3} (hourly|every hour|once an hour)\b",
)
DAILY_AT = re.compile(
    r"\b(?:daily|once a day|every day|each day) at (\d{1,2}):(\d\d)(?: ?utc)?\b|\bat (\d{1,2}):(\d\d) ?utc (?:every"
    r"|each) day\b",
    re.IGNORECASE,
)
HORIZONS: Final = (
    ("day", any_of(r"\bscalp\w*\b", r"\bday[- ]?trad\w+\b", r"\bintra[- ]?day\b", r"\bwithin (?:the|a) day\b")),
    ("swing", any_of(r"\bswing\b", r"\b(?:a few|several|couple of|\d+) days\b", r"\bfor days\b")),
    ("position", any_of(r"\bposition trad\w+\b", r"\b(?:weeks|months)\b", r"\blong[- ]term\b")),
)
SPANS: Final = {"1m": 1, "5m": 5, "15m": 15, "30m": 30, "1h": 60, "4h": 240, "1d": 1440}  # minutes

BUILD = re.compile(
    r"^(?:(?:please|can you|could you|would you|i want to|i'd like to|i would like to|i'd like you to|i want you to"
    r"|let's|let us|help me|help me to)\s+)*(?P<verb>build|create|write|draft|make|design|set up|put together|start"
    r"|come up with|develop)(?: me| us)? (?:(?P<what>(?:an?|the|my|some|this|new|up)\b.{0,120}?)\b)?(?:strateg(?:y"
    r"|ies)|skills?|agents?|trading bots?|bots?|trading systems?)\b",
    re.IGNORECASE,
)
AFTER_BUILD = re.compile(r"^[\s,:;-]*(?:(?:that|which|to|where it|and)\s+)?", re.IGNORECASE)
LABEL = re.compile(
    r"^(?:[-*•]\s*|\d{1,2}[.)]\s*)?(?:\*\*)?(?P<label>entry|entries|exit|exits|avoid|rules?|what kills it|kills?"
    r"|invalidation|thesis|idea|edge|pitch|sizing|size|risk|horizon|symbols?|markets?)(?:\*\*)?\s*[:=]\s*(?P<rest>\S.*)$",
    re.IGNORECASE,
)
AVOIDS = re.compile(
    r"^(?:(?:and|but|also)\s+)?(?:never|avoid|stay out|stay flat|sit out|skip|don't|do not|no(?! more than|"
    r" leverage))\b",
    re.IGNORECASE,
)
EXITS = re.compile(
    r"^(?:(?:and|then|or)\s+)*(?:exits?|closes?|get out|take profits?|tp|sl|cover|leave|out (?:at|when|after|if)"
    r"|stop(?:[- ]loss)?(?: out)?|stops?|target|(?:hold|keep)(?: it| them)? (?:for|until|at most|max))\b"
    r"|\b(?:exit(?:ing)?|take profits?|stop[- ]loss(?:es)?|close (?:it|out|the position|the trade))\b",
    re.IGNORECASE,
)
ENTERS = re.compile(
    r"^(?:(?:and|then|i|i'd|we|it should|should|want to|would|will|like to|that|it)\s+)*(?:enter(?:s|ing)?|entr(?:y"
    r"|ies)|buy(?:s|ing)?|sell(?:s|ing)?|shorts?|shorting|longs?|longing|go(?:es|ing)? (?:long|short)|fad(?:e|es|ing)"
    r"|open(?:s|ing)?|trade the|get in|add(?:s|ing)? when)\b",
    re.IGNORECASE,
)
SIZES = re.compile(
    r"\b(?:risk(?:ing)?|size|sizing|scale|half size|per trade|add(?:s|ing)? (?:to|once|at most)|pyramid\w*)\b",
    re.IGNORECASE,
)
SPLIT = re.compile(
    r"(?:,|;| - | – )\s*(?:and |then |but )*(?=(?:exit|close|stop|get out|take profit|tp|sl|target|halt|avoid|never"
    r"|no |don't|do not|skip|stay out|max|at most|enter|buy|short|long|fade|risk|size|sizing|leverage|hold|out at"
    r"|out when|check|run|on \d|\d+(?:\.\d+)?\s?x|\d{1,2}[mhd]|daily|half size)\b|\d+(?:\.\d+)?\s?%)|\s+(?:and"
    r"|then)\s+(?=(?:exits?|closes? (?:it|at|when|out)|get out|take profit|avoid|never|stop out|stop at)\b)",
    re.IGNORECASE,
)
# Words around parsed numbers; a clause of these words alone is no prose.
NUMBERS_WORDS: Final = frozenset(
    """
    x leverage max maximum bars bar m h d min of on the at with use equity per position a day daily loss halt
    size btc eth sol check every hour hours minute minutes and it to caps cap only
    """.split()  # noqa: SIM905 - a paragraph reads better than a column
)
# A name has capital letters: "called Harbour", "name it Slow Boat 2".
NAMED: Final = re.compile(
    r"(?:\b(?i:called|named)|\b(?i:call|name) (?i:it|this|the strategy|the skill))\s+[\"“]?"
    r"(?P<name>[A-Z][\w-]{1,30}(?: [A-Z0-9][\w-]{0,30}){0,4})[\"”]?"
)
