from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from memory.facts.services import archive_fact, delete_fact, supersede_fact
from memory.facts.undo import undo_event
from memory.facts.versions import Origin
from tests.factories.memory import (
    JUNE,
    FactLinkFactory,
    MemoryEventFactory,
    MemoryProposalFactory,
    MemorySwitchesFactory,
    PlaceFactory,
    PlaceMentionFactory,
    TombstoneFactory,
    UserFactFactory,
)
from tests.factories.trading import TraderFactory
from tests.owners import as_owner
from trading.models import Trader

MODELS = ("userfact", "memoryevent", "factlink", "memoryproposal", "tombstone", "place", "memoryswitches")


def page(model: str, name: str, *args: object) -> str:
    return reverse(f"admin:memory_{model}_{name}", args=args)


def open_rows_of_everybody(monkeypatch) -> None:
    """Open every user's rows to every staff member; tests/chat/test_admin.py tests the opening."""
    monkeypatch.setattr("config.lib.admin.list_open_looks", lambda staff, now: OpenRows())


class OpenRows(dict):
    """Every user's rows, open for one reason."""

    def __iter__(self):
        return iter(Trader.objects.values_list("pk", flat=True))

    def __getitem__(self, user_id):
        return "to test the lists"

    def __len__(self):
        return 1


@pytest.fixture
def staff(db, monkeypatch):
    """A browser of somebody who may look at memory in the admin and do nothing else."""
    user = TraderFactory(email="staff@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="memory", codename__startswith="view"))
    open_rows_of_everybody(monkeypatch)
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def root(db, monkeypatch):
    """A browser of somebody who may do everything."""
    open_rows_of_everybody(monkeypatch)
    client = Client()
    client.force_login(TraderFactory(email="root@example.com", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def corrected(trader):
    """A correction that was undone: three versions of one fact."""

    def work():
        fact = UserFactFactory(content="max 5x")
        written = supersede_fact(fact_id=fact.pk, content="max 3x", now=JUNE)
        undo_event(event_id=written.event.pk, now=JUNE)
        return written

    return as_owner(trader, work)


def make_one_of_each(word: str) -> dict[str, Model]:
    """Write a row for each list, that holds the word where it can hold one."""
    fact = UserFactFactory(content=f"{word} holds oil")
    event = MemoryEventFactory(after=fact)
    place = PlaceFactory(place_id=word, name=f"{word} home")
    PlaceMentionFactory(place=place, message_ref=f"{word}-7")
    return {
        "userfact": fact,
        "memoryevent": event,
        "factlink": FactLinkFactory(from_fact=fact, relation=f"of_{word}"),
        "memoryproposal": MemoryProposalFactory(payload={"content": f"{word} says so"}, target=fact),
        "tombstone": TombstoneFactory(event=event),
        "place": place,
        "memoryswitches": MemorySwitchesFactory(learns=False),
    }


@pytest.fixture
def rows(trader):
    """A row for each list, of the trader, which hold the word "orchid" where they can."""
    return as_owner(trader, lambda: make_one_of_each("orchid"))


def test_every_model_is_in_the_admin():
    models = {model._meta.model_name for model in apps.get_app_config("memory").get_models()}

    assert models == {*MODELS, "placemention"}


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("userfact", "q=gold"),
        ("userfact", "q=stranger@"),
        ("userfact", "source__exact=chat&archived_at__isempty=0&archived_reason__exact=superseded"),
        ("memoryevent", "q=max"),
        ("memoryevent", "kind__exact=update&undone_at__isempty=0"),
        ("factlink", "q=orchid&relation=of_orchid"),
        ("memoryproposal", "q=says&kind__exact=import&status__exact=pending"),
        ("tombstone", "q=trader&category__exact=fact"),
        ("place", "q=home&removed_at__isempty=1"),
        ("memoryswitches", "q=trader&learns__exact=0"),
    ],
)
def test_the_lists_search_and_filter(staff, corrected, strangers_fact, rows, model, query):
    response = staff.get(f"{page(model, 'changelist')}?{query}")

    assert response.status_code == 200
    assert response.context["cl"].result_count == 1


@pytest.mark.parametrize("model", MODELS)
def test_the_lists_take_as_many_queries_for_many_rows_as_for_one(staff, model, rows, django_assert_num_queries):
    with CaptureQueriesContext(connection) as for_one:
        staff.get(page(model, "changelist"))
    for number in range(10):
        as_owner(TraderFactory(), lambda number=number: make_one_of_each(f"orchid{number}"))

    with django_assert_num_queries(len(for_one)):
        body = staff.get(page(model, "changelist")).content.decode()

    assert body.count("trader") >= 11


@pytest.mark.parametrize("model", MODELS)
def test_the_page_of_a_row_shows_it_and_no_field_to_fill(staff, rows, model):
    response = staff.get(page(model, "change", rows[model].pk))

    body = response.content.decode()
    assert ("orchid" in body) is (model not in {"tombstone", "memoryswitches"})
    assert ("orchid-7" in body) is (model == "place")  # the messages that spoke of it
    assert 'name="_save"' not in body
    assert "<textarea" not in body
    assert "deletelink" not in body


def test_the_lists_lead_to_what_is_in_the_trash_and_to_batches(staff, trader):
    batch = Origin(batch_id=uuid4())

    def work():
        delete_fact(fact_id=UserFactFactory().pk, origin=batch, now=JUNE)
        archive_fact(fact_id=UserFactFactory().pk, now=JUNE)

    as_owner(trader, work)

    for path in (
        f"{page('userfact', 'changelist')}?trashed_at__isempty=0",
        f"{page('memoryevent', 'changelist')}?batch_id__isempty=0",
        f"{page('memoryevent', 'changelist')}?q={batch.batch_id}",
    ):
        assert staff.get(path).context["cl"].result_count == 1


def test_the_page_of_a_fact_shows_its_versions_and_events_and_no_field_to_fill(staff, corrected):
    response = staff.get(page("userfact", "change", corrected.fact.pk))

    body = response.content.decode()
    assert body.index(">max 5x</a>") < body.index("<b>max 3x</b>")
    assert "Memory updated" in body
    assert 'name="content"' not in body
    assert 'name="_save"' not in body


@pytest.mark.parametrize("model", MODELS)
def test_admin_refuses_writes_of_superusers(root, rows, model):
    pk = rows[model].pk

    assert root.get(page(model, "add")).status_code == 403
    assert root.post(page(model, "change", pk), {"content": "changed"}).status_code == 403
    assert root.post(page(model, "delete", pk), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in root.get(page(model, "changelist")).content.decode()


def test_admin_escapes_user_text(staff, trader):
    fact = as_owner(trader, lambda: UserFactFactory(content="<script>alert(1)</script>"))

    assert "<script>alert" not in staff.get(page("userfact", "change", fact.pk)).content.decode()
