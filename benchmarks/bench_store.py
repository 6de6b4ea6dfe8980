"""Compare a memory of 20,000 facts with one of 100: saving, blocks, pages, recall, document and export.

It measures the CPU time of this process, in which SQLite runs too, so other programs on the machine do not count.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks.bench_recall import make_facts, set_up, text, vocabulary

SMALL, LARGE = 100, 20_000
ROUNDS = 15
SECONDS = 4.0  # of CPU for one act, once it has run three times
GOAL_SAVE_RATIO = 1.5
GOAL_SAVE_MS = 6.0


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

    from config.lib.owned import owned, owned_tx  # noqa: PLC0415
    from memory.facts.document import build_document  # noqa: PLC0415
    from memory.facts.queries import get_block  # noqa: PLC0415
    from memory.facts.services import remember_fact, render_coach_block  # noqa: PLC0415
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

    now = timezone.now
    return {
        "save": lambda: write(lambda: remember_fact(content=text(pick, words, 12), now=now())),
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


def main() -> None:
    """Measure each act with both memories and print them side by side."""
    with tempfile.TemporaryDirectory() as folder:
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
        for name, act in of_small.items():
            small, large = measure(act), measure(of_large[name])
            is_met = large <= min(GOAL_SAVE_RATIO * small, GOAL_SAVE_MS)
            goal = f"  (goal {GOAL_SAVE_RATIO} x, {GOAL_SAVE_MS:.0f} ms) {'ok' if is_met else 'MISSED'}"
            shown = goal if name == "save" else ""
            print(f"{name:<20}{small:>12.1f} ms{large:>12.1f} ms{large / small:>8.1f} x{shown}", flush=True)


if __name__ == "__main__":
    main()
