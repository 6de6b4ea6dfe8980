"""Lists at an address."""

import pytest
from django.core.paginator import Paginator
from django.http import QueryDict
from django.template import Context, Template

from config.lib.lists import ListForm, address
from trading.web.filters import DecisionFilterForm


def read(query, **kwargs):
    return DecisionFilterForm(QueryDict(query), home="/list/", **kwargs)


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("", 1),
        ("page=2", 2),
        ("page=0", 1),
        ("page=-1", 1),
        ("page=two", 1),
        ("page=\u00b2", 1),
        ("page=999999999", 999_999_999),
        ("page=" + "9" * 5000, 1),
    ],
)
def test_number_of_an_address_is_the_first_page_unless_it_names_one(query, number):
    assert ListForm(QueryDict(query)).number == number


def test_address_drops_what_it_does_not_know_and_the_page():
    filters = read("verdict=refused&page=3&other=1")

    assert address(filters) == "/list/?verdict=refused"
    assert address(filters, page=2) == "/list/?verdict=refused&page=2"
    assert address(filters, page=1, verdict=None) == "/list/"
    assert address(filters, home="", format="csv") == "?verdict=refused&format=csv"
    assert address(read("verdict=made-up")) == "/list/"


def test_filter_in_use_narrows_has_a_chip_and_can_be_cleared():
    filters = read("verdict=refused&page=3")

    assert filters.is_narrowed()
    assert filters.list_chips() == [("Verdict", "Refused", "/list/")]
    assert filters.clear == "/list/"
    assert not read("page=3").is_narrowed()


@pytest.mark.parametrize(
    ("number", "links"),
    [(1, ["/list/?page=2"]), (2, ["/list/", "/list/?page=3"]), (3, ["/list/?page=2"]), (9, ["/list/?page=2"])],
)
def test_pager_leads_to_the_pages_beside(number, links):
    page = Paginator(range(5), 2).get_page(number)
    html = Template("{% pager page filters of='rows' %}").render(Context({"page": page, "filters": read("")}))

    assert [part.split('"')[0] for part in html.split('href="')[1:]] == links
    assert f"Page {min(number, 3)} of 3" in html
