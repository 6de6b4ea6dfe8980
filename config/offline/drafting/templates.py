"""Shipped templates, terms and questions of drafting."""

from dataclasses import dataclass
from typing import Any, Final

from config.offline.figures import listing
from config.offline.phrases import TERMS
from trading.skills.templates import TEMPLATES as SHIPPED

# Says what a shipped template does, in words that complete "it ...".
_DEEDS: Final = {
    "funding_mean_reversion": (
        "takes the other side when funding is extreme and price has stopped moving; hourly, positions of up to two days"
    ),
    "trend_breakout": (
        "buys strength and sells weakness when price leaves a long range; every four hours, positions of weeks"
    ),
    "range_fade": "sells the top and buys the bottom of a quiet range; every 15 minutes, in and out within the day",
}


@dataclass(frozen=True, slots=True)
class Template:
    """A shipped template, as far as the rules speak of it."""

    title: str
    deed: str
    symbols: tuple[str, ...]
    avoid: tuple[str, ...]


TEMPLATES: Final = {
    name: Template(
        shipped["name"], _DEEDS[name], tuple(shipped["context"]["symbols"]), tuple(shipped["strategy"]["avoid"])
    )
    for name, shipped in SHIPPED.items()
}
# A beginner should start with a risk whose loss teaches and does not end the account.
SAFE_CAPS: Final[dict[str, Any]] = {
    "maxPositionPct": 5,
    "maxTotalExposurePct": 10,
    "maxLeverage": 1,
    "dailyLossHaltPct": 2,
}
_ALWAYS: Final = ("leverage", "daily loss halt", "backtest")

ENTRY: Final = "Entry"
EXIT: Final = "Exit"
KILLS: Final = "What kills it"
SIZING: Final = "Sizing"
HORIZON: Final = "Horizon"
SYMBOLS: Final = "Symbols"
RISK: Final = "Risk"
# In this order (seed 003), each with the trade-off behind it.
AREAS: Final = {
    ENTRY: "When exactly does it open a position? A tight rule gives few but comparable trades, a loose one many.",
    EXIT: "When does it get out, in profit and in loss? A near stop loses little and often, a far one much and rarely.",
    KILLS: "When must it not trade (events, regimes, times)? Each such rule saves losses and costs opportunities.",
    SIZING: "What percentage of equity per position, at most? Small sizes survive bad streaks, large ones show sooner.",
    HORIZON: "Within the day, days, or weeks, and on which bars? Short ones pay more in fees, long ones in patience.",
    SYMBOLS: "Which symbols? One is easier to judge, several spread the risk unless they move together.",
    RISK: "Which leverage at most, and which daily loss halts it? Both bound the worst day, and the best one.",
}
MOST_ASKED: Final = 3  # questions at a time
QUESTIONS: Final = "To go on I need to know:"

BACKTEST_FIRST: Final = (
    "Backtest it before you deploy it: once it is saved, say “backtest it over the last month”. A strategy that loses "
    "on past prices will not win on new ones."
)
NOVICE_ASK: Final = "What do you want to trade, and why do you think there is money in it?"
EXPERT_ASK: Final = "Hand me the pitch: symbols, entry, exit, what kills it, size. I draft all of it and push back."


def listed_templates() -> str:
    """Return the templates as a list."""
    return "\n".join(f"- **{one.title}**: {one.deed}; trades {', '.join(one.symbols)}" for one in TEMPLATES.values())


def template_for(style: str, *, funding: bool) -> str:
    """Return the name of the template that comes closest to a style."""
    if funding or style == "carry":
        return "funding_mean_reversion"
    return "range_fade" if style in {"mean_reversion", "range"} else "trend_breakout"


def template_named(text: str) -> str:
    """Return the name of the template that a text names, "" when it names none."""
    words = text.casefold().replace("-", " ")
    keys = {
        "funding_mean_reversion": ("funding", "mean reversion"),
        "trend_breakout": ("breakout", "trend"),
        "range_fade": ("range", "fade"),
    }
    return next((name for name, said in keys.items() if any(word in words for word in said)), "")


def glossary(text: str, template: str, style: str = "") -> str:
    """Explain the terms of a text and template, and basic ones."""
    words = f"{text} {TEMPLATES[template].title} {style}".casefold().replace(" ", "_")
    met = [told for key, told in TERMS.items() if key.replace(" ", "_") in words or key in _ALWAYS]
    return "In a few words:\n\n" + listing(list(dict.fromkeys(met)))
