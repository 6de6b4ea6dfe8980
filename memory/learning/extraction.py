"""Extract candidate facts from a closed chat; reads and writes no rows.

The model proposes and code decides: ids, limits, secrets and conflicts are checked here, and only text that the user
typed supports a candidate. Call it outside any transaction.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal
from uuid import UUID

from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable, Usage
from config.lib.llm.tokens import CHARS_PER_TOKEN, estimate_tokens
from config.lib.text import clean_text, normal_form
from memory.claims.judge import excludes, judge_change
from memory.claims.sentences import word_quoted
from memory.claims.support import Quote, TypedMessage, list_messages, verify_quotes
from memory.learning.answers import Candidate, ExtractionAnswer, Op, parse_answer
from memory.learning.prompts import EXTRACTOR, UNREADABLE, format_line, format_request
from memory.models import UserFact
from memory.wording import MAX_CONTENT, MIN_CONTENT

CHUNK_TOKENS: Final = 8_000  # estimated tokens of the transcript in one call
ANSWER_TOKENS: Final = 4_000
TRIES: Final = 3  # seed 001: tries for a readable answer
UNUSED: Final = Usage(0, 0)


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """A chat's entry; `is_tainted`: it contains or followed foreign text."""

    message_id: int
    role: Literal["user", "assistant", "tool"]
    text: str
    is_tainted: bool = False


@dataclass(frozen=True, slots=True)
class ChatPart:
    """Turns of one call; `through_message_id` is the last complete message."""

    turns: tuple[ChatEntry, ...]
    through_message_id: int | None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The result of an extraction.

    The watermark may move to `through_message_id`. If not complete, no model could read a later part, which needs
    another try. `is_tainted`: the summary includes text of others.
    """

    candidates: tuple[Candidate, ...]
    summary: str
    through_message_id: int | None
    is_complete: bool = True
    is_tainted: bool = False
    usage: Usage = UNUSED  # of all calls


async def extract_facts(
    turns: Sequence[ChatEntry],
    known_facts: Sequence[UserFact],
    summary: str,
    *,
    models: Sequence[str],
    chunk_tokens: int = CHUNK_TOKENS,
) -> Extraction:
    """Extract the durable facts from turns of one chat, in order.

    `summary` covers the turns before, or is empty. Each chunk takes one call, whose summary is the context of the next
    one. When a later chunk fails, the result so far is returned as not complete. Raises LLMUnavailable when no model
    answers for the first chunk, or none of three answers is readable.
    """
    typed = list_messages((turn.message_id, turn.text) for turn in turns if turn.role == "user")
    candidates: list[Candidate] = []
    through, usage = None, UNUSED
    is_complete, is_tainted = True, False
    for chunk in chunk_turns(turns, chunk_tokens):
        try:
            answer, used = await _ask_model(chunk, known_facts, summary, models)
        except LLMUnavailable:
            if through is None:
                raise
            is_complete = False
            break
        candidates = _join_candidates(candidates, _list_candidates(answer, known_facts, typed))
        summary, usage = answer.summary or summary, usage.plus(used)
        through = chunk.through_message_id
        is_tainted = is_tainted or any(turn.is_tainted for turn in chunk.turns)
    return Extraction(tuple(candidates), summary, through, is_complete, is_tainted, usage)


def chunk_turns(turns: Sequence[ChatEntry], max_tokens: int) -> list[ChatPart]:
    """Split turns into chunks of `max_tokens`, and only oversized turns."""
    chunks: list[ChatPart] = []
    held: list[ChatEntry] = []
    used = 0
    through: int | None = None
    for turn in turns:
        pieces = list(_split_turn(turn, max_tokens))
        for number, piece in enumerate(pieces, start=1):
            size = _estimate_turn(piece)
            if held and used + size > max_tokens:
                chunks.append(ChatPart(tuple(held), through))
                held, used = [], 0
            held.append(piece)
            used += size
            if number == len(pieces):
                through = turn.message_id
    return [*chunks, ChatPart(tuple(held), through)] if held else chunks


def strip_block(text: str, block_text: str) -> str:
    """Remove the memory block from an assistant's text, never a user's."""
    block = clean_text(block_text).strip()
    return clean_text(text).replace(block, "").strip() if block else text


async def _ask_model(
    chunk: ChatPart, known_facts: Sequence[UserFact], summary: str, models: Sequence[str]
) -> tuple[ExtractionAnswer, Usage]:
    request = format_request(known_facts=known_facts, summary=summary, turns=map(_describe_turn, chunk.turns))
    messages, usage = [{"role": "system", "content": EXTRACTOR}, {"role": "user", "content": request}], UNUSED
    for attempt in range(TRIES):
        again = [{"role": "user", "content": UNREADABLE}] if attempt else []
        completion = await door.complete([*messages, *again], models=models, max_tokens=ANSWER_TOKENS)
        answer, usage = parse_answer(completion.text), usage.plus(completion.usage)
        if answer is not None:
            return answer, usage
    raise LLMUnavailable("empty", "The model's answers could not be read. Please try again in a moment.")


def _split_turn(turn: ChatEntry, max_tokens: int) -> Iterator[ChatEntry]:
    """Yield the turn, or pieces of it that fit one chunk each."""
    if _estimate_turn(turn) <= max_tokens:
        yield turn
        return
    rest = turn.text
    overhead = _estimate_turn(replace(turn, text=""))
    while rest:
        length = max(1, (max_tokens - overhead - 1) * CHARS_PER_TOKEN)
        # An escaped character takes up to twelve, so halve the piece until it fits.
        while length > 1 and _estimate_turn(replace(turn, text=rest[:length])) > max_tokens:
            length //= 2
        yield replace(turn, text=rest[:length])
        rest = rest[length:]


def _estimate_turn(turn: ChatEntry) -> int:
    return estimate_tokens(format_line(_describe_turn(turn)) + "\n")


def _describe_turn(turn: ChatEntry) -> dict[str, Any]:
    untrusted = {"untrusted": True} if turn.is_tainted or turn.role == "tool" else {}
    return {"id": turn.message_id, "role": turn.role, **untrusted, "text": turn.text}


def _list_candidates(
    answer: ExtractionAnswer, known_facts: Sequence[UserFact], typed: Sequence[TypedMessage]
) -> list[Candidate]:
    known = {fact.id: fact for fact in known_facts}
    by_words = {normal_form(fact.content): fact for fact in known_facts}
    found = (_check_fact(fact, known, by_words, typed) for fact in answer.facts)
    return [candidate for candidate in found if candidate is not None]


def _check_fact(
    fact: Candidate, known: Mapping[UUID, UserFact], by_words: Mapping[str, UserFact], typed: Sequence[TypedMessage]
) -> Candidate | None:
    """Check an answered fact against the known facts.

    Unknown ids are dropped, and an equal text becomes a skip. An update without a known target becomes an add. A
    contradiction of an explicit fact is a conflict, even if the model calls it an update.
    """
    content, quotes, said = _word_fact(fact, typed)
    same = by_words.get(normal_form(content)) if content else None
    target = same or (known.get(fact.target_id) if fact.target_id else None)
    if same is not None or fact.op == "skip":
        if target is None:
            return None  # the fact to repeat is unknown
        quotes = verify_quotes(target.content, fact.quoted, typed)
        return Candidate("skip", target.id, target.category, target.topic, target.content, fact.confidence, quotes)
    against = known.get(fact.conflicts_with) if fact.conflicts_with else None
    if against is not None and against.score is not None:
        target, against = target or against, None  # learned facts are simply replaced
    elif fact.op == "add":
        target = None
    if target is not None and content != fact.content and judge_change(target.content, content) == "apart":
        target = None  # the sentence that is stored is not about it
    if target is not None and target.score is None:
        against = target
    if against is None:
        explicit = (other for other in known.values() if other.score is None)
        against = next((other for other in explicit if excludes(other.content, content)), None)
    op: Op = "add" if target is None else "update"
    target_id, conflict = (None if one is None else one.id for one in (target, against))
    return replace(fact, op=op, target_id=target_id, content=content, quotes=quotes, conflicts_with=conflict, said=said)


def _word_fact(fact: Candidate, typed: Sequence[TypedMessage]) -> tuple[str, tuple[Quote, ...], tuple[Quote, ...]]:
    """Return the content to store, the quotes that support it, and what is quoted without support.

    The sentence that the person typed is stored where the model words it otherwise (settled 13).
    """
    if fact.op == "skip":
        return fact.content, (), ()
    wording, said = word_quoted(fact.content, fact.quoted, typed)
    words = clean_text(wording.text) if wording is not None else ""
    if wording is None or not MIN_CONTENT <= len(words) <= MAX_CONTENT:
        return fact.content, (), said
    is_kept = words == fact.content
    return words, (verify_quotes(words, fact.quoted, typed) if is_kept else ()) or (wording.quote,), ()


def _join_candidates(earlier: Sequence[Candidate], later: Sequence[Candidate]) -> list[Candidate]:
    """Join candidates: equal ones merge, and later statements replace earlier ones."""
    joined = list(earlier)
    for candidate in later:
        replaced = [other for other in joined if _is_replaced(other, candidate)]
        joined = [other for other in joined if other not in replaced]
        target = next((other for other in replaced if other.op == "update"), None)
        if candidate.op == "add" and target is not None:
            # The later statement replaces the target of the earlier one too.
            against = candidate.conflicts_with or target.conflicts_with
            candidate = replace(candidate, op="update", target_id=target.target_id, conflicts_with=against)
        joined.append(candidate)
    return joined


def _is_replaced(candidate: Candidate, by: Candidate) -> bool:
    if normal_form(candidate.content) == normal_form(by.content):
        return True
    if by.op == "skip" or not by.is_supported:
        return False
    if by.op == "update" and candidate.target_id == by.target_id:
        return True
    return candidate.op != "skip" and excludes(candidate.content, by.content)
