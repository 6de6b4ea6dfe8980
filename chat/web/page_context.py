from collections.abc import Mapping
from functools import cache
from typing import Final

from django.http import HttpRequest
from django.urls import reverse

from chat.parts import Json
from chat.web.forms import SUBJECTS

# The ways of the palette, in its order: place in the rail (main, more, foot; a dash: none), name of the URL, label. A
# page belongs to the way of the rail above its address, or to that of `_ELSEWHERE`.
_WAYS: Final = """
main home Home
main chat:index Chat
main trading:skills Skills: your strategies
main trading:deployments Deployments: agents at work
more trading:trades Trades
- chat:rules Rules
- trading:backtests Backtests
more trading:calendar Calendar
more chat:journal Journal
foot memory:facts Facts: what Keel knows
- memory:review Facts to review
- memory:preview What a new chat starts with
- memory:settings Memory settings
foot trading:profile Profile
- chat:usage Usage
"""
_ELSEWHERE: Final = {"/": "", "/backtests/": "trading:skills", "/accounts/": "trading:profile"}
# Suggested questions, by the names of the URLs of the pages that show them; those of seed 003 in its words, apart by a
# slash. A page that has no name here shows those of its way, else those of the star.
_QUESTIONS: Final = """
trading:new_skill trading:edit_skill
Help me build a BTC funding-flip mean-reversion strategy / I want something safer than my last one / Show me a template

trading:deployment trading:decision trading:agent_prompt
Why did you open this position? / What's my biggest risk right now? / What would make you close it? /
Have you been rejected recently?

trading:deployments
What's running and how is it doing? / Anything I should worry about? / What's the market doing today?

trading:skills
Which of my skills earns the most? / Anything I should worry about? / Help me build a BTC trend breakout skill

trading:trades
What do my losing trades have in common? / Which of my skills earns the most? / What did I learn from my last trades?

trading:trade
Why did you open this position? / Why was this position closed? / What did I learn from my last trades?

trading:backtests trading:backtest trading:compare_backtests
How did my last backtest go? / Is that sample large enough to trust? / Which of my skills should I test next?

trading:calendar
What is coming up this week? / Which of these events could hurt my positions? / How do my trades around FOMC do?

memory:facts
What do you know about me? / Remember that I never risk more than 1% per trade. /
What should I tell you about how I trade?

chat:journal
What do you know about me? / What did I learn from my last trades? / What's my biggest risk right now?

* memory:event chat:quotes chat:erase_fact
What do you know about me? / Remember that I trade BTC and ETH only. /
My goal is to grow this account without a drawdown over 15%.
"""
_BY_PAGE: Final[Mapping[str, list[str]]] = {
    page: questions.replace("\n", " ").split(" / ")
    for names, _, questions in (block.partition("\n") for block in _QUESTIONS.strip().split("\n\n"))
    for page in names.split()
}
# The mode of the chat beside a page about one of `chat.web.forms.SUBJECTS`, whose ids its address has.
_MODES: Final = {
    "coach": {"trading:deployment", "trading:decision", "trading:agent_prompt"},
    "authoring": {"trading:new_skill", "trading:edit_skill"},
    "ops": {"trading:trade", "trading:backtest", "trading:version", "memory:fact"},
}


@cache
def _list_ways() -> list[Json]:
    ways = []
    for place, name, title in (row.split(" ", 2) for row in _WAYS.strip().splitlines()):
        label, colon, more = title.partition(":")
        shown = {"to": reverse(name), "icon": f"_icons/{label.lower()}.html", "label": label, "more": colon + more}
        ways.append({"place": place, "name": name, **shown})
    return ways


def page_context(request: HttpRequest) -> Json:
    """Add the ways, suggested prompts and the page's focus to templates."""
    match, ways = request.resolver_match, _list_ways()
    name = match.view_name if match else ""
    mode = next((mode for mode, pages in _MODES.items() if name in pages), "")
    event = request.GET.get("event", "")
    focus = {}
    if match and mode:
        ids = {arg.replace("run", "backtest").removesuffix("_id"): str(value) for arg, value in match.kwargs.items()}
        focus = {"mode": mode, **{name: ids[name] for name in SUBJECTS if name in ids}}
    elif name == "trading:calendar" and event.isdecimal():
        focus = {"mode": "ops", "event": event}
    # The panel is a piece of another page, which it names.
    page = request.GET.get("page", "") if name == "chat:panel" else name
    rail = {place: [way for way in ways if way["place"] == place] for place in ("main", "more", "foot")}
    starts = {way["to"]: way["name"] for part in rail.values() for way in part} | _ELSEWHERE
    above = next(starts[to] for to in sorted(starts, key=len, reverse=True) if request.path.startswith(to))
    if match and page not in _BY_PAGE and above in _BY_PAGE:
        page = above
    return {
        "suggestions": _BY_PAGE.get(page, _BY_PAGE["*"]),
        "page_name": page,
        "page_focus": focus,
        "ways": ways,
        "rail": rail,
        "way_name": above,
    }
