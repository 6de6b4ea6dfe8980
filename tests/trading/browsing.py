"""What the tests of the record's pages share: a browser in which the trader is signed in, and what it shows."""

from contextvars import Context

import pytest
from django.test import Client

from tests.memory.browsing import into, is_page, text_of
from tests.owners import note_sign_in

__all__ = ["Browser", "assert_shows", "browser_of_trader", "into", "is_page", "text_of"]


class Browser(Client):
    """A browser that asks from outside the scope in which the test makes its rows: each view opens its own."""

    def request(self, **request):
        return Context().run(super().request, **request)

    def force_login(self, user, backend=None, *, signs_in=True):
        """Sign the user in; `signs_in`: as the login page does, which notes when."""
        Context().run(super().force_login, user, backend)
        if signs_in:
            Context().run(note_sign_in, self, user)


@pytest.fixture(name="client")
def browser_of_trader(as_trader):
    """A browser in which the trader is signed in; the test itself is in the trader's scope."""
    client = Browser()
    client.force_login(as_trader)
    return client


def assert_shows(response, *words: str, lacks: tuple[str, ...] = ()) -> str:
    """Fail unless a reader of the answer sees these words and lacks those; return the text."""
    text = text_of(response)
    assert [one for one in words if one not in text] == [], text
    assert [one for one in lacks if one in text] == [], text
    return text
