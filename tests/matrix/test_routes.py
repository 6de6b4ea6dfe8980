"""The matrix of addresses: every request as Ann, naming Bob's rows.

Both answers must be the same, Bob's words and ids in none, and his rows as they were. An address, a tool, a frame or
a command that has no case fails the test that looks for it. (Frames: `tests/test_matrix_socket.py`.)
"""

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from jsonschema import validate

from config.lib.rest.views import ApiView
from tests.matrix.api import API as API_CASES
from tests.matrix.asks import API, IS_BRIEF, OURS, Ask, Case, answer, asks, guess_case, is_turned_away, undone
from tests.matrix.chat import CHAT
from tests.matrix.memory import MEMORY
from tests.matrix.trading import TRADING
from tests.strangers import Person
from trading.models import TokenArea

pytestmark = pytest.mark.django_db

CASES = {**CHAT, **TRADING, **MEMORY, **API_CASES}
FOUND = {name: CASES.get(name) or (Case() if name in API else guess_case(entry)) for name, entry in OURS.items()}
ROUTES = {name: case for name, case in sorted(FOUND.items()) if case is not None}
PAGING = {"cursor", "limit"}
OPEN_TO_EACH_TOKEN = {"api:trading:me", "api:schema", "api:nowhere"}
PUBLIC = {name for name, case in ROUTES.items() if case.is_public}


def test_matrix_has_a_case_for_each_address(as_ann):
    paths = as_ann.get(reverse("api:schema")).json()["paths"]
    bare = {f"/{OURS[name].path}" for name in API - CASES.keys()}
    told = {path for path in paths.keys() & bare for one in paths[path].values() if takes_anything(one)}

    assert sorted(OURS.keys() - ROUTES.keys()) == [], (
        "no case in the matrix, but these views read more of a request than its user and the page of a list: "
        "add the name with a `Case` of what they read to the file of its app in tests/matrix"
    )
    assert sorted(told) == [], "no case in the matrix: say what to send, and the parameters"
    assert sorted(CASES.keys() - OURS.keys()) == [], "a case in the matrix for what is gone"


def takes_anything(operation: dict) -> bool:
    """Tell whether an operation of the API takes a body, or more parameters than its address and those of pages."""
    parameters = operation.get("parameters", ())
    return "requestBody" in operation or any(p["in"] == "query" and p["name"] not in PAGING for p in parameters)


@pytest.mark.parametrize("name", ROUTES)
def test_route_says_the_same_of_bobs_rows_as_of_none(name, as_ann, bob, nobody, watch):
    for turn, ask in enumerate(asks(OURS[name], ROUTES[name])):
        with undone():
            response = ask.send(as_ann, nobody)
            of_nobody = answer(response, nobody)
        assert "{" not in ask.path or name not in API or response.status_code >= 400, f"{ask} found a row of nobody's"
        # A method that the route does not know is refused before any name is read: one of Bob's names is enough.
        told = ask.telling_names(bob)
        for names in [told[turn % len(told)]] if response.status_code == 405 or IS_BRIEF else told:
            with watch.undone():
                of_bob = answer(ask.send(as_ann, names), names)
            assert of_bob.gives_away(bob) == [], ask
            assert of_bob.comparable == of_nobody.comparable, ask


def test_routes_answer_their_own_user_and_no_cache_keeps_a_page(ann, as_ann):
    # Or both answers would be the same because nothing is ever found.
    for name, case in ROUTES.items():
        with undone():
            response = find_success(name, as_ann, ann)
        assert response is not None or case.is_nowhere, name
        is_page = response is not None and response.status_code == 200 and name not in API | PUBLIC
        assert not is_page or "no-store" in response["Cache-Control"], name


def find_success(name: str, client: Client, person: Person) -> HttpResponse | None:
    for ask in asks(OURS[name], ROUTES[name]):
        for names in ask.telling_names(person) if ask.method != "head" and not ask.headers else ():
            response = ask.send(client, names)
            if response.status_code in {200, 201, 202, 204, 302}:
                return response
            if response.status_code == 405:
                break
    return None


def test_operations_of_the_api_answer_as_they_are_described(ann, as_ann):
    described = as_ann.get(reverse("api:schema")).json()
    operations = {
        (path, method): operation
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    answered = set()
    for name in sorted(API):
        for ask in asks(OURS[name], ROUTES[name]):
            key = (f"/{ask.path}", ask.method)
            for names in ask.telling_names(ann) if key in operations.keys() - answered else ():
                with undone():
                    response = ask.send(as_ann, names)
                if response.status_code < 300:
                    answered.add(key)
                    check_content(response, operations[key]["responses"][str(response.status_code)], described)
                    break
    assert sorted(operations.keys() - answered) == []


def check_content(response: HttpResponse, part: dict, described: dict) -> None:
    content = part.get("content", {}).get(response.headers.get("Content-Type"))
    assert content or response.status_code == 204, part
    if content and response.headers["Content-Type"] == "application/json":
        validate(response.json(), {**content["schema"], "components": described["components"]})


def test_routes_refuse_methods_they_do_not_know(as_ann, bob):
    for name in ROUTES:
        known = {method for method, _ in ROUTES[name].sends}
        for method in {"put", "patch", "delete"} - known if not ROUTES[name].is_nowhere else ():
            assert Ask(method, OURS[name].path).send(as_ann, bob.names()[0]).status_code == 405, (method, name)


def test_pages_need_their_token_to_write(ann):
    client, names = Client(enforce_csrf_checks=True), ann.names()[0]
    client.force_login(ann.user)
    for name in ROUTES.keys() - API - PUBLIC:
        assert Ask("post", OURS[name].path).send(client, names).status_code == 403, name


def test_routes_of_the_api_stand_on_its_ground():
    assert len(API) > 2
    for name in sorted(API):
        view = getattr(OURS[name].callback, "cls", object)
        assert issubclass(view, ApiView), name
        assert view.permission_classes == ApiView.permission_classes, name
        assert view.dispatch is ApiView.dispatch, name
        assert view.areas or name in OPEN_TO_EACH_TOKEN, f"{name}: say in `areas` which tokens open it"
        assert view.areas <= set(TokenArea.values), name


def test_routes_tell_strangers_nothing(client, bob, watch):
    names = bob.names()[0]
    with watch.undone():
        for name, case in ROUTES.items():
            for ask in asks(OURS[name], case):
                said = answer(response := ask.send(client, names), names)
                assert said.gives_away(bob) == [], ask
                is_refused = response.status_code == 401 if name in API else is_turned_away(response)
                assert is_refused or name in PUBLIC, ask
                assert response.status_code < 500
