"""The browser tests' frame: real server, complaints of pages seen."""

import pytest


@pytest.fixture(autouse=True)
def _icon(context):
    # The bare answer of /healthz/ names no icon, so the browser asks for one that is not there.
    context.route("**/favicon.ico", lambda route: route.fulfill(status=204))


def test_signed_in_browser_is_known(site, logged_in, page):
    response = page.goto(site + "/accounts/email/")

    assert response.status == 200
    assert logged_in.email in page.content()


def test_complaints_of_the_browser_are_collected(site, page, problems):
    page.goto(site + "/healthz/")
    page.evaluate("() => console.error('told you')")
    page.evaluate("() => { setTimeout(() => { throw new Error('oops') }) }")
    page.wait_for_timeout(100)

    assert [problem.partition(":")[0] for problem in problems] == ["error", "uncaught"]
    problems.clear()
