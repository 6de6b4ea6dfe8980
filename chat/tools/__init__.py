"""The catalogue: the tools of each assistant."""

from typing import Any, Final

from chat.tools import actions, deployments, document, drafts, facts, market, preferences, questions, skills
from chat.tools.base import Tool

MAX_TOOLS: Final = 17  # an assistant's; seed 003 relaxes the cap one tool at a time

_READS: Final[tuple[Tool[Any], ...]] = (  # of the record and the market
    skills.LIST_MY_SKILLS,
    skills.GET_SKILL_PERFORMANCE,
    deployments.GET_MY_DEPLOYMENTS,
    market.GET_MARKET_OVERVIEW,
    market.GET_RECENT_NEWS,
    market.GET_UPCOMING_EVENTS,
)

# In the order in which a model is sent them.
TOOLS: Final[dict[str, tuple[Tool[Any], ...]]] = {
    "coach": (
        drafts.SET_BASICS,
        drafts.SET_STRATEGY,
        drafts.SET_CONTEXT,
        drafts.SET_RISK,
        drafts.SET_SCHEDULE,
        drafts.SET_TOOLS,
        drafts.CRITIQUE_DRAFT,
        *_READS,
        facts.REMEMBER,
        facts.FORGET,
        actions.PREPARE_ACTION,
        questions.QUERY_TRADES,
    ),
    "advisor": (
        preferences.SAVE_PREFERENCE,
        preferences.UPDATE_PREFERENCE,
        preferences.FORGET_PREFERENCE,
        preferences.CONFIRM_PREFERENCE,
        preferences.LINK_PREFERENCES,
        preferences.LIST_PREFERENCES,
        preferences.RECALL_PREFERENCES,
        *_READS,
        questions.QUERY_TRADES,
    ),
    "companion": (document.MANAGE_USER_MEMORY,),
}


def find_tool(name: str) -> Tool[Any] | None:
    """Return a tool of any assistant by name."""
    return next((tool for tools in TOOLS.values() for tool in tools if tool.name == name), None)


def tools_by_name(assistant: str) -> dict[str, Tool[Any]]:
    """Return an assistant's tools by name, in catalogue order."""
    return {tool.name: tool for tool in TOOLS[assistant]}
