"""The focus, tier and clock of a prompt."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from chat.prompt.focus import HEADING
from chat.prompt.texts import DEFAULT_TIER, TIER_ADDENDA
from config.offline.figures import parse_instant

NOVICE: Final = "novice"
EXPERT: Final = "expert"

_CLOCK = re.compile(r"^Current datetime: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z$", re.MULTILINE)
_LINE = re.compile(r"^- (?P<label>[a-z_ ,()]{2,40}): (?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a chat takes place."""

    tier: str = DEFAULT_TIER
    now: datetime | None = None  # UTC
    focus: Mapping[str, str] = field(default_factory=dict)  # the lines below the heading, by their labels

    @property
    def is_authoring(self) -> bool:
        """Whether the chat was opened to write a strategy."""
        return "draft" in self.focus

    @property
    def draft(self) -> dict[str, Any]:
        """Return the visible blocks of the draft in focus."""
        try:
            blocks = json.loads(self.focus.get("draft, as it stands (data)", "{}"))
        except (ValueError, RecursionError):
            return {}
        return blocks if isinstance(blocks, dict) else {}


def read_scene(prompts: Iterable[str], preambles: Iterable[str] = ()) -> Scene:
    """Read the texts of system messages and the preambles of user messages, oldest first."""
    prompt, told = "\n" + "\n".join(prompts), "\n".join(preambles)
    tiers = (tier for tier, text in TIER_ADDENDA.items() if f"\n{text.partition('.')[0]}." in prompt)
    _, _, rest = f"\n{told}\n".rpartition(f"\n{HEADING}\n")
    focus: dict[str, str] = {}
    for line in rest.split("\n"):
        match = _LINE.match(line)
        if match is None:
            break
        focus.setdefault(match["label"], match["text"].strip())
    clocks = _CLOCK.findall(told)
    return Scene(next(tiers, DEFAULT_TIER), parse_instant(clocks[-1]) if clocks else None, focus)
