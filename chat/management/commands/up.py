import socket
import threading
from argparse import BooleanOptionalAction
from collections.abc import Callable

import uvicorn
from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections, connection

from chat.management.commands.run_jobs import work_until
from chat.turns import live
from config.lib.operations.health import require_migrations
from config.lib.threads import share_arenas
from config.lib.work.commands import KeelCommand
from config.lib.work.runs import log_run

MAX_SOCKET_FRAME = 65_536  # bytes
GRACE_SECONDS = 10  # running replies are saved and marked within it
REQUEST_SECONDS = 5  # of these, for requests to end


class _Server(uvicorn.Server):
    """A server that calls `announce` once it takes requests, and sets `stopped` when it stops."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None], stopped: threading.Event) -> None:
        super().__init__(config)
        self._announce = announce
        self._stopped = stopped

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        # Before uvicorn waits for the open requests: some of them wait for the end of a turn.
        self._stopped.set()
        live.stop_turns()
        await super().shutdown(sockets)


class Command(KeelCommand):
    help = "Serve Keel and run its jobs, in one process; Ctrl-C stops both. HOST and PORT set the address."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.HOST)
        parser.add_argument("--port", type=int, default=settings.PORT)
        parser.add_argument(
            "--migrate",
            action=BooleanOptionalAction,
            default=connection.vendor == "sqlite",
            help="first apply pending migrations, on a site of one machine; the default on SQLite",
        )

    def run(self, *, host: str, port: int, migrate: bool, **options: object) -> None:
        share_arenas()
        require_migrations(migrates=migrate)
        bound = _bind(host, port)
        close_old_connections()  # this thread serves from now on and asks the database no more
        stopped = threading.Event()
        worker = threading.Thread(target=work_until, args=(stopped, log_run), name="jobs", daemon=True)
        worker.start()
        config = uvicorn.Config(
            "config.asgi:application",
            ws="websockets-sansio",
            ws_max_size=MAX_SOCKET_FRAME,
            ws_per_message_deflate=False,  # a frame has a few words: it gains nothing, and each socket would pay
            log_level="warning",
            timeout_graceful_shutdown=REQUEST_SECONDS,
            proxy_headers=False,  # config.lib.edge.requests trusts a number of proxies, not their addresses
        )
        url = f"http://{host}:{bound.getsockname()[1]}/"
        server = _Server(config, lambda: self.say(f"Keel is on {url} (Ctrl-C stops it)", url=url), stopped)
        try:
            server.run(sockets=[bound])
        except KeyboardInterrupt:  # uvicorn raises it again once it has stopped
            pass
        finally:
            bound.close()
            stopped.set()  # also when the server did not start
            worker.join(timeout=REQUEST_SECONDS)


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to the address. Raises CommandError, before anything else has started."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise CommandError(
            f"{host}:{port} cannot be used ({error.strerror}). Stop the program that uses it, or choose another port"
            " with --port or PORT."
        ) from error
    return bound
