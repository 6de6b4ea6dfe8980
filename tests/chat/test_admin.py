"""Acts of staff: permission, reason, log, and the look that opens chats and facts."""

import json
from datetime import timedelta
from importlib import import_module
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from config.lib.admin import OPEN_FOR, ActAdmin
from config.lib.owned import owned, owned_tx, system
from memory.facts.services import confirm_fact
from memory.models import UserFact
from memory.transfer.archive import iter_log
from tests.factories.chat import ConversationFactory, MessageFactory
from tests.factories.memory import MemoryProposalFactory, UserFactFactory
from tests.factories.record import BacktestRunFactory, DeploymentFactory, ReflectionRunFactory
from tests.factories.trading import TraderFactory
from tests.owners import as_owner, stranger, trader  # noqa: F401
from trading.models import DeploymentCommand, StaffEntry, Trader

create_groups = import_module("chat.migrations.0003_staff_groups").create_groups
let_operations_open_data = import_module("chat.migrations.0004_operations_open_data").let_operations_open_data


def page(model: str, name: str = "changelist", *args: object) -> str:
    return reverse(f"admin:{model}_{name}", args=args)


def sign_in(email: str, *groups: str, **fields: object) -> Client:
    create_groups(apps, None)
    let_operations_open_data(apps, None)
    user = TraderFactory(email=email, is_staff=True, **fields)
    user.groups.set(Group.objects.filter(name__in=groups))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def support(db):
    """A browser of support."""
    return sign_in("support@example.com", "support")


@pytest.fixture
def operations(db):
    """A browser of operations."""
    return sign_in("operations@example.com", "operations")


@pytest.fixture
def root(db):
    """A browser of a superuser."""
    return sign_in("root@example.com", is_superuser=True)


def act(client: Client, model: str, name: str, row: object, **values: object):
    """Run an act on one row, with a reason unless the values have one."""
    sent = {"action": name, "_selected_action": row.pk, "confirmed": "yes", "reason": "ticket 12 asks for it"}
    return client.post(page(model), {**sent, **values}, follow=True)


def open_rows(client: Client, user: Trader, reason: str = "ticket 12 asks for it") -> None:
    # Support may not change a user, yet may open one.
    assert act(client, "trading_trader", "open", user, reason=reason).status_code == 200


def list_log(user: Trader, column: str = "reason") -> list[tuple[str, str]]:
    with owned(user):
        return [(entry.act, getattr(entry, column)) for entry in StaffEntry.objects.order_by("created_at")]


# --- A look needs a reason ---


def test_list_facts_without_an_open_look_shows_no_row(root, trader):  # noqa: F811
    as_owner(trader, lambda: UserFactFactory(content="Trades orchids only"))

    body = root.get(page("memory_userfact")).content.decode()

    assert "orchids" not in body
    assert "Nothing is open to you" in body


def test_open_with_a_reason_shows_that_users_rows_and_logs_each_look(support, trader, stranger):  # noqa: F811
    fact = as_owner(trader, lambda: UserFactFactory(content="Trades orchids only"))
    as_owner(stranger, lambda: UserFactFactory(content="Trades gold only"))

    open_rows(support, trader)
    body = support.get(page("memory_userfact")).content.decode()
    assert support.get(page("memory_userfact", "change", fact.pk)).status_code == 200

    assert "orchids" in body
    assert "gold" not in body
    assert list_log(trader) == [(name, "ticket 12 asks for it") for name in ("open", "read", "read")]
    assert list_log(stranger) == []


def test_open_ends_after_half_an_hour(support, trader):  # noqa: F811
    fact = as_owner(trader, lambda: UserFactFactory(content="Trades orchids only"))
    open_rows(support, trader)
    with system("moves the clock"):
        StaffEntry.objects.update(created_at=timezone.now() - OPEN_FOR - timedelta(seconds=1))

    assert support.get(page("memory_userfact", "change", fact.pk)).status_code == 302
    assert "orchids" not in support.get(page("memory_userfact")).content.decode()


def test_open_by_one_of_the_staff_opens_nothing_to_another(support, root, trader):  # noqa: F811
    as_owner(trader, lambda: UserFactFactory(content="Trades orchids only"))
    open_rows(support, trader)

    assert "orchids" not in root.get(page("memory_userfact")).content.decode()


def test_access_page_shows_who_looked_and_why_to_its_owner_alone(support, trader, stranger, client, monkeypatch):  # noqa: F811
    monkeypatch.setattr("trading.web.views.account.ENTRIES_ON_A_PAGE", 1)
    open_rows(support, trader, reason="they report a lost chat")
    support.get(page("memory_userfact"))

    client.force_login(trader)
    body = client.get(reverse("trading:access")).content.decode()
    client.force_login(stranger)
    others = client.get(reverse("trading:access")).content.decode()

    assert "they report a lost chat" in body
    assert "support@example.com" in body
    assert 'href="?page=2"' in body
    assert "lost chat" not in others
    assert "Nobody of the staff" in others


def test_home_and_profile_count_the_acts_of_staff_until_their_owner_reads_them(support, trader, client):  # noqa: F811
    client.force_login(trader)
    assert "of staff on your data" not in client.get(reverse("home")).content.decode()
    open_rows(support, trader)
    support.get(page("memory_userfact"))

    assert "2 acts of staff on your data" in client.get(reverse("home")).content.decode()
    assert "2 new" in client.get(reverse("trading:profile")).content.decode()
    read = [client.get(reverse("trading:access")).content.decode().count(">New<") for _ in range(2)]

    assert read == [2, 0]
    assert "of staff on your data" not in client.get(reverse("home")).content.decode()


def test_list_of_facts_logs_to_each_owner_how_many_rows_it_showed(support, trader, stranger):  # noqa: F811
    as_owner(trader, lambda: [UserFactFactory(content=f"Trades orchid {number}") for number in range(3)])
    open_rows(support, trader)
    open_rows(support, stranger)

    support.get(f"{page('memory_userfact')}?q=orchid")

    subjects = [list_log(owner, "subject")[-1][1] for owner in (trader, stranger)]
    assert subjects == ["3 user facts in a list", "0 user facts in a list"]


# --- Acts ---


def test_act_without_a_reason_asks_for_one_and_changes_nothing(support, trader):  # noqa: F811
    fact = as_owner(trader, UserFactFactory)
    open_rows(support, trader)

    asked = support.post(page("memory_userfact"), {"action": "archive", "_selected_action": fact.pk})
    refused = act(support, "memory_userfact", "archive", fact, reason=" ")

    assert (asked.status_code, refused.status_code) == (200, 422)
    assert "reason" in asked.content.decode()
    with owned(trader):
        assert not UserFact.objects.get().is_archived


def make_waiting_run():
    return ReflectionRunFactory(status="running", finished_at=None, lease=uuid4(), lease_until=timezone.now())


GOLD = {"content": "Trades gold only"}
# The group, what it acts on, the acts in turn, and a column of the rows with its values afterwards.
ACTS_OF_STAFF = [
    ("support", lambda: UserFactFactory(), ["archive"], "archived_reason", ["staff_archived"]),
    ("support", lambda: UserFactFactory(), ["archive", "restore"], "archived_at", [None]),
    ("support", lambda: UserFactFactory(confidence="inferred"), ["promote"], "confidence", ["asserted"]),
    ("support", lambda: UserFactFactory(confidence="asserted"), ["demote"], "confidence", ["inferred"]),
    ("support", lambda: MemoryProposalFactory(payload=GOLD), ["accept"], "status", ["accepted"]),
    ("support", lambda: MemoryProposalFactory(payload=GOLD), ["dismiss"], "status", ["dismissed"]),
    ("support", lambda: ConversationFactory(status="active"), ["close"], "status", ["closing"]),
    (
        "support",
        lambda: MessageFactory(conversation__status="idle").conversation,
        ["retry"],
        "extraction_pending",
        [True],
    ),
    ("operations", lambda: BacktestRunFactory(), ["cancel", "retry"], "status", ["cancelled", "pending"]),
    ("operations", make_waiting_run, ["cancel"], "status", ["failed"]),
    ("operations", make_waiting_run, ["cancel", "retry"], "status", ["cancelled"]),
]


@pytest.mark.parametrize(("group", "make", "names", "column", "values"), ACTS_OF_STAFF)
def test_acts_of_staff_run_the_services_and_are_logged(trader, group, make, names, column, values):  # noqa: F811
    client, row = sign_in("staff@example.com", group), as_owner(trader, make)
    open_rows(client, trader)

    for name in names:
        act(client, row._meta.label_lower.replace(".", "_"), name, row)

    with owned(trader):
        # Restored and judged anew, a fact is another version.
        rows = UserFact.objects.believed() if names[-1] in ("restore", "promote", "demote") else type(row).objects
        assert sorted(rows.values_list(column, flat=True)) == values
    assert [entry for entry in list_log(trader) if entry[0] not in ("open", "read")] == [
        (name, "ticket 12 asks for it") for name in names
    ]


@pytest.mark.parametrize("name", ["pause", "stop"])
def test_command_deployment_by_operations_queues_the_command_by_staff(operations, trader, name):  # noqa: F811
    deployment = as_owner(trader, DeploymentFactory)
    open_rows(operations, trader)

    act(operations, "trading_deployment", name, deployment)

    with owned(trader):
        assert list(DeploymentCommand.objects.values_list("kind", "is_by_staff")) == [(name, True)]


def test_acts_of_support_read_by_staff_in_history_changes_api_and_archive(support, trader, client):  # noqa: F811
    fact = as_owner(trader, lambda: UserFactFactory(confidence="inferred"))
    other = as_owner(trader, UserFactFactory)
    gold = {"content": "Trades gold only", "topic": "", "category": "fact"}
    proposal = as_owner(trader, lambda: MemoryProposalFactory(payload=gold))
    open_rows(support, trader)
    act(support, "memory_userfact", "promote", fact)
    act(support, "memory_memoryproposal", "accept", proposal)
    as_owner(trader, lambda: confirm_fact(fact_id=other.pk, now=timezone.now()))

    client.force_login(trader)
    history = client.get(reverse("memory:fact", args=[fact.lineage]), follow=True).content.decode()
    changes = client.get(reverse("memory:changes")).content.decode()
    events = client.get("/api/memory/events/").json()["items"]
    log = json.loads("".join(iter_log(trader.pk)))

    assert "Memory confirmed as yours, by staff" in history
    assert "Memory saved, by staff" in changes
    assert "<b>Memory confirmed</b>" in changes
    by_staff = {"promote": True, "save": True, "confirm": False}
    assert {event["kind"]: event["is_by_staff"] for event in events} == by_staff
    assert {event["kind"]: event["is_by_staff"] for event in log} == by_staff
    assert "Accepted by staff" in client.get(f"{reverse('memory:review')}").content.decode()


def test_refused_act_is_shown_and_not_logged(support, trader):  # noqa: F811
    proposal = as_owner(trader, lambda: MemoryProposalFactory(payload={"content": "Trades gold only"}))
    open_rows(support, trader)
    act(support, "memory_memoryproposal", "dismiss", proposal)

    response = act(support, "memory_memoryproposal", "dismiss", proposal)

    assert "You decided about this before" in response.content.decode()
    assert [name for name, _ in list_log(trader)].count("dismiss") == 1


def test_set_budget_by_support_limits_the_user(support, trader):  # noqa: F811
    act(support, "trading_trader", "budget", trader, tokens="5000")
    trader.refresh_from_db()
    assert trader.daily_token_budget == 5000

    act(support, "trading_trader", "budget", trader, tokens="")
    trader.refresh_from_db()
    assert trader.daily_token_budget is None


def test_erase_user_by_operations_shows_the_rows_and_needs_the_address(operations, trader):  # noqa: F811
    as_owner(trader, lambda: [UserFactFactory(), UserFactFactory()])

    asked = operations.post(page("trading_trader"), {"action": "erase", "_selected_action": trader.pk})
    refused = act(operations, "trading_trader", "erase", trader, email="else@example.com")
    assert "2 user facts" in asked.content.decode()
    assert refused.status_code == 422
    assert Trader.objects.filter(pk=trader.pk).exists()
    act(operations, "trading_trader", "erase", trader, email=trader.email)

    assert not Trader.objects.filter(pk=trader.pk).exists()
    [entry] = list_log(Trader.objects.get(email="operations@example.com"))
    assert entry == ("erase", "ticket 12 asks for it")


def test_erase_of_ones_own_account_is_refused(root):
    user = Trader.objects.get(email="root@example.com")

    assert act(root, "trading_trader", "erase", user, email=user.email).status_code == 422
    assert Trader.objects.filter(pk=user.pk).exists()


def test_delete_user_by_djangos_own_page_is_refused(root, trader):  # noqa: F811
    assert root.post(page("trading_trader", "delete", trader.pk), {"post": "yes"}).status_code == 403


# --- Permissions ---

admin.autodiscover()  # as the site does when it is used
ACTS = [
    (model, registered, act)
    for model, registered in admin.site._registry.items()
    if isinstance(registered, ActAdmin)
    for act in registered.acts
]


@pytest.mark.parametrize(
    ("model", "registered", "one"), ACTS, ids=[f"{model._meta.model_name}-{one.name}" for model, _, one in ACTS]
)
def test_act_without_its_permission_is_403(db, trader, model, registered, one):  # noqa: F811
    user = TraderFactory(is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view"))
    client = Client()
    client.force_login(user)
    sent = {"action": one.name, "_selected_action": trader.pk, "confirmed": "yes", "reason": "because I can"}

    response = client.post(page(f"{model._meta.app_label}_{model._meta.model_name}"), sent)

    assert response.status_code == 403
    assert list_log(trader) == []


def test_groups_hold_least_permissions(db):
    create_groups(apps, None)
    let_operations_open_data(apps, None)
    held = {
        group.name: set(group.permissions.exclude(codename__startswith="view").values_list("codename", flat=True))
        for group in Group.objects.all()
    }

    assert held == {
        "support": {
            *("add_staffentry", "change_usageday", "change_conversation", "change_userfact"),
            "change_memoryproposal",
        },
        "operations": {
            "add_staffentry",
            *("change_deployment", "change_backtestrun", "change_reflectionrun", "change_apitoken"),
            *("change_usageday", "delete_trader", "add_marketevent", "change_marketevent"),
            *("add_newsitem", "change_newsitem"),
        },
        "auditor": {"add_staffentry"},
    }


def test_get_of_the_admin_opens_no_writing_transaction(root, monkeypatch):
    monkeypatch.setattr("config.lib.web.system_tx", None)  # a call would fail

    assert root.get(page("trading_deployment")).status_code == 200


def test_entries_of_an_erased_staff_member_stay(support, trader):  # noqa: F811
    open_rows(support, trader)
    with owned_tx(trader):
        before = StaffEntry.objects.count()

    with system("erases the staff member"):
        Trader.objects.get(email="support@example.com").delete()

    with owned(trader):
        assert StaffEntry.objects.count() == before


# --- Second factors ---


def test_remove_second_factors_lets_a_user_who_lost_the_phone_sign_in_again(operations, trader):  # noqa: F811
    Authenticator.objects.create(user=trader, type="totp", data={"secret": "x"})

    act(operations, "trading_trader", "remove_factors", trader)

    assert not Authenticator.objects.filter(user=trader).exists()
    assert list_log(trader) == [("remove_factors", "ticket 12 asks for it")]


def test_admin_shows_neither_secrets_nor_sessions_of_users():
    labels = {model._meta.label for model in admin.site._registry}

    assert not {label for label in labels if label.startswith(("mfa.", "usersessions.", "socialaccount."))}


# --- Acts on staff ---


def test_acts_on_staff_and_what_is_theirs_are_for_superusers_alone(operations, root, trader):  # noqa: F811
    chief = TraderFactory(email="chief@example.com", is_superuser=True)
    member = TraderFactory(email="member@example.com", is_staff=True)
    for one in (chief, member, trader):
        TOTP.activate(one, generate_totp_secret())
    for subject in (chief, member):
        for name in (one.name for one in admin.site._registry[Trader].acts):
            body = act(operations, "trading_trader", name, subject, email=subject.email).content.decode()
            assert "only a superuser acts" in body, name
    both = [trader.pk, member.pk]
    act(operations, "trading_trader", "remove_factors", trader, _selected_action=both)

    assert Authenticator.objects.count() == 3
    assert Trader.objects.filter(pk__in=[chief.pk, member.pk]).count() == 2
    act(root, "trading_trader", "remove_factors", trader, _selected_action=both)
    assert Authenticator.objects.count() == 1
