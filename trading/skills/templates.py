"""The skills that ship with Keel (settled 23)."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from config.lib.errors import DomainError
from trading.skills.patches import Json, merge_patch

TEMPLATES: Final[dict[str, Json]] = json.loads(Path(__file__).with_name("templates.json").read_text(encoding="utf-8"))


class TemplateUnknown(DomainError):
    """There is no template of that name."""


def apply_template(payload: Mapping[str, object], name: str) -> Json:
    """Return a payload filled from a template; keep its name. Raises TemplateUnknown."""
    if name not in TEMPLATES:
        raise TemplateUnknown(f"There is no template {name}. Take one of {', '.join(TEMPLATES)}.")
    patch = TEMPLATES[name]
    kept = {key: payload[key] for key in ("name", "description") if payload.get(key)}
    return merge_patch(payload, {**patch, **kept})
