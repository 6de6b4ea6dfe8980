from uuid import uuid4

import pytest

from tests.factories.memory import MAY
from tests.owners import as_owner
from tests.trading.browsing import browser_of_trader
from trading.account.services import (
    MAX_FILTERS,
    FilterNotFound,
    FilterRefused,
    delete_filter,
    list_filters,
    save_filter,
)
from trading.models import SavedFilter

__all__ = ["browser_of_trader"]


@pytest.mark.limit("trading.models.filters.MAX_QUERY")
def test_save_filter_replaces_one_of_the_same_name_and_refuses_what_says_nothing(as_trader):
    for query in ("side=long", "side=short"):
        save_filter(name=" Longs\n ", query=query, now=MAY)
    for name, query in (("", "side=long"), ("\u200b", "side=long"), ("a", ""), ("a", "q" * 1001)):
        with pytest.raises(FilterRefused):
            save_filter(name=name, query=query, now=MAY)

    assert [(one.name, one.query) for one in list_filters()] == [("Longs", "side=short")]


@pytest.mark.limit("trading.account.services.MAX_FILTERS")
def test_save_filter_keeps_so_many(as_trader):
    for number in range(MAX_FILTERS):
        save_filter(name=f"{number}", query="side=long", now=MAY)
    save_filter(name="3", query="side=short", now=MAY)

    with pytest.raises(FilterRefused):
        save_filter(name="one more", query="side=long", now=MAY)
    delete_filter(list_filters()[0].pk)
    with pytest.raises(FilterNotFound):
        delete_filter(uuid4())
    assert len(list_filters()) == MAX_FILTERS - 1


def test_page_saves_the_filters_that_make_sense(client, stranger):
    client.post("/trades/filters/", {"name": "Mine", "query": "?side=long&regime=nonsense&page=3&user=1&columns=r"})

    (saved,) = list_filters()
    assert saved.query == "side=long&columns=r"
    assert '<a href="/trades/?side=long&amp;columns=r">Mine</a>' in client.get("/trades/").content.decode()
    assert not as_owner(stranger, list_filters)
    assert client.post(f"/trades/filters/{saved.pk}/delete/").status_code == 302
    assert not SavedFilter.objects.exists()
