"""Tools that the coach looks things up with, and what several rules do with their results."""

from typing import Final

from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.market import GET_MARKET_OVERVIEW, GET_RECENT_NEWS, GET_UPCOMING_EVENTS
from chat.tools.skills import GET_SKILL_PERFORMANCE, LIST_MY_SKILLS
from config.lib.text import normal_form
from config.offline.facts import Known, Outcome, best_matches
from config.offline.figures import Row, exact, paragraphs
from config.offline.memory.report import failure
from config.offline.talk import Talk

DEPLOYMENTS: Final = GET_MY_DEPLOYMENTS.name
EVENTS: Final = GET_UPCOMING_EVENTS.name
SKILLS: Final = LIST_MY_SKILLS.name
PERFORMANCE: Final = GET_SKILL_PERFORMANCE.name
MARKETS: Final = GET_MARKET_OVERVIEW.name
NEWS: Final = GET_RECENT_NEWS.name


def pick_rows(name: str, found: list[Row], key: str) -> list[Row]:
    """Return the rows of a name, exact or by shared words."""
    if same := [row for row in found if normal_form(exact(row, key)) == normal_form(name)]:
        return same
    names = [Known(text) for text in sorted({exact(row, key) for row in found})]
    best = {match.text for match in best_matches(name, names, least=0.5)}
    return [row for row in found if exact(row, key) in best]


def tell_refused(talk: Talk, outcomes: list[Outcome]) -> str:
    """Say which lookups failed, "" when none did."""
    return paragraphs(*(failure(outcome, talk.names) for outcome in outcomes if outcome.error))
