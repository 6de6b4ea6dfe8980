"""Profile, experience tier, API tokens and theme."""

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from config.lib.edge.second_factor import read_proof
from config.lib.figures import format_count
from config.lib.lists import ListForm
from config.lib.owned import owned_tx
from config.lib.web import THEME_COOKIE, THEMES, AuthedRequest, get_safe_next, owned_act, owned_form, owned_page
from trading.account.services import TierUnknown, choose_tier, list_entries, list_new_entries, mark_entries_seen
from trading.account.tokens import TokenRefused, create_token, list_tokens, revoke_all_tokens, revoke_token
from trading.models import ApiToken
from trading.web.forms import ProfileForm, TokenForm

ENTRIES_ON_A_PAGE = 50
ONE_YEAR = 365 * 24 * 3600
TIER_SKIPPED = "tier_skipped"  # in the session


@owned_form
def edit_profile(request: AuthedRequest) -> HttpResponse:
    """Show and save the trader's own settings."""
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("trading:profile")
    return _render_profile(request, form=form, status=422 if form.errors else 200)


@owned_page
def show_access(request: AuthedRequest) -> HttpResponse:
    """Show who of the staff looked at or changed the owner's rows, and why."""
    filters = ListForm(request.GET)
    page = Paginator(list_entries(), ENTRIES_ON_A_PAGE).get_page(filters.number)
    new = set(list_new_entries().values_list("pk", flat=True))
    if new:
        with owned_tx(request.user):
            mark_entries_seen(now=timezone.now())
    return TemplateResponse(request, "trading/access.html", {"page": page, "filters": filters, "new": new})


@owned_act
def set_tier(request: AuthedRequest) -> HttpResponse:
    """Set the experience tier, or skip the question this session."""
    chosen = request.POST.get("tier", "")
    if not chosen:
        request.session[TIER_SKIPPED] = True
        messages.info(request, "Not asked again for now. Keel takes you for intermediate; your profile can change it.")
        return redirect(get_safe_next(request, reverse("trading:new_skill")))
    try:
        with owned_tx(request.user):
            choose_tier(tier=chosen)
    except TierUnknown as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Noted. You can change it in your profile.")
    return redirect(get_safe_next(request, reverse("trading:new_skill")))


def asks_for_tier(request: AuthedRequest) -> bool:
    """Tell whether to ask for the tier: unset and not skipped."""
    return request.user.experience_tier is None and not request.session.get(TIER_SKIPPED)


# The response shows the token once: no session may keep it.
@owned_act
def add_token(request: AuthedRequest) -> HttpResponse:
    """Make a token for the API and show it."""
    now = timezone.now()
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _render_profile(request, token_form=form, status=422)
    try:
        with owned_tx(request.user):
            row, token = create_token(
                name=form.cleaned_data["name"],
                scope=form.cleaned_data["scope"],
                areas=form.cleaned_data["areas"],
                expires_at=form.expires_at(now),
                proof=read_proof(request, page=f"{reverse('trading:profile')}#tokens"),
                now=now,
            )
    except TokenRefused as error:
        form.add_error(None, str(error))
        return _render_profile(request, token_form=form, status=error.http_status)
    return _render_profile(request, made=row, token=token, status=201)


@owned_act
def end_token(request: AuthedRequest, token_id: UUID) -> HttpResponse:
    """End a token."""
    with owned_tx(request.user):
        token = revoke_token(token_id=token_id, now=timezone.now())
    messages.success(request, f"The token “{token.name}” opens nothing any more.")
    return redirect(f"{reverse('trading:profile')}#tokens")


@owned_act
def end_all_tokens(request: AuthedRequest) -> HttpResponse:
    """End all tokens."""
    with owned_tx(request.user):
        ended = revoke_all_tokens(now=timezone.now())
    messages.success(request, f"Ended: {format_count(ended, 'token')}. No program gets in with one any more.")
    return redirect(f"{reverse('trading:profile')}#tokens")


def _render_profile(
    request: AuthedRequest,
    *,
    form: ProfileForm | None = None,
    token_form: TokenForm | None = None,
    made: ApiToken | None = None,
    token: str = "",
    status: int,
) -> HttpResponse:
    now = timezone.now()
    context = {
        "form": form or ProfileForm(instance=request.user),
        "token_form": token_form or TokenForm(),
        "tokens": [(row, row.is_expired(now)) for row in list_tokens()],
        "made": made,
        "token": token,
        "new_entries": list_new_entries().count(),
        "has_identity_provider": bool(settings.IDENTITY_PROVIDERS),
    }
    return TemplateResponse(request, "trading/profile.html", context, status=status)


@require_POST
@login_not_required
def set_theme(request: AuthedRequest) -> HttpResponse:
    """Store the theme in a cookie, so that pages never flash."""
    chosen = request.POST.get("theme", "auto")
    response = redirect(get_safe_next(request, reverse("home")))
    response.set_cookie(
        THEME_COOKIE,
        chosen if chosen in THEMES else "auto",
        max_age=ONE_YEAR,
        samesite="Lax",
        secure=request.is_secure(),
        httponly=False,  # the switch reads it, and it is no secret
    )
    return response
