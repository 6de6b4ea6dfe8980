from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.paging import CursorRefused, get_page
from tests.factories.memory import MAY
from tests.owners import as_owner
from trading.models import ApiToken

pytestmark = pytest.mark.django_db

ORDERS = [("-created_at", "id"), ("created_at", "-id"), ("name", "-created_at", "id"), ("-id",)]


def make_tokens(count: int) -> None:
    """Make tokens, three to a moment, four to a name."""
    ApiToken.objects.bulk_create(
        ApiToken(
            id=UUID(int=7919 * number % 101),
            name=f"name {number // 4}",
            digest=f"{number:064}",
            prefix="keel_",
            scope="read",
            created_at=MAY + timedelta(microseconds=number // 3),
        )
        for number in range(count)
    )


def walk(by: tuple[str, ...], limit: int) -> list[ApiToken]:
    found, cursor = [], ""
    while True:
        page = get_page(ApiToken.objects.all(), by=by, cursor=cursor, limit=limit)
        found += page.items
        cursor = page.next_cursor
        if not cursor:
            return found
        assert len(page.items) == limit


@pytest.mark.parametrize("by", ORDERS, ids=" ".join)
@pytest.mark.parametrize("limit", [1, 2, 5, 20, 21])
def test_pages_hold_each_row_once_in_order(as_trader, by, limit):
    make_tokens(20)

    assert walk(by, limit) == list(ApiToken.objects.order_by(*by))


def test_rows_that_come_and_go_move_no_others(as_trader):
    make_tokens(9)
    by = ("-created_at", "id")
    everything = list(ApiToken.objects.order_by(*by))
    first = get_page(ApiToken.objects.all(), by=by, limit=4)

    first.items[0].delete()
    first.items[3].delete()
    ApiToken.objects.create(name="newer", digest="x", prefix="", scope="read", created_at=MAY + timedelta(days=1))

    assert get_page(ApiToken.objects.all(), by=by, cursor=first.next_cursor, limit=9).items == everything[4:]


def test_cursor_of_another_user_shows_ones_own_rows_only_and_none_of_another_order(stranger, as_trader):
    cursor = as_owner(stranger, lambda: (make_tokens(3), get_page(ApiToken.objects.all(), by=("-id",), limit=1))[1])
    mine = ApiToken.objects.create(name="mine", digest="y", prefix="", scope="read", created_at=MAY, id=UUID(int=1))

    assert get_page(ApiToken.objects.all(), by=("-id",), cursor=cursor.next_cursor).items == [mine]
    with pytest.raises(CursorRefused):
        get_page(ApiToken.objects.all(), by=("id",), cursor=cursor.next_cursor)


@given(st.text(min_size=1) | st.from_regex("[A-Za-z0-9-]{1,9}:[A-Za-z0-9-]{1,6}:[A-Za-z0-9-]{20}", fullmatch=True))
def test_cursor_that_we_did_not_give_is_refused(cursor):
    with pytest.raises(CursorRefused):
        get_page(ApiToken.objects.all(), by=("-id",), cursor=cursor)
