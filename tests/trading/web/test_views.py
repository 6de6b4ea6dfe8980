import pytest
from django.test import Client

from config.lib.web import THEME_COOKIE

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("tier", ["novice", "intermediate", "expert", ""])
def test_profile_saves_tier_and_time_zone_and_nothing_else(client, trader, tier):
    before, other = (trader.email, trader.is_staff), {"is_staff": "on", "email": "root@example.com", "id": "1"}
    response = client.post("/profile/", {"experience_tier": tier, "time_zone": "Europe/Zurich", **other})

    trader.refresh_from_db()
    assert (response.status_code, response.url) == (302, "/profile/")
    assert (trader.experience_tier, trader.time_zone) == (tier or None, "Europe/Zurich")
    assert (trader.email, trader.is_staff) == before
    assert 'value="Europe/Zurich" selected' in client.get("/profile/").content.decode()


def test_profile_refuses_what_it_does_not_know(client, trader):
    unknown = {"experience_tier": "wizard", "time_zone": "UTC"}
    for data in (unknown, {"experience_tier": "novice", "time_zone": "Mars/Olympus"}, {"experience_tier": "novice"}):
        response = client.post("/profile/", data)

        trader.refresh_from_db()
        assert response.status_code == 422
        assert (trader.experience_tier, trader.time_zone) == (None, "UTC")


@pytest.mark.parametrize(("chosen", "kept"), [("dark", "dark"), ("light", "light"), ("neon", "auto"), ("", "auto")])
def test_theme_is_kept_in_a_cookie_and_drawn_by_the_server(chosen, kept):
    response = (visitor := Client()).post("/theme/", {"theme": chosen, "next": "/accounts/login/"})

    assert (response.status_code, response.url) == (302, "/accounts/login/")
    assert response.cookies[THEME_COOKIE].value == kept
    assert f'data-theme="{kept}"' in visitor.get("/accounts/login/").content.decode()


def test_theme_leads_to_no_other_site():
    for target in ("https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)"):
        assert Client().post("/theme/", {"theme": "dark", "next": target}).url == "/"


def test_a_piece_of_a_page_gets_401_where_a_page_is_sent_to_the_login():
    page = Client().get("/profile/facts/")
    piece = Client().get("/profile/facts/", headers={"HX-Request": "true"})

    assert (page.status_code, piece.status_code) == (302, 401)
