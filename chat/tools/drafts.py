"""Tools that write a draft in a chat (seed 003).

What a tool is given is checked by the draft's own schema, so that every refusal reads alike: field by field, with
nothing changed, not even a template that was asked for in the same call.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final
from uuid import UUID

from django.db import transaction
from django.urls import reverse
from pydantic import BaseModel, ConfigDict

from chat.parts import Json
from chat.tools.base import Args, Result, Tool, ToolContext, tool
from chat.tools.records import count_rows, join_counts
from config.lib.owned import owned
from config.lib.text import prompt_line
from trading.models import SkillDraft
from trading.reviews import critique
from trading.skills.patches import BASICS_PART, list_changes, parse_part, part_schema
from trading.skills.queries import DraftNotFound, experience_tier, find_draft_of_chat, find_open_draft, get_version
from trading.skills.schemas import FieldError, PayloadInvalid
from trading.skills.services import apply_template_to_draft, list_save_problems, patch_draft, start_draft
from trading.skills.templates import TEMPLATES

MAX_ERRORS: Final = 20  # errors reported for one patch


class PatchArgs(BaseModel):
    """Arguments of a `set_*` tool: fields of one part."""

    model_config = ConfigDict(extra="allow")

    part: ClassVar[str]

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> Json:
        """Return the schema of the part; of the strategy with the template."""
        schema = part_schema(cls.part)
        if cls.part != "strategy":
            return schema
        template = {"type": "string", "enum": list(TEMPLATES)}
        return {**schema, "properties": {**schema["properties"], "template": template}}


@tool(
    "Review of the draft",
    "Review the draft as a senior portfolio manager would: a summary and findings by severity. Call it"
    " when asked, or before they save.",
    untrusted=("summary", "findings"),
    asks_model=True,
    summarise=lambda result: count_rows(result, "findings", "finding", or_none=True),
)
def critique_draft(context: ToolContext, args: Args) -> Result:
    with owned(context.user_id):
        payload, tier = _payload_to_review(context), experience_tier()
    found = critique.critique_draft(payload, tier)
    rows = [
        {"severity": str(finding.severity), "title": finding.title, "detail": finding.detail}
        | ({"suggestion": finding.suggestion} if finding.suggestion else {})
        for finding in found.findings
    ]
    return {"summary": found.summary, "findings": rows}


def _skill_id(context: ToolContext) -> UUID | None:
    if context.opening.get("mode") == "authoring":
        named = context.opening.get("skill_id")
        return UUID(str(named)) if named else None
    draft = find_draft_of_chat(context.conversation_id) if context.conversation_id else None
    return draft.base_skill_id if draft else None


def _payload_to_review(context: ToolContext) -> Mapping[str, Any]:
    skill_id = _skill_id(context)
    draft = find_open_draft(skill_id)
    if draft is not None:
        payload: Mapping[str, Any] = draft.payload
        return payload
    if skill_id is None:
        raise DraftNotFound("There is no draft yet. It begins with the first field that is set.")
    newest: Mapping[str, Any] = get_version(skill_id).payload
    return newest


def _patch_draft(context: ToolContext, args: PatchArgs) -> Json:
    given = dict(args.model_extra or {})
    template = given.pop("template", None) if args.part == "strategy" else None
    try:
        # A patch that is refused takes back a draft that was begun for it, and a template.
        with transaction.atomic():
            if not given and template is None:
                raise PayloadInvalid([FieldError("", "give at least one field to set")])
            patch = parse_part(args.part, given)
            # Nothing of a temporary chat is kept, so no draft names it.
            noted = None if context.is_temporary else context.conversation_id
            draft = start_draft(skill_id=_skill_id(context), conversation_id=noted, now=context.now)
            before = draft.payload
            if template is not None:
                if template not in tuple(TEMPLATES):  # a model may send what has no hash
                    raise PayloadInvalid([FieldError("template", f"is one of {', '.join(TEMPLATES)}")])
                draft = apply_template_to_draft(draft_id=draft.pk, template=template, now=context.now)
            if given:
                draft = patch_draft(
                    draft_id=draft.pk, patch=patch, is_untrusted=context.window.is_untrusted, now=context.now
                )
    except PayloadInvalid as refusal:
        return {"error": _list_problems(refusal.errors)}
    context.window.note("A draft", is_untrusted=draft.is_untrusted)  # the result names it
    return _describe_patch(draft, before)


def _describe_patch(draft: SkillDraft, before: Mapping[str, Any]) -> Json:
    base = draft.base_skill_id
    return {
        "draft_id": str(draft.pk),
        "name": prompt_line(str(draft.payload.get("name") or "")),
        "changed": [path for path, _, _ in list_changes(before, draft.payload)],
        "still_missing": _list_problems(list_save_problems(draft.payload)),
        "warnings": critique.list_warnings(draft.payload),
        "url": reverse("trading:edit_skill", args=[base]) if base else reverse("trading:new_skill"),
    }


def _list_problems(errors: Iterable[FieldError]) -> list[dict[str, str]]:
    rows = [{"field": prompt_line(error.field)[:120], "problem": prompt_line(error.problem)[:300]} for error in errors]
    return rows[:MAX_ERRORS]


def _summarise_patch(result: Result) -> str:
    missing = len(result.get("still_missing", ()))
    changes = count_rows(result, "changed", "change", or_none=True)
    return join_counts(changes, f"{missing} still missing" if missing else "")


def _patch_tool(part: str, label: str, description: str) -> Tool[PatchArgs]:
    args: type[PatchArgs] = type("SetArgs", (PatchArgs,), {"part": part})
    return Tool(f"set_{part}", label, description, args, _patch_draft, _summarise_patch)


SET_BASICS = _patch_tool(
    BASICS_PART,
    "Draft, basics",
    "Set the draft's basics; tradingStyle is fixed once saved. All set_* tools: set only"
    " what you name, in one call; a refusal changes nothing and names what to mend.",
)
SET_STRATEGY = _patch_tool(
    "strategy",
    "Draft, strategy",
    "Set what the draft trades on, in the person's words: mode (thesis: one idea; rules: spelled out), leash (reading"
    " between the lines: tight never, standard sensibly, loose freely), avoid (hard rules, a line each; replaces the"
    " list). template fills the whole draft first.",
)
SET_CONTEXT = _patch_tool(
    "context",
    "Draft, context",
    "Set what its agent sees. higherTimeframes are longer than barsInterval; recentTradesK 0: no"
    " record; no kinds: all; null model: the site's. Lists are replaced, memory and events merged.",
)
SET_RISK = _patch_tool(
    "risk",
    "Draft, risk",
    "Set the limits that the engine enforces. Percents (0 to 100) are of equity; maxPositionPct is at most"
    " maxTotalExposurePct; dailyLossHaltPct, since 00:00 UTC, stops new positions.",
)
SET_SCHEDULE = _patch_tool(
    "schedule",
    "Draft, schedule",
    'Set when its agent ticks, in UTC: type interval with value "15m", "4h" or "1d", or daily with a time such as'
    ' "13:30". Give both.',
)
SET_TOOLS = _patch_tool(
    "tools",
    "Draft, tools",
    "Set what its agent may call. builtIn replaces the list and needs propose_order to trade; mcpServers are kept, not"
    " called yet.",
)
