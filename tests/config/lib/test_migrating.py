"""Migrations beside a site that reads and writes."""

from contextlib import closing

import pytest
from django.core.management import call_command
from django.db import connection, connections, models
from django.db.migrations import CreateModel, Migration
from django.db.migrations.state import ProjectState
from django.db.utils import IntegrityError, OperationalError

from config.lib.postgresql import migrating
from config.lib.postgresql.migrating import AddIndexBesideWriters, lift_limits, retry_locked

pytestmark = pytest.mark.django_db(transaction=True)


def run(statement: str, using=connection):
    with using.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else None


def read_limits() -> list[str]:
    return [run(f"SHOW {name}")[0][0] for name in ("statement_timeout", "lock_timeout")]


@pytest.fixture
def reader():
    """Another connection that has read the table of facts and keeps its transaction open, as a backup does."""
    with closing(connections.create_connection("default")) as other:
        run("BEGIN", other)
        run("LOCK TABLE user_facts IN ACCESS SHARE MODE", other)
        yield other


@pytest.mark.postgres
def test_migrate_has_no_limit_of_time_and_leaves_the_connection_as_it_was(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "django.core.management.commands.migrate.Command.handle", lambda *a, **o: seen.extend(read_limits())
    )
    before = read_limits()

    call_command("migrate", verbosity=0)

    assert (seen, read_limits()) == (["0", "2s"], before)
    assert before == ["30s", "10s"]


@pytest.mark.postgres
def test_migration_that_meets_a_reader_names_it_and_goes_on_once_the_reader_ends(reader, monkeypatch):
    said = []
    monkeypatch.setattr(migrating, "LOCK_MILLISECONDS", 100)
    monkeypatch.setattr(migrating, "sleep", lambda seconds: run("COMMIT", reader))

    with lift_limits(connection):
        retry_locked(lambda: run("ALTER TABLE user_facts ALTER topic DROP DEFAULT"), connection, said.append)

    [line] = said
    assert f"process {run('SELECT pg_backend_pid()', reader)[0][0]} of PostgreSQL" in line
    assert "user_facts" in line


@pytest.mark.postgres
def test_failure_that_is_no_lock_is_not_tried_again():
    def fail():
        raise OperationalError("the disk is full")

    with pytest.raises(OperationalError, match="disk is full"):
        retry_locked(fail, connection, print)


# --- Indexes ---

TABLE = CreateModel("Crate", [("id", models.BigAutoField(primary_key=True)), ("size", models.IntegerField())])


@pytest.fixture
def table():
    """The state of an app with one table, which exists."""
    state = ProjectState()
    TABLE.state_forwards("depot", state)
    with connection.schema_editor() as editor:
        TABLE.database_forwards("depot", editor, ProjectState(), state)
    yield state
    with connection.schema_editor() as editor:
        TABLE.database_backwards("depot", editor, state, ProjectState())


def migrate_index(state: ProjectState, *, backwards: bool = False) -> None:
    migration = Migration("0002_index", "depot")
    migration.atomic = False
    migration.operations = [AddIndexBesideWriters("Crate", models.Index(fields=["size"], name="crates_by_size"))]
    with connection.schema_editor(atomic=False) as editor:
        act = migration.unapply if backwards else migration.apply
        act(state.clone(), editor)


def find_indexes() -> set[str]:
    with connection.cursor() as cursor:
        return set(connection.introspection.get_constraints(cursor, "depot_crate")) & {"crates_by_size"}


def test_index_is_added_and_removed_again(table):
    migrate_index(table)
    assert find_indexes() == {"crates_by_size"}

    migrate_index(table, backwards=True)
    assert find_indexes() == set()


@pytest.mark.postgres
def test_index_whose_build_was_cut_off_is_built_again(table):
    run("INSERT INTO depot_crate (size) VALUES (1), (1)")
    with pytest.raises(IntegrityError):
        run("CREATE UNIQUE INDEX CONCURRENTLY crates_by_size ON depot_crate (size)")
    assert find_indexes() == {"crates_by_size"}

    migrate_index(table)

    assert run("SELECT indisvalid FROM pg_index WHERE indexrelid = 'crates_by_size'::regclass") == [(True,)]
    migrate_index(table)  # built, but not noted as applied: left as it is
