"""The frame of pages: the rail, and the installable shell, which keeps nothing private."""

import json
import re
from itertools import chain

import pytest
from django.contrib.staticfiles import finders
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import resolve, reverse

from chat.web.page_context import _BY_PAGE, _MODES, page_context
from tests.chat.tabs import signed_in
from tests.matrix.asks import API, OURS

pytestmark = pytest.mark.django_db


def test_manifest_names_icons_that_are_there(client):
    response = client.get(reverse("manifest"))

    shell = json.loads(response.content)
    assert response["Content-Type"] == "application/manifest+json"
    assert (shell["start_url"], shell["display"]) == ("/", "standalone")
    paths = [re.sub(r"^/?static/", "", icon["src"]) for icon in shell["icons"]]
    assert [path for path in paths if finders.find(path) is None] == []


def test_worker_keeps_static_files_and_the_page_without_a_connection_alone(client):
    response = client.get(reverse("service_worker"))

    script = response.content.decode()
    files = re.search(r"const FILES = \[(.*?)\]", script)[1]
    assert response["Content-Type"].startswith("text/javascript")
    assert [name for name in re.findall(r'"([^"]+)"', files) if "static/" not in name] == []
    assert script.count("respondWith") == 2
    assert "fetch(request).catch" in script


@pytest.mark.parametrize(
    ("address", "way"),
    [
        ("/", "Home"),
        ("/chat/search/", "Chat"),
        ("/backtests/compare/", "Skills"),
        ("/deployments/1/decisions/2/", "Deployments"),
        ("/trades/rules/", "Trades"),
        ("/journal/review/", "Journal"),
        ("/profile/facts/settings/", "Facts"),
        ("/profile/usage/", "Profile"),
        ("/accounts/email/", "Profile"),
    ],
)
def test_rail_marks_the_way_that_a_page_belongs_to(address, way):
    html = render_to_string("_rail.html", page_context(request := RequestFactory().get(address)) | {"request": request})

    marked = re.findall(r"<a [^>]*aria-current=.*?<span>(\w+)", html, re.DOTALL)
    assert set(marked) == {way}  # some ways are there twice: on a phone behind "More"


def test_page_context_names_pages_that_there_are():
    known = {name for name, entry in OURS.items() if name not in API}
    named = {*_BY_PAGE, *chain(*_MODES.values())} - {"*"}

    assert named <= known, f"{sorted(named - known)}: chat/web/page_context.py names URLs that are gone or misspelt"


@pytest.mark.parametrize(
    ("name", "like"),
    [("trading:ask", "trading:trades"), ("chat:rules", "trading:trades"), ("memory:places", "memory:facts")],
)
def test_page_suggests_the_questions_of_its_way(name, like):
    request = RequestFactory().get(reverse(name))
    request.resolver_match = resolve(request.path)

    context = page_context(request)

    assert (context["page_name"], context["suggestions"]) == (like, _BY_PAGE[like])


@pytest.mark.parametrize("name", ["manifest", "service_worker", "offline"])
def test_shell_is_the_same_for_everybody(trader, name):
    address = reverse(name)

    anybody, somebody = Client().get(address), signed_in(trader).get(address)

    assert anybody.status_code == 200
    assert anybody.content == somebody.content
    assert trader.email not in somebody.content.decode()
    assert "Set-Cookie" not in anybody.headers
