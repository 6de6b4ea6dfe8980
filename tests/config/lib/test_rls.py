"""PostgreSQL's policies: hidden and refused rows without our code."""

import re

import pytest
from django.apps import apps
from django.db import DatabaseError, connection, models, transaction
from django.db.migrations import RunPython
from django.db.migrations.executor import MigrationExecutor

from config.lib.owned import OwnedModel, owned, owned_tx, system_tx
from config.lib.rls import RunPythonOnOwnedRows
from config.lib.work.models import Mail
from memory.models import UserFact
from tests.factories.memory import UserFactFactory
from tests.tables import each_case

pytestmark = pytest.mark.django_db

OWNED = [model for model in apps.get_models() if issubclass(model, OwnedModel)] + [Mail]
BEFORE_POLICIES = [(app, "0001_tables") for app in ("chat", "memory", "trading")]
# A column of that name that our policies have no business with.
OTHER_OWNERS = {
    **dict.fromkeys(("account_emailaddress", "mfa_authenticator", "usersessions_usersession"), "allauth's own"),
    "socialaccount_socialaccount": "allauth's own",
    "django_admin_log": "staff, in the admin alone",
}


def run(statement: str, *values) -> list[tuple]:
    """Run SQL as somebody would who knows nothing of owners; return the rows, or how many were written."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else [(cursor.rowcount,)]


# --- The policies are there ---


@pytest.mark.postgres
def test_role_of_the_application_is_bound_by_policies():
    privileges = run("SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user")

    assert privileges == [(False, False)]


@pytest.mark.postgres
def test_one_forced_policy_guards_each_table_and_does_not_hide_that_a_scope_is_missing():
    policies = run(
        "SELECT tablename, relrowsecurity AND relforcerowsecurity, permissive, cmd, roles::text, qual = with_check,"
        " qual FROM pg_policies JOIN pg_class ON oid = tablename::regclass"
    )
    is_loud = {
        name: "current_setting('app.user_id'::text)" in qual and not re.search("nullif|true", qual.lower())
        for name, *_, qual in policies
    }
    assert sorted(row[:-1] for row in policies) == [
        (name, True, "PERMISSIVE", "ALL", "{public}", True) for name in sorted(model._meta.db_table for model in OWNED)
    ]
    assert all(is_loud.values()), is_loud


@pytest.mark.postgres
def test_policy_stands_on_each_table_that_names_a_user():
    named = run("SELECT table_name FROM information_schema.columns WHERE column_name = 'user_id'")

    assert {name for (name,) in named} - OTHER_OWNERS.keys() == {model._meta.db_table for model in OWNED}


# --- What they do ---


@pytest.mark.postgres
@each_case(
    "table, statement",
    [
        (model._meta.db_table, statement)
        for model in OWNED
        for statement in ("SELECT count(*) FROM {}", "UPDATE {} SET user_id = user_id", "DELETE FROM {}")
    ],
)
def test_sql_without_a_scope_is_loud(table, statement):
    with pytest.raises(DatabaseError, match=r"app\.user_id|bigint"):
        run(statement.format(table))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_sql_is_as_loud_on_a_connection_that_never_had_a_scope(bobs):
    connection.close()

    with pytest.raises(DatabaseError, match=r"unrecognized configuration parameter|bigint"):
        run("SELECT count(*) FROM user_facts")


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_sql_is_as_loud_after_a_scope_on_the_same_connection(ann, anns):
    with owned(ann):
        assert run("SELECT count(*) FROM user_facts") == [(1,)]

    with pytest.raises(DatabaseError, match="bigint"):
        run("SELECT count(*) FROM user_facts")


@pytest.mark.postgres
@pytest.mark.parametrize("door", [owned, owned_tx])
def test_sql_finds_own_rows_alone(door, ann, anns, bobs):
    with door(ann):
        assert run("SELECT content FROM user_facts") == [(anns.content,)]


@pytest.mark.postgres
def test_sql_of_the_system_finds_rows_of_all_users(anns, bobs):
    with system_tx("test"):
        assert run("SELECT count(*) FROM user_facts") == [(2,)]


@pytest.mark.postgres
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT id FROM user_facts WHERE id = %s",
        "SELECT id FROM user_facts WHERE id = %s FOR UPDATE",
        "UPDATE user_facts SET topic = 'planted' WHERE id = %s RETURNING id",
        "DELETE FROM user_facts WHERE id = %s RETURNING id",
    ],
    ids=["read", "lock", "update", "delete"],
)
def test_sql_does_not_reach_a_foreign_row(statement, ann, bobs):
    with owned_tx(ann):
        assert run(statement, bobs.pk) == []


@pytest.mark.postgres
def test_insert_for_another_user_is_refused(ann, bob):
    with owned_tx(ann), pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        models.QuerySet(UserFact).bulk_create([UserFactFactory.build(user=bob)])  # passes by the guards of the model


@pytest.mark.postgres
def test_update_to_another_user_is_refused(ann, bob, anns):
    with owned_tx(ann), pytest.raises(DatabaseError, match="row-level security"):
        run("UPDATE user_facts SET user_id = %s", bob.pk)


@pytest.mark.postgres
def test_upsert_over_a_foreign_row_is_refused(ann, bobs):
    row = UserFactFactory.build(id=bobs.pk, user=ann)

    with owned_tx(ann), pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        models.QuerySet(UserFact).bulk_create(
            [row], update_conflicts=True, update_fields=["topic"], unique_fields=["id"]
        )


# --- Migrations ---


@pytest.mark.postgres
@pytest.mark.long
def test_policies_can_be_taken_back_and_put_on_again(ann, anns):
    flags = "SELECT relname FROM pg_class WHERE relrowsecurity OR relforcerowsecurity"
    tables = {(model._meta.db_table,) for model in OWNED}
    run("SET CONSTRAINTS ALL IMMEDIATE")  # rows written in this transaction keep their tables from being altered

    MigrationExecutor(connection).migrate(BEFORE_POLICIES)
    without = run(flags)
    newest = MigrationExecutor(connection)
    newest.migrate(newest.loader.graph.leaf_nodes())

    assert without == []
    assert set(run(flags)) == tables
    with owned(ann):
        assert run("SELECT count(*) FROM user_facts") == [(1,)]


def mark_facts(apps, editor) -> None:
    """What a data migration might do."""
    apps.get_model("memory", "UserFact").objects.update(topic="seen")


def migrate_data(operation: RunPython, direction: str) -> None:
    state = MigrationExecutor(connection).loader.project_state()
    with transaction.atomic():
        getattr(operation, f"database_{direction}")("memory", connection.schema_editor(), state, state)


@pytest.mark.parametrize("direction", ["forwards", "backwards"])
def test_data_migration_over_owned_rows_sees_them_all(direction, ann, bob, anns, bobs):
    migrate_data(RunPythonOnOwnedRows(mark_facts, mark_facts), direction)

    for user in (ann, bob):
        with owned(user):
            assert UserFact.objects.get().topic == "seen"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_data_migration_leaves_no_scope_behind(anns):
    migrate_data(RunPythonOnOwnedRows(mark_facts), "forwards")

    with pytest.raises(DatabaseError, match="bigint"):
        run("SELECT count(*) FROM user_facts")


@pytest.mark.postgres
def test_plain_data_migration_over_owned_rows_fails(anns):
    with pytest.raises(DatabaseError, match="bigint"):
        migrate_data(RunPython(mark_facts), "forwards")
