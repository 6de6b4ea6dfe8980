import logging
import threading

import uvicorn
from django.conf import settings
from django.core.management.base import CommandParser
from django.db import close_old_connections

from chat.management.commands.run_jobs import work_until
from config.lib.health import require_current_database
from config.lib.work.commands import KeelCommand
from config.lib.work.jobs import JobRun

logger = logging.getLogger(__name__)

MAX_SOCKET_FRAME = 65_536  # bytes
GRACE_SECONDS = 10  # running replies are saved and marked within it


class Command(KeelCommand):
    help = "Serve Keel and run its jobs, in one process; Ctrl-C stops both. HOST and PORT set the address."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=settings.HOST)
        parser.add_argument("--port", type=int, default=settings.PORT)

    def run(self, *, host: str, port: int, **options: object) -> None:
        """Run the server here and the jobs in another thread."""
        require_current_database()
        close_old_connections()  # this thread serves from now on and asks the database no more
        stopped = threading.Event()
        worker = threading.Thread(target=work_until, args=(stopped, _log_run), name="jobs", daemon=True)
        worker.start()
        url = f"http://{host}:{port}/"
        self.say(f"Keel is on {url} (Ctrl-C stops it)", url=url)
        try:
            uvicorn.run(
                "config.asgi:application",
                host=host,
                port=port,
                ws="websockets-sansio",
                ws_max_size=MAX_SOCKET_FRAME,
                log_level="warning",
                timeout_graceful_shutdown=GRACE_SECONDS,
                proxy_headers=False,
            )
        finally:
            stopped.set()
            worker.join(timeout=GRACE_SECONDS)


def _log_run(run: JobRun) -> None:
    logger.log(logging.ERROR if run.has_failed else logging.DEBUG, "%s: %s", run.name, run.summary)
