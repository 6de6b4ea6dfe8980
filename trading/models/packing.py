"""Texts kept small: compressed, and as differences to a text that they resemble."""

import zlib
from typing import Final

_WINDOW: Final = 32 * 1024  # bytes; zlib refers to no more of a text before


def pack_text(text: str, base: str = "") -> bytes:
    """Return a text compressed; what stands in `base`, too, costs little. `unpack_text` needs the same base."""
    packer = zlib.compressobj(9, zdict=_dictionary(base)) if base else zlib.compressobj(9)
    return packer.compress(text.encode()) + packer.flush()


def unpack_text(packed: bytes, base: str = "") -> str:
    """Return the text of `pack_text`. Raises ValueError if it is torn or the base is another one."""
    unpacker = zlib.decompressobj(zdict=_dictionary(base)) if base else zlib.decompressobj()
    try:
        text = unpacker.decompress(packed) + unpacker.flush()
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if not unpacker.eof:
        raise ValueError("the packed text is cut off")
    return text.decode()


def _dictionary(base: str) -> bytes:
    return base.encode()[-_WINDOW:]
