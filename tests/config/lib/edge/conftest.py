import json

import pytest
import requests

from tests.config.lib.edge.identities import WITH_PROVIDER


@pytest.fixture
def provider(settings, monkeypatch):
    """A provider of identities that answers as Zoe's; the requests to it stay in this process."""
    settings.SOCIALACCOUNT_PROVIDERS = WITH_PROVIDER
    pages = {name: f"http://x/{name}" for name in ("authorization_endpoint", "token_endpoint", "userinfo_endpoint")}
    answers = {
        "http://x/.well-known/openid-configuration": {**pages, "issuer": "http://x", "jwks_uri": "http://x/keys"},
        pages["token_endpoint"]: {"access_token": "t", "token_type": "Bearer"},
        pages["userinfo_endpoint"]: {"sub": "7", "email": "zoe@example.com", "email_verified": True},
    }

    def send(session, method, url, **kwargs):
        response = requests.Response()
        response.status_code, response._content = 200, json.dumps(answers[url]).encode()
        response.headers["content-type"] = "application/json"
        return response

    monkeypatch.setattr(requests.Session, "request", send)
    return answers[pages["userinfo_endpoint"]]
