"""A picture of a trade: decoded, made smaller and encoded anew, so that no metadata and no other content stays."""

import struct
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Length
from PIL import Image, ImageOps

from config.lib.errors import DomainError, NotFound
from trading.models import TradeRemark
from trading.record.trade_queries import get_trade

MAX_UPLOAD: Final = 5 * 1024 * 1024  # bytes
MAX_PIXELS: Final = 24_000_000  # before decoding: a file of some kilobytes may claim gigabytes
MAX_SIDE: Final = 1_920  # of what is kept
CONTENT_TYPE: Final = "image/webp"
_FORMATS: Final = ("PNG", "JPEG", "WEBP")
_BROKEN: Final = (OSError, ValueError, TypeError, SyntaxError, EOFError, IndexError, struct.error)
_BOMB: Final = (Image.DecompressionBombError, Image.DecompressionBombWarning)
_TOO_LARGE: Final = f"The picture has more than {MAX_PIXELS // 1_000_000} million pixels. Make it smaller first."


class PictureRefused(DomainError):
    """The file is no picture that Keel keeps."""


class PictureNotFound(NotFound):
    """The trade has no picture."""


@dataclass(frozen=True, slots=True)
class CleanPicture:
    """A picture without anything but its pixels."""

    content: bytes
    width: int
    height: int


def clean_picture(content: bytes) -> CleanPicture:
    """Return a picture encoded anew; needs no owner and no transaction. Raises PictureRefused."""
    if len(content) > MAX_UPLOAD:
        raise PictureRefused(f"The file is larger than {MAX_UPLOAD // 1024**2} MB.")
    try:
        with Image.open(BytesIO(content), formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise PictureRefused(_TOO_LARGE)
            image.draft("RGB", (MAX_SIDE, MAX_SIDE))
            plain = _copy_pixels(ImageOps.exif_transpose(image))
    except _BOMB as error:
        raise PictureRefused(_TOO_LARGE) from error
    except _BROKEN as error:
        raise PictureRefused("This file is no PNG, JPEG or WebP picture, or it is damaged.") from error
    encoded = BytesIO()
    plain.save(encoded, "WEBP", quality=90)
    return CleanPicture(encoded.getvalue(), *plain.size)


def _copy_pixels(image: Image.Image) -> Image.Image:
    """Return a new image on white, without what the file said beside its pixels."""
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    plain = Image.new("RGB", image.size, "white")
    layer = image.convert("RGBA") if image.has_transparency_data else image.convert("RGB")
    plain.paste(layer, mask=layer if layer.mode == "RGBA" else None)
    return plain


def keep_picture(*, trade_id: UUID, picture: CleanPicture, now: datetime) -> None:
    """Make a picture that of a trade, inside `owned_tx(user)`. Raises TradeNotFound, PictureRefused."""
    get_trade(trade_id)
    others = TradeRemark.objects.filter(picture__isnull=False).exclude(trade_id=trade_id)
    stored = others.aggregate(bytes=Sum(Length("picture")))["bytes"] or 0
    if stored + len(picture.content) > settings.PICTURES_MB_PER_USER * 1024**2:
        raise PictureRefused(
            f"Your pictures take {stored / 1024**2:.0f} of {settings.PICTURES_MB_PER_USER} MB, and this one is larger"
            " than the rest. Delete the pictures of some trades first."
        )
    values = {"picture": picture.content, "picture_width": picture.width, "picture_height": picture.height}
    TradeRemark.objects.update_or_create(trade_id=trade_id, defaults={**values, "updated_at": now})


def read_picture(trade_id: UUID) -> bytes:
    """Return the content of a trade's picture. Raises PictureNotFound."""
    rows = TradeRemark.objects.filter(trade_id=trade_id, picture__isnull=False)
    content = rows.values_list("picture", flat=True).first()
    if content is None:
        raise PictureNotFound("This trade has no picture.")
    return bytes(content)


def drop_picture(*, trade_id: UUID, now: datetime) -> None:
    """Delete a trade's picture, inside `owned_tx(user)`. Raises PictureNotFound."""
    rows = TradeRemark.objects.filter(trade_id=trade_id, picture__isnull=False)
    if not rows.update(picture=None, picture_width=None, picture_height=None, updated_at=now):
        raise PictureNotFound("This trade has no picture.")
