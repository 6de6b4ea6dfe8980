"""Ground the figures of a whole reply in its turn."""

from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Any, Final

from chat.grounding.checks import check_figures
from chat.grounding.figures import find_figures
from chat.grounding.sources import Sources
from chat.parts import Json, Part

_WORDS: Final = {
    "trade": "a trade",
    "fact": "what Keel knows about you",
    "backtest": "a backtest",
    "skill": "a skill",
    "deployment": "a deployment",
    "note": "a lesson",
    "draft": "a draft",
    "tool": "a look-up",
    "chat": "your words",
    "context": "the time and what was in focus",
    "clock": "the clock",
    "computed": "figures of one look-up",
    "list": "the list below it",
}


def ground_parts(
    parts: Iterable[Part], *, messages: Iterable[Mapping[str, Any]], memory: str, zone: tzinfo, now: datetime
) -> None:
    """Add to each text of a reply its figures with their sources, as `figures`.

    `messages`: what the model was sent before, oldest first. `memory`: the prompt's memory block. `zone`: a reply
    may state times in it. `now`: when the turn began.
    """
    parts = list(parts)
    texts = [part for part in parts if part["kind"] == "text" and any(find_figures(part["text"]))]
    if not texts:
        return
    sources = Sources(zone, now)
    for part in reversed(parts):
        if part["kind"] == "tool":
            sources.add_result(part["call_id"], part["result"])
    for message in reversed(list(messages)):
        sources.add_message(message)
    sources.add_text(memory, {"kind": "fact"})
    for part in texts:
        part["figures"] = check_figures(part["text"], sources)


def list_figures(parts: Iterable[Part]) -> list[Json]:
    """Return the figures of a reply that were checked, in order."""
    return [figure for part in parts for figure in part.get("figures", ())]


def name_source(source: Json | None) -> str:
    """Return in words where a figure comes from."""
    return "not from your record" if source is None else _WORDS[source["kind"]]
