"""Skills: the list, the form over a draft, a skill and its versions."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, owned_view
from trading.deployment_queries import (
    find_open_draft,
    list_archived_skills,
    list_skill_deployments,
    list_skill_notes,
)
from trading.forms import CompareForm, DeployForm, DraftActForm
from trading.models import BrokerKind, Skill, SkillDraft
from trading.page_queries import simulated_symbols_of
from trading.prompt_cost import PromptCost, sample_cost
from trading.queries import (
    compare_versions,
    get_skill,
    get_version,
    list_open_drafts,
    list_skills,
    list_versions,
    skill_performance,
)
from trading.schemas import FieldError, PayloadInvalid, default_payload, list_problems, merge_patch, parse_payload
from trading.services import (
    DraftOutdated,
    SkillInUse,
    SkillNameTaken,
    apply_template_to_draft,
    archive_skill,
    deploy_skill,
    discard_draft,
    patch_draft,
    save_draft,
    start_draft,
)
from trading.skill_form import SkillForm, changes_in_words, described
from trading.skill_templates import TEMPLATES

REFUSED: Final = HTTPStatus.UNPROCESSABLE_ENTITY
CONFLICT: Final = HTTPStatus.CONFLICT
CHANGED_ELSEWHERE: Final = (
    "This draft was changed after you opened the page, in another tab or by Keel. Nothing you typed is lost: it stands"
    " below. Save again to write it over the other changes, or open the page anew to see them."
)


@contextmanager
def or_404() -> Iterator[None]:
    """Answer 404 for what is not there or not theirs; other refusals pass."""
    try:
        yield
    except DomainError as error:
        if error.http_status == HTTPStatus.NOT_FOUND:
            raise Http404 from error
        raise


# --- The list ---


@require_safe
@never_cache
@owned_view
def skills(request: AuthedRequest) -> HttpResponse:
    """List the skills and the drafts to resume."""
    listed, archived, drafts = list_skills(), list_archived_skills(), list_open_drafts()
    names = {skill.pk: skill.name for skill in [*(one.skill for one in listed), *archived]}
    context = {
        "skills": listed,
        "archived": archived,
        "drafts": [(draft, names.get(draft.base_skill_id or UUID(int=0), "")) for draft in drafts],
        "has_new_draft": any(draft.base_skill_id is None for draft in drafts),
        "templates": TEMPLATES,
    }
    return TemplateResponse(request, "trading/skills.html", context)


# --- The form ---


@dataclass(frozen=True, slots=True)
class _Edited:
    """What a form is about: a skill or a new one, with the draft that is open, if any."""

    skill: Skill | None
    draft: SkillDraft | None

    @property
    def payload(self) -> Mapping[str, Any]:
        """What the form shows: the draft, or the newest version, or what every skill begins with."""
        if self.draft is not None:
            return merge_patch(default_payload(), self.draft.payload)
        if self.skill is not None:
            return merge_patch(default_payload(), get_version(self.skill.pk).payload)
        return default_payload()

    @property
    def seen(self) -> str:
        """When the draft was last changed; empty without one."""
        return self.draft.updated_at.isoformat() if self.draft else ""

    @property
    def home(self) -> str:
        """The address of the form."""
        return reverse("trading:edit_skill", args=[self.skill.pk]) if self.skill else reverse("trading:new_skill")

    @property
    def place(self) -> str:
        """The address to return to."""
        return reverse("trading:skill", args=[self.skill.pk]) if self.skill else reverse("trading:skills")


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@owned_view
def new_skill(request: AuthedRequest) -> HttpResponse:
    """Show the form of a new skill, and do what is asked of its draft."""
    return _edit(request, None)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@owned_view
def edit_skill(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Show the form of a skill's next version, and do what is asked of its draft."""
    with or_404():
        skill = get_skill(skill_id)
    if skill.archived_at is not None:
        messages.info(request, "This skill is archived. It can be read, not changed.")
        return redirect("trading:skill", skill.pk)
    return _edit(request, skill)


def _edit(request: AuthedRequest, skill: Skill | None) -> HttpResponse:
    edited = _Edited(skill, find_open_draft(skill.pk if skill else None))
    if request.method != "POST":
        return _editor(request, edited, _form(edited))
    asked = DraftActForm(request.POST)
    act, template = asked.asked()
    if act == "discard":
        return _discard(request, edited)
    if act == "template" and "seen" not in request.POST:  # from a page without the form
        return _start_from(request, edited, template)
    with or_404():  # the draft may be saved or discarded in another tab meanwhile
        return _write(request, edited, act, template, is_fresh=asked.cleaned_data.get("seen", "") == edited.seen)


def _write(request: AuthedRequest, edited: _Edited, act: str, template: str, *, is_fresh: bool) -> HttpResponse:
    """Keep what was typed as a draft, then do what is asked of it."""
    form = _form(edited, request)
    if not form.is_valid():
        if act in {"save", "save_over"}:
            form.add_problems(_problems(edited, form))  # all that is wrong at once
        return _editor(request, edited, form, status=REFUSED)
    if not is_fresh:
        form.add_error(None, CHANGED_ELSEWHERE)
        return _editor(request, edited, form, status=CONFLICT)
    try:
        with owned_tx(request.user):
            now = timezone.now()
            draft = start_draft(skill_id=edited.skill.pk if edited.skill else None, now=now)
            draft = patch_draft(draft_id=draft.pk, patch=form.patch(), now=now)
    except PayloadInvalid as error:
        form.add_problems(error.errors)
        return _editor(request, edited, form, status=REFUSED)
    kept = _Edited(edited.skill, draft)
    match act:
        case "template":
            return _start_from(request, kept, template)
        case "save" | "save_over":
            return _save(request, kept, form, over_newer=act == "save_over")
    messages.success(request, "Kept as a draft.")
    _warn_of_cost(request, kept.payload)
    return redirect("trading:skills")


def _problems(edited: _Edited, form: SkillForm) -> list[FieldError]:
    try:
        return list_problems(merge_patch(edited.payload, form.patch()))
    except PayloadInvalid as error:
        return error.errors


def _save(request: AuthedRequest, kept: _Edited, form: SkillForm, *, over_newer: bool) -> HttpResponse:
    """Make the draft a version; what keeps it from being one stands beside its field, and the draft stays."""
    assert kept.draft is not None
    try:
        with owned_tx(request.user):
            version = save_draft(draft_id=kept.draft.pk, over_newer=over_newer, now=timezone.now())
    except PayloadInvalid as error:
        form.add_problems(error.errors)
        return _editor(request, kept, form, is_kept=True, status=REFUSED)
    except SkillNameTaken as error:
        form.add_error("name", str(error))
        return _editor(request, kept, form, is_kept=True, status=CONFLICT)
    except DraftOutdated as error:
        return _editor(request, kept, form, is_kept=True, outdated=str(error), status=CONFLICT)
    if version.version == kept.draft.base_version:
        messages.info(request, f"Nothing had changed: version {version.version} stands.")
    else:
        messages.success(request, f"Saved as version {version.version}.")
    _warn_of_cost(request, version.payload)
    return redirect("trading:skill", version.skill_id)


def _start_from(request: AuthedRequest, edited: _Edited, template: str) -> HttpResponse:
    with owned_tx(request.user):
        now = timezone.now()
        draft = start_draft(skill_id=edited.skill.pk if edited.skill else None, now=now)
        apply_template_to_draft(draft_id=draft.pk, template=template, now=now)
    messages.success(request, f"The draft now says what “{TEMPLATES[template]['name']}” says. Change what you like.")
    return redirect(edited.home)


def _discard(request: AuthedRequest, edited: _Edited) -> HttpResponse:
    if edited.draft is not None:
        with or_404(), owned_tx(request.user):
            discard_draft(draft_id=edited.draft.pk, now=timezone.now())
        messages.success(request, "The draft is discarded.")
    return redirect(edited.place)


def _form(edited: _Edited, request: AuthedRequest | None = None) -> SkillForm:
    fixed = edited.skill.trading_style if edited.skill else ""
    return SkillForm(request.POST if request else None, payload=edited.payload, fixed_style=fixed)


def _editor(
    request: AuthedRequest,
    edited: _Edited,
    form: SkillForm,
    *,
    is_kept: bool = False,
    outdated: str = "",
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    context = {
        "edited": edited,
        "form": form,
        "groups": form.groups(),
        "is_kept": is_kept,
        "has_field_errors": any(name != NON_FIELD_ERRORS for name in form.errors),
        "outdated": outdated,
        "templates": TEMPLATES,
        **_cost(_typed(edited, form)),
    }
    return TemplateResponse(request, "trading/skill_form.html", context, status=status)


def _typed(edited: _Edited, form: SkillForm) -> Mapping[str, Any]:
    """Return what the form shows, as far as it can be read: the fields that are wrong say what they said before."""
    if not form.is_bound:
        return edited.payload
    try:
        return merge_patch(edited.payload, form.patch())
    except PayloadInvalid:
        return edited.payload


def _warn_of_cost(request: AuthedRequest, payload: Mapping[str, Any]) -> None:
    found = _cost(payload)
    if found["is_costly"]:
        tokens = f"about {found['cost'].tokens_per_day:,} tokens of prompt a day, above {found['cost_limit']:,}"
        messages.warning(request, f"That is a lot: {tokens}. Fewer ticks, symbols or bars save most.")


def _cost(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a skill's prompt costs and whether that is a lot, for a template; no cost before it is whole."""
    limit = settings.AGENT_DAILY_PROMPT_TOKENS_WARNING
    cost: PromptCost | None
    try:
        cost = sample_cost(parse_payload(payload))
    except PayloadInvalid:
        cost = None
    return {"cost": cost, "cost_limit": limit, "is_costly": cost is not None and cost.tokens_per_day > limit}


# --- One skill ---


@require_safe
@never_cache
@owned_view
def skill(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Show a skill: what it says, its versions and what differs, how it did, where it runs."""
    return _skill(request, skill_id, DeployForm())


@require_safe
@never_cache
@owned_view
def version(request: AuthedRequest, skill_id: UUID, version: int) -> HttpResponse:
    """Show one version of a skill."""
    with or_404():
        shown, found = get_skill(skill_id), get_version(skill_id, version)
    context = {"skill": shown, "version": found, "groups": described(found.payload), **_cost(found.payload)}
    return TemplateResponse(request, "trading/version.html", context)


@require_POST
@owned_view
def deploy(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Set the newest version to run on paper."""
    form = DeployForm(request.POST)
    if not form.is_valid():
        return _skill(request, skill_id, form, status=REFUSED)
    with or_404():
        shown = get_skill(skill_id)
        if shown.archived_at is not None:
            messages.error(request, "This skill is archived. It cannot be deployed any more.")
            return redirect("trading:skill", skill_id)
        with owned_tx(request.user):
            equity = form.cleaned_data["starting_equity_usd"]
            deployment = deploy_skill(skill_id=skill_id, starting_equity_usd=equity, now=timezone.now())
    messages.success(request, "Deployed on paper. The runner ticks it from now on.")
    return redirect("trading:deployment", deployment.pk)


@require_POST
@owned_view
def archive(request: AuthedRequest, skill_id: UUID) -> HttpResponse:
    """Take a skill off the list."""
    try:
        with or_404(), owned_tx(request.user):
            archived = archive_skill(skill_id=skill_id, now=timezone.now())
    except SkillInUse as error:
        messages.error(request, str(error))
        return redirect("trading:skill", skill_id)
    messages.success(request, f"“{archived.name}” is archived. All it did is kept.")
    return redirect("trading:skills")


def _skill(
    request: AuthedRequest, skill_id: UUID, deploy_form: DeployForm, *, status: int = HTTPStatus.OK
) -> HttpResponse:
    with or_404():
        shown, newest, versions = get_skill(skill_id), get_version(skill_id), list_versions(skill_id)
    compare = CompareForm(request.GET)
    context = {
        "skill": shown,
        "version": newest,
        "groups": described(newest.payload),
        "versions": versions,
        "compare": compare,
        "compared": _compared(compare, shown, {one.version for one in versions}),
        "simulated": simulated_symbols_of(skill_id),
        "performance": [(BrokerKind(kind).label, one) for kind, one in skill_performance(skill_id).items()],
        "deployments": list_skill_deployments(skill_id),
        "notes": list_skill_notes(skill_id),
        "draft": find_open_draft(skill_id),
        "deploy_form": deploy_form,
        **_cost(newest.payload),
    }
    return TemplateResponse(request, "trading/skill.html", context, status=status)


def _compared(form: CompareForm, shown: Skill, versions: set[int]) -> dict[str, Any] | None:
    """Return the two versions that the address names and their differences; None without two that are there."""
    pair = form.pair()
    if pair is None:
        return None
    if not versions.issuperset(pair):
        form.add_error("compare", "This skill has no such versions to compare.")
        return None
    old, new = pair
    return {"old": old, "new": new, "changes": changes_in_words(compare_versions(shown.pk, old, new))}
