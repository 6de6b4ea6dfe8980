import json
from urllib.parse import urlencode

import pytest
import time_machine

from tests.factories.memory import JUNE
from tests.owners import as_trader, stranger, trader
from tests.trading.browsing import Browser
from tests.trading.ticking import Desk

__all__ = ["api", "as_trader", "stranger", "trader"]


@pytest.fixture
def api(as_trader):
    """The API, asked by the trader, in whose scope the test is."""
    client = Browser()
    client.force_login(as_trader)

    def ask(method, address, body=None, status=200, **query):
        address = f"/api/{address}" + (f"?{urlencode(query)}" if query else "")
        sent = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        response = getattr(client, method)(address, **sent)
        assert response.status_code == status, response.content
        return response.json() if response.content else None

    return ask


@pytest.fixture
def in_june():
    """The clock stands still on the first of June."""
    with time_machine.travel(JUNE, tick=False):
        yield


@pytest.fixture
def desk(trader):
    """A deployment of the trader's, to be ticked."""
    return Desk(trader)
