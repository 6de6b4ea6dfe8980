"""All pages: accessibility and overflow, in the looks of looks.py."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from chat.conversations.journal import bookmark_reply
from chat.conversations.lifecycle import trash_conversation
from chat.conversations.services import start_conversation
from chat.demo import seed_chats
from chat.models import Conversation
from config.lib.owned import owned_tx
from tests.browser.looks import NARROW, WIDE, check_looks, check_pages
from tests.factories.chat import ConversationFactory
from tests.factories.record import DeploymentFactory, TradeFactory
from tests.large import Size, seed_large_account
from tests.pages import SIGNED_OUT, list_pages
from tests.trading.test_demo import SHORT
from trading.demo import seed_demo

PASSWORD = "a long and quiet night"
TOTP_SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def test_pages_for_strangers(site, page, shoot, problems):
    check_pages(page, shoot, site, SIGNED_OUT)
    check_pages(page, shoot, site, {"not-found": "/nowhere/"}, status=404)
    problems[:] = [problem for problem in problems if "404" not in problem]


def write_chats(user) -> None:
    seed_chats(user.pk, clock=lambda: timezone.now() - timedelta(minutes=1))
    with owned_tx(user):
        conversation = Conversation.objects.order_by("created_at").last()
        reply = conversation.messages.filter(role="assistant").last()
        bookmark_reply(message_id=reply.pk, note="My rule from now on.", now=timezone.now())
        trash_conversation(conversation_id=ConversationFactory(title="Regretted").pk, now=timezone.now())


def seed_record(user) -> None:
    seed_demo(user.pk, clock=timezone.now, lengths=SHORT)
    connection.close()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_pages_for_a_new_user(site, logged_in, page, shoot):
    check_pages(page, shoot, site, {f"{name}-new": at for name, at in list_pages(logged_in).items()})


@pytest.mark.timeout(600)
def test_all_pages_for_the_user_of_the_demo(site, logged_in, page, shoot):
    write_chats(logged_in)
    with ThreadPoolExecutor(1) as pool:  # the demo's agents run a loop of their own, which this thread has already
        pool.submit(seed_record, logged_in).result()
    check_pages(page, shoot, site, list_pages(logged_in))


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_pages_for_a_user_with_years_of_rows(site, logged_in, page, shoot):
    seed_large_account(logged_in, timezone.now(), Size(trades=2_000, decisions=500, facts=300, messages=300, chats=60))
    check_pages(page, shoot, site, {f"{name}-large": at for name, at in list_pages(logged_in).items()})


def test_pages_of_a_second_factor(site, ann, logged_in, page, context, shoot):
    ann.set_password(PASSWORD)
    ann.save()
    TOTP.activate(ann, TOTP_SECRET)
    RecoveryCodes.activate(ann)
    credential = {"clientExtensionResults": {"credProps": {"rk": True}}}
    key = Authenticator.objects.create(user=ann, type="webauthn", data={"name": "Phone", "credential": credential})
    factor = "/accounts/2fa"
    pages = {
        "factors": f"{factor}/",
        "factor-off": f"{factor}/totp/deactivate/",
        "codes": f"{factor}/recovery-codes/",
        "codes-again": f"{factor}/recovery-codes/generate/",
        "keys": f"{factor}/webauthn/",
        "key-rename": reverse("mfa_edit_webauthn", args=[key.pk]),
        "key-remove": reverse("mfa_remove_webauthn", args=[key.pk]),
        "confirm-by-code": f"{factor}/reauthenticate/",
    }
    check_pages(page, shoot, site, pages)

    key.delete()  # no device has it
    context.clear_cookies()
    page.goto(f"{site}/accounts/login/")
    page.get_by_label("Email").fill(ann.email)
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("heading", name="Second step").wait_for()
    check_looks(page, shoot, "second-step")


def test_a_chat_with_a_card_and_its_receipt_are_accessible(site, logged_in, page, shoot, settings):
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.OFFLINE_DELAY_SECONDS = 0
    with owned_tx(logged_in):
        deployment = DeploymentFactory(created_at=timezone.now())
        TradeFactory(deployment=deployment, still_open=True)
        opening = {"mode": "coach", "deployment_id": str(deployment.pk)}
        chat = start_conversation(opening=opening, now=timezone.now())
    page.goto(site + reverse("chat:conversation", args=[chat.pk]))
    page.locator("[data-chat][data-ready]").wait_for()
    page.get_by_role("textbox", name="Message to Keel").fill("Close everything")
    page.keyboard.press("Enter")
    page.locator(".action-card").wait_for()
    page.locator(".message--assistant[data-status=complete]").wait_for()
    check_looks(page, shoot, "card")

    page.get_by_role("link", name="What did you know?").click()
    page.get_by_text("The prompt, part by part").click()
    page.get_by_text("Who Keel is").click()
    check_looks(page, shoot, "receipt")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_open_panel_is_accessible(site, logged_in, page, shoot, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(f"{site}/profile/")
    page.locator(".panel__open").click()
    page.locator("#coach-panel .composer__input").wait_for()
    check_looks(page, shoot, "panel")


def test_the_palette_and_the_menu_of_a_fact_are_accessible(site, logged_in, page, shoot):
    seed_chats(logged_in.pk, clock=timezone.now)
    page.goto(f"{site}/profile/facts/")
    page.locator(".fact__menu summary").first.click()
    page.locator(".fact__panel button").first.wait_for()
    check_looks(page, shoot, "fact-menu")

    page.keyboard.press("Control+/")
    page.get_by_role("option").last.wait_for()
    check_looks(page, shoot, "palette")


def test_a_foreign_chat_is_a_page_that_says_so(site, logged_in, page, problems):
    response = page.goto(f"{site}/chat/{uuid4()}/")

    assert response.status == 404
    assert page.get_by_role("link", name="Home").first.is_visible()
    problems.clear()
