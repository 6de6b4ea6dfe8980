"""Who asks in the matrix: Ann, about Bob's rows and about nobody's."""

import pytest
import time_machine
from django.db import transaction
from django.test import Client, override_settings

from tests.factories.memory import JULY
from tests.matrix.asks import Watch
from tests.owners import note_sign_in
from tests.strangers import CANARY, make_person, make_unused_message_id, unknown_names


@pytest.fixture(autouse=True)
def _noon():
    """Stop the clock, so that no two answers show different times."""
    with time_machine.travel(JULY, tick=False):
        yield


@pytest.fixture(autouse=True)
def _by_words_alone(settings):
    """Find one's own rows by words: what is near in meaning differs from name to name, and tells of nobody."""
    settings.MEMORY_EMBEDDING_MODEL = ""


@pytest.fixture(scope="package")
def world(django_db_setup, django_db_blocker):
    """Bob, names that fit no row, and Ann: made once, in a transaction around those of the tests.

    The names of nobody lie between Bob's and Ann's where they are numbers.
    """
    around = transaction.atomic()
    around._from_testcase = True
    with django_db_blocker.unblock():
        around.__enter__()
        with time_machine.travel(JULY, tick=False), override_settings(MEMORY_EMBEDDING_MODEL=""):
            bob, nobody, ann = make_person(CANARY), unknown_names(make_unused_message_id()), make_person("ann")
        people = {"bob": bob, "nobody": nobody, "ann": ann, "watch": Watch(bob)}
    yield people
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


@pytest.fixture
def bob(world, db):
    return world["bob"]


@pytest.fixture
def nobody(world, db):
    return world["nobody"]


@pytest.fixture
def ann(world, db):
    return world["ann"]


@pytest.fixture
def watch(world, db):
    """Finds what was written to Bob's rows."""
    return world["watch"]


@pytest.fixture
def as_ann(ann):
    client = Client()
    client.force_login(ann.user)
    note_sign_in(client, ann.user)
    return client
