"""Provider state: data that a model wants back with the tool calls it belongs to.

Thought signatures and reasoning blocks are opaque to us. Without them some models refuse the request that follows a
tool call, and other models refuse a request that contains them. So the state is stored with the call and the model's
name, goes back to that model alone, and is never shown or logged.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from config.lib.llm.text import clean

Fields = dict[str, Any]

MAX_OPAQUE: Final = 32_768  # characters of one signature or encrypted block
MAX_STATE: Final = 256 * 1024  # characters of the state of one answer, as JSON
MAX_DEPTH: Final = 12

_FRAGMENTS: Final = ("text", "summary", "thinking")  # arrive in pieces; the keys below arrive whole
_OPAQUE: Final = frozenset({"data", "id", "signature", "thought_signature"})


class StateReader:
    """Joins the state of one answer from its pieces.

    Oversized or malformed state is dropped whole.
    """

    __slots__ = ("_fields", "_is_broken", "_length")

    def __init__(self) -> None:
        self._fields: Fields = {}
        self._length = 0
        self._is_broken = False

    def take(self, fields: Mapping[str, object]) -> None:
        """Add the fields of one piece."""
        for name, value in fields.items():
            if value is None or self._is_broken:
                continue
            self._length += len(json.dumps(value, ensure_ascii=False, default=str))
            known = self._fields.get(name)
            if self._length > MAX_STATE or (known is not None and type(known) is not type(value)):
                self._is_broken = True
            elif isinstance(value, str):
                self._fields[name] = value if known is None else known + value
            elif isinstance(value, dict):
                self._fields[name] = {**(known or {}), **value}
            elif isinstance(value, list):
                _join_items(self._fields.setdefault(name, []), value)

    def read(self) -> Fields:
        """Return the joined fields; empty if they cannot be kept."""
        if self._is_broken:
            return {}
        try:
            return {name: _clean_value(value, name) for name, value in self._fields.items()}
        except ValueError:
            return {}


def _join_items(items: list[Any], pieces: list[Any]) -> None:
    """Append items; a fragment continues the item before it."""
    for piece in pieces:
        last = items[-1] if items else None
        if not (isinstance(piece, dict) and isinstance(last, dict) and _is_continued(last, piece)):
            items.append(piece)
            continue
        joined = {key: last.get(key, "") + piece[key] for key in _FRAGMENTS if isinstance(piece.get(key), str)}
        items[-1] = {**last, **{key: value for key, value in piece.items() if value is not None}, **joined}


def _is_continued(last: Fields, piece: Fields) -> bool:
    keys = [key for key in _FRAGMENTS if key in last or key in piece]
    return (
        bool(keys)
        and not last.get("signature")
        and all(last.get(key) == piece.get(key) for key in ("type", "index"))
        and all(isinstance(last.get(key, ""), str) for key in keys)
    )


def _clean_value(value: Any, key: str, depth: int = 0) -> Any:
    """Return a storable copy. Raises ValueError: too deep or long."""
    if depth > MAX_DEPTH:
        raise ValueError("too deep")
    if isinstance(value, str):
        if key in _OPAQUE and len(value) > MAX_OPAQUE:
            raise ValueError("too long")
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(name)): _clean_value(inner, str(name), depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [_clean_value(inner, key, depth + 1) for inner in value]
    return value if isinstance(value, int | float | None) else None
