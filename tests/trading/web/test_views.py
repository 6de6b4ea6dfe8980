import pytest
from django.test import Client

from config.lib.web import THEME_COOKIE

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("tier", ["novice", "intermediate", "expert", ""])
def test_profile_saves_tier_and_time_zone(client, trader, tier):
    response = client.post("/profile/", {"experience_tier": tier, "time_zone": "Europe/Zurich"})

    trader.refresh_from_db()
    assert (response.status_code, response.url) == (302, "/profile/")
    assert (trader.experience_tier, trader.time_zone) == (tier or None, "Europe/Zurich")


@pytest.mark.parametrize(
    "data",
    [
        {"experience_tier": "wizard", "time_zone": "UTC"},
        {"experience_tier": "novice", "time_zone": "Mars/Olympus"},
        {"experience_tier": "novice"},
    ],
)
def test_profile_refuses_what_it_does_not_know(client, trader, data):
    response = client.post("/profile/", data)

    trader.refresh_from_db()
    assert response.status_code == 422
    assert (trader.experience_tier, trader.time_zone) == (None, "UTC")


def test_profile_changes_nothing_but_its_two_fields(client, trader):
    data = {"experience_tier": "expert", "time_zone": "UTC", "is_staff": "on", "email": "root@example.com", "id": "1"}

    client.post("/profile/", data)

    before = (trader.email, trader.is_staff)
    trader.refresh_from_db()
    assert (trader.email, trader.is_staff) == before


def test_profile_shows_times_in_the_users_zone(client, trader):
    trader.time_zone = "Asia/Tokyo"
    trader.save()

    assert client.get("/profile/").status_code == 200
    assert 'value="Asia/Tokyo" selected' in client.get("/profile/").content.decode()


@pytest.mark.parametrize(("chosen", "kept"), [("dark", "dark"), ("light", "light"), ("neon", "auto"), ("", "auto")])
def test_theme_is_kept_in_a_cookie_and_drawn_by_the_server(chosen, kept):
    response = (visitor := Client()).post("/theme/", {"theme": chosen, "next": "/accounts/login/"})

    assert (response.status_code, response.url) == (302, "/accounts/login/")
    assert response.cookies[THEME_COOKIE].value == kept
    assert f'data-theme="{kept}"' in visitor.get("/accounts/login/").content.decode()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"]
)
def test_theme_leads_to_no_other_site(target):
    assert Client().post("/theme/", {"theme": "dark", "next": target}).url == "/"


def test_a_piece_of_a_page_gets_401_where_a_page_is_sent_to_the_login():
    page = Client().get("/profile/facts/")
    piece = Client().get("/profile/facts/", headers={"HX-Request": "true"})

    assert (page.status_code, piece.status_code) == (302, 401)
