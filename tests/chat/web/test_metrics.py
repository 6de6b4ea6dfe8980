"""Metrics: for the token alone, of turns, models, sockets, queues and budget, without a word of anybody."""

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.lib.llm.errors import report_failure
from config.lib.observe import metrics
from config.lib.owned import owned_tx
from tests.chat.tabs import open_tab, signed_in
from tests.factories.record import DeploymentFactory, VenueAccountFactory
from tests.strangers import CANARY, make_person

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = "t0ken"


@pytest.fixture(autouse=True)
def site(settings):
    settings.METRICS_TOKEN = TOKEN
    metrics._find_metrics.cache_clear()
    yield
    metrics._find_metrics.cache_clear()


def read() -> dict[str, float]:
    response = Client().get(reverse("metrics"), headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    lines = [line.rpartition(" ") for line in response.content.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in lines}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}])
def test_metrics_without_the_token_are_refused(headers):
    response = Client().get(reverse("metrics"), headers=headers)

    assert (response.status_code, response.content) == (401, b"")


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer "}])
def test_site_without_a_token_has_no_metrics(settings, headers):
    settings.METRICS_TOKEN = ""

    assert Client().get(reverse("metrics"), headers=headers).status_code == 404


async def test_turn_is_counted_with_its_first_words_and_sockets(model, trader, talk):
    ann = await sync_to_async(signed_in)(trader)
    model.say("Hello ", "Ann.")
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        await tab.say("Hi there")
        await tab.until("done")
        found = await sync_to_async(read)()

    assert found['keel_turns_total{status="complete"}'] == 1
    assert found["keel_first_token_seconds_count"] == 1
    assert (found["keel_sockets"], found["keel_tokens_reserved_today"]) == (1, 0)
    assert (await sync_to_async(read)())["keel_sockets"] == 0


def test_model_errors_are_counted_by_kind():
    report_failure("a/b", TimeoutError(), otherwise="unreachable")
    report_failure("a/b", ConnectionError(), otherwise="unreachable")
    report_failure("a/b", ConnectionError(), otherwise="unreachable")

    found = read()

    assert found['keel_model_errors_total{kind="timeout"}'] == 1
    assert found['keel_model_errors_total{kind="unreachable"}'] == 2


def test_lag_is_the_age_of_the_oldest_due_row(trader):
    before = read()["keel_queue_lag_seconds"]
    with owned_tx(trader):
        VenueAccountFactory(due_at=timezone.now() - timedelta(minutes=10))
        DeploymentFactory()  # due at once, hence not late

    assert before == 0
    assert 600 <= read()["keel_queue_lag_seconds"] < 700


def test_metrics_hold_no_word_of_anybody():
    make_person(CANARY)

    response = Client().get(reverse("metrics"), headers={"Authorization": f"Bearer {TOKEN}"})

    assert CANARY not in response.content.decode()
