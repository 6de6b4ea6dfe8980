from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from config.lib.admin import MAX_ROWS
from config.lib.work.models import WorkRun
from config.lib.work.runs import MAX_TRIES
from tests.factories.memory import JUNE
from tests.factories.trading import TraderFactory

pytestmark = pytest.mark.django_db
LIST = "admin:work_workrun_changelist"
TRIES = (0, 1, MAX_TRIES)


def sign_in(group: str) -> Client:
    user = TraderFactory(email=f"{group}@example.com", is_staff=True)
    user.groups.set(Group.objects.filter(name=group))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def runs():
    """A run that went well, one that is tried again, one that failed for good."""
    times = {"started_at": JUNE, "finished_at": JUNE + timedelta(seconds=1.5)}
    told = [(tries, {"next_at": JUNE if tries else None, "summary": f"after {tries} tries"}) for tries in TRIES]
    return [
        WorkRun.objects.create(name="close_chat", key=f"1:{uuid4()}", tries=tries, **times, **values)
        for tries, values in told
    ]


def test_list_of_runs_shows_those_of_a_state(runs):
    browser = sign_in("operations")
    for state, seen in {"": list(TRIES), "trying": [1], "failed": [MAX_TRIES], "running": []}.items():
        body = browser.get(reverse(LIST), {"state": state} if state else {}).content.decode()
        assert [tries for tries in TRIES if f"after {tries} tries" in body] == seen, state
        assert not seen or "1.5" in body


def test_run_now_defers_the_task_with_new_tries(runs, monkeypatch):
    deferred = []
    monkeypatch.setattr("config.lib.work.runs.defer", lambda name, key: deferred.append((name, str(key))))
    sent = {"action": "run_now", "_selected_action": runs[2].pk, "confirmed": "yes", "reason": "ticket 12 asks for it"}

    sign_in("operations").post(reverse(LIST), sent)

    assert deferred == [("close_chat", runs[2].key)]
    assert WorkRun.objects.get(pk=runs[2].pk).tries == 0


@pytest.mark.limit("config.lib.admin.MAX_ROWS")
def test_an_act_takes_so_many_rows(monkeypatch):
    deferred = []
    monkeypatch.setattr("config.lib.work.runs.defer", lambda name, key: deferred.append(key))
    rows = [WorkRun(name="close_chat", key=f"1:{uuid4()}", started_at=JUNE) for _ in range(MAX_ROWS + 1)]
    keys = [run.pk for run in WorkRun.objects.bulk_create(rows)]
    sent = {"action": "run_now", "_selected_action": keys, "confirmed": "yes", "reason": "ticket 12 asks for it"}

    refused = sign_in("operations").post(reverse(LIST), sent, follow=True)

    assert f"Select at most {MAX_ROWS} rows." in refused.content.decode()
    assert not deferred


def test_auditors_see_runs_and_run_none(runs):
    auditor = sign_in("auditor")

    assert auditor.get(reverse(LIST)).status_code == 200
    assert auditor.post(reverse(LIST), {"action": "run_now", "_selected_action": runs[0].pk}).status_code == 403
