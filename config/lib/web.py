"""Owner scope for views, admin and sockets."""

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.middleware import HtmxDetails

from config.lib.errors import NotFound
from config.lib.owned import owned, system, system_tx

THEMES = ("auto", "light", "dark")
THEME_COOKIE = "theme"

View = Callable[..., HttpResponseBase]


class AuthedRequest(HttpRequest):
    """A request whose user is signed in."""

    user: Any


class PageRequest(AuthedRequest):
    """A request of a signed-in user, with htmx."""

    htmx: HtmxDetails


def goes_into(request: PageRequest, element_id: str) -> bool:
    """Tell whether htmx targets that element."""
    return bool(request.htmx) and request.htmx.target == element_id


def owned_view(view: View) -> View:
    """Run view and template in the reading scope; writes open `owned_tx`. A missing row is a 404."""

    @functools.wraps(view)
    def inner(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        with or_404(), owned(request.user):
            return render_now(view(request, *args, **kwargs))

    return inner


@contextmanager
def or_404() -> Iterator[None]:
    """Raise Http404 for a row that is missing or foreign."""
    try:
        yield
    except NotFound as error:
        raise Http404 from error


def owned_page(view: View) -> View:
    """Serve a page of the signed-in user."""
    return require_safe(owned_view(view))


def owned_form(view: View) -> View:
    """Serve a page of the signed-in user that also takes its form."""
    return require_http_methods(["GET", "HEAD", "POST"])(owned_view(view))


def owned_act(view: View) -> View:
    """Serve a POST of the signed-in user."""
    return require_POST(owned_view(view))


def scoped_form(view: View) -> View:
    """Serve a page as `owned_form` does; the view opens its scopes itself, and none while it reads an upload."""

    @functools.wraps(view)
    def inner(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        with or_404():
            return view(request, *args, **kwargs)

    return require_http_methods(["GET", "HEAD", "POST"])(inner)


def render_now(response: HttpResponseBase) -> HttpResponseBase:
    """Render a lazy response while its owner is in scope."""
    if isinstance(response, SimpleTemplateResponse) and not response.is_rendered:
        response.render()
    return response


class OwnedAdminSite(admin.AdminSite):
    """Django's admin in the system's scope, over all users."""

    site_header = "Keel"
    site_title = "Keel admin"
    index_title = "Records"

    def check(self, app_configs: Any) -> Any:
        admin.autodiscover()
        return super().check(app_configs)

    def get_urls(self) -> Any:
        admin.autodiscover()
        return super().get_urls()

    def admin_view(self, view: View, cacheable: bool = False) -> Any:
        """Run each admin view in the system's scope, for staff."""

        def scoped(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            door = system if request.method in ("GET", "HEAD") else system_tx  # readers queue behind no writer
            with door(f"admin: {request.method} {request.path} by user {request.user.pk}"):
                return render_now(view(request, *args, **kwargs))

        return super().admin_view(functools.update_wrapper(scoped, view), cacheable)


def get_safe_next(request: HttpRequest, default: str) -> str:
    """Return the form's `next` if it is a path of this site, else `default`; a bare word is no path."""
    target = request.POST.get("next", "")
    is_path = target.startswith("/") and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return target if is_path else default


def appearance(request: HttpRequest) -> dict[str, object]:
    """Return what templates say about this site, and the theme."""
    theme = request.COOKIES.get(THEME_COOKIE, "auto")
    return {
        "theme": theme if theme in THEMES else "auto",
        "offline_model": settings.CHAT_AGENT_MODEL.startswith("offline/"),
        "has_mail": settings.HAS_MAIL,
        "sign_up": settings.SIGN_UP,
    }


class SignInMiddleware(LoginRequiredMiddleware):
    """Require a signed-in user unless a view opts out.

    A piece of a page gets a plain 401, since following the way to the login page would put that page into the piece.
    """

    def handle_no_permission(self, request: HttpRequest, view_func: View) -> Any:
        """Redirect pages to the login; refuse scripts."""
        if request.headers.get("HX-Request") == "true":
            return HttpResponse(status=401)
        return super().handle_no_permission(request, view_func)


class TimeZoneMiddleware:
    """Show times in the user's zone, else in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(find_time_zone(getattr(request.user, "time_zone", ""))):
            return self.get_response(request)


def find_time_zone(name: str) -> ZoneInfo:
    """Return the time zone of an IANA name, else UTC."""
    try:
        return ZoneInfo(name or "UTC")
    except (ZoneInfoNotFoundError, ValueError):
        return ZoneInfo("UTC")


def is_same_origin(headers: Mapping[bytes, bytes]) -> bool:
    """Tell whether a socket's scheme, host and port are this site's.

    A browser always sends Origin; a handshake without one is refused, since it can carry a session cookie too.
    """
    origin = headers.get(b"origin", b"").decode("latin-1")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    parts = urlsplit(origin)
    host = headers.get(b"host", b"").decode("latin-1")
    scheme_fits = parts.scheme == "https" or (parts.scheme == "http" and not settings.SESSION_COOKIE_SECURE)
    return scheme_fits and bool(host) and parts.netloc == host


def find_user(scope: Mapping[str, object]) -> AbstractBaseUser | None:
    """Return the signed-in, active user of a socket."""
    user = scope.get("user")
    return user if isinstance(user, AbstractBaseUser) and user.is_active else None
