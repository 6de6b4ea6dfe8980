"""Migrations carry rows that are there: forwards, and back again, also past the policies of PostgreSQL."""

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from config.lib.owned import owned, system_tx
from memory.recall.search import recall_facts
from trading.models import Trader

pytestmark = pytest.mark.django_db(transaction=True)

MAY = datetime(2026, 5, 1, 12, tzinfo=UTC)
FIRST = [("chat", "0002_owner_policies"), ("memory", "0002_owner_policies"), ("trading", "0001_initial")]


def migrate(targets):
    executor = MigrationExecutor(connection)
    executor.migrate(targets)
    return MigrationExecutor(connection).loader.project_state(targets).apps


def newest():
    return MigrationExecutor(connection).loader.graph.leaf_nodes()


@pytest.fixture
def first():
    """The models as they were in the first release; afterwards the newest again."""
    yield migrate(FIRST)
    migrate(newest())


def write_rows(apps) -> None:
    """Write a user with a fact, its event and a chat, as the first release did."""
    user = apps.get_model("trading", "Trader").objects.create(email="ann@example.com", password="!")
    fact_id = uuid4()
    fact = apps.get_model("memory", "UserFact").objects.create(
        id=fact_id,
        user=user,
        lineage=fact_id,
        content="Never trades alts",
        normalised="never trades alts",
        content_key="0" * 64,
        source="chat",
        confidence="asserted",
        valid_from=MAY,
        created_at=MAY,
        learned_at=MAY,
        last_referenced_at=MAY,
    )
    apps.get_model("memory", "MemoryEvent").objects.create(
        user=user, kind="save", lineage=fact_id, after=fact, created_at=MAY
    )
    conversation = apps.get_model("chat", "Conversation").objects.create(
        user=user, title="Plans", created_at=MAY, last_message_at=MAY
    )
    apps.get_model("chat", "Message").objects.create(
        user=user, conversation=conversation, role="user", content="I never trade alts.", created_at=MAY
    )


@pytest.mark.timeout(300)  # three times through all migrations
def test_rows_of_the_first_release_are_carried_to_the_newest_and_back(first):
    with system_tx("test"):
        write_rows(first)

    apps = migrate(newest())

    with system_tx("test"):
        assert apps.get_model("memory", "UserFact").objects.get().content == "Never trades alts"
        assert apps.get_model("chat", "Message").objects.get().content == "I never trade alts."
    with owned(Trader.objects.get()):
        assert recall_facts(query="alts", now=MAY).total == 1

    apps = migrate(FIRST)
    with system_tx("test"):
        assert apps.get_model("memory", "MemoryEvent").objects.get().kind == "save"
        assert apps.get_model("chat", "Conversation").objects.get().title == "Plans"
