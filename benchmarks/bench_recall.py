"""CPU of recall for a user with 20,000 of 50,000 facts: the first query of a process, the first of a user, and later
ones.

The words of facts and queries follow Zipf's law; queries leave out the most frequent ones. Recall keeps terms and
vectors of a user's facts, which the first query has to make.
"""

import random
import statistics
import subprocess
import sys
import time

from django.db import connection
from django.utils import timezone

from benchmarks.report import Report, benchmark, find_p95, size
from benchmarks.site import make_facts, text, vocabulary
from chat.web.lifespan import freeze_modules
from config.lib.llm import vectors
from config.lib.owned import owned
from memory.recall import search

USERS, OF_EACH, LARGE = size(3, 1), size(10_000, 50), size(20_000, 200)
ROUNDS = size(200, 3)
PROCESSES = size(12, 2)  # that are started for the first query of a process
ASKED_FROM = 40  # queries leave out so many words
Took = tuple[float, float]  # milliseconds of CPU and in all


def recall(user_id: int, query: str) -> Took:
    """Find the ten best facts."""
    cpu, began = time.process_time(), time.perf_counter()
    with owned(user_id):
        search.recall_facts(query=query, limit=10, now=timezone.now())
    return (time.process_time() - cpu) * 1e3, (time.perf_counter() - began) * 1e3


def forget() -> None:
    """Let recall forget all facts that it keeps."""
    vectors._cache.clear()
    search._terms.clear()
    search._counts.clear()


def answer_first(user_id: int, query: str) -> None:
    """Print the time of a process's first query, after what a server loads at its start."""
    search.warm_recall(now=timezone.now())
    freeze_modules()
    connection.ensure_connection()
    print(*recall(user_id, query))


def start_process(user_id: int, query: str) -> Took:
    command = [sys.executable, "-m", "benchmarks.bench_recall", str(user_id), query]
    said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return float(said[0]), float(said[1])


def add(report: Report, claim: str, took: list[Took]) -> None:
    cpu, wall = map(list, zip(*took, strict=True))
    print(f"median of CPU {statistics.median(cpu):.1f} ms; p95 in all {find_p95(wall):.1f} ms")
    report.add(claim, find_p95(cpu))


@benchmark
def main(report: Report) -> None:
    pick = random.Random(11)
    words = vocabulary(pick)
    for _ in range(USERS):
        make_facts(pick, words, OF_EACH)
    user_id = make_facts(pick, words, LARGE).pk
    with connection.cursor() as cursor:
        # PostgreSQL uses index-only scans only after a VACUUM.
        cursor.execute("ANALYZE" if connection.vendor == "sqlite" else "VACUUM ANALYZE")

    def query() -> str:
        return text(pick, words[ASKED_FROM:], pick.randrange(2, 6))

    add(report, "p95 of CPU, first query of a process", [start_process(user_id, query()) for _ in range(PROCESSES)])
    recall(user_id, query())  # what this process has to load
    first, later = [], []
    for question in [query() for _ in range(ROUNDS)]:
        forget()
        first.append(recall(user_id, question))
        later.append(recall(user_id, question))
    add(report, "p95 of CPU, first query of a user", first)
    add(report, "p95 of CPU, later queries", later)


if __name__ == "__main__":
    sys.exit(answer_first(int(sys.argv[1]), sys.argv[2]) if len(sys.argv) == 3 else main())
