"""The coach's tools for facts: remember and forget (seed 000)."""

from typing import Literal

from pydantic import Field

from chat.tools.base import Args, Result, ToolContext, tool
from chat.tools.saving import COACH, forget_fact, save_fact
from memory.models import ArchivedReason


class RememberArgs(Args):
    fact: str = Field(min_length=4, max_length=500, description="One short line, in the user's words.")
    topic: str = Field("", max_length=32, description="A tag: risk, symbols, session, goal.")
    confidence: Literal["asserted", "inferred"] = Field(
        "inferred", description="asserted: said outright. inferred: your interpretation."
    )


class ForgetArgs(Args):
    fact_id: str = Field(min_length=1, max_length=500, description="Its id, or words of it.")
    reason: Literal["agent_forget", "user_corrected"] = Field(
        "agent_forget", description="user_corrected: it was never true."
    )


@tool(
    "Remember",
    "Save a durable fact that will plausibly matter in future sessions: a preference, limit, goal, recurring "
    "constraint. Not for ephemeral state (today's positions, this week's PnL). Saved silently. Such as fact: I "
    "never go above 3x, topic: risk, asserted.",
    acts={"remember"},
)
def remember(context: ToolContext, args: RememberArgs) -> Result:
    return save_fact(context, COACH, content=args.fact, topic=args.topic, confidence=args.confidence)


@tool(
    "Forget",
    "End a fact when they contradict it, correct it or ask. Give its id, or words in it alone; if several fit, "
    "nothing changes and you get candidates to ask about.",
    acts={"forget"},
    id_name="fact_id",
)
def forget(context: ToolContext, args: ForgetArgs) -> Result:
    return forget_fact(context, COACH, args.fact_id, ArchivedReason(args.reason))
