from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest

from chat.parts import Json

# Suggested questions below the pages that show them, by the names of their URLs; those of seed 003 in its words. The
# star is every other page.
_QUESTIONS: Final = """
trading:new_skill trading:edit_skill
Help me build a BTC funding-flip mean-reversion strategy
I want something safer than my last one
Show me a template

trading:deployment trading:decision trading:agent_prompt
Why did you open this position?
What's my biggest risk right now?
What would make you close it?
Have you been rejected recently?

trading:deployments
What's running and how is it doing?
Anything I should worry about?
What's the market doing today?

trading:skills trading:skill trading:version
Which of my skills earns the most?
Anything I should worry about?
Help me build a BTC trend breakout skill

trading:trades trading:ask trading:check trading:imports trading:import_file chat:rules
What do my losing trades have in common?
Which of my skills earns the most?
What did I learn from my last trades?

trading:trade
Why did you open this position?
Why was this position closed?
What did I learn from my last trades?

trading:backtests trading:backtest trading:compare_backtests
How did my last backtest go?
Is that sample large enough to trust?
Which of my skills should I test next?

trading:calendar
What is coming up this week?
Which of these events could hurt my positions?
How do my trades around FOMC do?

memory:facts memory:fact memory:places memory:changes memory:preview memory:review memory:settings
What do you know about me?
Remember that I never risk more than 1% per trade.
What should I tell you about how I trade?

chat:journal chat:kept chat:review
What do you know about me?
What did I learn from my last trades?
What's my biggest risk right now?

*
What do you know about me?
Remember that I trade BTC and ETH only.
My goal is to grow this account without a drawdown over 15%.
"""
_BY_PAGE: Final[Mapping[str, list[str]]] = {
    page: questions.splitlines()
    for names, _, questions in (block.partition("\n") for block in _QUESTIONS.strip().split("\n\n"))
    for page in names.split()
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


def page_context(request: HttpRequest) -> Json:
    """Add suggested prompts and the page's focus to templates."""
    match = request.resolver_match
    name = match.view_name if match else ""
    mode, names = _ABOUT.get(name, ("", {}))
    focus = {"mode": mode, **{key: str(match.kwargs[arg]) for key, arg in names.items()}} if match and mode else {}
    event = request.GET.get("event", "")
    if name == "trading:calendar" and event.isdecimal():
        focus = {"mode": "ops", "event": event}
    # The panel is a piece of another page, which it names.
    page = request.GET.get("page", "") if name == "chat:panel" else name
    return {"suggestions": _BY_PAGE.get(page, _BY_PAGE["*"]), "page_name": page, "page_focus": focus}
