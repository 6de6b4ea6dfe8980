"""Lists at an address: filters, pages, and the part that htmx takes.

A list is a `ListForm` with its filters and a page of Django's `Paginator`. Its template writes the links with two tags:
`address` (with other filters) and `pager` (to the pages before and after), and `_files.html` (to the rows as files).
"""

from typing import Any, ClassVar
from urllib.parse import urlencode, urlsplit
from uuid import UUID

from django import forms, template
from django.core.paginator import Page
from django.http import HttpResponse, QueryDict
from django.template.response import TemplateResponse

from config.lib.web import PageRequest, goes_into

register = template.Library()


class ListForm(forms.Form):
    """What a list shows, from its address. A value it does not know is said to be wrong and changes nothing."""

    NARROWING: ClassVar[tuple[str, ...]] = ()  # the fields that narrow a list, order and page aside
    CHIPS: ClassVar[dict[str, str]] = {}  # the labels of chips, where they are not those of their fields

    page = forms.IntegerField(required=False, min_value=1, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict, *, home: str = "", **kwargs: Any) -> None:
        """Read the query of an address; `home` is that address without it, empty for links within a page."""
        super().__init__(data, **kwargs)
        self.home = home

    @property
    def known(self) -> dict[str, Any]:
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    def build_query(self, **changes: Any) -> str:
        """Return the shortest query string with changes, the page last; None removes a value."""
        known = sorted({**self.known, **changes}.items(), key=lambda item: item[0] == "page")
        values = {name: value for name, value in known if value}
        return f"?{urlencode(values, doseq=True)}" if values else ""

    def is_narrowed(self) -> bool:
        """Tell whether a filter narrows the list."""
        return not self.known.keys().isdisjoint(self.NARROWING)

    @property
    def number(self) -> int:
        """The page to show, from 1; `Paginator.get_page` takes the last for one beyond."""
        return int(self.known.get("page", 1))

    @property
    def clear(self) -> str:
        """The address without the filters that narrow."""
        return address(self, **dict.fromkeys(self.NARROWING))

    def list_chips(self) -> list[tuple[str, str, str]]:
        """Return (label, value, address without it) of each filter in use; an id has no value to show."""
        chips = []
        for name, value in self.known.items():
            if name in self.NARROWING:
                field = self.fields[name]
                names = dict(field.choices) if isinstance(field, forms.ChoiceField) else {}  # type: ignore[arg-type]
                text = "" if isinstance(value, UUID) else str(names.get(value, value))
                chips.append((self.CHIPS.get(name) or str(field.label), text, address(self, **{name: None})))
        return chips

    def respond(
        self, request: PageRequest, whole: str, part: str, context: dict[str, Any], *, typed: str
    ) -> HttpResponse:
        """Return the page, or the list alone where htmx targets `results`, and set the browser's address to it.

        Typing on in the field named `typed` stays in one entry of the browser's history; anything else makes a new one.
        """
        if not goes_into(request, "results"):
            return TemplateResponse(request, whole, context)
        response = TemplateResponse(request, part, {**context, "is_piece": True})
        before = QueryDict(urlsplit(request.htmx.current_url_abs_path or "").query).get(typed)
        after = request.GET.get(typed)
        is_typing_on = bool(before and after) and before != after
        number = context["page"].number if "page" in context else 1
        response["HX-Replace-Url" if is_typing_on else "HX-Push-Url"] = address(self, page=number)
        return response


@register.simple_tag
def address(filters: ListForm, *, home: str | None = None, page: int | None = None, **changes: Any) -> str:
    """Return the address of a list, or another `home` of it, with changes; None removes a value."""
    query = filters.build_query(**changes, page=None if page == 1 else page)
    return f"{filters.home}{query}" or "?" if home is None else home + query


@register.inclusion_tag("_pager.html")
def pager(page: "Page[Any]", filters: ListForm, of: str, anchor: str = "") -> dict[str, Any]:
    """Return the ways to the pages before and after; `of` is what they list."""
    return {"page": page, "filters": filters, "of": of, "anchor": anchor}
