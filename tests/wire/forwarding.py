"""A local server that records requests and forwards them to a real one."""

import json
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Recorder(ThreadingHTTPServer):
    """The server; `bodies` are the requests in their order."""

    bodies: list[Any]
    base: str
    key: str

    @property
    def url(self) -> str:
        """The API base."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Recorder

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(json.loads(body))
        headers = {"content-type": "application/json"}
        if self.server.key:
            headers["authorization"] = f"Bearer {self.server.key}"
        url = f"{self.server.base.rstrip('/')}/chat/completions"
        request = urllib.request.Request(url, body, headers)  # noqa: S310 - the tester names the server
        with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310 - as above
            self.send_response(answer.status)
            self.send_header("content-type", answer.headers.get("content-type", ""))
            self.end_headers()
            for line in answer:
                self.wfile.write(line)
                self.wfile.flush()

    def log_message(self, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def forward_to(base: str, key: str) -> Iterator[Recorder]:
    """Run the server for a while."""
    server = Recorder(("127.0.0.1", 0), _Handler)
    server.bodies, server.base, server.key = [], base, key
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
