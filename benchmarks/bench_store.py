"""Compare a memory of 20,000 facts with one of 100: saving, turns, blocks, pages, recall, document and export.

It measures the CPU time of this process, in which SQLite runs too, so other programs on the machine do not count.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from benchmarks.bench_recall import make_facts, set_up, text, vocabulary

SMALL, LARGE = 100, 20_000
ROUNDS = 15
SECONDS = 4.0  # of CPU for one act, once it has run three times
GOALS = {  # how much longer an act may take with the large memory
    "save": 1.25,
    "turn": 2.0,
    "turn of a new chat": 2.0,
    "recall": 5.5,
    "page": 2.5,
    "search on the page": 4.0,
    "REST list": 3.0,
    "REST delete": 3.0,
}
OPENINGS = (  # of facts: of each four one is about trading
    *("" for _ in range(18)),
    *("I keep my leverage at 3x when", "My stop is at 2% of", "I never trade on Fridays in", "I only trade ETH for"),
    *("I risk 1% a trade on", "I stay out an hour before the Fed and"),
)
MESSAGES = (
    *("Should I open a 10x long on ETH with {}?", "Where do I put the stop for {}?", "Is Friday evening fine for {}?"),
    *("How much should I put into {} now?", "Can you tell me about {}?", "Thanks, that helps with {}."),
)


def measure(work: Callable[[], object]) -> float:
    """Return the median CPU time in milliseconds."""
    took = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        took.append((time.process_time() - began) * 1e3)
        if len(took) >= 3 and sum(took) > SECONDS * 1e3:
            break
    return statistics.median(took)


def list_acts(user: Any, words: list[str]) -> dict[str, Callable[[], object]]:
    """Return what is measured, by name."""
    import random  # noqa: PLC0415

    from django.test import Client  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from chat.conversations.services import start_conversation  # noqa: PLC0415
    from chat.turns.accept import accept_message  # noqa: PLC0415
    from chat.turns.replies import finish_reply  # noqa: PLC0415
    from config.lib.owned import owned, owned_tx  # noqa: PLC0415
    from memory.facts.document import build_document  # noqa: PLC0415
    from memory.facts.queries import get_block  # noqa: PLC0415
    from memory.facts.services import remember_fact, render_coach_block  # noqa: PLC0415
    from memory.models import UserFact  # noqa: PLC0415
    from memory.recall.search import recall_facts  # noqa: PLC0415
    from memory.transfer.archive import iter_archive  # noqa: PLC0415

    pick = random.Random(user.pk)
    client = Client(headers={"host": "localhost"})
    client.force_login(user)

    def write(work: Callable[[], object]) -> object:
        with owned_tx(user):
            return work()

    def read(work: Callable[[], object]) -> object:
        with owned(user):
            return work()

    def turn(chat: Any = None) -> object:
        message = pick.choice(MESSAGES).format(text(pick, words[40:], 3))
        with owned_tx(user):
            chat = chat or start_conversation(now=now())
            accepted = accept_message(conversation_id=chat.pk, client_id=uuid4(), text=message, now=now())
            return finish_reply(reply_id=accepted.reply.pk, status="complete", parts=[], text="", now=now())

    now = timezone.now
    chat = write(lambda: start_conversation(now=now()))
    fact_ids = iter(read(lambda: list(UserFact.objects.believed().values_list("pk", flat=True)[: 3 * ROUNDS])))
    return {
        "save": lambda: write(lambda: remember_fact(content=text(pick, words, 12), when_unsure="ask", now=now())),
        "turn": lambda: turn(chat),
        "turn of a new chat": turn,
        "REST list": lambda: client.get("/api/facts/", secure=True),
        "REST delete": lambda: client.delete(f"/api/facts/{next(fact_ids)}/", secure=True),
        "coach's block": lambda: write(lambda: render_coach_block(now=now())),
        "advisor's block": lambda: read(lambda: get_block("advisor", now())),
        "companion's block": lambda: read(lambda: get_block("companion", now())),
        "export of all": lambda: sum(map(len, iter_archive(user.pk))),
        "document": lambda: read(lambda: build_document(now=now())),
        "recall": lambda: read(lambda: recall_facts(query=text(pick, words[40:], 4), now=now())),
        "page": lambda: client.get("/profile/facts/", secure=True),
        "search on the page": lambda: client.get("/profile/facts/?q=ba", secure=True),
        "preview": lambda: client.get("/profile/facts/preview/?assistant=advisor", secure=True),
    }


def main() -> int:
    """Measure each act with both memories and print them side by side; return 1 if a goal is missed."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "MESSAGES_PER_MINUTE": "10000",
            "API_WRITES_PER_MINUTE": "100000",
            "DAILY_TOKEN_BUDGET": "9000000000",
        }
        set_up(folder)
        import random  # noqa: PLC0415

        from django.contrib.auth import get_user_model  # noqa: PLC0415
        from django.utils import timezone  # noqa: PLC0415

        from chat.jobs import refresh_statistics  # noqa: PLC0415
        from config.lib.owned import owned_tx  # noqa: PLC0415
        from memory.facts.limits import enforce_token_limit  # noqa: PLC0415

        pick = random.Random(5)
        words = vocabulary(pick)
        users = [get_user_model()._default_manager.get(pk=make_facts(pick, words, count)) for count in (SMALL, LARGE)]
        for user in users:
            with owned_tx(user):
                enforce_token_limit(now=timezone.now())
        refresh_statistics(timezone.now())  # as the worker does each hour
        print(f"{'':<20}{SMALL:>9,} facts{LARGE:>9,} facts", flush=True)
        of_small, of_large = (list_acts(user, words) for user in users)
        missed = 0
        for name, act in of_small.items():
            small, large = measure(act), measure(of_large[name])
            ratio, goal = large / small, GOALS.get(name)
            missed += (is_missed := goal is not None and ratio > goal)
            shown = "" if goal is None else f"  (goal {goal} x) {'MISSED' if is_missed else 'ok'}"
            print(f"{name:<20}{small:>12.1f} ms{large:>12.1f} ms{ratio:>8.1f} x{shown}", flush=True)
        return min(1, missed)


if __name__ == "__main__":
    sys.exit(main())
