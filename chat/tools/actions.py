"""The tool that draws a confirm card."""

from datetime import date
from decimal import Decimal
from typing import Annotated, Final, Literal, Self
from uuid import UUID

from pydantic import Field, WithJsonSchema, model_validator

from chat.cards import TITLES, draw_card
from chat.tools.base import Args, Result, ToolContext, tool
from config.lib.text import prompt_line
from trading.models.deployments import ActionType
from trading.record.actions import Action, ActionImpossible

NOTHING_YET: Final = "Nothing has happened yet: only the user's click on Confirm does it."
_OLDEST: Final = date(2009, 1, 1)  # before there was anything to trade
_CENT: Final = Decimal("0.01")
# What each type names, and what it may say beside that.
_NEEDED: Final[dict[str, str]] = {
    **dict.fromkeys(("deploy", "start_backtest"), "skill_id"),
    **dict.fromkeys(("redeploy", "stop", "pause", "resume", "flatten"), "deployment_id"),
}
_ALLOWED: Final[dict[str, frozenset[str]]] = {
    "deploy": frozenset({"starting_equity_usd", "broker"}),
    "start_backtest": frozenset({"starts_on", "ends_on", "starting_equity_usd"}),
}
# `live` is refused with the reason, so no model is offered it.
_Broker = Annotated[Literal["paper", "live"], WithJsonSchema({"type": "string", "enum": ["paper"]})]


class PrepareActionArgs(Args):
    type: Literal["deploy", "redeploy", "stop", "pause", "resume", "flatten", "start_backtest"]
    skill_id: UUID | None = Field(None, description="For deploy, start_backtest.")
    deployment_id: UUID | None = None
    starts_on: date | None = Field(None, ge=_OLDEST, description="Backtest; default: 30 days back.")
    ends_on: date | None = Field(None, ge=_OLDEST, description="Default: last day with bars.")
    starting_equity_usd: float | None = Field(
        None, ge=10, le=1_000_000_000, allow_inf_nan=False, description="Play money, default 10000."
    )
    broker: _Broker = "paper"

    @model_validator(mode="after")
    def _fits_the_type(self) -> Self:
        needed = _NEEDED[self.type]
        if getattr(self, needed) is None:
            raise ValueError(f"{self.type} needs {needed}")
        allowed = _ALLOWED.get(self.type, frozenset()) | {needed, "type"}
        # A default that is spelled out says nothing.
        given = {name for name, value in self if value != PrepareActionArgs.model_fields[name].default}
        if odd := sorted(given - allowed):
            raise ValueError(f"{self.type} takes no {' and no '.join(odd)}")
        return self


@tool(
    "Prepare an action",
    "Prepare an action for the user to confirm: deploy a skill's newest version on paper, redeploy (move to "
    "it), stop, pause, resume, flatten (close its positions) or start_backtest. Draws a card; only "
    "their click on Confirm acts. Never say that it is done.",
    summarise=lambda result: str(result.get("title", "")),
)
def prepare_action(context: ToolContext, args: PrepareActionArgs) -> Result:
    if context.conversation_id is None:
        raise ActionImpossible("A card stands in a chat, and there is none here. Name the chat it belongs to.")
    wanted = args.model_dump(exclude_none=True) | {"type": ActionType(args.type)}
    if args.starting_equity_usd is not None:
        wanted["starting_equity_usd"] = Decimal(str(args.starting_equity_usd)).quantize(_CENT)
    card = draw_card(conversation_id=context.conversation_id, action=Action(**wanted), now=context.now)
    return {
        "card_id": str(card.pk),
        "type": str(card.type),
        "title": TITLES[card.type],
        "lines": [[label, prompt_line(text)] for label, text in card.lines],
        "expires_at": card.expires_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "note": NOTHING_YET,
    }
