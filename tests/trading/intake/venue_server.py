"""A local server that answers as the venues document, and ccxt clients that ask it."""

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answers = dict[str, Any]  # by the end of a path: the answer, or a function of the question


class VenueServer:
    def __init__(self) -> None:
        self.answers: Answers = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []
        self.status = 200
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self._answer(dict(parse_qsl(urlsplit(self.path).query)))

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
                self._answer(json.loads(body) if body.startswith("{") else dict(parse_qsl(body)))

            def _answer(self, question):
                path = urlsplit(self.path).path
                server.asked.append((path, question))
                server.headers.append(dict(self.headers))
                found = [answer for end, answer in server.answers.items() if path.endswith(end)]
                answer = found[0] if found else {"msg": "not found"}
                answer = answer(question) if isinstance(answer, Callable) else answer
                content = json.dumps(answer).encode()
                self.send_response(server.status if found else 404)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"

    @contextmanager
    def running(self):
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()

    def redirect(self, client):
        """Let a ccxt client ask this server."""
        hostname = client.hostname or ""
        client.hostname = hostname
        client.urls["api"] = {
            name: self.url + urlsplit(url.replace("{hostname}", hostname)).path
            for name, url in client.urls["api"].items()
        }
        client.enableRateLimit = False
        return client
