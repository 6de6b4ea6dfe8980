"""The preamble of a user message: time, focus and facts.

Keel writes it before the user's words. It is stored with the reply that it was sent for, so that later prompts and
receipts repeat it byte for byte, while a retry of the message has the time of the retry. `chat.parts` describes the
stored form.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from chat.parts import Json, Preamble
from chat.prompt.focus import build_focus
from chat.prompt.texts import RECALLED, about_fact, clock_text
from memory.models import UserFact


def build_preamble(opening: Mapping[str, Any], *, about: UserFact | None, now: datetime) -> list[Json]:
    """Return the preamble of a turn, without recalled facts; `about` is the fact that the user opened it to change."""
    parts: list[Json] = [{"name": "clock", "text": clock_text(now)}]
    if focus := build_focus(opening):
        parts.append(focus)
    if about is not None:
        told, _, fact = about_fact(fact_id=about.pk, content=about.content, body=about.body).partition("\n")
        parts.append({"name": "fact", "text": told, "facts": [{"id": str(about.pk), "text": fact}]})
    return parts


def build_recall(recalled: Iterable[tuple[UUID, str]]) -> list[Json]:
    """Return the part of a preamble with the facts that a message concerns; empty without one."""
    facts = [{"id": str(fact_id), "text": line} for fact_id, line in recalled]
    return [{"name": "recall", "text": RECALLED, "facts": facts}] if facts else []


def find_focus(preamble: Preamble) -> str:
    """Return the focus in a preamble; empty without one."""
    return next((str(part["text"]) for part in preamble if part["name"] == "focus"), "")


def list_fact_ids(preamble: Preamble) -> list[UUID]:
    """Return the ids of the facts in a preamble."""
    return [UUID(fact["id"]) for part in preamble for fact in part.get("facts", ())]


def drop_known_focus(preamble: Preamble, known: str) -> list[Json]:
    """Return a preamble without a focus that the prompt has."""
    return [part for part in preamble if part["name"] != "focus" or part["text"] != known]
