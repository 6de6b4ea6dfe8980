"""Names and helpers shared by the rules that look things up."""

from collections.abc import Sequence
from typing import Final

from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.market import GET_MARKET_OVERVIEW, GET_RECENT_NEWS, GET_UPCOMING_EVENTS
from chat.tools.skills import GET_SKILL_PERFORMANCE, LIST_MY_SKILLS
from config.lib.text import normal_form
from config.offline.facts import Known, Outcome, best_matches
from config.offline.figures import Row, exact, paragraphs
from config.offline.memory.report import failure
from config.offline.talk import Talk
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

DEPLOYMENTS: Final = GET_MY_DEPLOYMENTS.name
SKILLS: Final = LIST_MY_SKILLS.name
PERFORMANCE: Final = GET_SKILL_PERFORMANCE.name
MARKETS: Final = GET_MARKET_OVERVIEW.name
NEWS: Final = GET_RECENT_NEWS.name
EVENTS: Final = GET_UPCOMING_EVENTS.name

AHEAD_HOURS: Final = MAX_EVENT_LOOKAHEAD_HOURS
SOON_HOURS: Final = 24


def refusal(talk: Talk, outcomes: Sequence[Outcome]) -> str:
    """Say which lookups failed, "" when none did."""
    return paragraphs(*(failure(outcome, talk.names) for outcome in outcomes if outcome.error))


def own(talk: Talk) -> dict[str, str]:
    """Return the lookup argument of the deployment in focus."""
    return {"deployment_id": talk.scene.deployment_id} if talk.scene.deployment_id else {}


def pick_rows(name: str, found: Sequence[Row], key: str) -> list[Row]:
    """Return the rows of a name, exact or by shared words."""
    wanted = normal_form(name)
    same = [row for row in found if normal_form(exact(row, key)) == wanted]
    if same:
        return same
    names = {exact(row, key) for row in found}
    best = {match.text for match in best_matches(name, [Known(text) for text in sorted(names)], least=0.5)}
    return [row for row in found if exact(row, key) in best]
