"""The focus of a chat: a deployment or a draft (seed 003)."""

import json
from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from config.lib.errors import DomainError
from config.lib.text import prompt_line
from trading.models import SkillDraft
from trading.record.deployment_queries import get_deployment
from trading.record.trade_queries import list_open
from trading.skills.queries import find_open_draft, get_skill

HEADING: Final = "## In focus"
DELETED: Final = f"{HEADING}\n- nothing: it was deleted"
_WRITTEN: Final = ("strategy", "context", "risk", "schedule")  # blocks of a draft that are included verbatim
MAX_DRAFT: Final = 6_000  # characters of a draft


def focus_of(opening: Mapping[str, Any]) -> str:
    """Return the focus of a turn; empty without one."""
    try:
        match opening:
            case {"mode": "coach", "deployment_id": str(deployment_id)}:
                return _describe_deployment(UUID(deployment_id))
            case {"mode": "authoring"}:
                skill_id = opening.get("skill_id")
                return _describe_draft(UUID(skill_id) if skill_id else None)
    except DomainError:
        return DELETED
    return ""


def is_focus_untrusted(opening: Mapping[str, Any]) -> bool:
    """Tell whether a model wrote words of the focus with text of others in view."""
    try:
        match opening:
            case {"mode": "coach", "deployment_id": str(deployment_id)}:
                return get_deployment(UUID(deployment_id)).skill.is_untrusted
            case {"mode": "authoring"}:
                skill_id = opening.get("skill_id")
                draft = find_open_draft(UUID(skill_id) if skill_id else None)
                return bool(draft and draft.is_untrusted) or bool(skill_id and get_skill(UUID(skill_id)).is_untrusted)
    except DomainError:
        return False
    return False


def subject_of(opening: Mapping[str, Any]) -> str:
    """Return a chat's subject for its user."""
    try:
        match opening:
            case {"mode": "coach", "deployment_id": str(deployment_id)}:
                return f"About {get_deployment(UUID(deployment_id)).skill.name}"
            case {"mode": "authoring", "skill_id": str(skill_id)}:
                return f"Editing {get_skill(UUID(skill_id)).name}"
            case {"mode": "authoring"}:
                return "A new skill"
    except DomainError:
        return ""
    return ""


def check_opening(opening: Mapping[str, Any]) -> None:
    """Check that the focus belongs to the owner. Raises DeploymentNotFound, SkillNotFound."""
    match opening:
        case {"deployment_id": str(deployment_id)}:
            get_deployment(UUID(deployment_id))
        case {"skill_id": str(skill_id)}:
            get_skill(UUID(skill_id))


def _describe_deployment(deployment_id: UUID) -> str:
    deployment = get_deployment(deployment_id)
    held = ", ".join(f"{trade.symbol} {trade.side}" for trade in list_open(deployment.pk)) or "none"
    return _format_lines(
        ("deployment_id", str(deployment.pk)),
        ("skill", deployment.skill.name),
        ("skill_id", str(deployment.skill_id)),
        ("version", f"{deployment.version.version}, newest {deployment.skill.latest_version}"),
        ("status", deployment.status),
        ("runs on", deployment.broker_kind),
        ("open positions", held),
    )


def _describe_draft(skill_id: UUID | None) -> str:
    skill = get_skill(skill_id) if skill_id else None
    draft = find_open_draft(skill_id)
    known = [("skill", skill.name), ("skill_id", str(skill.pk))] if skill else [("skill", "a new one")]
    if draft is None:
        return _format_lines(*known, ("draft", "not begun; the first `set_*` call begins it"))
    return _format_lines(*known, ("draft", str(draft)), ("draft, as it stands (data)", _format_blocks(draft)))


def _format_blocks(draft: SkillDraft) -> str:
    blocks = {name: draft.payload[name] for name in _WRITTEN if draft.payload.get(name)}
    return json.dumps(blocks, ensure_ascii=False, sort_keys=True)[:MAX_DRAFT]


def _format_lines(*told: tuple[str, str]) -> str:
    return "\n".join([HEADING, *(f"- {label}: {prompt_line(text)}" for label, text in told)])
