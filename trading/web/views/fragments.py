"""Parts of a page for htmx, chosen by target element."""

from urllib.parse import urlsplit

from django.http import HttpResponse, QueryDict
from django.template.response import TemplateResponse

from config.lib.web import PageRequest


def render_results(
    request: PageRequest, template: str, context: dict[str, object], *, here: str, typed: str
) -> HttpResponse:
    """Return the list alone and set the browser's address to `here`.

    Typing on in the field named `typed` stays in one entry of the browser's history; anything else makes a new one.
    """
    response = TemplateResponse(request, template, {**context, "is_piece": True})
    before = QueryDict(urlsplit(request.htmx.current_url_abs_path or "").query).get(typed)
    after = request.GET.get(typed)
    is_typing_on = bool(before and after) and before != after
    response["HX-Replace-Url" if is_typing_on else "HX-Push-Url"] = here
    return response
