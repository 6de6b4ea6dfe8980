"""Invitations: who makes them, what their links open, and what is left of them."""

import io
import re
from datetime import timedelta
from functools import partial

import pytest
from allauth.account.models import EmailAddress
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.endings.erasure import erase_user
from chat.jobs import RETENTION
from config.lib.edge.invitations import VALID_FOR, invite, make_path, renew, withdraw
from config.lib.owned import system
from config.lib.work.models import Invitation
from config.lib.work.retention import drop_old_rows
from tests.config.lib.edge.identities import come_back
from tests.factories.trading import TraderFactory
from tests.mails import send_mails
from tests.threads import race
from trading.models import StaffEntry, Trader

PASSWORD = "a-harbour-in-the-north-9"
ZOE = {"email": "zoe@example.com", "password1": PASSWORD}
SIGN_UP = "/accounts/signup/"
DEAD = "This invitation does not work"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def by_invitation(settings):
    settings.SIGN_UP = "invited"


def make(address: str = "zoe@example.com", **values) -> tuple[Invitation, str]:
    """Return an invitation and the path of its link."""
    row = Invitation(address=address)
    path = make_path(invite(row, made_by=None, now=timezone.now()))
    Invitation.objects.filter(pk=row.pk).update(**values)
    return row, path


def read(page) -> str:
    return page.content.decode()


# --- The link ---


def test_strangers_read_that_accounts_are_by_invitation(client):
    pages = [client.get("/"), client.get("/accounts/login/"), client.get(SIGN_UP), client.post(SIGN_UP, ZOE)]

    assert ["Accounts are by invitation" in read(page) for page in pages] == [True] * 4
    assert not any(f'href="{SIGN_UP}' in read(page) for page in pages)
    assert not Trader.objects.exists()


def test_link_opens_sign_up_with_the_address_and_makes_one_account(client):
    invitation, path = make()

    form = client.get(path, follow=True)
    client.post(SIGN_UP, ZOE)

    assert 'value="zoe@example.com"' in read(form)
    zoe = Trader.objects.get()
    invitation.refresh_from_db()
    assert (invitation.used_by, client.session[SESSION_KEY]) == (zoe, str(zoe.pk))
    assert not EmailAddress.objects.get().verified, "the link may have been passed on by hand"
    assert DEAD in read(Client().get(path))


def test_address_of_an_invitation_is_confirmed_by_mail_where_there_is_mail(client, settings, mailoutbox):
    settings.HAS_MAIL, settings.ACCOUNT_EMAIL_VERIFICATION = True, "mandatory"
    _, path = make()

    client.get(path)
    client.post(SIGN_UP, ZOE)
    send_mails()

    assert SESSION_KEY not in client.session
    assert [mail.subject for mail in mailoutbox] == ["Keel: Verify your email address"]


def test_another_address_is_refused_alike_whether_it_has_an_account_or_not(client):
    TraderFactory(email="ann@example.com")
    _, path = make()
    client.get(path)

    pages = [client.post(SIGN_UP, {**ZOE, "email": email}) for email in ("ann@example.com", "bob@example.com")]

    assert ["Your invitation is for zoe@example.com" in read(page) for page in pages] == [True, True]
    hidden = [re.sub(r"(ann|bob)@|[A-Za-z0-9]{64}", "", read(page)) for page in pages]
    assert hidden[0] == hidden[1]
    assert Trader.objects.count() == 1


def end(state: str, row: Invitation) -> None:
    now = timezone.now()
    match state:
        case "used":
            Invitation.objects.filter(pk=row.pk).update(used_at=now, used_by=TraderFactory())
        case "expired":
            Invitation.objects.filter(pk=row.pk).update(expires_at=now)
        case "withdrawn":
            withdraw(row, now=now)
        case "sent again":
            renew(row, now=now)


@pytest.mark.parametrize("state", ["used", "expired", "withdrawn", "sent again", "forged"])
def test_link_that_has_ended_says_so_and_makes_no_account(client, state):
    row, path = make()
    browser = Client()
    browser.get(path)  # before it ended
    end(state, row)
    path = path[:-3] + "xx/" if state == "forged" else path

    page = client.get(path)
    late = client.post(SIGN_UP, ZOE)

    assert DEAD in read(page)
    assert "Accounts are by invitation" in read(late)
    if state != "forged":
        assert "Accounts are by invitation" in read(browser.post(SIGN_UP, ZOE))
    assert not Trader.objects.filter(email="zoe@example.com").exists()


def test_closed_site_opens_no_link(client, settings):
    settings.SIGN_UP = "closed"
    _, path = make()

    assert DEAD in read(client.get(path))
    assert "No new accounts" in read(client.post(SIGN_UP, ZOE))


@pytest.mark.parametrize(("email", "is_used"), [("zoe@example.com", True), ("bob@example.com", False)])
def test_open_site_takes_any_address_and_uses_the_invitation_of_its_own(client, settings, email, is_used):
    settings.SIGN_UP = "open"
    _, path = make()

    client.get(path)
    client.post(SIGN_UP, {**ZOE, "email": email})

    assert Trader.objects.get().email == email
    assert Invitation.objects.exclude(used_at=None).exists() == is_used


def test_sign_ups_by_invitation_keep_the_limit_of_their_place(client):
    _, path = make()
    client.get(path)

    answers = [client.post(SIGN_UP, {**ZOE, "password1": "short"}).status_code for _ in range(21)]

    assert answers == [200] * 20 + [429]


@pytest.mark.race
@pytest.mark.django_db(transaction=True)
def test_two_requests_at_one_instant_make_one_account(settings):
    _, path = make()
    browsers = [Client() for _ in range(4)]
    for browser in browsers:
        browser.get(path)

    pages = race(*[partial(browser.post, SIGN_UP, ZOE) for browser in browsers])

    assert sorted(page.status_code for page in pages) == [200, 200, 200, 302]
    assert Trader.objects.count() == 1


# --- A provider of identities ---


@pytest.mark.parametrize(("invited", "is_in"), [("zoe@example.com", True), ("bob@example.com", False), (None, False)])
def test_provider_brings_the_invited_address_alone(provider, client, invited, is_in):
    if invited:
        client.get(make(invited)[1])

    page = come_back(client)

    assert [user.email for user in Trader.objects.all()] == (["zoe@example.com"] if is_in else [])
    assert is_in or "Accounts are by invitation" in read(page)
    assert Invitation.objects.exclude(used_at=None).exists() == is_in
    again = come_back(Client())
    assert again.status_code == (302 if is_in else 200), "who has an account signs in"


def test_provider_does_not_share_the_account_of_an_invited_address(provider, client):
    _, path = make()
    client.get(path)
    TraderFactory(email="zoe@example.com")

    come_back(client)
    page = client.post("/accounts/connections/signup/", {"email": "eve@example.com"})

    assert DEAD in read(page)
    assert Trader.objects.get().email == "zoe@example.com"


# --- Staff ---


@pytest.fixture
def staff():
    """The browser of somebody of operations."""
    user = TraderFactory(email="olga@example.com", is_staff=True)
    user.groups.set(Group.objects.filter(name="operations"))
    browser = Client()
    browser.force_login(user)
    return browser


LIST, ADD = "admin:work_invitation_changelist", "admin:work_invitation_add"
LINK = re.compile(r"http://testserver(/accounts/invitations/[\w-]{43}/)")


def act(browser: Client, name: str, row: Invitation):
    fields = {"action": name, "_selected_action": row.pk, "confirmed": "yes", "reason": "ticket 7 asks for it"}
    return browser.post(reverse(LIST), fields, follow=True)


def test_staff_invite_by_mail_and_see_the_link_once(staff, mailoutbox, client):
    page = staff.post(reverse(ADD), {"address": "Zoe@Example.com", "reason": "a friend"}, follow=True)
    send_mails()

    [shown], [mail] = LINK.findall(read(page)), mailoutbox
    assert (mail.to, mail.subject) == (["zoe@example.com"], "Keel: You are invited")
    assert LINK.findall(mail.body) == [shown]
    assert not LINK.search(read(staff.get(reverse(LIST))))
    row = Invitation.objects.get()
    assert row.digest not in read(staff.get(reverse("admin:work_invitation_change", args=[row.pk])))
    assert 'value="zoe@example.com"' in read(client.get(shown, follow=True))
    with system("test"):
        entry = StaffEntry.objects.get()
    assert (entry.act, entry.reason, row.made_by.email) == ("invite", "a friend", "olga@example.com")


def test_staff_are_told_of_an_address_that_has_an_account_or_an_invitation(staff):
    make()

    for address, why in (("olga@example.com", "has an account"), ("ZOE@example.com", "is invited already")):
        assert why in read(staff.post(reverse(ADD), {"address": address, "reason": "a friend"}))
    assert Invitation.objects.count() == 1


def test_sending_again_gives_new_days_and_ends_the_old_link(staff, client, mailoutbox):
    row, old = make(expires_at=timezone.now() - timedelta(days=1))

    [new] = LINK.findall(read(act(staff, "renew", row)))
    send_mails()

    assert DEAD in read(client.get(old))
    assert client.get(new).status_code == 302
    row.refresh_from_db()
    assert row.expires_at > timezone.now() + VALID_FOR - timedelta(minutes=1)
    assert [LINK.findall(mail.body) for mail in mailoutbox] == [[new]]


def test_list_tells_the_state_and_acts_refuse_what_has_ended(staff):
    for state in ("waiting", "expired", "withdrawn", "used"):
        row, _ = make(f"{state}@example.com")
        end(state, row)
    page = read(staff.get(reverse(LIST)))

    assert [f'class="field-state">{state}<' in page for state in ("waiting", "expired", "withdrawn", "used")] == [
        True
    ] * 4
    assert "was used or withdrawn" in read(act(staff, "renew", row))
    act(staff, "withdraw", Invitation.objects.get(address="waiting@example.com"))
    assert Invitation.objects.get(address="waiting@example.com").withdrawn_at is not None


def test_auditors_see_invitations_and_make_none(staff):
    row, _ = make()
    Trader.objects.get().groups.set(Group.objects.filter(name="auditor"))

    assert staff.get(reverse(LIST)).status_code == 200
    assert staff.get(reverse(ADD)).status_code == 403
    assert staff.post(reverse(LIST), {"action": "withdraw", "_selected_action": row.pk}).status_code == 403


def test_command_prints_a_link_and_refuses_what_staff_are_refused(client, settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://keel.example.com"]
    call_command("invite", "Zoe@example.com", stdout=(out := io.StringIO()))

    origin, _, path = out.getvalue().strip().partition("/accounts/")
    assert origin == "https://keel.example.com"
    assert client.get(f"/accounts/{path}").status_code == 302
    for address, why in (("zoe@example.com", "is invited already"), ("nobody", "valid email")):
        with pytest.raises(CommandError, match=why):
            call_command("invite", address)


# --- What is left ---


def test_erased_person_leaves_no_address_behind(client):
    client.get(make()[1])
    client.post(SIGN_UP, ZOE)
    TraderFactory(email="ann@example.com")
    Invitation.objects.create(address="ann@example.com", digest="1", made_at=timezone.now(), expires_at=timezone.now())

    for person in Trader.objects.all():
        erase_user(user_id=person.pk)

    assert not Invitation.objects.exists()


def test_invitation_outlives_the_staff_member_who_made_it():
    row, _ = make(made_by=TraderFactory())

    erase_user(user_id=Trader.objects.get().pk)

    row.refresh_from_db()
    assert row.made_by is None


def test_invitations_that_ended_unused_go_after_their_days(settings):
    settings.KEEP_DAYS = dict.fromkeys(settings.KEEP_DAYS, 0) | {"invitations": 30}
    now = timezone.now()
    long_ago = now - timedelta(days=31)
    make("withdrawn@example.com", withdrawn_at=long_ago)
    make("expired@example.com", expires_at=long_ago)
    make("used@example.com", expires_at=long_ago, used_at=long_ago, used_by=TraderFactory())
    make("waiting@example.com")

    assert drop_old_rows(RETENTION, now) == "2 invitations dropped"
    assert set(Invitation.objects.values_list("address", flat=True)) == {"used@example.com", "waiting@example.com"}
