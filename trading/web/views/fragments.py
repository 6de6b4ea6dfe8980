"""How a view of the record tells which piece of its page htmx asks for: by the id of the element it goes into."""

from urllib.parse import urlsplit

from django.http import HttpResponse, QueryDict
from django.template.response import TemplateResponse
from django_htmx.middleware import HtmxDetails

from config.lib.web import AuthedRequest


class PageRequest(AuthedRequest):
    """A request of a signed-in user, with what htmx says of it."""

    htmx: HtmxDetails


def goes_into(request: PageRequest, element_id: str) -> bool:
    """Tell whether htmx will put the answer into that element."""
    return bool(request.htmx) and request.htmx.target == element_id


def render_results(
    request: PageRequest, template: str, context: dict[str, object], *, here: str, typed: str
) -> HttpResponse:
    """Answer a bar of filters with the list alone, and have the browser show the address `here`.

    Typing on in the field named `typed` stays in one entry of the browser's history; anything else makes a new one.
    """
    response = TemplateResponse(request, template, {**context, "is_piece": True})
    before = QueryDict(urlsplit(request.htmx.current_url_abs_path or "").query).get(typed)
    after = request.GET.get(typed)
    is_typing_on = bool(before and after) and before != after
    response["HX-Replace-Url" if is_typing_on else "HX-Push-Url"] = here
    return response
