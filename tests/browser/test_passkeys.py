"""A passkey of a real browser: added, then used to sign in, under the content security policy."""

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import Page, expect

PASSWORD = "a long and quiet night"


@pytest.fixture
def authenticator(page: Page) -> None:
    """Give the browser a device that holds passkeys and answers at once."""
    cdp = page.context.new_cdp_session(page)
    cdp.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    options |= {"isUserVerified": True, "automaticPresenceSimulation": True}
    cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def test_passkey_is_added_and_signs_in_without_the_password(site, ann, page: Page, authenticator):
    site = site.replace("127.0.0.1", "localhost")  # browsers keep no passkeys for addresses
    ann.set_password(PASSWORD)
    ann.save()
    broken: list[str] = []
    page.on("console", lambda line: broken.append(line.text) if line.type == "error" else None)

    page.goto(f"{site}/accounts/login/")
    page.get_by_label("Email").fill(ann.email)
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(lambda url: "login" not in url)
    page.goto(f"{site}/accounts/2fa/webauthn/add/")
    page.get_by_role("textbox", name="Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Passwordless").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    assert Authenticator.objects.filter(user=ann, type="webauthn").exists()

    page.context.clear_cookies()
    page.goto(f"{site}/accounts/login/")
    page.get_by_role("button", name="Sign in with a passkey").click()
    page.wait_for_url(lambda url: "login" not in url)

    page.goto(f"{site}/profile/")
    expect(page.get_by_role("heading", name="Profile")).to_be_visible()
    assert broken == []
