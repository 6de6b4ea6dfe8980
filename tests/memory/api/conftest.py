"""The API as the trader asks it, in June."""

import json
from urllib.parse import urlencode

import pytest
import time_machine

from memory.models import UserFact
from tests.factories.memory import JUNE, UserFactFactory
from tests.owners import as_owner


@pytest.fixture(autouse=True)
def _in_june():
    with time_machine.travel(JUNE, tick=False):
        yield


@pytest.fixture
def api(client):
    """The API, asked by the trader."""

    def ask(method, address, body=None, status=200, **query):
        address = f"/api/{address}" + (f"?{urlencode(query)}" if query else "")
        sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        response = getattr(client, method)(address, **sent)
        assert response.status_code == status, response.content
        return response.json() if response.content else None

    return ask


@pytest.fixture
def fact(trader) -> UserFact:
    return as_owner(trader, lambda: UserFactFactory(content="Never trades alts", topic="symbols"))
