"""The trade page's chart, R, lessons, note, tags and picture."""

import json
import re
from base64 import b64encode
from contextvars import Context
from datetime import timedelta
from decimal import Decimal
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from chat.endings.erasure import erase_user
from tests.factories.memory import MAY
from tests.factories.record import (
    BarFactory,
    DecisionSnapshotFactory,
    FillFactory,
    MarketEventFactory,
    OrderFactory,
    ReflectionNoteFactory,
    TradeFactory,
    TradeRemarkFactory,
    TradingRuleFactory,
)
from tests.trading.browsing import assert_shows, text_of
from trading.models import Trade, TradeRemark

HOUR = timedelta(hours=1)


def page_of(trade: Trade) -> str:
    return f"/trades/{trade.pk}/"


def picture_of(trade: Trade) -> str:
    return f"/trades/pictures/{trade.pk}/"


def photo(kind: str = "JPEG") -> SimpleUploadedFile:
    sink, exif = BytesIO(), Image.Exif()
    exif[0x010E] = "taken at home"
    Image.new("RGB", (60, 30), "teal").save(sink, kind, exif=exif)
    return SimpleUploadedFile("chart.jpg", sink.getvalue(), content_type="text/html")


def trade_with_a_stop(**values) -> Trade:
    snapshot = DecisionSnapshotFactory()
    trade = TradeFactory(entry_snapshot=snapshot, deployment=snapshot.deployment, **values)
    OrderFactory(deployment=trade.deployment, snapshot=snapshot, stop_price=Decimal(95), proposed_at=MAY)
    return trade


def chart_of(client, trade: Trade) -> dict:
    body = client.get(page_of(trade)).content.decode()
    found = re.search(r'data-chart="price"\s+data-values="([^"]*)"', body)
    assert found is not None, "the page has a chart"
    return json.loads(found[1].replace("&quot;", '"'))


def test_trade_page_draws_fills_stop_extremes_and_events(client):
    trade = trade_with_a_stop()
    for number in range(-12, 14):
        BarFactory(opened_at=MAY + number * HOUR, high=Decimal(120 if number == 1 else 105))
    for quantity, at in ((1, MAY), (1, MAY + HOUR / 2), (-2, MAY + 2 * HOUR)):
        FillFactory(deployment=trade.deployment, quantity=quantity, at=at)
    MarketEventFactory(starts_at=MAY + HOUR, title="Rates decided")
    MarketEventFactory(starts_at=MAY + HOUR, title="Of another coin", symbols=["DOGE"])

    chart = chart_of(client, trade)

    assert [mark["way"] for mark in chart["marks"]].count("event") == 1
    assert {mark["way"] for mark in chart["marks"]} == {"entry", "add", "exit", "best", "worst", "event"}
    assert [level["price"] for level in chart["levels"]] == [95.0]
    assert len(chart["times"]) >= 14
    assert "Highest: 120" in text_of(client.get(page_of(trade)))


def test_trade_page_list_and_planner_say_the_multiple_of_a_known_stop(client):
    r = "R multiple 1.90 R net over what the stop at 95 put at risk"  # 19 over 5 a coin, 2 coins
    assert_shows(client.get(page_of(trade_with_a_stop())), r)
    assert_shows(client.get("/trades/", {"columns": "r"}), "1.90")
    assert_shows(client.get("/trades/ask/", {"measure": "r"}), "+1.90 R")

    bare = client.get(page_of(TradeFactory()))
    assert_shows(bare, "No stop is known", "No prices of BTC for these days are stored", "Ask about this trade")
    assert_shows(client.get(page_of(trade_with_a_stop(still_open=True))), "Still open")


def test_trade_page_shows_the_lessons_that_rest_on_it(client):
    trade = TradeFactory()
    window = {"deployment": trade.deployment, "window_end": trade.exit_at}
    ReflectionNoteFactory(trade_ids=[str(trade.pk)], lessons_text="- Wait for the close", **window)
    old = {"status": "superseded", "superseded_at": MAY}
    ReflectionNoteFactory(trade_ids=[], lessons_text="- Of other trades", **old, **window)

    assert_shows(client.get(page_of(trade)), "Wait for the close", lacks=("Of other trades",))


def test_note_and_tags_are_saved_and_shown_as_text(client):
    trade = TradeFactory()

    too_long = client.post(f"{page_of(trade)}remark/", {"text": "x" * 2001, "tags": ""}, follow=True)
    assert_shows(too_long, "A note has at most 2,000 characters.")
    assert not TradeRemark.objects.exists()

    client.post(f"{page_of(trade)}remark/", {"text": "<b>Chased</b> it", "tags": "Late entry, news"})

    body = client.get(page_of(trade)).content.decode()
    assert "&lt;b&gt;Chased&lt;/b&gt; it" in body
    assert 'value="late-entry, news"' in body
    assert "Trades with late-entry" in text_of(client.get(page_of(trade)))
    assert "late-entry, news" in text_of(client.get("/trades/", {"columns": "tags"}))


def test_picture_is_served_alone_and_without_metadata(client):
    trade = TradeFactory()

    client.post(picture_of(trade), {"picture": photo()})
    response = client.get(picture_of(trade))

    assert response["Content-Type"] == "image/webp"
    assert response["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in response["Cache-Control"]
    assert b"taken at home" not in response.content
    with Image.open(BytesIO(response.content)) as kept:
        assert kept.size == (60, 30)
    assert f'src="{picture_of(trade)}' in client.get(page_of(trade)).content.decode()
    client.post(picture_of(trade), {"act": "drop"})
    assert client.get(picture_of(trade)).status_code == 404


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"picture": SimpleUploadedFile("x.png", b"<svg onload=alert(1)>")}, "no PNG, JPEG or WebP picture"),
        ({}, "Choose a picture first."),
    ],
)
def test_picture_that_is_none_is_refused_in_words(client, sent, words):
    trade = TradeFactory()

    assert words in text_of(client.post(picture_of(trade), sent, follow=True))
    assert not TradeRemark.objects.exists()


def test_picture_is_exported_and_erased_with_the_user(client, trader):
    trade = TradeFactory()
    client.post(picture_of(trade), {"picture": photo()})
    content = bytes(TradeRemark.objects.get().picture)

    with ZipFile(BytesIO(b"".join(client.get("/profile/export/zip/")))) as packed:
        (row,) = json.loads(packed.read("trade_remarks.json"))

    assert b64encode(content).decode() in row["picture"]
    Context().run(erase_user, user_id=trader.pk)
    assert not TradeRemark.objects.exists()


def test_trade_page_takes_few_queries(client, django_assert_max_num_queries):
    trade = trade_with_a_stop()
    ReflectionNoteFactory(deployment=trade.deployment, trade_ids=[str(trade.pk)])
    TradeRemarkFactory(trade_id=trade.pk)
    FillFactory(deployment=trade.deployment)
    BarFactory()

    with django_assert_max_num_queries(18):  # twelve, session and user, and the scope on PostgreSQL
        client.get(page_of(trade))
    TradingRuleFactory()
    with django_assert_max_num_queries(21):  # a confirmed rule is judged over the whole record
        client.get(page_of(trade))
