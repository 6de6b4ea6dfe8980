"""Measure the latency of recall against hand-written SQL, and the quality of rankings.

The hand-written SQL uses the same database and none of our code. On SQLite it is a separate FTS5 table with Porter
stems and the user as a word of the match; on PostgreSQL it is `to_tsvector('english')` in a table without policies.
Both order by the engine's rank and join the ten facts. The words of the texts follow Zipf's law: few words are very
frequent.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from benchmarks.dialogue import dialogue

USERS = 790
FACTS_EACH = 100
MORE = 1_000  # facts of another user
LARGE = 20_000  # facts of a third: 100,000 in total
ROUNDS = 200
PROCESSES = 20  # that are started for the first query of a process
WORDS = 8_000  # in the vocabulary
ASKED_FROM = 40  # queries skip the most frequent words, which carry no meaning
GOAL_RATIO = 1.5
GOAL_P95_MS = 20.0

Ask = Callable[[int, str], object]


def set_up(folder: str) -> None:
    """Point Django at a fresh SQLite file, or at the database in BENCH_DATABASE_URL."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "READ_DOT_ENV": "false",
        "DATABASE_URL": os.environ.get("BENCH_DATABASE_URL", f"sqlite:///{folder}/bench.sqlite3"),
        "LOG_LEVEL": "ERROR",
    }
    import django  # noqa: PLC0415  after the environment
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)


def vocabulary(pick: random.Random) -> list[str]:
    """Return invented words, most frequent first."""
    syllables = [c + v for c in "bdfgklmnprstvz" for v in "aeiou"]
    return ["".join(pick.choices(syllables, k=pick.randrange(2, 5))) for _ in range(WORDS)]


def text(pick: random.Random, words: list[str], count: int) -> str:
    """Return a text whose words follow Zipf's law."""
    return " ".join(words[int(len(words) ** pick.random()) - 1] for _ in range(count))


def make_facts(pick: random.Random, words: list[str], count: int, openings: Sequence[str] = ("",)) -> int:
    """Create a user with facts; return the user's id.

    Each fact has 6 to 20 words behind one of the openings; every fifth has a body.
    """
    from django.contrib.auth import get_user_model  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from config.lib.owned import owned_tx  # noqa: PLC0415
    from memory.claims.subjects import read_subject  # noqa: PLC0415
    from memory.models import Confidence, FactSource, UserFact  # noqa: PLC0415

    now = timezone.now()
    user = get_user_model()._default_manager.create_user(f"bench-{uuid4()}@example.com")
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
    return int(user.pk)


def make_reference() -> None:
    """Fill the tables of the hand-written SQL and analyse the database."""
    from django.db import connection  # noqa: PLC0415

    from config.lib.owned import system_tx  # noqa: PLC0415

    everything = "content || ' ' || summary || ' ' || body"
    with system_tx("benchmark"), connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(
                "CREATE VIRTUAL TABLE by_hand USING fts5(terms, fact UNINDEXED, tokenize = 'porter unicode61')"
            )
            cursor.execute(
                f"INSERT INTO by_hand SELECT 'u' || user_id || ' ' || {everything}, id FROM user_facts"  # noqa: S608
            )
        else:
            cursor.execute("DROP TABLE IF EXISTS by_hand")
            terms = f"to_tsvector('english', {everything}) AS terms"
            cursor.execute(f"CREATE TABLE by_hand AS SELECT id AS fact, user_id, {terms} FROM user_facts")  # noqa: S608
            cursor.execute("CREATE INDEX ON by_hand USING gin (terms)")
            cursor.execute("CREATE INDEX ON by_hand (user_id)")
    with connection.cursor() as cursor:
        # PostgreSQL uses index-only scans only after a VACUUM.
        cursor.execute("ANALYZE" if connection.vendor == "sqlite" else "VACUUM ANALYZE")


def by_hand(user_id: int, query: str) -> object:
    """Return the ten best facts, found by hand-written SQL."""
    from django.db import connection  # noqa: PLC0415

    from config.lib.owned import owned  # noqa: PLC0415

    columns = "f.id, f.content, f.summary, f.confidence, f.score"
    current = "f.archived_at IS NULL AND f.valid_from <= CURRENT_TIMESTAMP"
    if connection.vendor == "sqlite":
        match = f"u{user_id} AND ({' OR '.join(query.split())})"
        sql = (
            f"SELECT {columns} FROM by_hand JOIN user_facts f ON f.id = fact"  # noqa: S608
            f" WHERE by_hand MATCH %s AND {current} AND f.user_id = %s ORDER BY rank LIMIT 10"
        )
        values = [match, user_id]
    else:
        sql = (
            f"SELECT {columns} FROM by_hand b JOIN user_facts f ON f.id = fact, to_tsquery('english', %s) AS q"  # noqa: S608
            f" WHERE terms @@ q AND b.user_id = %s AND {current} AND f.user_id = %s"
            " ORDER BY ts_rank(terms, q) DESC LIMIT 10"
        )
        values = [" | ".join(query.split()), user_id, user_id]
    with owned(user_id), connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def ours(user_id: int, query: str) -> object:
    """Return the ten best facts, found by recall."""
    from django.utils import timezone  # noqa: PLC0415

    from config.lib.owned import owned  # noqa: PLC0415
    from memory.recall.search import recall_facts  # noqa: PLC0415

    with owned(user_id):
        return recall_facts(query=query, limit=10, now=timezone.now())


@contextmanager
def embedding_model(name: str) -> Iterator[None]:
    """Set the embedding model; an empty name turns vectors off."""
    from django.test import override_settings  # noqa: PLC0415

    with override_settings(MEMORY_EMBEDDING_MODEL=name):
        yield


def time_each(ask: Ask, questions: list[tuple[int, str]]) -> list[float]:
    """Return the time of each question in milliseconds."""
    took = []
    for user_id, query in questions:
        began = time.perf_counter()
        ask(user_id, query)
        took.append((time.perf_counter() - began) * 1e3)
    return took


def report(claim: str, questions: list[tuple[int, str]]) -> None:
    """Alternate both searches; print the ratio of medians and the p95.

    Recall caches terms and vectors of facts, so both cases are measured: the first recall for a user, and later ones.
    """
    from config.lib.llm import vectors  # noqa: PLC0415
    from memory.recall import search  # noqa: PLC0415

    for ask in (by_hand, ours):
        time_each(ask, questions[:5])
    hand, words, cold, warm = [], [], [], []
    for question in questions:
        hand += time_each(by_hand, [question])
        with embedding_model(""):
            words += time_each(ours, [question])
        vectors._cache.clear()
        search._terms.clear()
        search._counts.clear()
        cold += time_each(ours, [question])
        warm += time_each(ours, [question])
    ratio = statistics.median(words) / statistics.median(hand)
    print(
        f"{claim:<26} words alone {ratio:5.2f} x SQL by hand (goal {GOAL_RATIO})"
        f"  {statistics.median(words):6.2f} ms against {statistics.median(hand):6.2f} ms"
        f"  {'ok' if ratio <= GOAL_RATIO else 'MISSED'}"
    )
    print(f"{'':<26} SQL by hand       p95 {statistics.quantiles(hand, n=20)[-1]:6.2f} ms")
    for name, took in (("words alone", words), ("and new vectors", cold), ("and kept vectors", warm)):
        p95 = statistics.quantiles(took, n=20)[-1]
        verdict = "ok" if p95 <= GOAL_P95_MS else "MISSED"
        print(
            f"{'':<26} {name:<17} p95 {p95:6.2f} ms (goal {GOAL_P95_MS:.0f}),"
            f" median {statistics.median(took):5.2f} ms  {verdict}"
        )


def answer_first(user_id: int, query: str) -> None:
    """Print the milliseconds of a process's first query, after what a server loads at its start."""
    from django.db import connection  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from chat.web.lifespan import freeze_modules  # noqa: PLC0415
    from memory.recall.search import warm_recall  # noqa: PLC0415

    warm_recall(now=timezone.now())
    freeze_modules()
    connection.ensure_connection()
    cpu = time.process_time()
    (took,) = time_each(ours, [(user_id, query)])
    print(took, (time.process_time() - cpu) * 1e3)


def report_first(claim: str, questions: list[tuple[int, str]]) -> None:
    """Print the time of the first query of processes that have just started."""
    environment = {**os.environ, "BENCH_DATABASE_URL": os.environ["DATABASE_URL"]}
    command = [sys.executable, "-m", "benchmarks.bench_recall"]
    found = []
    for user_id, query in questions:
        said = subprocess.run([*command, str(user_id), query], env=environment, stdout=subprocess.PIPE, check=True)
        found.append([float(figure) for figure in said.stdout.split()])
    took, cpu = zip(*found, strict=True)
    p95 = statistics.quantiles(took, n=20)[-1]
    print(
        f"{claim:<26} first query of a process: p95 {p95:5.2f} ms (goal {GOAL_P95_MS:.0f}),"
        f" median {statistics.median(took):5.2f} ms, median of CPU {statistics.median(cpu):5.2f} ms"
        f"  {'ok' if p95 <= GOAL_P95_MS else 'MISSED'}"
    )


def measure_speed() -> None:
    """Measure recall for users with 100, 1,000 and 20,000 facts."""
    from django.db import connection  # noqa: PLC0415

    pick = random.Random(11)
    words = vocabulary(pick)
    began = time.perf_counter()
    users = [make_facts(pick, words, FACTS_EACH) for _ in range(USERS)]
    more, large = make_facts(pick, words, MORE), make_facts(pick, words, LARGE)
    make_reference()
    count = USERS * FACTS_EACH + MORE + LARGE
    print(f"{count:,} facts on {connection.vendor}, made in {time.perf_counter() - began:.0f} s")

    def query() -> str:
        return text(pick, words[ASKED_FROM:], pick.randrange(2, 6))

    for claim, user_id in (("the one with 1,000", more), ("the one with 20,000", large)):
        report_first(claim, [(user_id, query()) for _ in range(PROCESSES)])
    report("a user with 100 facts", [(pick.choice(users), query()) for _ in range(ROUNDS)])
    report("the one with 1,000", [(more, query()) for _ in range(ROUNDS)])
    report("the one with 20,000", [(large, query()) for _ in range(ROUNDS)])


def measure_quality() -> None:
    """Print recall@5 and recall@10 of each ranking.

    The 40 questions are about an invented chat. A question counts when the turn that answers it is among the first five
    or ten.
    """
    from config.lib.llm.vectors import STATIC, compute_cosines  # noqa: PLC0415
    from config.lib.search.terms import blend_scores, build_index_text, build_tokens, list_query_terms, score_bm25  # noqa: PLC0415

    talk = dialogue(fillers=300)
    turns = range(len(talk.turns))
    alone = {at: build_index_text(talk.turns[at], 1) for at in turns}
    around = {at: " ".join(alone[near] for near in (at, at - 1, at + 1) if near in alone) for at in turns}
    passages = [" ".join(talk.turns[max(0, at - 1) : at + 1]) for at in turns]

    def by_words(indexed: dict[int, str]) -> Callable[[str], dict[int, float]]:
        return lambda query: score_bm25(indexed, build_tokens(list_query_terms(query), 1), total=len(indexed))

    def near(query: str) -> dict[int, float]:
        return dict(enumerate(compute_cosines(query, passages, model=STATIC) or []))

    from uuid import UUID  # noqa: PLC0415

    from chat.conversations.search import RankedTurn, Said, rank_turns  # noqa: PLC0415
    from config.lib.owned import owned  # noqa: PLC0415

    home = UUID(int=1)
    said = {RankedTurn(home, at + 1): Said(talk.turns[at], alone[at]) for at in turns}

    def searched(query: str) -> dict[int, float]:
        with owned(1):
            ranks = rank_turns(query, said, by_title={}, total=len(said), frequencies={})
        return {turn.pk - 1: rank for turn, rank in ranks.items()}

    rankings: dict[str, Callable[[str], dict[int, float]]] = {
        "BM25 with Porter's stems": by_words(alone),
        "and the turns around": by_words(around),
        "and static vectors": lambda query: blend_scores(by_words(around)(query), near(query)),
        "search of chats": searched,
    }
    print(f"\n{len(talk.questions)} questions about {len(talk.turns)} turns")
    base = 0.0
    for name, rank in rankings.items():
        places = []
        for query, answer in talk.questions:
            scores = rank(query)
            order = sorted(scores, key=lambda at: (-scores[at], at))
            places.append(order.index(answer) if answer in scores else len(talk.turns))
        first = {count: sum(place < count for place in places) / len(places) for count in (5, 10)}
        base = base or first[10]
        print(f"{name:<26} recall@5 {first[5]:.2f}  recall@10 {first[10]:.2f}  ({first[10] / base:.1f} x)")


def main() -> None:
    """Measure and print each claim with its goal."""
    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        if len(sys.argv) > 2:
            answer_first(int(sys.argv[1]), sys.argv[2])
            return
        measure_quality()
        measure_speed()


if __name__ == "__main__":
    main()
