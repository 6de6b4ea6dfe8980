"""Search past conversations. Call it inside `owned(user)`."""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final
from uuid import UUID

from django.conf import settings

from chat.models import Conversation, Message, MessageQuerySet, Role
from config.lib.llm.vectors import STATIC, compute_cosines
from config.lib.owned import owner_id
from config.lib.search.index import find_any
from config.lib.search.terms import (
    Weights,
    blend_scores,
    build_index_text,
    build_tokens,
    iter_ranges,
    list_query_terms,
    score_bm25,
)
from config.lib.text import one_line
from config.lib.words.vocabulary import list_words

MAX_HITS: Final = 50
MAX_RANKED: Final = 300  # messages that hold a word of the query
MAX_PLACED: Final = 100  # of the best of them, the whole conversations are weighed
MAX_COMPARED: Final = 1_000  # messages compared by meaning; a user with fewer has all of them compared
MAX_READ: Final = 2_000  # characters of a message that are compared by meaning
OWN: Final = 0.1  # how much more a word counts in the turn itself than in those around it
SIMILAR: Final = 0.2  # cosine of static vectors from which a turn without a word of the query answers it
WEIGHTS: Final = Weights(meaning=0.7)  # benchmarks/bench_evidence.py
ASKING: Final = 1.0  # deviations that a turn loses if it only asks, in other words than the query
SPEAKER: Final = 1.0  # deviations that a turn of the user gains if the query asks of its author: "When did I ..."
SNIPPET: Final = 160  # characters
SNIPPET_LEAD: Final = 40  # of them before the first word found

_QUESTION: Final = re.compile(r"[^.!?]*\?\s*")  # one sentence, a question

Range = tuple[int, int]  # start and end (exclusive) in a text


@dataclass(frozen=True, slots=True)
class ConversationHit:
    """A matching conversation and its best message."""

    conversation: Conversation
    message_id: int | None  # None: its title alone does
    snippet: str  # of that message, on one line; empty without one
    snippet_ranges: list[Range]  # the ranges of the words in it
    title_ranges: list[Range]
    score: float  # comparable within one answer only


@dataclass(frozen=True, slots=True)
class ConversationHits:
    """The best matches; `total` counts newest messages for very common words."""

    rows: list[ConversationHit]
    total: int

    @property
    def truncated(self) -> bool:
        return self.total > len(self.rows)


@dataclass(frozen=True, slots=True)
class RankedTurn:
    """A message to rank; pk 0 is a title alone."""

    conversation_id: UUID
    pk: int


@dataclass(frozen=True, slots=True)
class Said:
    content: str
    indexed: str
    is_own: bool = False  # the user's own words


def search_conversations(*, query: str, limit: int = 20) -> ConversationHits:
    """Return matching conversations, best first; none for a blank query.

    Any word of the query counts, in a title, in a shown message or in those right before and after it; a message
    without one comes in when its meaning is clearly near. Neither the trash nor temporary chats are searched.
    """
    if not 1 <= limit <= MAX_HITS:
        raise ValueError(f"a limit of {limit} is not between 1 and {MAX_HITS}")
    terms = list_query_terms(query)
    if not terms:
        return ConversationHits([], 0)
    wanted = build_tokens(terms, owner_id())
    searched = Conversation.objects.filter(trashed_at__isnull=True, is_temporary=False)
    said, total, frequencies = _look_up(Message.objects.shown().filter(conversation__in=searched), wanted)
    titles = {key: (title, at) for key, title, at in searched.values_list("pk", "title", "last_message_at")}
    by_title = score_bm25(
        {key: build_index_text(title, owner_id()) for key, (title, _) in titles.items()}, wanted, total=len(titles)
    )
    ranks = rank_turns(query, said, by_title=by_title, total=total, frequencies=frequencies)
    best: dict[UUID, tuple[float, int]] = {}
    for turn, rank in ranks.items():
        best[turn.conversation_id] = max(best.get(turn.conversation_id, (-math.inf, 0)), (rank, turn.pk))
    order = sorted(best, key=lambda key: (-best[key][0], -titles[key][1].timestamp(), key))[:limit]
    return ConversationHits(_build_hits(order, terms, best), len(best))


def _look_up(messages: MessageQuerySet, wanted: Sequence[str]) -> tuple[dict[RankedTurn, Said], int, dict[str, int]]:
    """Return messages to rank, their number and token frequencies; if too many, those of the best conversations."""
    held = Message.objects.count()
    frequencies: dict[str, int] = {}
    rows = messages
    if held > MAX_COMPARED:
        found = find_any(messages.values_list("pk", "search_terms"), wanted, held=held, most=MAX_RANKED)
        scores = score_bm25(dict(found.rows), wanted, total=held, frequencies=found.frequencies)
        placed = sorted(scores, key=lambda pk: (-scores[pk], -pk))[:MAX_PLACED]
        homes = messages.filter(pk__in=placed).values_list("conversation_id", flat=True)
        rows, frequencies = messages.filter(conversation__in=set(homes)), found.frequencies
    read = rows.order_by("-pk").values_list("conversation_id", "pk", "content", "search_terms", "role")
    said = {
        RankedTurn(home, pk): Said(content[:MAX_READ], indexed, role == Role.USER)
        for home, pk, content, indexed, role in read[:MAX_COMPARED]
    }
    return dict(reversed(said.items())), held, frequencies


def _with_neighbours(said: Iterable[RankedTurn]) -> Iterator[tuple[RankedTurn | None, RankedTurn, RankedTurn | None]]:
    threads: defaultdict[UUID, list[RankedTurn]] = defaultdict(list)
    for turn in said:
        threads[turn.conversation_id].append(turn)
    for thread in threads.values():
        yield from zip([None, *thread], thread, [*thread[1:], None], strict=False)


def rank_turns(
    query: str,
    said: Mapping[RankedTurn, Said],
    *,
    by_title: Mapping[UUID, float],
    total: int,
    frequencies: Mapping[str, int],
) -> dict[RankedTurn, float]:
    """Rank messages and titles by words and meaning; higher is better.

    `said`: the turns of each conversation in their order. `by_title`: BM25 scores of titles. `total` messages;
    `frequencies` of each token among them, where `said` does not hold all.
    """
    wanted = build_tokens(list_query_terms(query), owner_id())
    own = score_bm25({turn: text.indexed for turn, text in said.items()}, wanted, total=total, frequencies=frequencies)
    joined = {
        turn: " ".join(said[near].indexed for near in (before, turn, after) if near is not None and said[near].indexed)
        for before, turn, after in _with_neighbours(said)
    }
    around = score_bm25(joined, wanted, total=total, frequencies=frequencies)
    # A little more for what a message says itself, or the turn between two such would win.
    words = {turn: around[turn] + OWN * own.get(turn, 0.0) + by_title.get(turn.conversation_id, 0.0) for turn in around}
    told = {turn.conversation_id for turn in words}
    words |= {RankedTurn(key, 0): score for key, score in by_title.items() if key not in told}
    passages = {
        turn: f"{said[before].content} {said[turn].content}" if before is not None else said[turn].content
        for before, turn, _ in _with_neighbours(said)
        if said[turn].indexed  # a running reply is not indexed yet
    }
    near = _compare_meaning(query, passages)
    similar = {turn for turn, cosine in near.items() if cosine >= SIMILAR}
    ranks = blend_scores(words, near, only=words.keys() | similar, weights=WEIGHTS)
    asking = {turn for turn in ranks.keys() & said.keys() - own.keys() if _QUESTION.fullmatch(said[turn].content)}
    is_of_self = not list_words("SELF").isdisjoint(query.casefold().split())
    answering = {turn for turn in ranks.keys() & said.keys() if is_of_self and said[turn].is_own}
    return {turn: rank - ASKING * (turn in asking) + SPEAKER * (turn in answering) for turn, rank in ranks.items()}


def _compare_meaning(query: str, passages: Mapping[RankedTurn, str]) -> dict[RankedTurn, float]:
    # Static ones alone: chats are many and long, and each of their turns would go to a remote model.
    if not settings.MEMORY_EMBEDDING_MODEL or not passages:
        return {}
    found = compute_cosines(query, list(passages.values()), model=STATIC) or []
    return {turn: cosine for turn, cosine in zip(passages, found, strict=False) if not math.isnan(cosine)}


def _build_hits(order: list[UUID], terms: list[str], best: Mapping[UUID, tuple[float, int]]) -> list[ConversationHit]:
    conversations = Conversation.objects.in_bulk(order)
    shown = [best[key][1] for key in order if best[key][1]]
    contents = dict(Message.objects.filter(pk__in=shown).values_list("pk", "content"))
    hits = []
    for key in order:
        score, pk = best[key]
        snippet, ranges = snippet_of(contents[pk], terms) if pk else ("", [])
        title_ranges = list(iter_ranges(conversations[key].title, terms))
        hits.append(ConversationHit(conversations[key], pk or None, snippet, ranges, title_ranges, score))
    return hits


def snippet_of(content: str, terms: Sequence[str]) -> tuple[str, list[Range]]:
    """Return a snippet around the first term, and the terms' ranges."""
    line = one_line(content)
    found = iter_ranges(line, terms)
    first = next(found, (0, 0))
    begin = max(0, first[0] - SNIPPET_LEAD)
    if begin:
        begin = line.find(" ", begin, first[0]) + 1 or begin  # where a word begins, if one does
    end = begin + SNIPPET
    if end < len(line):
        space = line.rfind(" ", first[1], end)
        end = space if space > 0 else end
    before, after = "…" if begin else "", "…" if end < len(line) else ""
    ranges = [(first[0], min(first[1], end)), *takewhile(lambda place: place[1] <= end, found)] if first[1] else []
    shift = len(before) - begin
    return f"{before}{line[begin:end]}{after}", [(start + shift, stop + shift) for start, stop in ranges]
