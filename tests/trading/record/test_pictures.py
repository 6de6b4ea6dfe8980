import random
import zlib
from io import BytesIO
from math import isqrt
from struct import pack

import pytest
from PIL import Image, PngImagePlugin

from tests.factories.memory import MAY
from tests.factories.record import TradeFactory
from trading.models import TradeRemark
from trading.record.pictures import (
    MAX_PIXELS,
    MAX_SIDE,
    MAX_UPLOAD,
    CleanPicture,
    PictureNotFound,
    PictureRefused,
    clean_picture,
    drop_picture,
    keep_picture,
    read_picture,
)
from trading.record.remarks import write_remark

SECRET = b"52.5200N-canary"


def encode(image: Image.Image, kind: str, **options) -> bytes:
    sink = BytesIO()
    image.save(sink, kind, **options)
    return sink.getvalue()


def with_metadata(kind: str) -> bytes:
    """Return a picture with a secret in each place that the format has for words."""
    exif = Image.Exif()
    exif[0x010E] = SECRET.decode()  # the description
    exif[0x0112] = 6  # turned by 90 degrees
    image = Image.new("RGB", (40, 20), "navy")
    if kind == "PNG":
        texts = PngImagePlugin.PngInfo()
        texts.add_text("Comment", SECRET.decode())
        return encode(image, kind, exif=exif, pnginfo=texts)
    more = {"xmp": SECRET} if kind == "WEBP" else {"comment": SECRET}
    return encode(image, kind, exif=exif, icc_profile=SECRET, **more)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_clean_picture_drops_metadata_and_turns_upright(kind):
    content = with_metadata(kind)
    assert SECRET in content, "the test's picture holds the secret"

    picture = clean_picture(content)

    with Image.open(BytesIO(picture.content)) as kept:
        assert (kept.format, kept.size, kept.info.keys() & {"exif", "icc_profile", "xmp"}) == ("WEBP", (20, 40), set())
    assert (picture.width, picture.height) == (20, 40)
    assert SECRET not in picture.content


def test_clean_picture_takes_every_kind_of_pixels_and_makes_a_large_one_smaller():
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"):
        image = Image.new("L", (30, 10), 200).convert(mode) if mode != "I;16" else Image.new(mode, (30, 10), 30_000)
        assert clean_picture(encode(image, "JPEG" if mode == "CMYK" else "PNG")).width == 30, mode
    picture = clean_picture(encode(Image.new("RGB", (4_000, 1_000)), "PNG"))
    assert (picture.width, picture.height) == (MAX_SIDE, MAX_SIDE // 4)


def png_that_claims(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))

    head = pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 99)) + chunk(b"IEND", b"")


def test_clean_picture_refuses_what_is_no_picture():
    for content in (
        b"",
        b"GIF89a" + b"\0" * 40,
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
        b"<!doctype html><script>1</script>",
        png_that_claims(10, 10)[:60],
    ):
        with pytest.raises(PictureRefused, match="no PNG, JPEG or WebP"):
            clean_picture(content)


@pytest.mark.limit("trading.record.pictures.MAX_PIXELS")
def test_clean_picture_refuses_more_pixels_than_it_decodes():
    for side in (isqrt(MAX_PIXELS) + 1, 65_000):
        with pytest.raises(PictureRefused, match="24 million pixels"):
            clean_picture(png_that_claims(side, side))


@pytest.mark.limit("trading.record.pictures.MAX_UPLOAD")
def test_clean_picture_refuses_a_large_file_of_few_pixels():
    picture = encode(Image.new("RGB", (4, 4)), "PNG")

    with pytest.raises(PictureRefused, match="larger than 5 MB"):
        clean_picture(picture + bytes(MAX_UPLOAD + 1 - len(picture)))


@pytest.mark.filterwarnings("ignore")  # the reader of EXIF warns of what it skips
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP"])
def test_clean_picture_reads_or_refuses_a_damaged_file(kind):
    content, chance = with_metadata(kind), random.Random(7)
    for _ in range(150):
        damaged = bytearray(content)
        for _ in range(chance.randint(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            clean_picture(bytes(damaged[: chance.choice([None, chance.randrange(len(damaged))])]))
        except PictureRefused:
            continue


def test_a_picture_is_replaced_and_deleted_and_the_note_stays(as_trader):
    trade = TradeFactory()
    write_remark(trade_id=trade.pk, text="Too early", now=MAY)
    for colour in ("red", "blue"):
        picture = clean_picture(encode(Image.new("RGB", (4, 4), colour), "PNG"))
        keep_picture(trade_id=trade.pk, picture=picture, now=MAY)

    assert read_picture(trade.pk) == picture.content
    drop_picture(trade_id=trade.pk, now=MAY)
    with pytest.raises(PictureNotFound):
        read_picture(trade.pk)
    with pytest.raises(PictureNotFound):
        drop_picture(trade_id=trade.pk, now=MAY)
    assert TradeRemark.objects.get().text == "Too early"


@pytest.mark.limit("config.settings.PICTURES_MB_PER_USER")
def test_pictures_of_a_user_have_a_quota(as_trader, settings):
    settings.PICTURES_MB_PER_USER = 1
    first, second = TradeFactory(), TradeFactory()
    large = CleanPicture(bytes(600 * 1024), 1, 1)
    keep_picture(trade_id=first.pk, picture=large, now=MAY)
    keep_picture(trade_id=first.pk, picture=large, now=MAY)

    with pytest.raises(PictureRefused, match=r"take 1 of 1 MB.*Delete the pictures of some trades"):
        keep_picture(trade_id=second.pk, picture=large, now=MAY)
    drop_picture(trade_id=first.pk, now=MAY)
    keep_picture(trade_id=second.pk, picture=large, now=MAY)
