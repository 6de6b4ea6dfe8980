"""Requests derived from the OpenAPI schema, valid and not: each answer must fit the schema, and none may be a 5xx.

`make test-all` asks each operation a few times; `make faults` sets FUZZ_EXAMPLES and asks ten thousand requests.
"""

import json
import os
import random
from itertools import cycle

import pytest
import requests
import schemathesis
from django.test import Client
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.strangers import make_person

pytestmark = [pytest.mark.django_db, pytest.mark.long, pytest.mark.timeout(3600)]

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "2"))
SITE = "http://testserver"
# A turn runs on beside the request that begins it, and a stream waits for it: tests/chat/api asks these.
LEFT_OUT = ("/api/chat/",)
CONFORMANCE = [content_type_conformance, response_schema_conformance, status_code_conformance]


@pytest.fixture
def ann():
    """A user with a row of every kind."""
    return make_person("ann")


def send(client: Client, case) -> Response:
    prepared = requests.Request(**case.as_transport_kwargs(base_url=SITE)).prepare()
    kind = prepared.headers.get("Content-Type", "application/json")
    path = prepared.url.removeprefix(SITE)
    answer = client.generic(prepared.method, path, prepared.body or b"", content_type=kind, headers=clean(prepared))
    headers = {name.lower(): [value] for name, value in answer.headers.items()}
    return Response(answer.status_code, headers, answer.getvalue(), prepared, elapsed=0.0, verify=False)


def clean(prepared) -> dict[str, str]:
    kept = {name: value for name, value in prepared.headers.items() if name.lower() not in ("content-type", "cookie")}
    return {name: str(value) for name, value in kept.items() if name.lower() != "content-length"}


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["valid", "invalid"])
def test_no_request_of_the_schema_is_answered_with_an_error(mode, ann):
    client = Client(raise_request_exception=False)
    client.force_login(ann.user, backend="allauth.account.auth_backends.AuthenticationBackend")
    raw = client.get(reverse("api:schema"), headers={"Accept": "application/json"})
    schema = schemathesis.openapi.from_dict(json.loads(raw.content))
    names, chance = cycle(ann.names()), random.Random(0)
    failures, asked = [], 0

    for found in schema.get_all_operations():
        operation = found.ok()
        if operation.path.startswith(LEFT_OUT):
            continue

        @settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case):
            nonlocal asked
            known = next(names)
            for name in case.path_parameters or {}:
                if name in known and chance.random() < 0.7:
                    case.path_parameters[name] = known[name]
            asked += 1
            response = send(client, case)
            try:
                assert response.status_code < 500
                case.validate_response(response, checks=CONFORMANCE)
            except (AssertionError, FailureGroup) as problem:
                reasons = [failure.title for failure in getattr(problem, "exceptions", ())]
                failures.append((case.method, response.request.url, response.status_code, reasons, case.body))

        ask()

    assert asked > 50
    assert failures == []
