"""Stream a file while it is written."""

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Any, Final

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

from config.lib.threads import run_in_thread

_LINES_AT_ONCE: Final = 500


def stream_file(
    request: HttpRequest, lines: Iterator[str] | Iterator[bytes], *, content_type: str, filename: str
) -> StreamingHttpResponse:
    """Answer with a file and read its lines while sending, in doors of their own: the view has returned by then."""
    parts = _iter_parts_in_threads(lines) if isinstance(request, ASGIRequest) else _iter_parts(lines)
    charset = "" if content_type == "application/zip" else "; charset=utf-8"
    response = StreamingHttpResponse(parts, content_type=f"{content_type}{charset}")
    response["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def _iter_parts(lines: Iterator[Any]) -> Iterator[Any]:
    while part := _next_part(lines):
        yield part


# Given a plain iterator, an asynchronous server would read all of it before it sends the first line. No thread is held
# between two parts, whose reader may be slow.
async def _iter_parts_in_threads(lines: Iterator[Any]) -> AsyncIterator[Any]:
    while part := await run_in_thread(_next_part, lines):
        yield part


def _next_part(lines: Iterator[Any]) -> Any:
    part = list(islice(lines, _LINES_AT_ONCE))
    return part[0][:0].join(part) if part else ""
