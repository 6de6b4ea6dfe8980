"""The matrix of what a library serves: the admin and the pages of accounts tell nobody of Bob."""

import pytest
from django.contrib import admin
from django.urls import reverse

from config.lib.admin import ActAdmin
from tests.matrix.asks import ENTRIES, Ask, Entry, answer, is_turned_away
from tests.strangers import Names
from trading.models import Trader

pytestmark = pytest.mark.django_db

# Those of allauth's that a person must reach before signing in.
PUBLIC_ACCOUNT_PAGES = {
    "account_login",
    "account_signup",
    "account_invitation",
    "account_inactive",
    "account_confirm_email",
    "account_email_verification_sent",
    "account_confirm_login_code",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
    "account_logout",
    "mfa_authenticate",
    "mfa_login_webauthn",
    "socialaccount_login_cancelled",
    "socialaccount_login_error",
    "socialaccount_signup",
    "openid_connect_login",
    "openid_connect_callback",
}
ADMIN_IDS = {
    "userfact": "fact_id",
    "memoryevent": "event_id",
    "conversation": "conversation_id",
    "message": "message_id",
    "apitoken": "token_id",
    "skill": "skill_id",
    "skilldraft": "draft_id",
    "deployment": "deployment_id",
    "backtestrun": "run_id",
    "trade": "trade_id",
    "reflectionnote": "note_id",
    "actioncard": "card_id",
}


def asks_of_group(prefix: str, names: Names) -> list[tuple[Entry, Ask, Names]]:
    """Return a read and a write of each address of a group, with names for the arguments that its library knows."""
    found = []
    for entry in ENTRIES:
        if entry.group == prefix:
            model = [*entry.path.split("/"), "", ""][2]
            row = names[ADMIN_IDS.get(model, "user_id")]
            given = {"object_id": row, "id": row, "content_type_id": "1", "app_label": "chat", "url": "nowhere"}
            given |= {"pk": "1", "provider_id": "nowhere", "token": "forged"}
            filling = {**names, **given, "uidb36": "1", "key": "set-password"}
            found += [(entry, Ask(method, entry.path), filling) for method in ("get", "post")]
    return found


@pytest.mark.parametrize("who", ["client", "as_ann"], ids=["stranger", "ann"])
def test_admin_is_shut_to_who_is_not_staff(who, request, bob, watch):
    client = request.getfixturevalue(who)
    with watch.undone():
        for _, ask, names in asks_of_group("admin/", bob.names()[0]):
            response = ask.send(client, names)

            assert response.status_code in (302, 403), ask
            assert answer(response, names).gives_away(bob) == [], ask


@pytest.mark.parametrize("is_staff", [False, True], ids=["ann", "staff-without-permissions"])
def test_acts_of_staff_change_nothing_of_bobs(is_staff, client, ann, bob, watch):
    Trader.objects.filter(pk=ann.user.pk).update(is_staff=is_staff)
    client.force_login(Trader.objects.get(pk=ann.user.pk))
    rows = {"trader": bob.user.pk, "apitoken": bob.rows["token"][0].pk, "memoryproposal": bob.rows["proposal"][0].pk}
    registered = [(model._meta, one) for model, one in admin.site._registry.items() if isinstance(one, ActAdmin)]
    acts = [(meta, act.name) for meta, one in registered for act in one.acts]
    assert len(acts) > 15
    names = bob.names()[0]
    with watch.undone():
        for meta, name in acts:
            row = rows.get(meta.model_name, names.get(ADMIN_IDS.get(meta.model_name, ""), names["fact_id"]))
            sent = {"action": name, "_selected_action": row, "confirmed": "yes", "reason": "none"}
            sent["email"] = bob.user.email

            response = client.post(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"), sent)

            assert response.status_code == (403 if is_staff else 302), (meta, name)
            assert bob.word not in response.content.decode()


def test_account_pages_send_strangers_to_the_login(client, bob):
    for entry, ask, names in asks_of_group("accounts/", bob.names()[0]):
        response = ask.send(client, names)

        assert is_turned_away(response) or entry.name in PUBLIC_ACCOUNT_PAGES, ask
        assert response.status_code < 500, ask
        assert answer(response, names).gives_away(bob) == [], ask


def test_account_pages_tell_ann_nothing_of_bob(client, ann, bob):
    for _, ask, names in asks_of_group("accounts/", bob.names()[0]):
        client.force_login(ann.user)  # again, since one of the pages signs out
        response = ask.send(client, names)

        assert response.status_code < 500, ask
        assert answer(response, names).gives_away(bob) == [], ask
