"""A draft's pages: a live preview and the form.

Both stand at one address. `view=form`, in the address or in what is posted, asks for the form.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_form, owned_page
from trading.models import RegimeTag, Skill, SkillDraft
from trading.reviews.critique import warn_of_cost
from trading.skills import services
from trading.skills.form import REGIMES, SkillForm, describe_payload, describe_problems
from trading.skills.lint import Severity, lint_draft
from trading.skills.patches import default_payload, merge_patch
from trading.skills.queries import find_open_draft, get_skill, get_version
from trading.skills.reading import read_draft
from trading.skills.schemas import FieldError, PayloadInvalid, list_problems
from trading.skills.templates import TEMPLATES
from trading.web.forms import DraftActForm
from trading.web.views.account import asks_for_tier
from trading.web.views.skills import REFUSED, describe_cost

CONFLICT: Final = HTTPStatus.CONFLICT
SAVES: Final = ("save", "save_over")
CHANGED_ELSEWHERE: Final = (
    "This draft was changed after you opened the page, in another tab or by Keel. Nothing you typed is lost: it stands"
    " below. Save again to write it over the other changes, or reload the page to see them."
)
CHANGED_MEANWHILE: Final = (
    "The draft changed before you saved it, so that nothing was saved. Below is what it says now; save that if it is"
    " right."
)
NOT_WHOLE: Final = "Nothing was saved, and the draft is kept. What is still missing stands below."
ARCHIVED: Final = "This skill is archived. It can be read, not changed."
# What a person could begin with (seed 003).
STARTERS: Final = (
    "Help me build a BTC funding-flip mean-reversion strategy",
    "I want something safer than my last one",
    "Show me a template",
)


@dataclass(frozen=True, slots=True)
class _Edited:
    """A skill, or None for a new one, with its open draft."""

    skill: Skill | None
    draft: SkillDraft | None

    @property
    def skill_id(self) -> UUID | None:
        return self.skill.pk if self.skill else None

    @property
    def payload(self) -> Mapping[str, object]:
        """The draft, else the newest version, else the defaults."""
        if self.draft is not None:
            return merge_patch(default_payload(), self.draft.payload)
        return merge_patch(default_payload(), get_version(self.skill.pk).payload if self.skill else {})

    @property
    def seen(self) -> str:
        """The draft's fingerprint; empty without a draft."""
        return self.draft.fingerprint if self.draft else ""

    @property
    def is_outdated(self) -> bool:
        """Whether the skill has a newer version than the draft."""
        return bool(self.draft and self.skill and self.draft.base_version != self.skill.latest_version)

    @property
    def home(self) -> str:
        return reverse("trading:edit_skill", args=[self.skill.pk]) if self.skill else reverse("trading:new_skill")

    @property
    def form(self) -> str:
        return f"{self.home}?view=form"

    @property
    def preview(self) -> str:
        if self.skill:
            return reverse("trading:edit_preview", args=[self.skill.pk])
        return reverse("trading:draft_preview")

    @property
    def place(self) -> str:
        """The address to return to."""
        return reverse("trading:skill", args=[self.skill.pk]) if self.skill else reverse("trading:skills")


@owned_form
def new_skill(request: AuthedRequest) -> HttpResponse:
    """Show or change the draft of a new skill."""
    return _edit_draft(request, None)


@owned_form
def edit_skill(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Show or change the draft of a skill's next version."""
    skill = get_skill(skill_id)
    try:
        if skill.archived_at is None:
            return _edit_draft(request, skill)
    except services.SkillArchived:
        pass  # archived in another tab
    messages.info(request, ARCHIVED)
    return redirect("trading:skill", skill.pk)


@owned_page
def new_preview(request: AuthedRequest) -> HttpResponse:
    """Return a new skill's preview if it has changed."""
    return _render_piece(request, None)


@owned_page
def edit_preview(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Return the preview of a skill's draft if it has changed."""
    skill = get_skill(skill_id)
    if skill.archived_at is not None:
        raise Http404
    return _render_piece(request, skill)


def _edit_draft(request: AuthedRequest, skill: Skill | None) -> HttpResponse:
    edited = _Edited(skill, find_open_draft(skill.pk if skill else None))
    is_form = "form" in (request.GET.get("view"), request.POST.get("view"))
    if request.method != "POST":
        return _render_form(request, edited, _build_form(edited)) if is_form else _render_preview(request, edited)
    asked = DraftActForm(request.POST)
    act, template = asked.parse_act()
    if act == "discard":
        if edited.draft is not None:
            with owned_tx(request.user):
                services.discard_draft(draft_id=edited.draft.pk, now=timezone.now())
            messages.success(request, "The draft is discarded.")
        return redirect(edited.place)
    is_fresh = asked.cleaned_data.get("seen", "") == edited.seen
    if is_form:
        return _act_on_form(request, edited, act, template, is_fresh=is_fresh)
    return _act_on_preview(request, edited, act, template, is_fresh=is_fresh)


def _act_on_preview(
    request: AuthedRequest, edited: _Edited, act: str, template: str, *, is_fresh: bool
) -> HttpResponse:
    if act == "template":
        return _start_from(request, edited, template)
    if act not in SAVES:
        if edited.draft is not None:
            messages.success(request, "Draft kept.")
        return redirect(edited.place)
    if edited.draft is None:
        return _render_preview(request, edited, problem="There is no draft to save.", status=CONFLICT)
    if not is_fresh:
        return _render_preview(request, edited, problem=CHANGED_MEANWHILE, status=CONFLICT)
    try:
        return _save_draft(request, edited.draft, act)
    except PayloadInvalid:
        return _render_preview(request, edited, problem=NOT_WHOLE, status=REFUSED)
    except services.SkillNameTaken as error:
        return _render_preview(request, edited, problem=f"{error} Nothing was saved.", status=CONFLICT)
    except services.DraftOutdated:  # the preview says so, and offers to save nevertheless
        return _render_preview(request, edited, status=CONFLICT)


def _render_preview(
    request: AuthedRequest, edited: _Edited, *, problem: str = "", status: int = HTTPStatus.OK
) -> HttpResponse:
    context = {**_describe_draft(edited), "problem": problem, "asks_for_tier": asks_for_tier(request)}
    return TemplateResponse(request, "trading/skill_draft.html", context, status=status)


def _render_piece(request: AuthedRequest, skill: Skill | None) -> HttpResponse:
    edited = _Edited(skill, find_open_draft(skill.pk if skill else None))
    if request.GET.get("seen") == edited.seen:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    return TemplateResponse(request, "trading/_draft_preview.html", _describe_draft(edited))


def _describe_draft(edited: _Edited) -> dict[str, object]:
    payload = edited.payload
    weighty = [finding for finding in lint_draft(payload) if finding.severity != Severity.INFO]
    return {
        "edited": edited,
        "name": payload.get("name", ""),
        "groups": describe_payload(payload),
        "reading": read_draft(payload),
        "missing": describe_problems(services.list_save_problems(payload), payload) if edited.draft else [],
        "findings": weighty if edited.draft else [],
        "starters": STARTERS,
        "templates": TEMPLATES,
        **describe_cost(payload),
    }


def _act_on_form(request: AuthedRequest, edited: _Edited, act: str, template: str, *, is_fresh: bool) -> HttpResponse:
    form = _build_form(edited, request)
    is_valid = form.is_valid()
    if act == "look":
        typed = _merge_input(edited, form)
        look = {"reading": read_draft(typed), **describe_cost(typed)}
        return TemplateResponse(request, "trading/_form_look.html", look)  # nothing is saved
    if not is_valid:
        if act in SAVES:
            form.add_problems(_list_form_problems(edited, form))  # all that is wrong at once
        return _render_form(request, edited, form, status=REFUSED)
    if not is_fresh:
        form.add_error(None, CHANGED_ELSEWHERE)
        return _render_form(request, edited, form, status=CONFLICT)
    try:
        with owned_tx(request.user):
            now = timezone.now()
            draft = services.start_draft(skill_id=edited.skill_id, now=now)
            draft = services.patch_draft(draft_id=draft.pk, patch=form.patch(), now=now)
    except PayloadInvalid as error:
        form.add_problems(error.errors)
        return _render_form(request, edited, form, status=REFUSED)
    kept = _Edited(edited.skill, draft)
    if act == "template":
        return _start_from(request, kept, template, back_to=kept.form)
    if act in SAVES:
        return _save_form(request, kept, draft, form, act)
    messages.success(request, "Kept as a draft.")
    _warn_of_cost(request, kept.payload)
    return redirect("trading:skills")


def _list_form_problems(edited: _Edited, form: SkillForm) -> list[FieldError]:
    try:
        return list_problems(merge_patch(edited.payload, form.patch()))
    except PayloadInvalid as error:
        return error.errors


def _save_form(request: AuthedRequest, kept: _Edited, draft: SkillDraft, form: SkillForm, act: str) -> HttpResponse:
    outdated, status = "", CONFLICT
    try:
        return _save_draft(request, draft, act)
    except PayloadInvalid as error:
        form.add_problems(error.errors)
        status = REFUSED
    except services.SkillNameTaken as error:
        form.add_error("name", str(error))
    except services.DraftOutdated as error:
        outdated = str(error)
    return _render_form(request, kept, form, is_kept=True, outdated=outdated, status=status)


def _build_form(edited: _Edited, request: AuthedRequest | None = None) -> SkillForm:
    fixed = edited.skill.trading_style if edited.skill else ""
    return SkillForm(request.POST if request else None, payload=edited.payload, fixed_style=fixed)


def _render_form(
    request: AuthedRequest,
    edited: _Edited,
    form: SkillForm,
    *,
    is_kept: bool = False,
    outdated: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    typed = _merge_input(edited, form)
    context = {
        "edited": edited,
        "form": form,
        "groups": form.list_groups(),
        "is_kept": is_kept,
        "has_field_errors": any(name != NON_FIELD_ERRORS for name in form.errors),
        "outdated": outdated,
        "templates": TEMPLATES,
        "regimes": [(RegimeTag(name).label, line) for name, line in REGIMES.items()],
        "reading": read_draft(typed),
        **describe_cost(typed),
    }
    return TemplateResponse(request, "trading/skill_form.html", context, status=status)


def _merge_input(edited: _Edited, form: SkillForm) -> Mapping[str, object]:
    if not form.is_bound:
        return edited.payload
    try:
        return merge_patch(edited.payload, form.patch())
    except PayloadInvalid:
        return edited.payload


def _save_draft(request: AuthedRequest, draft: SkillDraft, act: str) -> HttpResponse:
    """Save a draft as a version and show its skill. Raises PayloadInvalid, SkillNameTaken, DraftOutdated."""
    with owned_tx(request.user):
        version = services.save_draft(draft_id=draft.pk, over_newer=act == "save_over", now=timezone.now())
    if version.version == draft.base_version:
        messages.info(request, f"Nothing had changed: version {version.version} stands.")
    else:
        messages.success(request, f"Saved as version {version.version}.")
    _warn_of_cost(request, version.payload)
    return redirect("trading:skill", version.skill_id)


def _start_from(request: AuthedRequest, edited: _Edited, template: str, *, back_to: str = "") -> HttpResponse:
    with owned_tx(request.user):
        now = timezone.now()
        draft = services.start_draft(skill_id=edited.skill_id, now=now)
        services.apply_template_to_draft(draft_id=draft.pk, template=template, now=now)
    messages.success(request, f"The draft now says what “{TEMPLATES[template]['name']}” says. Change what you like.")
    return redirect(back_to or edited.home)


def _warn_of_cost(request: AuthedRequest, payload: Mapping[str, object]) -> None:
    if cost := warn_of_cost(payload):
        messages.warning(request, f"That is a lot: {cost}")
