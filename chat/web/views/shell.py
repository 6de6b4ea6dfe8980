"""The installable shell: manifest, service worker, and the page without a connection. Nothing in it is private."""

from hashlib import sha256
from typing import Final

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.templatetags.static import static
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

_COLOUR: Final = "#0b605b"  # of the mark
_STYLES: Final = ("reset", "tokens", "base", "frame", "components", "utilities")  # of the page without a connection


@require_safe
@cache_control(max_age=3600)
@login_not_required
def manifest(request: HttpRequest) -> HttpResponse:
    """Return the manifest of the installed app."""
    icons = [
        {"src": static("favicon.svg"), "sizes": "any", "type": "image/svg+xml"},
        *({"src": static(f"icons/{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"} for size in (192, 512)),
        {"src": static("icons/maskable.png"), "sizes": "512x512", "type": "image/png", "purpose": "maskable"},
    ]
    shell = {
        **{"name": "Keel", "short_name": "Keel", "description": "A trading coach that remembers you"},
        **{"start_url": "/", "scope": "/", "display": "standalone"},
        **{"background_color": _COLOUR, "theme_color": _COLOUR, "icons": icons},
    }
    return JsonResponse(shell, content_type="application/manifest+json")


@require_safe
@cache_control(no_cache=True)
@login_not_required
def service_worker(request: HttpRequest) -> HttpResponse:
    """Return the service worker; it changes with the files that it keeps."""
    files = [static(f"css/{name}.css") for name in _STYLES] + [static("favicon.svg")]
    version = sha256("".join([*files, static("js/app.js")]).encode()).hexdigest()[:12]
    script = render_to_string("worker.js", {"files": files, "version": version, "static_prefix": settings.STATIC_URL})
    return HttpResponse(script, content_type="text/javascript")


@require_safe
@cache_control(no_cache=True)
@login_not_required
def offline(request: HttpRequest) -> HttpResponse:
    """Show the page that the service worker keeps; the same for everybody."""
    return HttpResponse(render_to_string("offline.html"))
