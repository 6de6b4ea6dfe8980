from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest

from chat.parts import Json

# By the name of the page's URL; those of seed 003 in its words.
_WRITING: Final = [
    "Help me build a BTC funding-flip mean-reversion strategy",
    "I want something safer than my last one",
    "Show me a template",
]
_DEPLOYMENT: Final = [
    "Why did you open this position?",
    "What's my biggest risk right now?",
    "What would make you close it?",
    "Have you been rejected recently?",
]
_DEPLOYMENTS: Final = [
    "What's running and how is it doing?",
    "Anything I should worry about?",
    "What's the market doing today?",
]
_FACTS: Final = [
    "What do you know about me?",
    "Remember that I never risk more than 1% per trade.",
    "What should I tell you about how I trade?",
]
_TRADES: Final = [
    "What do my losing trades have in common?",
    "Which of my skills earns the most?",
    "What did I learn from my last trades?",
]
_TRADE: Final = [
    "Why did you open this position?",
    "Why was this position closed?",
    "What did I learn from my last trades?",
]
_BACKTESTS: Final = [
    "How did my last backtest go?",
    "Is that sample large enough to trust?",
    "Which of my skills should I test next?",
]
_SKILLS: Final = [
    "Which of my skills earns the most?",
    "Anything I should worry about?",
    "Help me build a BTC trend breakout skill",
]
_JOURNAL: Final = [
    "What do you know about me?",
    "What did I learn from my last trades?",
    "What's my biggest risk right now?",
]
_ANYWHERE: Final = [
    "What do you know about me?",
    "Remember that I trade BTC and ETH only.",
    "My goal is to grow this account without a drawdown over 15%.",
]
_BY_PAGE: Final[Mapping[str, list[str]]] = {
    "trading:new_skill": _WRITING,
    "trading:edit_skill": _WRITING,
    "trading:deployment": _DEPLOYMENT,
    "trading:decision": _DEPLOYMENT,
    "trading:agent_prompt": _DEPLOYMENT,
    "trading:deployments": _DEPLOYMENTS,
    "trading:skills": _SKILLS,
    "trading:skill": _SKILLS,
    "trading:version": _SKILLS,
    "trading:trades": _TRADES,
    "trading:trade": _TRADE,
    "trading:ask": _TRADES,
    "trading:check": _TRADES,
    "trading:imports": _TRADES,
    "trading:import_file": _TRADES,
    "trading:backtests": _BACKTESTS,
    "trading:backtest": _BACKTESTS,
    "trading:calendar": [
        "What is coming up this week?",
        "Which of these events could hurt my positions?",
        "How do my trades around FOMC do?",
    ],
    "chat:rules": _TRADES,
    "memory:facts": _FACTS,
    "memory:fact": _FACTS,
    "memory:places": _FACTS,
    "memory:preview": _FACTS,
    "memory:review": _FACTS,
    "memory:settings": _FACTS,
    "chat:journal": _JOURNAL,
    "chat:kept": _JOURNAL,
    "chat:review": _JOURNAL,
}
# What the chat of a page is about: its mode, and by the names of `chat.web.forms.SUBJECTS` those of the address.
_ABOUT: Final[Mapping[str, tuple[str, dict[str, str]]]] = {
    "trading:deployment": ("coach", {"deployment": "deployment_id"}),
    "trading:decision": ("coach", {"deployment": "deployment_id"}),
    "trading:agent_prompt": ("coach", {"deployment": "deployment_id"}),
    "trading:new_skill": ("authoring", {}),
    "trading:edit_skill": ("authoring", {"skill": "skill_id"}),
    "trading:trade": ("ops", {"trade": "trade_id"}),
    "trading:backtest": ("ops", {"backtest": "run_id"}),
    "trading:version": ("ops", {"skill": "skill_id", "version": "version"}),
    "memory:fact": ("ops", {"fact": "fact_id"}),
}


def list_suggestions() -> list[str]:
    """Return the suggested prompts of all pages, each once."""
    return list(dict.fromkeys(text for texts in (_ANYWHERE, *_BY_PAGE.values()) for text in texts))


def page_context(request: HttpRequest) -> Json:
    """Add suggested prompts and the page's focus to templates."""
    match = request.resolver_match
    name = match.view_name if match else ""
    focus = _find_focus(name, match.kwargs if match else {}, request.GET.get("event", ""))
    # The panel is a piece of another page, which it names.
    page = request.GET.get("page", "") if name == "chat:panel" else name
    return {"suggestions": _BY_PAGE.get(page, _ANYWHERE), "page_name": page, "page_focus": focus}


def _find_focus(page: str, named: Mapping[str, Any], event: str) -> dict[str, str]:
    """Return what a page's chat is about: `mode`, and by their names the rows that the page shows."""
    if page == "trading:calendar" and event.isdecimal():
        return {"mode": "ops", "event": event}
    mode, names = _ABOUT.get(page, ("", {}))
    return {"mode": mode, **{name: str(named[key]) for name, key in names.items()}} if mode else {}
