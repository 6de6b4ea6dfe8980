"""A site to measure, and what several benchmarks fill it with: users, facts, bars.

Importing this module sets Django up on a migrated database of its own, or on BENCH_DATABASE_URL, so it has to come
before all that needs models; its name sorts first. Programs that a benchmark starts get the same site.
"""

import os
import random
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import django

from benchmarks.report import size

_folder = TemporaryDirectory(prefix="keel-bench-")  # removed when the process ends
_is_started_by_another = "BENCH_IS_READY" in os.environ
_url = os.environ.setdefault("BENCH_DATABASE_URL", f"sqlite:///{_folder.name}/bench.sqlite3")
os.environ |= {
    "DJANGO_SETTINGS_MODULE": "config.settings",
    "READ_DOT_ENV": "false",
    "DATABASE_URL": _url,
    "JOBS_ENGINE": "procrastinate" if _url.startswith("postgres") else "embedded",
    "SECRET_KEY": "only-for-benchmarks-" + "x" * 30,
    "LOG_LEVEL": "ERROR",
    "CHAT_AGENT_MODEL": "openai/bench",
    "OPENAI_API_KEY": "none",
    "MESSAGES_PER_MINUTE": "10000",
    "API_WRITES_PER_MINUTE": "100000",
    "DAILY_TOKEN_BUDGET": "9000000000",
    "TURNS_PER_USER": "100",
    "SOCKETS_PER_USER": "1000",
    "BENCH_IS_READY": "true",
}
django.setup()

from django.conf import settings  # noqa: E402 - after the settings
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from django.utils import timezone  # noqa: E402

from chat.demo import seed_chats  # noqa: E402
from config.lib.owned import owned_tx  # noqa: E402
from memory.claims.subjects import read_subject  # noqa: E402
from memory.facts.services import remember_fact  # noqa: E402
from memory.models import Confidence, FactSource, UserFact  # noqa: E402
from tests.databases import make_database  # noqa: E402
from trading.demo import Lengths, seed_demo  # noqa: E402
from trading.models import Bar, Trader  # noqa: E402

if not _is_started_by_another and _url.endswith(f"{_folder.name}/bench.sqlite3"):
    settings.TEST_FOLDER = _folder.name
    make_database("bench")
elif not _is_started_by_another:
    call_command("migrate", verbosity=0)

NOW = datetime(2026, 3, 5, 6, 42, 17, tzinfo=UTC)  # of the demo, whose market depends on the day
WORDS = 8_000  # in the vocabulary


def sign_in(user: Trader) -> Client:
    """Return a client that has signed in."""
    client = Client(headers={"host": "localhost"})
    client.force_login(user)
    return client


def make_user(facts: int = 0) -> Trader:
    """Create a user with a few short facts."""
    user = Trader.objects.create_user(f"bench-{uuid4()}@example.com")
    with owned_tx(user):
        for number in range(facts):
            remember_fact(content=f"Bench fact number {number}", now=timezone.now())
    return user


def make_demo_user(history: timedelta) -> Trader:
    """Create a user with the demo's chats and a short record of its two skills, on bars of so long before NOW."""
    user = make_user()
    lengths = Lengths(
        history=history,
        past=timedelta(0),
        backtest=timedelta(days=size(10, 3)),
        breakout=timedelta(days=size(9, 2)),
        funding=timedelta(hours=size(80, 24)),
    )
    seed_chats(user.pk, clock=lambda: NOW)
    seed_demo(user.pk, clock=lambda: NOW, lengths=lengths)
    return user


# --- Facts ---


def vocabulary(pick: random.Random) -> list[str]:
    """Return invented words, most frequent first."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return ["".join(pick.choices(syllables, k=pick.randrange(2, 5))) for _ in range(WORDS)]


def text(pick: random.Random, words: list[str], count: int) -> str:
    """Return a text whose words follow Zipf's law: few are very frequent."""
    return " ".join(words[int(len(words) ** pick.random()) - 1] for _ in range(count))


def make_facts(pick: random.Random, words: list[str], count: int, openings: Sequence[str] = ("",)) -> Trader:
    """Create a user with facts of 6 to 20 words behind one of the openings; every fifth has a body."""
    now, user = timezone.now(), make_user()
    same: dict[str, Any] = dict.fromkeys(("valid_from", "created_at", "learned_at", "last_referenced_at"), now)
    same |= {"source": FactSource.CHAT, "confidence": Confidence.ASSERTED}
    facts = []
    for number in range(count):
        key = uuid4()
        content = f"{pick.choice(openings)} {text(pick, words, pick.randrange(6, 20))} n{number}".strip()
        body = "" if number % 5 else text(pick, words, 80)
        subject = read_subject(content).key
        facts.append(UserFact(id=key, lineage=key, content=content, body=body, subject=subject, **same))
    with owned_tx(user):
        UserFact.objects.bulk_create(facts, batch_size=500)
    return user


# --- Bars ---


def walk(count: int, *, first: float, spread: float, seed: int = 17) -> list[Decimal]:
    """Return prices that each differ from the one before by about `spread` of it."""
    pick, price, prices = random.Random(seed), first, []
    for _ in range(count):
        prices.append(Decimal(f"{price:.2f}"))
        price *= 1 + pick.gauss(0, spread)
    return prices


def make_bars(prices: Iterable[Decimal], interval: str, step: timedelta, since: datetime) -> Iterator[Bar]:
    """Yield bars of BTC that close at the prices, each opened where the one before closed."""
    opened: Decimal | None = None
    for number, price in enumerate(prices):
        opened = opened or price
        yield Bar(
            symbol="BTC",
            interval=interval,
            opened_at=since + number * step,
            open=opened,
            high=(max(opened, price) * Decimal("1.0002")).quantize(Decimal("0.01")),
            low=(min(opened, price) * Decimal("0.9998")).quantize(Decimal("0.01")),
            close=price,
            volume=Decimal(1),
            source="benchmark",
        )
        opened = price
