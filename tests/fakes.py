"""Stand-ins for the outside world: a model that follows a script, and a server that speaks a provider's protocol."""

import asyncio
import json
import select
import socket
import socketserver
import struct
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from config.lib.llm.answer import Piece, Usage
from config.lib.llm.requests import ModelRequest


class Gate:
    """A point in a scripted reply where the model waits until the test says go on.

    `reached` tells the test that the reply has come this far; works across threads and event loops.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def open(self) -> None:
        """Let the reply go on."""
        self._opened.set()

    async def wait(self) -> None:
        """Wait, as the model, for `open()`."""
        self.reached.set()
        while not self._opened.is_set():
            await asyncio.sleep(0.002)


@dataclass(frozen=True)
class ScriptedCall:
    """One tool call of a scripted reply; `arguments` is the JSON text as the model writes it."""

    name: str
    arguments: str
    id: str | None


@dataclass(frozen=True)
class ScriptedReply:
    """One answer: pieces of text (or gates, or an exception to raise), then tool calls, then the end."""

    pieces: tuple[str | Gate | Exception, ...]
    calls: tuple[ScriptedCall, ...]
    finish_reason: str
    delay: float  # seconds before each piece


class ScriptedModel:
    """A model that says what the test wrote, one reply per request, as a provider of the door.

    Register it with `register_provider("scripted", lambda: model)` and use it as `scripted/anything`. A
    request without a reply left fails loudly; `requests` keeps what each call was given.
    """

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.closed = 0  # replies that were abandoned by their reader
        self._replies: deque[ScriptedReply] = deque()
        self._calls_made = 0

    def say(self, *pieces: str | Gate | Exception, finish_reason: str = "stop", delay: float = 0.0) -> None:
        """Queue a reply of text; each piece is one chunk, a Gate waits, an exception is raised in its place."""
        self._replies.append(ScriptedReply(pieces, (), finish_reason, delay))

    def call(self, name: str, arguments: dict[str, Any] | str, *, text: str = "", id: str | None = None) -> None:
        """Queue a reply that calls one tool; a string as arguments is sent as it is, also when it is broken."""
        self.call_all((name, arguments), text=text, id=id)

    def call_all(self, *calls: tuple[str, dict[str, Any] | str], text: str = "", id: str | None = None) -> None:
        """Queue a reply that calls several tools at once; with `id` all of them carry that one id."""
        made = []
        for name, arguments in calls:
            self._calls_made += 1
            written = arguments if isinstance(arguments, str) else json.dumps(arguments)
            made.append(ScriptedCall(name, written, id or f"call_{self._calls_made}"))
        pieces = (text,) if text else ()
        self._replies.append(ScriptedReply(pieces, tuple(made), "tool_calls", 0.0))

    async def stream(self, model: str, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Stream the next reply (called by the door)."""
        reply = self._next(model, request)
        finished = False
        try:
            async for text in _text_of(reply):
                yield Piece(content=text)
            for index, call in enumerate(reply.calls):
                yield Piece(calls=[_fragment(index, call.id, call.name, "")])
                for at in range(0, len(call.arguments), 12):
                    yield Piece(calls=[_fragment(index, None, None, call.arguments[at : at + 12])])
            finished = True  # the door reads no further than this piece
            yield Piece(finish_reason=reply.finish_reason, usage=Usage(10, 5))
        finally:
            self.closed += not finished

    def _next(self, model: str, request: ModelRequest) -> ScriptedReply:
        sent = {"model": model, **{name: value for name, value in asdict(request).items() if value}}
        self.requests.append(json.loads(json.dumps(sent)))
        if not self._replies:
            raise AssertionError("The script has no reply left for this request.")
        return self._replies.popleft()


async def _text_of(reply: ScriptedReply) -> AsyncIterator[str]:
    for piece in reply.pieces:
        await asyncio.sleep(reply.delay)
        if isinstance(piece, Exception):
            raise piece
        if isinstance(piece, Gate):
            await piece.wait()
        else:
            yield piece


def _fragment(index: int, id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"id": id, "type": "function", "index": index, "function": {"name": name, "arguments": arguments}}


@dataclass(frozen=True)
class Send:
    """Bytes of the body of a streamed answer."""

    data: bytes


@dataclass(frozen=True)
class Pause:
    """Silence; the connection stays open."""

    seconds: float


@dataclass(frozen=True)
class Reset:
    """A TCP reset."""


@dataclass(frozen=True)
class Cut:
    """A connection closed in the middle of the body."""


@dataclass(frozen=True)
class Respond:
    """A whole response that is no stream."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


Step = Send | Pause | Reset | Cut | Respond


def event(payload: Any) -> Send:
    """Make one server-sent event; a dict becomes JSON, a string is sent as it is."""
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return Send(f"data: {text}\n\n".encode())


def delta(*, finish_reason: str | None = None, **fields: Any) -> Send:
    """Make one chunk of a streamed answer, e.g. `delta(content="Hi")` or `delta(tool_calls=[...])`."""
    return event(_chunk([{"index": 0, "delta": fields, "finish_reason": finish_reason}]))


def usage(prompt: int, completion: int, cached: int = 0) -> Send:
    """Make the chunk without choices that carries the usage."""
    return event({**_chunk([]), "usage": _usage(prompt, completion, cached)})


def done() -> Send:
    """Make the end mark of a stream."""
    return event("[DONE]")


def tool_fragment(index: int | None = 0, *, id: str | None = None, name: Any = None, arguments: Any = None) -> Any:
    """Make one fragment of a tool call; what is None is left out, as providers do."""
    function = {k: v for k, v in {"name": name, "arguments": arguments}.items() if v is not None}
    fragment = {"index": index, "id": id, "type": "function" if id else None, "function": function}
    return {k: v for k, v in fragment.items() if v is not None}


def _chunk(choices: list[Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-wire",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "wire-1",
        "choices": choices,
    }


def _usage(prompt: int, completion: int, cached: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }


@dataclass
class WireRequest:
    """What one request brought, and how it ended."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str = ""
    hung_up: threading.Event = field(default_factory=threading.Event)  # the client left before the end


class WireServer:
    """A local server that speaks OpenAI's chat-completions protocol, scripted request by request.

    Use it as a context manager; `url` is the API base. Each request takes the next script; when none is left,
    `default` (a script) answers, else a 500. It closes each connection after its answer unless `keep_alive`.
    """

    def __init__(self, default: Iterable[Step] | None = None, *, keep_alive: bool = False) -> None:
        self.requests: list[WireRequest] = []
        self.connections = 0
        self.default = None if default is None else tuple(default)
        self.keep_alive = keep_alive
        self._scripts: deque[tuple[Step, ...]] = deque()
        self._server = _Server(("127.0.0.1", 0), _Connection)
        self._server.wire = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._server.close_connections()

    def script(self, *steps: Step) -> None:
        """Queue the answer to the next request, step by step."""
        self._scripts.append(steps)

    def say(self, *texts: str, delay: float = 0.0) -> None:
        """Queue a well-formed streamed answer of these chunks, with usage."""
        self.script(*well_formed(*texts, delay=delay))

    def fail(self, status: int, message: str = "the provider's own words", **headers: str) -> None:
        """Queue an error response."""
        body = json.dumps({"error": {"message": message, "type": "error", "code": str(status)}})
        self.script(Respond(status, body.encode(), headers))

    def next_script(self) -> tuple[Step, ...]:
        """Take the script of a request that has just come in."""
        if self._scripts:
            return self._scripts.popleft()
        return self.default or (Respond(500, b'{"error": {"message": "nothing scripted"}}'),)


def well_formed(*texts: str, delay: float = 0.0) -> list[Step]:
    """Make the steps of a good streamed answer: role, texts, finish reason, usage, end mark."""
    steps: list[Step] = [delta(role="assistant", content="")]
    for text in texts:
        steps += [Pause(delay), delta(content=text)] if delay else [delta(content=text)]
    return [*steps, delta(finish_reason="stop"), usage(12, 3, 4), done()]


def refused_url() -> str:
    """Return an API base where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # connections that come at once
    wire: WireServer

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def close_connections(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _HungUp(Exception):
    """The client closed the connection."""


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = self.server.wire
        wire.connections += 1
        with suppress(ConnectionError):
            while (request := self._read()) is not None:
                wire.requests.append(request)
                try:
                    if not self._play(wire.next_script()) or not wire.keep_alive:
                        return
                except (_HungUp, ConnectionError):
                    request.hung_up.set()
                    return

    def _read(self) -> WireRequest | None:
        if not (begin := self.rfile.readline()):
            return None
        headers = dict(self._header_lines())
        body = self.rfile.read(int(headers.get("content-length", 0)))
        return WireRequest(json.loads(body), headers, path=begin.decode().split()[1])

    def _header_lines(self) -> Iterator[tuple[str, str]]:
        while line := self.rfile.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            yield name.lower(), value.strip()

    def _play(self, steps: tuple[Step, ...]) -> bool:
        """Play a script; False when the connection is not to be used again."""
        streaming = False
        for step in steps:
            if isinstance(step, Send) and not streaming:
                self._head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
                streaming = True
            match step:
                case Send(data):
                    self.request.sendall(b"%x\r\n%s\r\n" % (len(data), data))
                case Pause(seconds):
                    self._wait(seconds)
                case Respond(status, body, headers):
                    self._head(status, {"content-type": "application/json", "content-length": len(body), **headers})
                    self.request.sendall(body)
                case Reset():
                    self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.request.close()
                    return False
                case Cut():
                    return False
        if streaming:
            self.request.sendall(b"0\r\n\r\n")
        return True

    def _head(self, status: int, headers: dict[str, Any]) -> None:
        headers = headers if self.server.wire.keep_alive else {**headers, "connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.request.sendall(f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode())

    def _wait(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self.request], [], [], left)[0] and not self.request.recv(1, socket.MSG_PEEK):
                raise _HungUp
