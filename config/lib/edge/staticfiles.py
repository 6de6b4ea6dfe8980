"""Static files: hashed names, imports between modules included, and how they are sent."""

import asyncio
from io import BytesIO
from typing import Final

from django.contrib.staticfiles.storage import HashedFilesMixin
from django.http import HttpRequest, HttpResponse
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile
from servestatic.storage import CompressedManifestStaticFilesStorage

_IMPORTS: Final = HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]


class HashedStaticFilesStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Compressed files with hashed names.

    Imports between our modules are rewritten, or a deploy would mix old and new ones. Django's own switch for this
    looks at every script, also at those of packages, whose imports need not lead to a file.
    """

    patterns = (*HashedFilesMixin.patterns, *((f"{folder}/*.js", _IMPORTS) for folder in ("chat", "charts", "js")))


class StaticFilesMiddleware(ServeStaticMiddleware):  # type: ignore[misc]
    """Static files, each read by one thread that also closes it.

    ServeStatic opens, reads and closes a file in separate steps: a browser that left between two of them left it open.
    """

    @staticmethod
    async def aserve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponse:
        """Answer with a file, a part of it, or a redirect."""
        return await asyncio.to_thread(_answer, static_file, request)


def _answer(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponse:
    found = static_file.get_response(request.method or "GET", request.META)
    with found.file or BytesIO() as file:
        answer = HttpResponse(file.read(), status=found.status)
    del answer["Content-Type"]
    for name, value in found.headers:
        answer[name] = value
    return answer
