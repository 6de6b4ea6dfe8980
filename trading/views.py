from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from config.lib.web import THEME_COOKIE, THEMES, AuthedRequest, owned_view, safe_next
from trading.forms import ProfileForm

ONE_YEAR = 365 * 24 * 3600


@require_http_methods(["GET", "POST"])
@owned_view
def profile(request: AuthedRequest) -> HttpResponse:
    """Show and save the trader's own settings."""
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("trading:profile")
    return TemplateResponse(request, "trading/profile.html", {"form": form}, status=422 if form.errors else 200)


@require_POST
@login_not_required
def theme(request: AuthedRequest) -> HttpResponse:
    """Keep the theme in a cookie, so that the server draws the page in it and nothing flashes."""
    chosen = request.POST.get("theme", "auto")
    response = redirect(safe_next(request, reverse("home")))
    response.set_cookie(
        THEME_COOKIE,
        chosen if chosen in THEMES else "auto",
        max_age=ONE_YEAR,
        samesite="Lax",
        secure=request.is_secure(),
        httponly=False,  # the switch reads it, and it is no secret
    )
    return response
