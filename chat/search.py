"""Finding past conversations by their words. Call it inside `owned(user)`."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final
from uuid import UUID

from chat.models import Conversation, Message, MessageQuerySet
from config.lib.owned import owner_id
from config.lib.search import bm25, index_text, iter_ranges, query_terms, tokens
from config.lib.search_index import find_any
from config.lib.text import one_line

MAX_HITS: Final = 50
MAX_RANKED: Final = 300  # messages that hold a word of the query
MAX_PLACED: Final = 50  # of the best of them, what was said before and after counts, too
NEIGHBOUR: Final = 0.5  # how much a word counts in the turn before or after
SNIPPET: Final = 160  # characters
SNIPPET_LEAD: Final = 40  # of them before the first word found

Range = tuple[int, int]  # start and end (exclusive) in a text


@dataclass(frozen=True, slots=True)
class ConversationHit:
    """A conversation that answers a query, with the message that does so best."""

    conversation: Conversation
    message_id: int | None  # None: its title alone does
    snippet: str  # of that message, on one line; empty without one
    snippet_ranges: list[Range]  # where the words stand in it
    title_ranges: list[Range]
    score: float  # comparable within one answer only


@dataclass(frozen=True, slots=True)
class ConversationHits:
    """The best conversations out of `total`, best first; of very common words the total is of the newest messages."""

    rows: list[ConversationHit]
    total: int

    @property
    def truncated(self) -> bool:
        """Whether there are more than the rows."""
        return self.total > len(self.rows)


def search_conversations(*, query: str, limit: int = 20) -> ConversationHits:
    """Return the conversations of the owner in scope whose title or shown messages hold any word of a query.

    Best first; of a blank query none. Conversations in the trash and temporary ones are not searched, and a reply is
    only once it has ended.

    Args:
        query: as typed; nothing in it is an operator.
        limit: 1..50.
    """
    if not 1 <= limit <= MAX_HITS:
        raise ValueError(f"a limit of {limit} is not between 1 and {MAX_HITS}")
    terms = query_terms(query)
    wanted = tokens(terms, owner_id())
    searched = Conversation.objects.filter(trashed_at__isnull=True, is_temporary=False)
    messages = Message.objects.shown().filter(conversation__in=searched)
    by_message = _best_messages(messages, wanted)
    titles = {key: (title, at) for key, title, at in searched.values_list("pk", "title", "last_message_at")}
    by_title = bm25(
        {key: index_text(title, owner_id()) for key, (title, _) in titles.items()} if wanted else {},
        wanted,
        total=len(titles),
    )
    scores = {
        key: round(by_title.get(key, 0.0) + by_message.get(key, (0.0, 0))[0], 6)
        for key in by_title.keys() | by_message.keys()
    }
    best = sorted(scores, key=lambda key: (-scores[key], -titles[key][1].timestamp(), key))[:limit]
    return ConversationHits(_hits(best, terms, scores, {key: pk for key, (_, pk) in by_message.items()}), len(scores))


def _best_messages(messages: MessageQuerySet, wanted: Sequence[str]) -> dict[UUID, tuple[float, int]]:
    """Return by conversation the score and the id of the message that holds the words best."""
    held = Message.objects.count()
    found = find_any(messages, wanted, held=held, most=MAX_RANKED)
    scores = bm25(found.indexed, wanted, total=held, frequencies=found.frequencies)
    homes = dict(messages.filter(pk__in=scores).values_list("pk", "conversation_id"))
    placed = sorted(scores, key=lambda pk: (-scores[pk], -pk))[:MAX_PLACED]
    around = _neighbours(messages, {homes[pk] for pk in placed})
    best: dict[UUID, tuple[float, int]] = {}
    for pk, score in scores.items():
        near = sum(scores.get(neighbour, 0.0) for neighbour in around.get(pk, ()))
        best[homes[pk]] = max(best.get(homes[pk], (0.0, 0)), (round(score + NEIGHBOUR * near, 6), pk))
    return best


def _neighbours(messages: MessageQuerySet, conversations: set[UUID]) -> dict[int, list[int]]:
    """Return by message of some conversations the ids of those right before and after it."""
    threads: defaultdict[UUID, list[int]] = defaultdict(list)
    rows = messages.filter(conversation__in=conversations).order_by("pk")
    for conversation_id, pk in rows.values_list("conversation_id", "pk"):
        threads[conversation_id].append(pk)
    return {
        pk: [*thread[max(0, at - 1) : at], *thread[at + 1 : at + 2]]
        for thread in threads.values()
        for at, pk in enumerate(thread)
    }


def _hits(
    best: list[UUID], terms: list[str], scores: dict[UUID, float], message_of: dict[UUID, int]
) -> list[ConversationHit]:
    conversations = Conversation.objects.in_bulk(best)
    shown = [message_of[key] for key in best if key in message_of]
    contents = dict(Message.objects.filter(pk__in=shown).values_list("pk", "content"))
    hits = []
    for key in best:
        pk = message_of.get(key)
        snippet, ranges = snippet_of(contents[pk], terms) if pk is not None else ("", [])
        title_ranges = list(iter_ranges(conversations[key].title, terms))
        hits.append(ConversationHit(conversations[key], pk, snippet, ranges, title_ranges, scores[key]))
    return hits


def snippet_of(content: str, terms: Sequence[str]) -> tuple[str, list[Range]]:
    """Return at most SNIPPET characters of a text, on one line and around its first term, and where terms stand."""
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
