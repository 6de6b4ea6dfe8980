"""Find facts by words and by meaning."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import F, TextField
from django.db.models.functions import Cast

from config.lib.cache import RecentCache
from config.lib.llm.vectors import STATIC, compute_cosines, compute_static_cosines, fetch_vectors, warm
from config.lib.owned import owned, owner_id
from config.lib.search.index import ContainsAny, find_any
from config.lib.search.terms import (
    Weights,
    blend_scores,
    build_mark_tokens,
    build_tokens,
    iter_terms,
    list_query_terms,
    score_bm25,
    z_scores,
)
from config.lib.words.concerns import asks_for_knowledge, find_subjects
from memory.models import Confidence, UserFact, UserFactQuerySet

MAX_RECALLED: Final = 50  # settled 22
MAX_RANKED: Final = 300  # maximum facts with a word of the query
MAX_COMPARED: Final = 2_000  # owners with more facts get only the best by words compared
MAX_REMOTE: Final = 256  # maximum vectors fetched from a remote model per query
MAX_RERANKED: Final = 50  # facts compared for owners above the maximum
MAX_NAMED: Final = 100  # facts read by id; above it, reading all current facts is faster
CACHED: Final = 16_384  # facts; 6 MB of search terms
WARM_USERS: Final = 10  # whose facts a process loads at its start
WARM_FACTS: Final = 1_000  # of each, the last referenced ones
WARM_TEXTS: Final = 20_000  # of each, whose words are loaded: of many facts those with rare words are compared
COUNT_AGE: Final = timedelta(minutes=1)  # that the number of an owner's many facts is used again
# Thresholds for a fact without a word of the query. Cosines of static vectors are 0 for unrelated texts. Other models
# have other scales, so there a fact must stand out among the compared ones.
SIMILAR_COSINE: Final = 0.2
QUESTION_COSINE: Final = 0.1  # for a query of several words, whose vector says more
QUESTION_TERMS: Final = 3
SIMILAR_DEVIATIONS: Final = 2.0
# Facts are short and clean: repeats and lengths tell little. The vector of a question tells more than that of keywords.
KEYWORDS: Final = Weights(k1=0.9, b=0.4, meaning=0.5)  # benchmarks/bench_evidence.py
QUESTION: Final = Weights(k1=0.9, b=0.4, meaning=1.6)

# Which facts a message concerns (tests/memory/recall/turn_cases.py): at most so many, by these shares and cosines.
MAX_RELEVANT: Final = 12
MAX_CONCERNED: Final = 100  # of an owner with many facts, those with a word or a subject of the message
MAX_CHECKED: Final = 20  # of them, those compared by meaning
MIN_CONCERN: Final = 0.25  # of the best fact by subjects
MIN_SHARE: Final = 0.5
SUPPORTING_COSINE: Final = 0.2
CERTAIN_COSINE: Final = 0.5

# Ranking uses the text of a fact's id, because making a UUID per fact would take longer than the rest of the search.
# Texts of ids sort equally on each engine.
Key = str
_KEY: Final = Cast("pk", TextField())
_Row = tuple[Key, str, str, str]  # key, search terms, content, summary

# Built once, since Django takes as long to build a query as SQLite to answer it. Only querysets derived from these are
# fetched; the owner is set when the SQL is compiled (`OwnedBy`).
_FACTS: Final[UserFactQuerySet] = UserFact.objects.all()
_BELIEVED: Final = _FACTS.believed()
# Before the first token of a turn, too, where building this query takes longer than running it.
_ALL_FACTS: Final = """
SELECT CAST(id AS text), (valid_until IS NULL OR valid_until > %s) AND valid_from <= %s FROM user_facts
WHERE user_id = %s AND archived_at IS NULL LIMIT %s
"""
_READ: Final[Any] = _FACTS.values_list(_KEY, "search_terms", "content", "summary")

# A fact's text never changes (`UserFact.frozen_columns`), so its search terms (digests) and vector are cached by id.
# The database decides each time which facts there are.
_terms: Final = RecentCache[Key, str](CACHED)
# Of owners above MAX_COMPARED: how many facts they had, and when. A few more or fewer hardly change a rank.
_counts: Final = RecentCache[int, tuple[datetime, int]](1_024)


@dataclass(frozen=True, slots=True)
class RecalledFact:
    fact: UserFact
    rank: float  # in standard deviations among the compared facts; comparable within one answer only
    origin: str  # "stated" or "inferred"
    score: float | None  # as extracted, 0..1; None: explicit


@dataclass(frozen=True, slots=True)
class RecallResult:
    """The best answers, ordered; `total` may be stale above MAX_RANKED."""

    rows: list[RecalledFact]
    total: int

    @property
    def truncated(self) -> bool:
        return self.total > len(self.rows)


def warm_recall(*, now: datetime) -> None:
    """Load the search terms and vectors of facts of the users who signed in last.

    A first query makes a vector of each fact and of its words. Other users have most words in common with these.
    """
    if settings.MEMORY_EMBEDDING_MODEL:
        last = get_user_model()._default_manager.order_by(F("last_login").desc(nulls_last=True), "-pk")
        for user_id in last.values_list("pk", flat=True)[:WARM_USERS]:
            with owned(user_id):
                _count_facts(now)
                rows = list(_READ.current(now).by_reference()[:WARM_FACTS])
                contents = _FACTS.current(now).by_reference().values_list("content", flat=True)
                others = list(contents[WARM_FACTS:WARM_TEXTS])
            _terms.keep((key, terms) for key, terms, _, _ in rows)
            warm(_join_texts(rows), others)


def recall_for_user(user_id: int, *, query: str, limit: int = 10, now: datetime) -> RecallResult:
    """Recall facts; opens its own scope and calls remote vectors outside."""
    if settings.MEMORY_EMBEDDING_MODEL not in {"", STATIC} and list_query_terms(query):
        with owned(user_id):
            ranked = _rank_by_words(query, now)
            texts = _read_texts(ranked.to_compare(), ranked.read)
        fetch_vectors([query, *texts.values()], model=settings.MEMORY_EMBEDDING_MODEL)
    with owned(user_id):
        return recall_facts(query=query, limit=limit, now=now)


def recall_facts(*, query: str, limit: int = 10, now: datetime) -> RecallResult:
    """Return the owner's current facts that answer a query, best first.

    `query` is as typed, without operators; `limit` is 1..50. Any word of the query counts, in content, summary or body;
    a fact without one needs a clearly similar meaning. Facts of low confidence count too, although no prompt carries
    them. A blank query has no answers. This calls no remote model: it uses the vectors that `recall_for_user` fetched,
    or static vectors if the query's is missing.
    """
    if not 1 <= limit <= MAX_RECALLED:
        raise ValueError(f"a limit of {limit} is not between 1 and {MAX_RECALLED}")
    if not list_query_terms(query):
        return RecallResult([], 0)
    ranked = _rank_by_words(query, now)
    near, similar = _compare_facts(query, ranked)
    ranks = blend_scores(
        ranked.scores, near, only=ranked.scores.keys() | similar, weights=QUESTION if _is_question(query) else KEYWORDS
    )
    best = sorted(ranks, key=lambda key: (-ranks[key], key))[:limit]
    facts = {fact.pk: fact for fact in _FACTS.filter(pk__in=best)}
    rows = []
    for key in best:
        fact = facts.get(UUID(key))
        if fact is not None:  # it may have been erased since
            origin = "inferred" if fact.confidence == Confidence.INFERRED else "stated"
            rows.append(RecalledFact(fact, ranks[key], origin, fact.score))
    return RecallResult(rows, ranked.total + len(similar - ranked.scores.keys()))


def select_marked(facts: UserFactQuerySet, mark: str) -> UserFactQuerySet:
    """Keep the facts with a subject of `config.lib.words.concerns`."""
    return facts.filter(ContainsAny(build_mark_tokens([mark], owner_id())))


def find_relevant(*, message: str, without: Collection[UUID], now: datetime) -> list[UserFact]:
    """Return the current facts that a message concerns, best first; most messages concern none.

    A fact counts if it has a subject of a message that plans something (`find_subjects`), a share of what the message's
    words weigh and a similar meaning, or a very similar meaning. Words and subjects of most facts weigh little.
    `without` are the facts that the prompt has.
    """
    wanted = build_tokens(list_query_terms(message), owner_id())
    marks = build_mark_tokens(find_subjects(message), owner_id())
    if asks_for_knowledge(message) or (not marks and all(term.is_stop_word for term in iter_terms(message))):
        return []
    ranked = _rank_by_words(message, now, marks=marks, most=MAX_CONCERNED)
    if all(UUID(key) in without for key in ranked.facts):
        return []  # before the word vectors are read: a user has as few facts as this for a long time
    near = {}
    if settings.MEMORY_EMBEDDING_MODEL:  # static ones, whose scale is known
        keys = ranked.to_compare(MAX_CHECKED)
        near = _drop_nan(keys, compute_static_cosines(message, keys, lambda new: _read_texts(new, ranked.read)) or [])
    shares, concerned = ranked.weigh(wanted), ranked.weigh(marks)
    found = [
        (shares.get(key, 0.0) + near.get(key, 0.0) + concerned.get(key, 0.0), key)
        for key in {*shares, *near, *concerned}
        if concerned.get(key, 0.0) > MIN_CONCERN * max(concerned.values(), default=0.0)
        or near.get(key, 0.0) >= CERTAIN_COSINE
        or (shares.get(key, 0.0) >= MIN_SHARE and (not near or near.get(key, 0.0) >= SUPPORTING_COSINE))
    ]
    ranked_ids = (UUID(key) for _, key in sorted(found, key=lambda pair: (-pair[0], pair[1])))
    best = list(islice((pk for pk in ranked_ids if pk not in without), MAX_RELEVANT))
    facts = _FACTS.in_bulk(best)
    return [facts[pk] for pk in best if pk in facts]


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Facts with a query word, `total` of them, by BM25 score."""

    scores: dict[Key, float]
    facts: Mapping[Key, str]  # the search terms of all current facts; if too many, of those with a word or mark
    read: Mapping[Key, str]  # the texts read so far
    total: int
    held: int  # believed facts of the owner
    frequencies: Mapping[str, int]  # of the tokens, where `facts` are not all

    def weigh(self, tokens: Sequence[str]) -> dict[Key, float]:
        """Return the share of the tokens' weight (0..1) that facts with any of them have."""
        holders = {token: [key for key, terms in self.facts.items() if token in terms] for token in tokens}
        counts = {token: max(len(keys), self.frequencies.get(token, 0)) for token, keys in holders.items()}
        rarity = {t: math.log(1 + max(0.0, self.held - count + 0.5) / (count + 0.5)) for t, count in counts.items()}
        weight = sum(rarity.values()) or 1.0
        shares: dict[Key, float] = {}
        for token, keys in holders.items():
            for key in keys:
                shares[key] = shares.get(key, 0.0) + rarity[token] / weight
        return shares

    def to_compare(self, most_of_many: int = MAX_RERANKED) -> Sequence[Key]:
        """Return the facts to compare by meaning, by words if many."""
        most = {"": 0, STATIC: MAX_COMPARED}.get(settings.MEMORY_EMBEDDING_MODEL, MAX_REMOTE)
        if self.held <= most:
            return list(self.facts)
        return sorted(self.scores, key=lambda key: (-self.scores[key], key))[:most_of_many] if most else []


def _rank_by_words(query: str, now: datetime, *, marks: Sequence[str] = (), most: int | None = None) -> _Ranked:
    wanted = build_tokens(list_query_terms(query), owner_id())
    held = _count_many(now)
    if held <= MAX_COMPARED:
        if ranked := _rank_all(wanted, now):
            return ranked
        held = _count_facts(now)
    found = find_any(_READ.current(now), [*wanted, *marks], held=held, most=most or MAX_RANKED)
    indexed = {key: terms for key, terms, _, _ in found.rows}
    scores = score_bm25(indexed, wanted, total=held, frequencies=found.frequencies, weights=KEYWORDS)
    return _Ranked(scores, indexed, _join_texts(found.rows), found.total, held, found.frequencies)


def _count_many(now: datetime) -> int:
    """Return the number of the owner's facts if they were many when last counted, otherwise 0."""
    (known,) = _counts.look_up([owner_id()])
    if known is None or known[1] <= MAX_COMPARED:
        return 0
    counted_at, count = known
    return count if abs(now - counted_at) < COUNT_AGE else _count_facts(now)


def _count_facts(now: datetime) -> int:
    count: int = _BELIEVED.count()
    _counts.keep([(owner_id(), (now, count))])
    return count


def _rank_all(wanted: Sequence[str], now: datetime) -> _Ranked | None:
    """Rank few facts without the index; None for many."""
    instant = connection.ops.adapt_datetimefield_value(now)
    with connection.cursor() as cursor:
        cursor.execute(_ALL_FACTS, [instant, instant, owner_id(), MAX_COMPARED + 1])
        believed = cursor.fetchall()
    if len(believed) > MAX_COMPARED:
        return None
    facts, read = _look_up_terms([key for key, is_current in believed if is_current], now)
    indexed = {key: terms for token in wanted for key, terms in facts.items() if token in terms}
    return _Ranked(
        score_bm25(indexed, wanted, total=len(believed), weights=KEYWORDS), facts, read, len(indexed), len(believed), {}
    )


def _look_up_terms(keys: Sequence[Key], now: datetime) -> tuple[dict[Key, str], dict[Key, str]]:
    """Return the search terms and texts of facts that still exist."""
    found = dict(zip(keys, _terms.look_up(keys), strict=True))
    known = {key: terms for key, terms in found.items() if terms is not None}
    missing = found.keys() - known.keys()
    if not missing:
        return known, {}
    rows = list(_READ.current(now) if len(missing) > MAX_NAMED else _READ.filter(pk__in=missing))
    met = {key: terms for key, terms, _, _ in rows if key in missing}
    _terms.keep(met.items())
    return known | met, _join_texts(rows)


def _join_texts(rows: Iterable[_Row]) -> dict[Key, str]:
    # Without the body, because the vector of a long text is not specific.
    return {key: f"{content} {summary}" if summary else content for key, _, content, summary in rows}


def _read_texts(keys: Sequence[Key], read: Mapping[Key, str]) -> dict[Key, str]:
    """Return the texts of facts, known ones from `read`."""
    missing = [key for key in keys if key not in read]
    said = {**read, **(_join_texts(_READ.filter(pk__in=missing)) if missing else {})}
    return {key: said[key] for key in keys if key in said}


def _compare_facts(query: str, ranked: _Ranked) -> tuple[dict[Key, float], set[Key]]:
    """Return the cosines of facts with the query, and the similar facts."""
    keys = ranked.to_compare()
    if not keys:
        return {}, set()
    model = settings.MEMORY_EMBEDDING_MODEL
    if model != STATIC:
        texts = _read_texts(keys, ranked.read)
        if found := compute_cosines(query, list(texts.values()), model=model):
            near = _drop_nan(texts, found)
            return near, {key for key, z in z_scores(near).items() if z >= SIMILAR_DEVIATIONS}
    least = QUESTION_COSINE if _is_question(query) else SIMILAR_COSINE
    near = _drop_nan(keys, compute_static_cosines(query, keys, lambda missing: _read_texts(missing, ranked.read)) or [])
    return near, {key for key, cosine in near.items() if cosine >= least}


def _is_question(query: str) -> bool:
    return len(list_query_terms(query)) >= QUESTION_TERMS


def _drop_nan(keys: Iterable[Key], found: Iterable[float]) -> dict[Key, float]:
    return {key: cosine for key, cosine in zip(keys, found, strict=False) if not math.isnan(cosine)}
