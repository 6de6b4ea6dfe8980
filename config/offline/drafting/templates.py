"""Shipped templates, first caps and the questions of drafting."""

from typing import Any, Final

from config.offline.figures import listing
from config.offline.phrases import TERMS
from config.offline.reading.sentences import Pattern
from trading.skills.templates import TEMPLATES as SHIPPED

# What a shipped template does, in words that complete "it ...".
_DEEDS: Final = {
    "funding_mean_reversion": (
        "takes the other side when funding is extreme and price has stopped moving; hourly, positions of up to two days"
    ),
    "trend_breakout": (
        "buys strength and sells weakness when price leaves a long range; every four hours, positions of weeks"
    ),
    "range_fade": "sells the top and buys the bottom of a quiet range; every 15 minutes, in and out within the day",
}
# The words of a style or a name, in the order in which they decide.
_NAMED: Final = (
    ("funding_mean_reversion", Pattern(r"\b(?:funding|mean[- ]rever\w+|carry)\b")),
    ("trend_breakout", Pattern(r"\b(?:break ?outs?|trends?)\b")),
    ("range_fade", Pattern(r"\b(?:ranges?|fade)\b")),
)
# A beginner should start with a risk whose loss teaches and does not end the account.
SAFE_CAPS: Final[dict[str, Any]] = {
    "maxPositionPct": 5,
    "maxTotalExposurePct": 10,
    "maxLeverage": 1,
    "dailyLossHaltPct": 2,
}
_ALWAYS: Final = ("leverage", "daily loss halt", "backtest")

# In this order (seed 003), each with the trade-off behind it.
AREAS: Final = {
    "Entry": "When exactly does it open a position? A tight rule gives few but comparable trades, a loose one many.",
    "Exit": "When does it get out, in profit and in loss? A near stop loses little, a far one much and rarely.",
    "What kills it": "When must it not trade (events, regimes, times)? Such rules save losses and cost opportunities.",
    "Sizing": "What percentage of equity per position, at most? Small sizes survive streaks, large ones show sooner.",
    "Horizon": "Within the day, days, or weeks, and on which bars? Short ones pay more in fees, long ones in patience.",
    "Symbols": "Which symbols? One is easier to judge, several spread the risk unless they move together.",
    "Risk": "Which leverage at most, and which daily loss halts it? Both bound the worst day, and the best one.",
}
MOST_ASKED: Final = 3  # questions at a time
QUESTIONS: Final = "To go on I need to know:"
BACKTEST_FIRST: Final = (
    "Backtest it before you deploy it: once it is saved, say “backtest it over the last month”. A strategy that loses "
    "on past prices will not win on new ones."
)
NOVICE_ASK: Final = "What do you want to trade, and why do you think there is money in it?"
EXPERT_ASK: Final = "Hand me the pitch: symbols, entry, exit, what kills it, size. I draft all of it and push back."


def list_templates() -> str:
    """Return the templates as a list."""
    return listing(
        [f"**{SHIPPED[name]['name']}**: {deed}; trades {', '.join(SHIPPED[name]['context']['symbols'])}"
         for name, deed in _DEEDS.items()]
    )  # fmt: skip


def template_for(style: str, *, funding: bool) -> str:
    """Return the name of the template that comes closest to a style."""
    if funding or style == "carry":
        return "funding_mean_reversion"
    return "range_fade" if style in {"mean_reversion", "range"} else "trend_breakout"


def template_named(text: str) -> str:
    """Return the name of the template that a text names, "" when it names none."""
    return next((name for name, words in _NAMED if words.search(text)), "")


def describe_template(name: str) -> str:
    """Return a template's title and deed."""
    return f"**{SHIPPED[name]['name']}**: it {_DEEDS[name]}"


def glossary(text: str, template: str, style: str = "") -> str:
    """Explain the terms of a text and template, and basic ones."""
    words = f"{text} {SHIPPED[template]['name']} {style}".casefold().replace("_", " ")
    met = [told for key, told in TERMS.items() if len(key) > 3 and (key in words or key in _ALWAYS)]
    return f"In a few words:\n\n{listing(list(dict.fromkeys(met)))}"
