"""A provider of identities, as a browser goes to it and comes back."""

from urllib.parse import parse_qs, urlsplit

from django.test import Client

APP = {
    "provider_id": "oidc",
    "name": "Acme",
    "client_id": "keel",
    "secret": "s",
    "settings": {"server_url": "http://x"},
}
WITH_PROVIDER = {"openid_connect": {"APPS": [APP]}}


def come_back(client: Client):
    """Go to the provider and come back with its answer."""
    there = client.post("/accounts/oidc/oidc/login/").url
    assert there.startswith("http://x/authorization_endpoint?")
    state = parse_qs(urlsplit(there).query)["state"][0]
    return client.get("/accounts/oidc/oidc/login/callback/", {"code": "c", "state": state})
