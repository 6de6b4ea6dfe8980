import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from memory.services import supersede_fact, undo_event
from tests.factories.memory import JUNE, UserFactFactory
from tests.factories.trading import TraderFactory
from tests.owners import as_owner

MODELS = ("userfact", "memoryevent")


def page(model: str, name: str, *args: object) -> str:
    return reverse(f"admin:memory_{model}_{name}", args=args)


@pytest.fixture
def staff(db):
    """A browser of somebody who may look at memory in the admin and do nothing else."""
    user = TraderFactory(email="staff@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="memory", codename__startswith="view"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def root(db):
    """A browser of somebody who may do everything."""
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


def test_the_lists_show_everybodys_rows(staff, corrected, strangers_fact, strangers_event):
    facts, events = (staff.get(page(model, "changelist")).content.decode() for model in MODELS)

    for words in ("max 3x", "gold only", "stranger@example.com"):
        assert words in facts
    assert "Memory updated" in events
    assert "stranger@example.com" in events


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("userfact", "q=gold"),
        ("userfact", "q=stranger@"),
        ("userfact", "source__exact=chat&archived_at__isempty=0&archived_reason__exact=superseded"),
        ("memoryevent", "q=max"),
        ("memoryevent", "kind__exact=update&undone_at__isempty=0"),
    ],
)
def test_the_lists_search_and_filter(staff, corrected, strangers_fact, model, query):
    response = staff.get(f"{page(model, 'changelist')}?{query}")

    assert response.status_code == 200
    assert response.context["cl"].result_count == 1


@pytest.mark.parametrize("model", MODELS)
def test_the_lists_take_as_many_queries_for_many_rows_as_for_one(
    staff, trader, model, corrected, django_assert_max_num_queries
):
    for number in range(20):
        as_owner(trader, lambda number=number: _correct(f"fact {number}"))

    with django_assert_max_num_queries(16):
        staff.get(page(model, "changelist"))


def _correct(content: str) -> None:
    fact = UserFactFactory(content=content)
    supersede_fact(fact_id=fact.pk, content=f"{content} now", now=JUNE)


def test_the_page_of_a_fact_shows_its_versions_and_events_and_no_field_to_fill(staff, corrected):
    response = staff.get(page("userfact", "change", corrected.fact.pk))

    body = response.content.decode()
    assert body.index(">max 5x</a>") < body.index("<b>max 3x</b>")
    assert "Memory updated" in body
    assert 'name="content"' not in body
    assert 'name="_save"' not in body


def test_the_page_of_an_event_shows_what_was_there_before_and_after(staff, corrected):
    body = staff.get(page("memoryevent", "change", corrected.event.pk)).content.decode()

    assert "max 5x" in body
    assert "max 3x" in body
    assert 'name="_save"' not in body


@pytest.mark.parametrize("model", MODELS)
def test_not_even_a_superuser_writes(root, corrected, model):
    pk = corrected.fact.pk if model == "userfact" else corrected.event.pk

    assert root.get(page(model, "add")).status_code == 403
    assert root.post(page(model, "change", pk), {"content": "changed"}).status_code == 403
    assert root.post(page(model, "delete", pk), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in root.get(page(model, "changelist")).content.decode()


@pytest.mark.parametrize("model", MODELS)
def test_staff_without_the_permission_sees_nothing(db, corrected, model):
    client = Client()
    client.force_login(TraderFactory(is_staff=True))

    assert client.get(page(model, "changelist")).status_code == 403


@pytest.mark.parametrize("model", MODELS)
def test_a_trader_does_not_get_in(trader, corrected, model):
    client = Client()
    client.force_login(trader)

    response = client.get(page(model, "changelist"))

    assert response.status_code in (302, 403)
    assert b"max 3x" not in response.content


def test_words_of_a_user_are_text_in_the_admin(staff, trader):
    fact = as_owner(trader, lambda: UserFactFactory(content="<script>alert(1)</script>"))

    assert "<script>alert" not in staff.get(page("userfact", "change", fact.pk)).content.decode()
