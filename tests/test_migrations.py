"""Migrations: layout, applied and reversed with rows, also under policies."""

import re
from importlib import import_module
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.writer import MigrationWriter

from chat.models import Message
from config.lib.operations.health import check_databases
from config.lib.owned import owned, owned_tx, system_tx
from config.lib.rls import EnableOwnerPolicy
from config.lib.search.autodetector import SearchIndexAutodetector
from config.lib.search.index import AddSearchIndex, ContainsAny, KeepSearchIndex
from config.lib.search.terms import build_tokens
from memory.models import UserFact
from tests.factories.chat import MessageFactory
from tests.factories.memory import UserFactFactory
from tests.factories.record import DecisionSnapshotFactory, DeploymentFactory
from tests.factories.trading import TraderFactory
from trading.models import DecisionSnapshot, SystemPrompt, Trader
from trading.record.decisions import digest_prompt

APPS = ("chat", "memory", "trading")
SCHEMA, POLICIES = "0001_tables", "0002_policies"
SEARCHED = {UserFact: "archived_at", Message: "replaced_at"}
EMPTY = [(app, None) for app in APPS]

each_app = pytest.mark.parametrize("app", APPS)
each_searched_model = pytest.mark.parametrize("model", SEARCHED, ids=lambda model: model.__name__)


def migrate(targets: list[tuple[str, str | None]]) -> None:
    MigrationExecutor(connection).migrate(targets)


def newest() -> list[tuple[str, str]]:
    return MigrationLoader(connection).graph.leaf_nodes()


def migrations_of(app: str) -> dict:
    loaded = MigrationLoader(None).disk_migrations.items()
    return {name: migration for (label, name), migration in sorted(loaded) if label == app}


def write_rows() -> Trader:
    """Write a user with a fact and a chat message."""
    user = TraderFactory()
    with owned_tx(user):
        UserFactFactory(content="Never trades alts")
        MessageFactory(content="I never trade alts.")
    return user


def count_matches(model: type[models.Model], user: Trader, word: str) -> int:
    """Return how many rows of the user the search index finds for a word."""
    with owned(user):
        return model.objects.filter(ContainsAny(build_tokens([word], user.pk))).count()


# --- Layout ---


@each_app
def test_history_of_an_app_begins_with_its_schema_and_its_policies(app):
    names = list(migrations_of(app))

    assert names[:2] == [SCHEMA, POLICIES]
    assert [name[:4] for name in names] == [f"{number:04}" for number in range(1, len(names) + 1)]


@each_app
def test_policies_are_apart_from_the_first_tables(app):
    history = migrations_of(app)

    assert not any(isinstance(operation, EnableOwnerPolicy) for operation in history[SCHEMA].operations)
    assert all(isinstance(operation, EnableOwnerPolicy) for operation in history[POLICIES].operations)


@each_app
def test_every_operation_can_be_reversed(app):
    migrations = migrations_of(app).items()

    assert [
        (name, operation.describe())
        for name, migration in migrations
        for operation in migration.operations
        if not operation.reversible
    ] == []


def test_models_ask_for_no_further_migration(db):
    output = StringIO()

    call_command("makemigrations", check=True, dry_run=True, stdout=output)

    assert "No changes detected" in output.getvalue()


@pytest.mark.parametrize("app", ["memory", "chat"])
def test_migration_of_a_searched_model_keeps_its_index(app):
    """What `makemigrations` would write for a column of each model that is searched, and of one that is not."""
    loader = MigrationLoader(None)
    before, after = loader.project_state(), loader.project_state()
    searched = {"memory": "userfact", "chat": "message"}[app]
    other = {"memory": "memoryevent", "chat": "conversation"}[app]
    for name in (searched, other):
        after.add_field(app, name, "mood", models.CharField(max_length=5, default=""), preserve_default=True)

    found = SearchIndexAutodetector(before, after).changes(graph=loader.graph)

    (migration,) = found[app]
    written = [(type(one).__name__, one.describe()) for one in migration.operations]
    keeping = [name for name, text in written if name == "KeepSearchIndex" and searched in text.lower()]
    assert (written[0][0], written[-1][0], len(keeping)) == ("KeepSearchIndex", "KeepSearchIndex", 2)
    compile(MigrationWriter(migration).as_string(), "migration", "exec")


def test_facts_are_read_again_by_the_words_of_now(db):
    user = TraderFactory()
    historical = MigrationLoader(connection).project_state(("memory", "0006_facts_counted_by_index")).apps
    with owned_tx(user):
        fact = UserFactFactory(content="My max leverage is 3x")
        rows = historical.get_model("memory", "UserFact")._default_manager.filter(pk=fact.pk)
        rows.update(subject="of older words", search_terms="")
    again = import_module("memory.migrations.0007_subjects_by_the_words_of_now")

    again.read_facts_again(historical, SimpleNamespace(connection=connection))

    with owned(user):
        read = UserFact.objects.get(pk=fact.pk)
    assert (read.subject, read.search_terms) == (fact.subject, fact.search_terms)


# --- Rows ---


@pytest.fixture
def restore_schema(transactional_db):
    """Apply every migration again after a test that took some back."""
    yield
    migrate(newest())


@pytest.mark.long
@pytest.mark.timeout(300)
def test_policies_are_taken_back_and_put_on_again_with_rows_present(restore_schema):
    user = write_rows()

    migrate([(app, SCHEMA) for app in APPS])
    with system_tx("test"):
        assert UserFact.objects.values_list("content", flat=True).get() == "Never trades alts"
    migrate(newest())

    assert (count_matches(UserFact, user, "alt"), count_matches(Message, user, "alt")) == (1, 1)


@pytest.mark.timeout(300)
@pytest.mark.long
def test_schema_is_dropped_with_rows_present_and_made_again(restore_schema):
    write_rows()

    migrate(EMPTY)
    tables = connection.introspection.table_names()
    migrate(newest())

    assert [name for name in tables if re.match("user_facts|agent_messages|traders", name)] == []
    user = write_rows()
    assert (count_matches(UserFact, user, "alt"), count_matches(Message, user, "alt")) == (1, 1)


# --- The search index in later migrations ---


def test_stored_prompts_are_packed_and_unpacked(restore_schema):
    contexts = [f"bars of {tick} " * 200 for tick in range(1, 31)]
    user = write_rows()
    with owned_tx(user):
        deployment = DeploymentFactory()
        for tick, context in enumerate(contexts, start=1):
            DecisionSnapshotFactory(
                deployment=deployment, tick=tick, system_prompt=f"You trade by {tick // 20}.", context=context
            )

    migrate([("trading", "0004_acts_of_staff")])
    old = MigrationExecutor(connection).loader.project_state(("trading", "0004_acts_of_staff")).apps
    with system_tx("test"):
        rows = list(old.get_model("trading", "DecisionSnapshot")._base_manager.order_by("tick"))
    assert [row.context for row in rows] == contexts
    assert rows[0].system_prompt == "You trade by 0."
    migrate(newest())

    with owned(user):
        rows = list(DecisionSnapshot.objects.order_by("tick"))
        assert [row.context for row in rows] == contexts
        assert [row.tick for row in rows if row.packed_with_id is None] == [1, 25]
        assert {row.prompt_sha256 for row in rows} == {digest_prompt(row.system_prompt, row.context) for row in rows}
        assert (SystemPrompt.objects.count(), rows[-1].system_prompt) == (2, "You trade by 1.")


def run_operation(operation: AddSearchIndex | KeepSearchIndex, model: type[models.Model], direction: str) -> None:
    state = MigrationLoader(connection).project_state()
    with connection.schema_editor() as editor:
        getattr(operation, f"database_{direction}")(model._meta.app_label, editor, state, state)


@each_searched_model
@pytest.mark.django_db(transaction=True)
def test_new_search_index_takes_in_the_rows_that_exist(model):
    user = write_rows()
    index = AddSearchIndex(model.__name__, unless=SEARCHED[model])

    run_operation(index, model, "backwards")
    run_operation(index, model, "forwards")

    assert count_matches(model, user, "alt") == 1


@pytest.fixture(params=SEARCHED, ids=lambda model: model.__name__)
def altered(request, transactional_db):
    """A searched model whose table got a further constraint: SQLite makes the table again, without its triggers."""
    model = request.param
    always = models.CheckConstraint(condition=models.Q(pk__isnull=False), name="test_always_true")
    with connection.schema_editor() as editor:
        editor.add_constraint(model, always)
    yield model
    with connection.schema_editor() as editor:
        editor.remove_constraint(model, always)
    keep_index(model)


def keep_index(model: type[models.Model]) -> None:
    run_operation(KeepSearchIndex(model.__name__, unless=SEARCHED[model]), model, "forwards")


def test_search_index_finds_what_was_written_before_and_after_it_was_kept(altered):
    before = write_rows()

    keep_index(altered)
    after = write_rows()

    assert [count_matches(altered, user, "alt") for user in (before, after)] == [1, 1]
    assert check_databases(databases=["default"]) == []


def test_no_searched_table_lacks_its_triggers_after_all_migrations(db):
    assert check_databases(databases=["default"]) == []


@pytest.mark.sqlite
def test_check_names_the_table_that_lost_its_search_triggers_and_the_cure(altered, capsys):
    (problem,) = check_databases(databases=["default"])

    assert f"{altered._meta.db_table} lost its search triggers" in problem.msg
    assert f'KeepSearchIndex("{altered.__name__}"' in problem.hint
    assert not problem.is_serious()  # or `migrate` could not bring the cure
    with pytest.raises(CommandError):
        call_command("doctor")
    assert "fail search" in capsys.readouterr().out
