import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from jsonschema import validate

from config.lib.rest.views import ApiView
from tests.matrix.asks import API, OURS

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(trader):
    client = Client()
    client.force_login(trader)
    return client


@pytest.fixture
def described(signed_in) -> dict:
    return signed_in.get("/api/schema/").json()


@pytest.mark.computing
def test_description_is_valid_and_complete(tmp_path):
    # Fails on a view whose request or response cannot be told, too.
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))

    assert "openapi: 3.1.0" in (tmp_path / "schema.yml").read_text()


def test_each_address_of_the_api_is_described(described):
    shown = {f"/{OURS[name].path}" for name in API if OURS[name].callback.cls.schema is not None}

    assert described["paths"].keys() == shown
    assert "/api/me/" in shown


def test_each_operation_has_a_summary_and_examples_that_fit(described):
    for operation in [operation for path in described["paths"].values() for operation in path.values()]:
        assert operation["summary"].endswith((".", "`"))
        parts = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in [content for part in parts for content in part.get("content", {}).values()]:
            if "Problem" not in str(content["schema"].get("$ref")):
                validate(content["example"], {**content["schema"], "components": described["components"]})


def test_each_operation_tells_how_it_refuses(described):
    operations = [operation for path in described["paths"].values() for operation in path.values()]

    assert operations
    for operation in operations:
        for status in ("401", "4XX"):
            [(kind, content)] = operation["responses"][status]["content"].items()
            assert (kind, content["schema"]) == ("application/problem+json", {"$ref": "#/components/schemas/Problem"})


def test_problem_matches_its_description(described, signed_in):
    properties = described["components"]["schemas"]["Problem"]
    refused = signed_in.delete("/api/me/").json()

    assert set(properties["required"]) <= refused.keys() <= properties["properties"].keys()


def test_page_of_the_description_asks_no_other_site(signed_in):
    response = signed_in.get("/api/docs/")
    text = response.content.decode()

    assert response.status_code == 200
    assert re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"<!--.*?-->", "", text)) == []
    assert "'unsafe" not in response["Content-Security-Policy"]
    files = re.findall(r'(?:src|href)="/static/([^"]+)"', text)
    assert len(files) == 4
    assert [name for name in files if not finders.find(name)] == []


def test_page_of_the_description_is_for_those_who_are_signed_in(client):
    assert client.get("/api/docs/").status_code == 302
    assert client.get("/api/schema/").status_code == 401


def test_script_of_the_page_has_the_description_checked_nowhere():
    script = Path(finders.find("js/api-docs.js")).read_text()

    assert "validatorUrl: null" in script


def test_every_view_of_the_api_is_ours():
    def views(patterns):
        for pattern in patterns:
            yield from views(pattern.url_patterns) if hasattr(pattern, "url_patterns") else [pattern.callback]

    classes = {view.cls for view in views(get_resolver().url_patterns) if hasattr(view, "cls")}

    assert {view for view in classes if not issubclass(view, ApiView)} == set()
