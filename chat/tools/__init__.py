"""The catalogue: the tools of each assistant."""

from typing import Any, Final

from chat.tools.actions import PREPARE_ACTION
from chat.tools.base import Tool
from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.document import MANAGE_USER_MEMORY
from chat.tools.drafts import CRITIQUE_DRAFT, SET_BASICS, SET_CONTEXT, SET_RISK, SET_SCHEDULE, SET_STRATEGY, SET_TOOLS
from chat.tools.facts import FORGET, REMEMBER
from chat.tools.market import GET_MARKET_OVERVIEW, GET_RECENT_NEWS, GET_UPCOMING_EVENTS
from chat.tools.preferences import (
    CONFIRM_PREFERENCE,
    FORGET_PREFERENCE,
    LINK_PREFERENCES,
    LIST_PREFERENCES,
    RECALL_PREFERENCES,
    SAVE_PREFERENCE,
    UPDATE_PREFERENCE,
)
from chat.tools.skills import GET_SKILL_PERFORMANCE, LIST_MY_SKILLS

MAX_TOOLS: Final = 17  # an assistant's; seed 003 relaxes the cap one tool at a time

_READS: Final[tuple[Tool[Any], ...]] = (  # of the record and the market
    LIST_MY_SKILLS,
    GET_SKILL_PERFORMANCE,
    GET_MY_DEPLOYMENTS,
    GET_MARKET_OVERVIEW,
    GET_RECENT_NEWS,
    GET_UPCOMING_EVENTS,
)

# In the order in which a model is sent them.
TOOLS: Final[dict[str, tuple[Tool[Any], ...]]] = {
    "coach": (
        SET_BASICS,
        SET_STRATEGY,
        SET_CONTEXT,
        SET_RISK,
        SET_SCHEDULE,
        SET_TOOLS,
        CRITIQUE_DRAFT,
        *_READS,
        REMEMBER,
        FORGET,
        PREPARE_ACTION,
    ),
    "advisor": (
        SAVE_PREFERENCE,
        UPDATE_PREFERENCE,
        FORGET_PREFERENCE,
        CONFIRM_PREFERENCE,
        LINK_PREFERENCES,
        LIST_PREFERENCES,
        RECALL_PREFERENCES,
        *_READS,
    ),
    "companion": (MANAGE_USER_MEMORY,),
}


def find_tool(name: str) -> Tool[Any] | None:
    """Return a tool of any assistant by name."""
    return next((tool for tools in TOOLS.values() for tool in tools if tool.name == name), None)


def tools_by_name(assistant: str) -> dict[str, Tool[Any]]:
    """Return an assistant's tools by name, in catalogue order."""
    return {tool.name: tool for tool in TOOLS[assistant]}
