"""Who is in the storm: people who chat, and newcomers who get mails."""

import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import requests

PEOPLE, NEWCOMERS = 6, 3
DEPLOYMENTS_EACH = 2
MESSAGES_PER_CHAT = 3
MAILS_PAUSE_SECONDS = 8.0  # between the sign-ups of a newcomer: allauth takes 20 a minute from an address
SAID = (
    "I trade only with the trend, and I keep leverage at {n}x or less. How are my deployments doing?",
    "What did I lose most on in the last {n} days?",
    "I never risk more than {n}% of the account on one trade. What can you do for me?",
)


class Asker(threading.Thread):
    """Someone who asks one server or the other, and counts what they answer."""

    def __init__(self, seed: str, urls: list[str], stopped: threading.Event) -> None:
        super().__init__(daemon=True)
        self._urls, self._stopped = urls, stopped
        self._chance = random.Random(seed)
        self.statuses: Counter[str] = Counter()

    def ask(self, request: Callable[..., requests.Response], path: str, **values: Any) -> requests.Response | None:
        """Ask a server; None if it does not answer."""
        url = self._chance.choice(self._urls)
        try:
            found = request(f"{url}{path}", timeout=120, **values)
        except requests.RequestException:
            self.statuses["no answer"] += 1
            return None
        self.statuses[str(found.status_code)] += 1
        if found.status_code >= 500 and found.status_code != 503:
            print(f"{found.status_code} of {path}: {found.text[:200]}", flush=True)
        return found


class Person(Asker):
    """Someone who sends messages, closes chats and reads accounts until told to stop; nobody gives up on a request."""

    def __init__(self, token: str, account: Any, urls: list[str], stopped: threading.Event) -> None:
        super().__init__(token, urls, stopped)
        self._headers = {"Authorization": f"Bearer {token}"}
        self._account = account
        self.sent: list[UUID] = []
        self.closed: list[UUID] = []

    def run(self) -> None:
        """Talk."""
        for number in count(1):
            chat = None
            for said in SAID[:MESSAGES_PER_CHAT]:
                client_id = uuid4()
                self.sent.append(client_id)
                body = {"message": said.format(n=number % 9 + 1), "client_id": str(client_id), "stream": False}
                answer = self.insist("/api/chat/", body | ({"conversationId": chat} if chat else {}))
                chat = answer["conversation_id"]
                if self._stopped.is_set():
                    break
            self.insist(f"/api/conversations/{chat}/close/", {})
            self.closed.append(UUID(chat))
            self.read_account()
            if self._stopped.is_set():
                return

    def read_account(self) -> None:
        """Ask for a reading of the account, as its page does; an outage loses the request."""
        from django.db import Error, close_old_connections  # noqa: PLC0415

        from config.lib.owned import owned_tx  # noqa: PLC0415
        from trading.intake.sync import make_due  # noqa: PLC0415

        close_old_connections()
        with suppress(Error), owned_tx(self._account.user_id):
            make_due(self._account.pk, now=datetime.now(UTC))

    def insist(self, path: str, body: dict[str, Any]) -> Any:
        """Post to one server or the other until one takes it, with the same body."""
        while True:
            found = self.ask(requests.post, path, json=body, headers=self._headers)
            if found is not None and found.ok:
                return found.json() if found.content else None
            time.sleep(0.5 + self._chance.random())


class Newcomer(Asker):
    """Someone who signs up and forgets passwords, by other addresses each time.

    `promised` and `asked` count the mails by address: those of which a page said that they are on their way, and all. A
    request without an answer may have been heard.
    """

    def __init__(self, number: int, urls: list[str], stopped: threading.Event) -> None:
        super().__init__(f"newcomer-{number}", urls, stopped)
        self.promised: Counter[str] = Counter()
        self.asked: Counter[str] = Counter()

    def run(self) -> None:
        """Sign up, forget that password, and ask for one of an account that nobody has."""
        while not self._stopped.wait(MAILS_PAUSE_SECONDS):
            known, unknown = f"{uuid4().hex}@example.com", f"{uuid4().hex}@example.com"
            if self.order_mail("/accounts/signup/", known, password1=f"a harbour of {known}"):
                self.order_mail("/accounts/password/reset/", known)
            self.order_mail("/accounts/password/reset/", unknown)

    def order_mail(self, path: str, address: str, **fields: str) -> bool:
        """Fill in a form that mails; return whether the mail is promised."""
        browser = requests.Session()
        page = self.ask(browser.get, path)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text) if page is not None else None
        if token is None:
            return False
        self.asked[address] += 1
        typed = {"csrfmiddlewaretoken": token[1], "email": address, **fields}
        done = self.ask(browser.post, path, data=typed, allow_redirects=False)
        if done is None or done.status_code != 302:
            return False
        self.promised[address] += 1
        return True


def make_rows(began: datetime) -> tuple[list[tuple[str, Any]], list[UUID]]:
    """Store people with deployments and venue accounts; return tokens with accounts, and the deployments."""
    from config.lib.owned import owned_tx  # noqa: PLC0415
    from config.lib.proofs import OPERATOR  # noqa: PLC0415
    from trading.account.tokens import create_token  # noqa: PLC0415
    from trading.intake.sync import NewAccount, add_account  # noqa: PLC0415
    from trading.models import Skill, SkillVersion, Trader  # noqa: PLC0415
    from trading.record.deployments import deploy_skill  # noqa: PLC0415
    from trading.skills.schemas import parse_payload  # noqa: PLC0415

    body = {
        "name": "Storm",
        "trading_style": "day",
        "strategy": {"thesis": "Storm", "entry": "A close above the 20-bar high.", "exit": "A close below the mean."},
        "context": {"symbols": ["BTC"], "bars_interval": "1m", "bars_lookback": 30},
        "schedule": {"type": "interval", "value": "1m"},
    }
    people, deployments = [], []
    for number in range(PEOPLE):
        user = Trader.objects.create_user(email=f"storm-{number}@example.com", password=None)
        with owned_tx(user):
            token = create_token(name="storm", scope="write", expires_at=None, proof=OPERATOR, now=began)[1]
            skill = Skill.objects.create(
                name="Storm", trading_style="day", latest_version=1, created_at=began, updated_at=began
            )
            payload = parse_payload(body).stored()
            SkillVersion.objects.create(skill=skill, version=1, payload=payload, created_at=began)
            deployments += [
                deploy_skill(skill_id=skill.pk, proof=OPERATOR, now=began).pk for _ in range(DEPLOYMENTS_EACH)
            ]
            account = add_account(NewAccount("hyperliquid", address=f"0x{number:040x}"), proof=OPERATOR, now=began)
        people.append((token, account))
    return people, deployments
