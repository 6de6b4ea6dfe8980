"""Migrations of a table of five million rows, while a reader holds it and a writer writes: how long does the writer
wait?

A reader keeps its transaction open for a while, as a backup does; a writer inserts a row each 20 ms. The migrations
are an index that is built beside writers, Django's own, and a column, whose lock is tried again. ROWS sets the size.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from django.db import connection, connections, models
from django.db.migrations.operations import AddIndex, CreateModel
from django.db.migrations.state import ProjectState

from benchmarks import site  # noqa: F401 - sets Django up
from benchmarks.report import Report, benchmark, size
from config.lib.postgresql.migrating import AddIndexBesideWriters, lift_limits, retry_locked

ROWS = int(os.environ.get("ROWS", size(5_000_000, 20_000)))
READER_SECONDS = size(15.0, 1.0)


def make_table() -> None:
    run("CREATE TABLE depot_crate (id bigserial PRIMARY KEY, size integer NOT NULL, note text NOT NULL)")
    run("SET statement_timeout = 0")
    columns = "random() * 1000000, repeat('x', 60)"
    run(f"INSERT INTO depot_crate (size, note) SELECT {columns} FROM generate_series(1, {ROWS})")  # noqa: S608 - ours


def run(statement: str) -> None:
    """Run a statement on the connection that migrates."""
    with connection.cursor() as cursor:
        cursor.execute(statement)


@contextmanager
def busy_site() -> Iterator[list[float]]:
    """Read and write beside the block; yield the writer's waits in seconds."""
    waits: list[float] = []
    is_over, has_read = threading.Event(), threading.Event()

    def read() -> None:
        with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
            cursor.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("SELECT size FROM depot_crate LIMIT 1")
            has_read.set()
            time.sleep(READER_SECONDS)
            cursor.execute("COMMIT")

    def write() -> None:
        with closing(connections.create_connection("default")) as other, other.cursor() as cursor:
            while not is_over.is_set():
                began = time.perf_counter()
                cursor.execute("SET statement_timeout = 0; SET lock_timeout = 0")
                cursor.execute("INSERT INTO depot_crate (size, note) VALUES (1, 'new')")
                waits.append(time.perf_counter() - began)
                time.sleep(0.02)

    threads = [threading.Thread(target=work) for work in (read, write)]
    for thread in threads:
        thread.start()
    has_read.wait()
    try:
        yield waits
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def measure(name: str, act: Callable[[], None]) -> float:
    """Run a migration beside the site; print its time and return the writer's longest wait."""
    tries: list[str] = []
    with busy_site() as waits:
        began = time.perf_counter()
        with lift_limits(connection):
            retry_locked(act, connection, tries.append)
        seconds = time.perf_counter() - began
    print(f"{name}: {seconds:.1f} s, tried again {len(tries)} times; a writer waited {max(waits):.2f} s at most")
    for line in tries[:1]:
        print(f"  {line}")
    return max(waits)


@benchmark
def main(report: Report) -> None:
    make_table()
    state = ProjectState()
    columns = [("id", models.BigAutoField(primary_key=True)), ("size", models.IntegerField())]
    CreateModel("Crate", columns).state_forwards("depot", state)

    def add_index(kind: type[AddIndex], name: str, *, atomic: bool) -> None:
        with connection.schema_editor(atomic=atomic) as editor:
            kind("Crate", models.Index(fields=["size"], name=name)).database_forwards("depot", editor, state, state)

    print(f"{ROWS:,} rows; a reader holds the table for {READER_SECONDS:.0f} s")
    beside = measure("index beside writers", lambda: add_index(AddIndexBesideWriters, "beside", atomic=False))
    measure("index of Django", lambda: add_index(AddIndex, "plain", atomic=True))
    column = measure("column", lambda: run("ALTER TABLE depot_crate ADD COLUMN weight integer"))
    report.add("wait of a writer, index built beside it", beside)
    report.add("wait of a writer, new column", column)


if __name__ == "__main__":
    sys.exit(main())
