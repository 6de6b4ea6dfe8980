"""What breaks in the storm: processes, PostgreSQL, Redis and the mail server."""

import os
import random
import re
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from pathlib import Path

from redis import Redis

STALL_SECONDS = (4.0, 8.0)
LONG_STALL_SECONDS = 60.0
LOSS_SECONDS = (3.0, 6.0)
MAIL_PHASE_SECONDS = (20.0, 60.0)  # of a mail server that works, then of one that does not
MAIL_SECONDS = 0.3  # from a mail that is taken to the answer: long enough for a kill in the middle
HELD_SECONDS = 30  # how long a silent server holds a connection: longer than Keel waits
WAYS_TO_FAIL = ("hang up", "refuse", "refuse the mail", "be silent", "be silent about the mail")


class Supervised:
    """A process that is started again whenever it ends, as systemd would."""

    def __init__(self, name: str, arguments: list[str], environment: dict[str, str], folder: Path) -> None:
        self.name, self.log = name, folder / f"{name}.log"
        self._command = [sys.executable, "-m", "tests.faults.storm_process", *arguments]
        self._environment = environment
        self._is_over = False
        self.starts = 0
        self.child: subprocess.Popen[bytes] | None = None

    def watch(self) -> None:
        """Start the process, and again after each end, until `end` is called."""
        while not self._is_over:
            with self.log.open("ab") as log:
                self.child = subprocess.Popen(self._command, env=self._environment, stdout=log, stderr=log)
            self.starts += 1
            self.child.wait()
            time.sleep(0.5)

    def kill(self) -> bool:
        """Kill the process; False if none runs just now."""
        if self.child is None or self.child.poll() is not None:
            return False
        self.child.kill()
        return True

    def end(self) -> None:
        """Stop the process in order, for good."""
        self._is_over = True
        if self.child is not None:
            self.child.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(30)
            self.child.kill()


@dataclass
class Outages:
    """When processes were killed, and from when to when the database stood still, by `time.monotonic`."""

    kills: list[tuple[float, str]] = field(default_factory=list)
    stalls: list[tuple[float, float]] = field(default_factory=list)

    def kill_processes(self, processes: list[Supervised], times: int, pause: float) -> None:
        """Kill random processes."""
        while len(self.kills) < times:
            time.sleep(pause * random.uniform(0.2, 1.8))
            one = random.choice(processes)
            if one.kill():
                self.kills.append((time.monotonic(), one.name))

    def stall_database(self, server_pid: int, times: int, pause: float) -> None:
        """Let PostgreSQL stand still again and again, once for long."""
        for number in range(times):
            time.sleep(pause * random.uniform(0.5, 1.5))
            seconds = LONG_STALL_SECONDS if number == times // 2 else random.uniform(*STALL_SECONDS)
            began = time.monotonic()
            freeze(list_family(server_pid), seconds)
            self.stalls.append((began, time.monotonic()))

    def count_kills(self) -> dict[str, int]:
        """Return the kills by process."""
        return dict(Counter(name for _, name in self.kills))

    def explains(self, at: float) -> bool:
        """Tell whether a kill may have kept a worker from noting a mail that was taken at an instant."""
        until = at + MAIL_SECONDS + 5
        for began, ended in self.stalls:
            until = max(until, ended + 5) if began <= until and at <= ended else until
        return any(at <= killed <= until for killed, _ in self.kills)


def freeze(pids: list[int], seconds: float) -> None:
    """Let processes stand still."""
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    time.sleep(seconds)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def read_parent(pid: int) -> int:
    """Return the parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def list_family(pid: int) -> list[int]:
    """Return a process and its children, the parent first: it starts no others then."""
    children = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if read_parent(int(path.name)) == pid:
                children.append(int(path.name))
    return [pid, *children]


def lose_redis(url: str, times: int, pause: float) -> None:
    """Take Redis away again and again; it comes back empty and without its connections, as after a restart."""
    client = Redis.from_url(url)
    pid = client.info("server")["process_id"]
    for _ in range(times):
        time.sleep(pause * random.uniform(0.5, 1.5))
        freeze([pid], random.uniform(*LOSS_SECONDS))
        client.flushall()
        client.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        client.execute_command("CLIENT", "KILL", "TYPE", "pubsub")


@dataclass(frozen=True)
class TakenMail:
    """A mail that the server took; `at` by `time.monotonic`."""

    message_id: str
    address: str
    at: float


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server that works half of the time, and else fails in one of several ways; it keeps what it took."""

    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _MailSession)
        self.taken: list[TakenMail] = []
        self.failures: Counter[str] = Counter()
        self.is_away = False
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def come_and_go(self, stopped: threading.Event) -> None:
        """Work for a while and fail for a while, until told to stop."""
        while not stopped.wait(random.uniform(*MAIL_PHASE_SECONDS)):
            self.is_away = not self.is_away
        self.is_away = False

    def find_way_to_fail(self) -> str:
        """Return how a connection fails; empty: it does not."""
        way = random.choice(WAYS_TO_FAIL) if self.is_away else ""
        self.failures[way] += 1
        return way


class _MailSession(socketserver.StreamRequestHandler):
    server: MailServer
    timeout = HELD_SECONDS

    def handle(self) -> None:
        way = self.server.find_way_to_fail()
        with suppress(OSError):
            if way == "be silent":
                self.rfile.read()
            elif way != "hang up":
                self._talk(way)

    def _talk(self, way: str) -> None:
        self._say("421 away" if way == "refuse" else "220 here")
        for line in () if way == "refuse" else self.rfile:
            word = line[:4].upper()
            if word == b"DATA":
                self._say("354 go on")
                text = b"".join(iter(self.rfile.readline, b".\r\n"))
                if way:
                    self.rfile.read()
                    return
                self._take(text)
            self._say("451 later" if way == "refuse the mail" and word == b"RCPT" else "250 yes")

    def _take(self, text: bytes) -> None:
        mail = message_from_bytes(text)
        address = re.search(r"[\w.+-]+@[\w.-]+", mail["To"])[0]
        self.server.taken.append(TakenMail(mail["Message-ID"], address, time.monotonic()))
        time.sleep(MAIL_SECONDS)

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())
