"""The parser of request bodies: strict, bounded JSON."""

import json
import math
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, Any, Final, NoReturn

from rest_framework import exceptions
from rest_framework.parsers import BaseParser

from config.lib.text import is_small_json

MAX_DEPTH: Final = 20
MAX_CONTAINERS: Final = 500_000  # objects and lists of a body

_MAX_INTEGER: Final = 2**63 - 1  # what a database column takes
_UNSAFE = re.compile(r"[\0\ud800-\udfff]")


class BodyTooLarge(exceptions.APIException):
    """More was sent than the address takes."""

    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    default_detail = "This is more than can be taken at once."
    default_code = "too_large"


class StrictJSONParser(BaseParser):
    """Unambiguous JSON that a database can store, bounded in size."""

    media_type = "application/json"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        limit = (parser_context or {})["view"].max_body_bytes
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(f"The body may have {limit} bytes at most.")
        return parse_json(body)


def parse_json(body: bytes) -> object:
    """Return the value of a strict JSON text: no repeated keys, NaN, NUL, deep nesting. Raises ParseError."""
    try:
        text = body.decode()
        if not is_small_json(text, containers=MAX_CONTAINERS, values=10 * MAX_CONTAINERS):
            raise BodyTooLarge("The body holds too many values.")
        value = json.loads(
            text,
            object_pairs_hook=_parse_object,
            parse_int=_parse_integer,
            parse_float=_parse_float,
            parse_constant=_refuse_constant,
        )
    except RecursionError as error:
        raise exceptions.ParseError("This is nested too deeply.") from error
    except ValueError as error:  # of decoding too
        raise exceptions.ParseError(f"This is not JSON in UTF-8: {error}") from error
    _check_value(value, depth=1)
    return value


def _parse_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise exceptions.ParseError("An object has the same key twice.")
    return fields


def _parse_integer(digits: str) -> int:
    number = int(digits) if len(digits) <= 20 else _MAX_INTEGER + 1
    if abs(number) > _MAX_INTEGER:
        raise exceptions.ParseError("A number is too large.")
    return number


def _parse_float(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise exceptions.ParseError("A number is too large.")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise exceptions.ParseError(f"{name} is no JSON.")


def _check_value(value: object, *, depth: int) -> None:
    match value:
        case str() if _UNSAFE.search(value):
            raise exceptions.ParseError("A text holds a character that cannot be kept: NUL or half a surrogate pair.")
        case dict() | list() if depth > MAX_DEPTH:
            raise exceptions.ParseError("This is nested too deeply.")
        case dict():
            for key, inner in value.items():
                _check_value(key, depth=depth)
                _check_value(inner, depth=depth + 1)
        case list():
            for inner in value:
                _check_value(inner, depth=depth + 1)
