"""Log lines as JSON, with the id of the request and without the text of exceptions."""

import traceback
from contextvars import ContextVar
from logging import Filter, LogRecord
from types import TracebackType

from pythonjsonlogger.json import JsonFormatter

request_id: ContextVar[str] = ContextVar("request_id", default="")


class RequestIdFilter(Filter):
    def filter(self, record: LogRecord) -> bool:
        record.request_id = request_id.get()
        return True


class PrivateJsonFormatter(JsonFormatter):
    """One JSON object a line.

    An exception's message may repeat what a user typed (a refused value, a row of the database), so a line has the
    type of each exception and the places of the code, and nothing else of it.
    """

    def formatException(
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        """Return types and places of an exception and its causes."""
        return "\n".join(_describe(ei[1])) if ei[1] is not None else ""


def _describe(error: BaseException) -> list[str]:
    lines: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        frames = traceback.extract_tb(link.__traceback__)
        lines.append(type(link).__qualname__)
        lines += [f"  {frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        link = link.__cause__ or link.__context__
    return lines
