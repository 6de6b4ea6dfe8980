"""The note, tags and picture of a trade on its page."""

import json
from base64 import b64encode
from contextvars import Context
from datetime import timedelta
from io import BytesIO
from zipfile import ZipFile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from PIL import Image

from chat.endings.erasure import erase_user
from tests.factories.record import TradeFactory
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
