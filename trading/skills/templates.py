"""The skills that ship with Keel (settled 23)."""

from collections.abc import Mapping
from typing import Final

from config.lib.errors import DomainError
from trading.skills.patches import Json, merge_patch


class TemplateUnknown(DomainError):
    """There is no template of that name."""


_FUNDING_MEAN_REVERSION: Final[Json] = {
    "name": "Funding mean reversion",
    "description": "Fades crowded perpetuals when funding is extreme and price has stopped moving.",
    "trading_style": "swing",
    "strategy": {
        "mode": "thesis",
        "style": "mean_reversion",
        "leash": "standard",
        "thesis": (
            "When almost everybody stands on one side of a perpetual, funding says so. The crowd pays to stay, and the"
            " position unwinds once price stops rewarding it. Take the other side, earn the funding, and leave when it"
            " is normal again."
        ),
        "entry": (
            "Short: annualised funding above 40 % for two payments and no new 6-bar high.\n"
            "Long: annualised funding below -40 % for two payments and no new 6-bar low."
        ),
        "exit": "Funding back inside 10 % a year, or 48 hours in the trade.",
        "risk_management": "Stop 2 % from the entry.",
        "avoid": [
            "No trade in a shock regime",
            "No new position within 2 hours before FOMC or CPI",
            "Never add to a losing position",
        ],
    },
    "context": {
        "symbols": ["BTC", "ETH"],
        "bars_interval": "1h",
        "bars_lookback": 72,
        "higher_timeframes": ["1d"],
        "events": {"lookahead_hours": 24, "min_importance": 0.6},
    },
    "risk": {"max_position_pct": 10, "max_total_exposure_pct": 20, "max_leverage": 2, "daily_loss_halt_pct": 3},
    "schedule": {"type": "interval", "value": "1h"},
}

_TREND_BREAKOUT: Final[Json] = {
    "name": "Trend breakout",
    "description": "Buys strength and sells weakness after a tight range, and lets winners run.",
    "trading_style": "position",
    "strategy": {
        "mode": "rules",
        "style": "breakout",
        "leash": "tight",
        "thesis": "Long ranges store orders; when price leaves one on rising volatility it tends to keep going.",
        "entry": (
            "Long: a 4-hour close above the highest close of the last 55 bars, and the daily close above its 20-bar"
            " mean.\n"
            "Short: a 4-hour close below the lowest close of the last 55 bars, and the daily close below its 20-bar"
            " mean."
        ),
        "exit": "A 4-hour close beyond the opposite extreme of the last 20 bars.",
        "risk_management": "Stop at two average ranges. Risk at most 0.5 % of equity to the stop.",
        "avoid": ["No entry in a chop or shock regime", "Never add to a losing position", "Never widen a stop"],
    },
    "context": {
        "symbols": ["BTC", "ETH", "SOL"],
        "bars_interval": "4h",
        "bars_lookback": 120,
        "higher_timeframes": ["1d"],
        "news_top_k": 3,
    },
    "risk": {"max_position_pct": 15, "max_total_exposure_pct": 45, "max_leverage": 3, "daily_loss_halt_pct": 4},
    "schedule": {"type": "interval", "value": "4h"},
}

_RANGE_FADE: Final[Json] = {
    "name": "Range fade",
    "description": "Sells the top and buys the bottom of a quiet range, in and out within the day.",
    "trading_style": "day",
    "strategy": {
        "mode": "rules",
        "style": "range",
        "leash": "standard",
        "thesis": "Without news, price in a quiet market returns to the middle of its range more often than it leaves.",
        "entry": "Regime chop, price in the outer tenth of the last 48 bars' range.",
        "exit": "The middle of the last 48 bars' range, or the end of the UTC day.",
        "risk_management": "Stop at two average ranges.",
        "avoid": [
            "No trade in a trend or shock regime",
            "No trade within an hour of a scheduled event",
            "Never add to a losing position",
        ],
    },
    "context": {"symbols": ["BTC"], "bars_interval": "15m", "bars_lookback": 96, "higher_timeframes": ["1h"]},
    "risk": {
        "max_position_pct": 10,
        "max_total_exposure_pct": 20,
        "max_leverage": 2,
        "daily_loss_halt_pct": 2,
        "max_orders_per_day": 12,
    },
    "schedule": {"type": "interval", "value": "15m"},
}

TEMPLATES: Final[dict[str, Json]] = {
    "funding_mean_reversion": _FUNDING_MEAN_REVERSION,
    "trend_breakout": _TREND_BREAKOUT,
    "range_fade": _RANGE_FADE,
}


def apply_template(payload: Mapping[str, object], name: str) -> Json:
    """Return a payload filled from a template; keep its name. Raises TemplateUnknown."""
    if name not in TEMPLATES:
        raise TemplateUnknown(f"There is no template {name}. Take one of {', '.join(TEMPLATES)}.")
    patch = TEMPLATES[name]
    kept = {key: payload[key] for key in ("name", "description") if payload.get(key)}
    return merge_patch(payload, {**patch, **kept})
