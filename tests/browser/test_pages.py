"""All pages: accessibility and overflow, in the looks of looks.py."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.conversations.journal import bookmark_reply
from chat.conversations.lifecycle import trash_conversation
from chat.conversations.services import start_conversation
from chat.demo import seed_chats
from chat.models import Conversation
from config.lib.owned import owned, owned_tx
from memory.models import UserFact
from tests.browser.looks import NARROW, WIDE, check_looks
from tests.factories.chat import ConversationFactory
from tests.factories.record import DeploymentFactory, TradeFactory

SIGNED_OUT = {
    "landing": "/",
    "login": "/accounts/login/",
    "signup": "/accounts/signup/",
    "password-reset": "/accounts/password/reset/",
    "password-reset-done": "/accounts/password/reset/done/",
    "not-found": "/nowhere/",
    "offline": "/offline/",
}
SIGNED_IN = {
    "home": "/",
    "chat": "/chat/",
    "conversation": "conversation",
    "facts": "/profile/facts/",
    "facts-archived": "/profile/facts/?status=archived",
    "facts-nothing-found": "/profile/facts/?q=zebra",
    "facts-as-of": f"/profile/facts/?as_of={timezone.now():%Y-%m-%d}",
    "facts-changes": "/profile/facts/changes/",
    "fact": "fact",
    "profile": "/profile/",
    "access": "/profile/access/",
    "export": "/profile/export/",
    "password-change": "/accounts/password/change/",
    "email": "/accounts/email/",
    "sign-out": "/accounts/logout/",
    "chat-search": "/chat/search/?q=leverage",
    "chat-search-nothing": "/chat/search/?q=zebra",
    "chat-trash": "/chat/trash/",
    "journal": "/journal/",
    "journal-kept": "/journal/kept/",
    "journal-review": "/journal/review/",
    "usage": "/profile/usage/",
    "imports": "/trades/import/",
    "rules": "/trades/rules/",
}


def test_pages_for_strangers(site, page, shoot, problems):
    for name, address in SIGNED_OUT.items():
        page.goto(site + address)
        check_looks(page, shoot, name)
    problems[:] = [problem for problem in problems if "404" not in problem]


@pytest.mark.timeout(240)
def test_pages_for_a_trader_with_a_history(site, logged_in, page, shoot):
    seed_chats(logged_in.pk, clock=lambda: timezone.now() - timedelta(minutes=1))
    with owned(logged_in):
        places = {
            "conversation": reverse("chat:conversation", args=[Conversation.objects.order_by("created_at").first().pk]),
            "fact": reverse("memory:fact", args=[UserFact.objects.filter(supersedes__isnull=False).first().pk]),
        }
        conversation = Conversation.objects.order_by("created_at").last()
        reply = conversation.messages.filter(role="assistant").last()
    with owned_tx(logged_in):
        bookmark_reply(message_id=reply.pk, note="My rule from now on.", now=timezone.now())
        trash_conversation(conversation_id=ConversationFactory(title="Regretted").pk, now=timezone.now())
    for name, address in SIGNED_IN.items():
        page.goto(site + places.get(address, address))
        check_looks(page, shoot, name)


@pytest.mark.timeout(240)
def test_pages_for_a_trader_without_a_history(site, logged_in, page, shoot):
    for name in ("home", "chat", "facts", "journal", "journal-kept", "journal-review", "chat-trash", "usage"):
        page.goto(site + SIGNED_IN[name])
        check_looks(page, shoot, f"{name}-empty")


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
