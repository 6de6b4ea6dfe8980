"""The ground of the API, tried on views of its own."""

import json
from datetime import UTC, datetime
from http import HTTPStatus
from uuid import UUID

import hypothesis
import pytest
import time_machine
from django.core.exceptions import SuspiciousOperation
from django.http import Http404
from django.test import Client
from django.urls import path, re_path
from django.utils import timezone
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.exceptions import ParseError
from rest_framework.response import Response

from config.lib.errors import DomainError
from config.lib.owned import ScopeError, current_owner, owned_tx
from config.lib.paging import get_page
from config.lib.proofs import OPERATOR
from config.lib.rest.parsing import MAX_CONTAINERS, BodyTooLarge, parse_json
from config.lib.rest.views import ApiRequest, ApiView, InputSerializer, NowhereView, PageQuery, page_serializer
from tests.owners import as_owner
from trading.account.tokens import TokenNotFound, create_token, revoke_token
from trading.models import ApiToken

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


class TooLate(DomainError):
    """Sixteen."""

    http_status = HTTPStatus.CONFLICT


class TooShort(DomainError):
    """No status of its own."""


class Leg(InputSerializer):
    """One of several."""

    quantity = serializers.IntegerField()


class Order(InputSerializer):
    """What the test sends."""

    name = serializers.CharField(max_length=10)
    legs = Leg(many=True, default=list)


class TokenSerializer(serializers.ModelSerializer):
    """What the test gets."""

    class Meta:
        model = ApiToken
        fields = ("name",)


class Orders(ApiView):
    """Reads and writes."""

    def get(self, request: ApiRequest) -> Response:
        query = self.query(PageQuery)
        page = get_page(ApiToken.objects.all(), by=("name", "id"), **query)
        return Response(page_serializer(TokenSerializer)(page).data)

    def post(self, request: ApiRequest) -> Response:
        fields = self.body(Order)
        with owned_tx(request.user):
            create_token(name=fields["name"], proof=OPERATOR, now=NOON)
        return Response(fields, status=201)

    def put(self, request: ApiRequest) -> Response:
        return Response({"data": request.data})


class Refusals(ApiView):
    """Each way to refuse, after a write."""

    def post(self, request: ApiRequest, kind: str) -> Response:
        ways = {
            "late": TooLate("It is too late."),
            "short": TooShort("It is too short."),
            "nowhere": Http404(),
            "odd": SuspiciousOperation("secret"),
            "bug": RuntimeError("secret"),
        }
        with owned_tx(request.user):
            create_token(name="half", proof=OPERATOR, now=NOON)
            raise ways[kind]

    def put(self, request: ApiRequest, kind: str) -> Response:
        with owned_tx(request.user):
            create_token(name="whole", proof=OPERATOR, now=NOON)
        raise TooLate("It is too late.")


class One(ApiView):
    """A row by its id."""

    def post(self, request: ApiRequest, token_id: UUID) -> Response:
        with owned_tx(request.user):
            revoke_token(token_id=token_id, now=NOON)
        return Response(status=204)


class Moment(ApiView):
    """Who is in scope, and a moment."""

    def get(self, request: ApiRequest) -> Response:
        moment = serializers.DateTimeField().to_representation(NOON)
        return Response({"owner": current_owner(), "moment": moment, "zone": timezone.get_current_timezone_name()})


urlpatterns = [
    path("api/orders/", Orders.as_view()),
    path("api/refusals/<kind>/", Refusals.as_view()),
    path("api/one/<uuid:token_id>/", One.as_view()),
    path("api/moment/", Moment.as_view()),
    re_path("^api/", NowhereView.as_view()),
]
handler500 = "config.lib.edge.responses.answer_error"

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


@pytest.fixture
def api(trader):
    """A client with the session of a trader."""
    client = Client(raise_request_exception=False)
    client.force_login(trader)
    return client


def send(client: Client, address: str, body: object, method: str = "post", **more):
    data = body if isinstance(body, bytes) else json.dumps(body)
    return getattr(client, method)(address, data, content_type="application/json", **more)


def names_of(user) -> list[str]:
    return as_owner(user, lambda: [row.name for row in ApiToken.objects.order_by("name")])


# --- Who asks ---


@pytest.mark.parametrize("address", ["/api/orders/", "/api/nothing/", "/api/one/x/", "/api/"])
@pytest.mark.parametrize("accept", ["text/html", "application/json", "nonsense"])
def test_who_is_not_signed_in_gets_401_before_anything_else(client, address, accept):
    for method in ("get", "post", "put", "patch", "delete", "options", "trace"):
        response = getattr(client, method)(address, headers={"Accept": accept})

        assert response.status_code == 401, method
        assert response["WWW-Authenticate"] == 'Bearer realm="Keel"'
        assert response["Content-Type"] == "application/problem+json"
        assert (response.json()["status"], response.json()["code"]) == (401, "not_authenticated")
    assert client.head(address).status_code == 401


def test_deactivated_user_gets_401(api, trader):
    trader.is_active = False
    trader.save()

    assert api.get("/api/moment/").status_code == 401


def test_session_needs_a_csrf_token_to_write(trader):
    client = Client(enforce_csrf_checks=True)
    client.force_login(trader)

    assert client.get("/api/orders/").status_code == 200
    refused = send(client, "/api/orders/", {"name": "one"})
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
    assert names_of(trader) == []

    client.cookies["csrftoken"] = "x" * 32
    assert send(client, "/api/orders/", {"name": "one"}, headers={"X-CSRFToken": "x" * 32}).status_code == 201


# --- In whose scope ---


def test_view_runs_for_who_asks_in_utc_and_leaves_neither_a_scope_nor_a_copy_behind(api, trader):
    trader.time_zone = "Asia/Tokyo"
    trader.save()

    answer = api.get("/api/moment/")

    assert answer.json() == {"owner": trader.pk, "moment": "2026-06-01T12:00:00Z", "zone": "UTC"}
    assert answer["Cache-Control"] == "no-store"
    with pytest.raises(ScopeError):
        current_owner()


# --- Refusals ---


@pytest.mark.parametrize(
    ("kind", "status", "code", "detail"),
    [
        ("late", 409, "too_late", "It is too late."),
        ("short", 422, "too_short", "It is too short."),
        ("nowhere", 404, "not_found", "There is nothing here."),
        ("odd", 400, "bad_request", "This request cannot be read."),
        ("bug", 500, "error", "Keel could not do that. Try again in a moment."),
    ],
)
def test_refusal_is_a_problem_and_keeps_nothing(api, trader, kind, status, code, detail):
    response = api.post(f"/api/refusals/{kind}/")

    problem = response.json()
    assert (response.status_code, response["Content-Type"]) == (status, "application/problem+json")
    assert problem == {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "code": code,
        "detail": detail,
    }
    assert names_of(trader) == []


@pytest.mark.postgres
def test_refusal_rolls_back_writes_where_the_read_scope_is_a_transaction(api, trader):
    assert api.put("/api/refusals/late/").status_code == 409
    assert names_of(trader) == []


def test_fields_are_named_by_pointers_into_the_body(api):
    body = {"name": "much too long", "legs": [{"quantity": 1}, {"quantity": "x", "id": 5}, 7], "user": 9}
    whole = send(api, "/api/orders/", body)
    fields = send(api, "/api/orders/", {"name": "much too long", "legs": [{"quantity": 1}, {"quantity": "x"}]})

    assert whole.json()["errors"] == [
        {"pointer": "#/user", "code": "invalid", "detail": "This field is not known here."}
    ]
    assert fields.status_code == 422
    assert [(error["pointer"], error["code"]) for error in fields.json()["errors"]] == [
        ("#/name", "max_length"),
        ("#/legs/1/quantity", "invalid"),
    ]


@pytest.mark.parametrize("body", [[], "text", 1, None, True])
def test_body_of_another_kind_is_refused(api, body):
    response = send(api, "/api/orders/", body)

    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"] in {"#", "#/name"}


@pytest.mark.parametrize(
    ("query", "parameter"),
    [
        ("limit=0", "limit"),
        ("limit=201", "limit"),
        ("limit=x", "limit"),
        ("limit=1&limit=2", "limit"),
        ("offset=1", "offset"),
        ("cursor=%00", "cursor"),
        (f"cursor={'x' * 1001}", "cursor"),
    ],
)
def test_refused_query_names_the_parameter(api, query, parameter):
    response = api.get(f"/api/orders/?{query}")

    assert response.status_code == 422
    assert [error["parameter"] for error in response.json()["errors"]] == [parameter]


def test_method_that_is_not_there_names_those_that_are(api):
    response = api.delete("/api/orders/")

    assert (response.status_code, response["Allow"]) == (405, "GET, HEAD, POST, PUT")


@pytest.mark.parametrize("method", ["get", "post", "delete", "options"])
def test_unknown_address_is_404_for_every_method(api, method):
    response = getattr(api, method)("/api/orders")

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


# --- How often ---


@pytest.mark.limit("config.settings.API_READS_PER_MINUTE", "config.settings.API_WRITES_PER_MINUTE")
def test_reads_and_writes_are_counted_by_the_minute_and_the_user(api, stranger, settings):
    settings.API_READS_PER_MINUTE, settings.API_WRITES_PER_MINUTE = 3, 2
    other = Client()
    other.force_login(stranger)
    with time_machine.travel(NOON.replace(second=20), tick=False) as clock:
        assert [api.get("/api/moment/").status_code for _ in range(4)] == [200, 200, 200, 429]
        assert [send(api, "/api/orders/", {"name": "x"}).status_code for _ in range(3)] == [201, 201, 429]
        refused = api.get("/api/moment/")
        assert (refused["Retry-After"], refused.json()["code"]) == ("40", "throttled")
        assert other.get("/api/moment/").status_code == 200

        clock.shift(40)
        assert api.get("/api/moment/").status_code == 200


# --- What comes in ---


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"nul",
        b'{"a": NaN}',
        b"[Infinity, -Infinity]",
        b"[1e999]",
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b'{"a": "\\u0000"}',
        b'{"\\u0000": 1}',
        b'["\\ud800"]',
        b'["\\udc00\\ud800"]',
        b"[" * 50_000,
        b'"\xff"',
        "\ufeff{}".encode(),
        '"text"'.encode("utf-16"),
    ],
    ids=range(16),
)
def test_json_that_cannot_be_kept_is_refused(body):
    with pytest.raises(ParseError):
        parse_json(body)


@pytest.mark.limit("config.lib.rest.parsing._MAX_INTEGER")
@pytest.mark.parametrize("body", [b"9223372036854775808", b"-9223372036854775808", b"1" * 10_000])
def test_integer_that_no_column_takes_is_refused(body):
    with pytest.raises(ParseError, match="too large"):
        parse_json(body)


@pytest.mark.limit("config.lib.rest.parsing.MAX_DEPTH")
def test_json_that_is_nested_too_deeply_is_refused():
    with pytest.raises(ParseError, match="nested too deeply"):
        parse_json(b"[" * 21 + b"]" * 21)


DEEP = json.loads("[" * 20 + "]" * 20)


@pytest.mark.parametrize(
    "value",
    [{}, [], "", 0, None, 2**63 - 1, 1.5, {"a": [{"b": "\U0001f600 ‮é"}], "": None}, "\\ud800 spelled out", DEEP],
    ids=str,
)
def test_json_comes_in_as_it_is(value):
    assert parse_json(json.dumps(value).encode()) == value


@pytest.mark.limit("config.lib.rest.parsing.MAX_CONTAINERS")
@pytest.mark.parametrize("part", [b"{},", b"[],", b'"a",'])
def test_body_of_too_many_values_is_refused_before_they_are_made(part):
    with pytest.raises(BodyTooLarge):
        parse_json(b"[" + part * (10 * MAX_CONTAINERS + 1) + b"7]")


in_one_test = hypothesis.settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters()), inner, max_size=4),
    max_leaves=30,
)
BODIES = st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode())


@given(BODIES)
@example(b"[" * 10_000)
def test_parser_returns_a_storable_value_or_refuses(body):
    try:
        value = parse_json(body)
    except ParseError:
        return

    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text.replace("\\\\", "")
    text.encode()
    assert value == json.loads(body)


def test_body_may_be_so_large(api, trader):
    room = ApiView.max_body_bytes - len('{"name": ""}')

    assert send(api, "/api/orders/", {"name": "x" * room}).status_code == 422
    refused = send(api, "/api/orders/", {"name": "x" * (room + 1)})
    assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
    assert names_of(trader) == []


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "/", "é"]
)
def test_other_formats_are_not_read(api, kind):
    response = api.post("/api/orders/", b"name=x", content_type=kind)

    assert (response.status_code, response.json()["code"]) == (415, "unsupported_media_type")


CONTENT_TYPES = st.sampled_from(
    [
        "application/json",
        "application/json; charset=utf-16",
        "application/json; charset=nonsense",
        "multipart/form-data",
        "multipart/form-data; boundary=x",
        "application/x-www-form-urlencoded",
    ]
) | st.text(st.characters(max_codepoint=255, exclude_characters="\r\n\0"), max_size=40)


@in_one_test
@given(body=BODIES, kind=CONTENT_TYPES, method=st.sampled_from(["post", "put", "patch", "delete"]))
def test_nothing_that_is_sent_makes_an_error_of_ours(api, body, kind, method):
    response = api.generic(method.upper(), "/api/orders/", body, content_type=kind)

    assert response.status_code in {200, 201, 400, 405, 413, 415, 422}
    json.loads(response.content)


@in_one_test
@given(st.text(st.characters(), max_size=60))
def test_no_query_makes_an_error_of_ours(api, text):
    raw = text.encode("utf-8", "surrogatepass").decode("latin-1")

    for query in (raw, f"limit={raw}", f"cursor={raw}"):
        response = api.generic("GET", "/api/orders/", QUERY_STRING=query)
        assert response.status_code in {200, 400, 422}


@in_one_test
@given(st.text(st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=80))
@example("Bearer")
@example("Bearer keel_9223372036854775808_" + "x" * 43)
@example("Bearer keel_999999999999999999_" + "x" * 43)
@example("Bearer keel_0_" + "x" * 43)
def test_no_authorization_makes_an_error_of_ours(client, text):
    for value in (text, f"Bearer {text}", f"Bearer keel_{text}"):
        assert client.get("/api/moment/", headers={"Authorization": value}).status_code == 401


def test_page_serializer_is_the_same_for_the_same():
    made = page_serializer(TokenSerializer)

    assert made is page_serializer(TokenSerializer)
    assert (made.__name__, set(made().fields)) == ("TokenPageSerializer", {"items", "next_cursor"})


def test_each_refusal_of_the_house_has_a_status_of_a_refusal():
    def below(kind: type) -> set[type]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    assert TokenNotFound in below(DomainError)
    assert {kind for kind in below(DomainError) if not 400 <= kind.http_status < 600} == set()
