"""Messages as values for the templates, and as HTML for the frames of a socket."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from chat.cards import CardView, list_cards, view_card
from chat.models import ActionCard, Message, MessageStatus, Role
from chat.parts import Part
from chat.tools.calls import _MEMORY_TOOLS, MAX_DETAIL, ToolPart, is_quiet
from chat.web.markdown import render
from memory.facts.queries import find_undone_events
from memory.models import EventKind

_TOOL_LABELS: Final[Mapping[str, str]] = {
    **_MEMORY_TOOLS,
    "list_preferences": "Look through what Keel knows",
    "recall_preferences": "Search what Keel knows",
    "set_basics": "Draft, basics",
    "set_strategy": "Draft, strategy",
    "set_context": "Draft, context",
    "set_risk": "Draft, risk",
    "set_schedule": "Draft, schedule",
    "set_tools": "Draft, tools",
    "critique_draft": "Review of the draft",
    "list_my_skills": "Your skills",
    "get_skill_performance": "How a skill does",
    "get_my_deployments": "Your deployments",
    "get_market_overview": "Markets",
    "get_recent_news": "News",
    "get_upcoming_events": "Upcoming events",
    "prepare_action": "Prepare an action",
}


_MODES: Final = {"backtest": "in backtests", "paper": "on paper", "live": "live"}


_BROKEN_OFF: Final = frozenset({MessageStatus.INTERRUPTED, MessageStatus.FAILED})


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text of a reply."""

    html: SafeString
    kind: str = "text"


@dataclass(frozen=True, slots=True)
class MemoryPart:
    """A memory line with its Undo."""

    event_id: UUID
    kind_label: str
    text: str
    fact_id: str | None
    undone: bool
    kind: str = "memory"


@dataclass(frozen=True, slots=True)
class CardPart:
    """A confirm-card."""

    card: CardView | None  # None: it is gone
    kind: str = "card"


ShownPart = TextPart | ToolPart | MemoryPart | CardPart


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message as `templates/chat/_message.html` takes it."""

    pk: int
    role: str
    status: str
    created_at: datetime
    text: str
    error: str = ""
    can_retry: bool = False
    can_continue: bool = False  # it broke off, and is the newest
    can_edit: bool = False
    can_keep: bool = False
    is_kept: bool = False  # in the journal
    has_receipt: bool = False  # a turn wrote it, so that one can see what it knew
    ends_summary: bool = False  # the model gets a summary in place of this message and those before it
    model_label: str = ""
    parts: list[ShownPart] = field(default_factory=list)


def view_messages(
    messages: Sequence[Message], *, kept: Collection[int] = (), summarised_through: int = 0
) -> list[MessageView]:
    """Return messages as values; a query each for the memory lines undone and for the cards.

    Args:
        messages: in their order; the last one is the conversation's newest.
        kept: ids of those that the journal keeps.
        summarised_through: id of the last message that a summary stands for.
    """
    event_ids = [UUID(part["event_id"]) for message in messages for part in message.parts if part["kind"] == "memory"]
    undone = find_undone_events(event_ids) if event_ids else set()
    cards = list_cards(
        [UUID(part["card_id"]) for message in messages for part in message.parts if part["kind"] == "card"]
    )
    last = messages[-1].pk if messages else None
    end_of_summary = _end_of_summary(messages, summarised_through)
    return [
        _view(
            message,
            undone=undone,
            cards=cards,
            is_last=message.pk == last,
            is_kept=message.pk in kept,
            ends_summary=message is end_of_summary,
        )
        for message in messages
    ]


def _end_of_summary(messages: Sequence[Message], through: int) -> Message | None:
    """Return the last message that a summary stands for, if others follow it."""
    older = [message for message in messages if message.pk <= through] if through else []
    return older[-1] if 0 < len(older) < len(messages) else None


def _view(
    message: Message,
    *,
    undone: set[UUID],
    cards: Mapping[UUID, ActionCard],
    is_last: bool,
    is_kept: bool,
    ends_summary: bool,
) -> MessageView:
    has_ended = message.status != MessageStatus.STREAMING
    is_reply = message.role == Role.ASSISTANT and has_ended
    says_something = bool(message.content.strip())
    has_turn = message.reply_to_id is not None
    return MessageView(
        pk=message.pk,
        role=message.role,
        status=message.status,
        created_at=message.created_at,
        text=message.content,
        error=message.error,
        can_retry=has_turn and is_last and has_ended,
        can_continue=has_turn and is_last and says_something and message.status in _BROKEN_OFF,
        can_edit=message.role == Role.USER,
        can_keep=is_reply and says_something,
        is_kept=is_kept,
        has_receipt=is_reply and has_turn,
        ends_summary=ends_summary,
        model_label=message.model,
        parts=[view_part(part, undone=undone, cards=cards) for part in message.parts if not is_quiet(part)],
    )


def view_part(part: Part, *, undone: Iterable[UUID] = (), cards: Mapping[UUID, ActionCard] | None = None) -> ShownPart:
    """Return one part of a reply as the value its template takes."""
    if part["kind"] == "text":
        return TextPart(render(part["text"]))
    if part["kind"] == "tool":
        return _tool(part)
    if part["kind"] == "card":
        card = (cards or {}).get(UUID(part["card_id"]))
        return CardPart(None if card is None else view_card(card))
    event_id = UUID(part["event_id"])
    return MemoryPart(
        event_id=event_id,
        kind_label=EventKind(part["event_kind"]).label,
        text=part["text"],
        fact_id=part["fact_id"],
        undone=event_id in set(undone),
    )


def _tool(part: Part) -> ToolPart:
    return ToolPart(
        call_id=part["call_id"],
        name=part["name"],
        label=_TOOL_LABELS.get(part["name"]) or str(part["name"]),
        status=part["status"],
        summary=_summary(part),
        detail=part["arguments"][:MAX_DETAIL],
    )


def _summary(part: Part) -> str:
    result: dict[str, Any] = part["result"] or {}
    error = result.get("error")
    if isinstance(error, str):
        return error
    if error:
        return "The model gave arguments that do not fit."
    if result and (summarise := _SUMMARIES.get(part["name"])):
        return summarise(result)
    if "total" in result:
        return f"{result['total']} found"
    return str(result.get("saved") or result.get("forgotten") or result.get("message") or result.get("note") or "")


def _count(result: Mapping[str, Any], name: str, one: str, *, also_none: bool = False) -> str:
    """Return how many rows of a kind there were, with those that were left out; empty if there are none."""
    count = len(result.get(name, ())) + result.get("left_out", {}).get(name, 0)
    return _plural(count, one) if count or also_none else ""


def _plural(count: int, one: str) -> str:
    """Return `no skills`, `1 skill` or `3 skills`."""
    return f"{count or 'no'} {one}{'' if count == 1 else 's'}"


def _joined(*counts: str) -> str:
    return ", ".join(count for count in counts if count)


def _list_of_skills(result: Mapping[str, Any]) -> str:
    return _joined(_count(result, "skills", "skill", also_none=True), _count(result, "open_drafts", "draft"))


def _performance(result: Mapping[str, Any]) -> str:
    modes = result.get("summary", {}).items()
    found = _joined(
        *(f"{_plural(numbers['sample_size'], 'trade')} {_MODES[mode]}" for mode, numbers in modes if numbers),
        _count(result, "trades", "closed trade"),
        _count(result, "lessons", "note"),
    )
    return _joined(str(result.get("name", "")), found or "nothing yet")


def _deployments(result: Mapping[str, Any]) -> str:
    positions = sum(one["open_positions"] for one in result.get("deployments", ()))
    return _joined(
        _count(result, "deployments", "deployment", also_none=True),
        _plural(positions, "position") if positions else "",
        _count(result, "trades", "closed trade"),
        _count(result, "lessons", "note"),
    )


def _markets(result: Mapping[str, Any]) -> str:
    return ", ".join(seen["symbol"] for seen in result.get("markets", ())) or "no symbols"


def _news(result: Mapping[str, Any]) -> str:
    return f"{_count(result, 'news', 'headline', also_none=True)} in {result.get('lookback_hours')} hours"


def _events(result: Mapping[str, Any]) -> str:
    return f"{_count(result, 'events', 'event', also_none=True)} in {result.get('lookahead_hours')} hours"


def _patch(result: Mapping[str, Any]) -> str:
    missing = len(result.get("still_missing", ()))
    return _joined(_count(result, "changed", "change", also_none=True), f"{missing} still missing" if missing else "")


def _review(result: Mapping[str, Any]) -> str:
    return _count(result, "findings", "finding", also_none=True)


_SUMMARIES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    **dict.fromkeys(("set_basics", "set_strategy", "set_context", "set_risk", "set_schedule", "set_tools"), _patch),
    "critique_draft": _review,
    "list_my_skills": _list_of_skills,
    "get_skill_performance": _performance,
    "get_my_deployments": _deployments,
    "get_market_overview": _markets,
    "get_recent_news": _news,
    "get_upcoming_events": _events,
    "prepare_action": lambda result: str(result.get("title", "")),
}


def message_html(view: MessageView) -> str:
    """Return the article of one message."""
    return render_to_string("chat/_message.html", {"message": view})


def tool_html(part: Part) -> str:
    """Return the card of a tool call."""
    return render_to_string("chat/_tool.html", {"part": view_part(part)})


def memory_html(part: Part) -> str:
    """Return a memory line."""
    return render_to_string("chat/_memory_line.html", {"part": view_part(part)})


def card_html(part: Part) -> str:
    """Return a confirm-card as its row has it by now; nothing if it is gone."""
    cards = list_cards([UUID(part["card_id"])])
    return "".join(render_to_string("chat/_card.html", {"card": view_card(card)}) for card in cards.values())


def part_html(part: Part) -> str:
    """Return any part of a reply as it stands in its article."""
    if part["kind"] == "text":
        return render(part["text"])
    if part["kind"] == "memory":
        return memory_html(part)
    if part["kind"] == "card":
        return card_html(part)
    return "" if is_quiet(part) else tool_html(part)
