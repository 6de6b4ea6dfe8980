"""Finding facts by what they say: by their words, and by their meaning where the words differ."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.db.models import TextField
from django.db.models.functions import Cast

from config.lib.owned import owned, owner_id
from config.lib.search import blend, bm25, query_terms, tokens, z_scores
from config.lib.search_index import find_any
from config.lib.vectors import STATIC, cosines, fetch
from memory.models import Confidence, UserFact, UserFactQuerySet

MAX_RECALLED: Final = 50  # settled 22
MAX_READ: Final = 300  # facts that are read faster than looked up
MAX_RANKED: Final = 300  # facts that hold a word of the query
MAX_COMPARED: Final = 2_000  # whoever has more facts has the best by words compared, and no others
MAX_REMOTE: Final = 256  # facts whose vectors are asked of a remote model for one query
MAX_RERANKED: Final = 100  # compared of those who hold more facts than are all compared
# From where on a fact without a word of the query answers it. Cosines of static vectors are 0 for what has nothing to
# do with each other; other models have scales of their own, so there it must stand out among the facts compared.
SIMILAR_COSINE: Final = 0.2
SIMILAR_DEVIATIONS: Final = 2.0


# Facts are known by the text of their id while they are ranked: of most of them no UUID is ever made, which would take
# longer than all the rest. Texts of ids are in the same order on each engine.
Key = str
_KEY: Final = Cast("pk", TextField())

# Made once, since Django takes as long to put a query together as SQLite to answer it. They are derived from and never
# fetched themselves; whose rows they are of is decided when the SQL is compiled (`OwnedBy`).
_FACTS: Final[UserFactQuerySet] = UserFact.objects.all()
_BELIEVED: Final = _FACTS.believed()
_READ: Final[Any] = _FACTS.values_list(_KEY, "search_terms", "content", "summary")


@dataclass(frozen=True, slots=True)
class RecalledFact:
    """A fact that answers a query."""

    fact: UserFact
    rank: float  # how well, in standard deviations among the facts compared: meaningful within one answer only
    origin: str  # "stated" or "inferred"
    score: float | None  # as extracted, 0..1; None: said outright


@dataclass(frozen=True, slots=True)
class Recalled:
    """The best answers out of `total`, best first; a total above MAX_RANKED may count some that hold no longer."""

    rows: list[RecalledFact]
    total: int

    @property
    def truncated(self) -> bool:
        """Whether there are more than the rows."""
        return self.total > len(self.rows)


def recall(user_id: int, *, query: str, limit: int = 10, now: datetime) -> Recalled:
    """Return what `recall_facts` does, with the vectors of a remote embedding model if one is set.

    Opens the doors itself and calls the model between them: call it outside of any.
    """
    if settings.MEMORY_EMBEDDING_MODEL not in {"", STATIC} and query_terms(query):
        _fetch_vectors(user_id, query, now)
    with owned(user_id):
        return recall_facts(query=query, limit=limit, now=now)


def _fetch_vectors(user_id: int, query: str, now: datetime) -> None:
    with owned(user_id):
        texts = _rank_by_words(query, now).to_compare()
    fetch([query, *texts.values()], model=settings.MEMORY_EMBEDDING_MODEL)


def recall_facts(*, query: str, limit: int = 10, now: datetime) -> Recalled:
    """Return the current facts of the owner in scope that answer a query, best first; of a blank query none.

    Any word of the query counts, in content, summary or body; a fact without one comes in when its meaning is clearly
    near. Facts of low confidence are found, too, which no prompt carries. A door is open here, so of a remote model's
    vectors only those are used that `recall` has fetched; without that of the query, static ones take their place.

    Args:
        query: as typed; nothing in it is an operator.
        limit: 1..50.
        now: which facts are current.
    """
    if not 1 <= limit <= MAX_RECALLED:
        raise ValueError(f"a limit of {limit} is not between 1 and {MAX_RECALLED}")
    if not query_terms(query):
        return Recalled([], 0)
    ranked = _rank_by_words(query, now)
    near, similar = _compare(query, ranked.to_compare())
    ranks = blend(ranked.scores, near)
    best = sorted(ranked.scores.keys() | similar, key=lambda key: (-ranks[key], key))[:limit]
    facts = {fact.pk: fact for fact in _FACTS.filter(pk__in=best)}
    return Recalled(
        [_recalled(facts[pk], ranks[key]) for key in best if (pk := UUID(key)) in facts],  # or it was erased meanwhile
        ranked.total + len(similar - ranked.scores.keys()),
    )


def _recalled(fact: UserFact, rank: float) -> RecalledFact:
    origin = "inferred" if fact.confidence == Confidence.INFERRED else "stated"
    return RecalledFact(fact, rank, origin, fact.score)


@dataclass(frozen=True, slots=True)
class _Ranked:
    """The facts that hold a word, `total` of them, by their BM25 scores."""

    scores: dict[Key, float]
    says: Mapping[Key, Sequence[str]]  # content and summary: of these facts, or where all were read, of all
    total: int
    held: int  # facts of the owner

    def to_compare(self) -> dict[Key, str]:
        """Return the texts to compare by meaning: of all the facts, or where that is too many, of the best by words."""
        if not settings.MEMORY_EMBEDDING_MODEL:
            return {}
        if self.held <= _most_compared():
            return {key: _text(*columns) for key, columns in self.says.items()}
        best = sorted(self.scores, key=lambda key: (-self.scores[key], key))[:MAX_RERANKED]
        return {key: _text(*self.says[key]) for key in best}


def _most_compared() -> int:
    """Return how many facts an owner may hold for all of them to be compared by meaning."""
    return {"": 0, STATIC: MAX_COMPARED}.get(settings.MEMORY_EMBEDDING_MODEL, MAX_REMOTE)


def _rank_by_words(query: str, now: datetime) -> _Ranked:
    wanted = tokens(query_terms(query), owner_id())
    held = _BELIEVED.count()
    if held <= max(MAX_READ, _most_compared()):
        return _rank_all(list(_READ.current(now)), wanted, held)
    found = find_any(_FACTS.current(now), wanted, "content", "summary", key=_KEY, held=held, most=MAX_RANKED)
    scores = bm25(found.indexed, wanted, total=held, frequencies=found.frequencies)
    return _Ranked(scores, found.columns, found.total, held)


def _rank_all(read: Sequence[tuple[str, ...]], wanted: Sequence[str], held: int) -> _Ranked:
    """Rank without the index what one read brings whole; the ranks are the same."""
    indexed = {key: terms for token in wanted for key, terms, _, _ in read if token in terms}
    says = {key: columns for key, _, *columns in read}
    return _Ranked(bm25(indexed, wanted, total=held), says, len(indexed), held)


def _text(content: str, summary: str) -> str:
    # Without the body: a vector of much text is near to everything and to nothing.
    return f"{content} {summary}".strip()


def _compare(query: str, texts: Mapping[Key, str]) -> tuple[dict[Key, float], set[Key]]:
    """Return the cosines of the texts with the query, and which of them are clearly similar."""
    for model in dict.fromkeys((settings.MEMORY_EMBEDDING_MODEL, STATIC)) if texts else ():
        if (found := cosines(query, list(texts.values()), model=model)) is None:
            continue
        near = {key: cosine for key, cosine in zip(texts, found, strict=True) if not math.isnan(cosine)}
        how_much = near if model == STATIC else z_scores(near)
        least = SIMILAR_COSINE if model == STATIC else SIMILAR_DEVIATIONS
        return near, {key for key, value in how_much.items() if value >= least}
    return {}, set()
