"""Hold back memory writes that the user did not type.

Once text that the user did not type is in the model's view (news, trade reasons, pasted text, drafts), and as long as
it is, a write passes only if words that the user typed in this conversation support it. Each stored text is weighed, in
the form in which it is stored. A fact ends only if the user's message means it. A temporary chat writes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final
from uuid import UUID

from chat.conversations.queries import list_typed
from chat.parts import Json
from chat.tools.base import ToolContext
from config.lib.errors import DomainError
from config.lib.words.lexer import has_phrase, read_tokens
from config.lib.words.sentences import sentences, split_clauses
from memory.claims.judge import excludes, judge_change
from memory.claims.sentences import Wording, find_untyped, swap_value, word_content
from memory.claims.statements import keep_statements, mask_parts
from memory.claims.subjects import read_subject
from memory.claims.support import Quote, TypedMessage, find_support, list_messages, supports_all
from memory.claims.wishes import Naming, affirms, count_wished, find_naming, list_wishes, relates, states_change
from memory.facts.conflicts import FactDisputed
from memory.facts.queries import list_topics
from memory.facts.review import find_held, find_proposal, hold_fact
from memory.facts.services import WhenUnsure, forget_fact, resolve_fact
from memory.facts.versions import FactAmbiguous, FactWrite, Origin
from memory.models import ArchivedReason, MemoryEvent, ProposalKind, UserFact
from memory.wording import MAX_CONTENT, MIN_CONTENT, filter_topic, parse_detail, parse_topic, stored_line

LAST_MESSAGES: Final = 50  # of the user's, in which words are looked for
MAX_RIVALS: Final = 200  # facts that a wish is compared with, the most recently referenced first
RELATIONS: Final = frozenset({"relates_to", "contradicts", "supersedes", "explains", "because_of", "exception_of"})
# The person reads these too, so they address nobody and give the model no instruction.
HELD: Final = (
    "Not saved: text of others is in this chat, and the user did not say this in their own words. "
    "It waits for the user's decision on the page of facts."
)
NUMBER_HELD: Final = (
    "Not saved: it has a number that the user did not type. It waits for the user's decision on the page of facts."
)
WHY_HELD: Final = "A chat wanted to save this while text of others was in view."
WHY_NUMBER: Final = "A chat wanted to save this with a number that you did not type."
WHY_DISPUTED: Final = "You said something that may contradict this."
NOT_ASKED: Final = (
    "Nothing was changed: text of others is in this chat, and the user's last message does not ask for this. "
    "It can be asked for in plain words that name the fact, or changed on the page of facts."
)
NOT_MEANT: Final = "Nothing was forgotten: the user's message does not name this fact. Is this the one to forget?"
WHICH: Final = "Nothing was forgotten: more than one fact fits the user's words. Which is the one to forget?"
WAITS: Final = (
    "Not forgotten yet: the new line waits for the user's decision on the page of facts. The old one holds until then."
)
REPLACED: Final = "Nothing to forget: this turn has replaced the old line by this one already."
TEMPORARY: Final = (
    "This chat is temporary: nothing of it is kept. A fact can be saved in an ordinary chat or on the page of facts."
)


@dataclass(frozen=True, slots=True)
class Admitted:
    """A write that may be done at once: the words to store, and where they are from."""

    content: str
    origin: Origin


class WriteRefused(DomainError):
    """This conversation may not write to memory."""


def read_typed(context: ToolContext) -> list[TypedMessage]:
    """Return what the user typed in this conversation, the newest last. Raises WriteRefused in a temporary chat."""
    if context.is_temporary:
        raise WriteRefused(TEMPORARY)
    return list_messages(list_typed(context.conversation_id, last=LAST_MESSAGES)) if context.conversation_id else []


def admit_write(context: ToolContext, typed: Sequence[TypedMessage], content: str, *others: str) -> Origin | None:
    """Return the origin of words that are stored as they are (`others`: further ones); None to hold them."""
    is_exact = context.window.is_untrusted
    quote = find_support(stored_line(content), typed, is_exact=is_exact)
    is_backed = quote is not None and all(supports_all(parse_detail(text), typed) for text in others)
    return None if is_exact and not is_backed else origin_of(context, quote)


def admit_fact(
    context: ToolContext, typed: Sequence[TypedMessage], content: str, detail: str = "", *, of: UserFact | None = None
) -> Admitted | None:
    """Return the words to store of a fact, with their origin; None to hold it.

    With untrusted text in view they are the sentence that the user typed, and in any chat each number is one that the
    user typed, or that the fact which changes (`of`) has already.
    """
    line, known = stored_line(content), [of.content, of.body] if of is not None else []
    is_typed = not typed or not find_untyped(f"{line}\n{detail}", typed, *known)
    wording = word_content(line, typed)
    if is_typed and not context.window.is_untrusted:
        if wording is not None and _says_more(wording.text, line):
            return Admitted(wording.text, origin_of(context, wording.quote))
        return Admitted(content, origin_of(context, find_support(line, typed)))
    wording = wording or _swap_value(context, line, typed[-1:])
    if wording is None or not MIN_CONTENT <= len(wording.text) <= MAX_CONTENT:
        return None
    is_backed = not detail or supports_all(parse_detail(detail), typed)
    return Admitted(wording.text, origin_of(context, wording.quote)) if is_backed else None


def admit_update(
    context: ToolContext, typed: Sequence[TypedMessage], fact: UserFact, content: str, detail: str = ""
) -> Admitted | None:
    """Return the words of an update, with their origin; None to hold it for review.

    With untrusted text in view, the user's newest message must say the words, about what the fact is about.
    """
    admitted = admit_fact(context, typed, content, detail, of=fact)
    if admitted is None or not context.window.is_untrusted:
        return admitted
    is_about = judge_change(fact.content, admitted.content) != "apart" or _find_naming(typed, fact) == "named"
    return admitted if is_about and quotes_newest(typed, admitted.origin) else None


def quotes_newest(typed: Sequence[TypedMessage], origin: Origin) -> bool:
    """Tell whether words are from the user's newest message; older ones may be outdated by what came since."""
    return any(quote["message_id"] == message.id for quote in origin.quotes for message in typed[-1:])


def admit_topic(context: ToolContext, topic: str, content: str) -> str:
    """Return the admitted topic: under taint, only words of the content."""
    if not context.window.is_untrusted:
        return topic
    return filter_topic(parse_topic(topic), content, list_topics())


def end_fact(
    context: ToolContext, reference: str, reason: ArchivedReason = ArchivedReason.AGENT_FORGET
) -> FactWrite | Json:
    """Forget the fact of an id or words, or let its end wait with the write that replaces it.

    Raises FactNotFound, WriteRefused, and FactAmbiguous when several fit, or the user does not mean this fact.
    """
    fact, typed = resolve_fact(reference, context.now), read_typed(context)
    changes, is_stated = is_change(typed), any(fact.content in mask_parts(message.voices) for message in typed[-1:])
    if _is_written_here(context, fact) or (changes and is_stated):
        return {"saved": fact.content, "note": REPLACED}
    if not _is_end_meant(context, typed, fact):
        raise FactAmbiguous([fact], NOT_MEANT)
    origin = origin_of(context)
    held = find_held(fact, origin, is_change=changes)
    if held is not None:
        return {"held_for_review": held.payload["content"], "still_holds": fact.content, "note": WAITS}
    return forget_fact(id_or_substring=str(fact.pk), reason=reason, origin=origin, now=context.now)


def admit_confirmation(context: ToolContext, fact: UserFact) -> Origin:
    """Return the origin of a confirmation. Raises WriteRefused when the user did not affirm the fact."""
    typed = read_typed(context)[-1:]
    if context.window.is_untrusted and not any(affirms(message.text, fact.content) for message in typed):
        raise WriteRefused(NOT_ASKED)
    return origin_of(context)


def admit_link(context: ToolContext, facts: Sequence[UserFact], relation: str) -> Origin:
    """Return the origin of a link. Raises WriteRefused when the user did not ask to relate these facts so."""
    typed = read_typed(context)[-1:]
    is_known = relation in RELATIONS or supports_all(relation, typed)
    asked = any(relates(message.text, [fact.content for fact in facts]) for message in typed)
    if context.window.is_untrusted and not (asked and is_known):
        raise WriteRefused(NOT_ASKED)
    return origin_of(context)


def hold_for_review(
    context: ToolContext,
    typed: Sequence[TypedMessage],
    content: str,
    *,
    target_id: UUID | None = None,
    dispute: FactDisputed | None = None,
    **words: Any,
) -> Json:
    """Queue a write until the user decides; return the tool's result. `dispute` names what it may contradict."""
    kind, why, note = ProposalKind.UNTRUSTED, WHY_NUMBER, NUMBER_HELD
    if context.window.is_untrusted:
        why, note = WHY_HELD, HELD
    result: Json = {"held_for_review": content}
    if dispute is not None:
        kind, why, note, target_id = ProposalKind.CONFLICT, WHY_DISPUTED, f"Not saved yet. {dispute}", dispute.fact.pk
        result["conflicts_with"] = {"fact_id": str(dispute.fact.pk), "fact": dispute.fact.content}
    kept = hold_fact(
        kind=kind,
        content=content,
        target_id=target_id,
        is_change=is_change(typed),
        why=why,
        in_view=sorted(context.window.sources),
        origin=origin_of(context),
        now=context.now,
        **words,
    )
    if kept:
        result["still_holds"] = ", ".join(fact.content for fact in kept)
    return {**result, "note": note}


def is_change(typed: Sequence[TypedMessage]) -> bool:
    """Tell whether the user's newest message asks to forget nothing, so that what ends makes room for something new."""
    return not any(list_wishes(message.text) for message in typed[-1:])


def find_answer(context: ToolContext, typed: Sequence[TypedMessage], content: str, known: UserFact) -> WhenUnsure:
    """Return what the user's newest message says of a statement that may contradict a known fact."""
    text = typed[-1].text if typed else ""
    if states_change(text, known.content):
        return "replace"
    if find_proposal(ProposalKind.CONFLICT, content, known) is None or context.window.is_untrusted:
        return "ask"
    answer = read_tokens(text)
    return "keep" if has_phrase(answer, "HOLDSBESIDE") else "replace" if has_phrase(answer, "TAKESOVER") else "ask"


def origin_of(context: ToolContext, quote: Quote | None = None) -> Origin:
    """Return the origin of this turn's write."""
    quotes = ({"message_id": quote.message_id, "start": quote.start, "end": quote.end},) if quote else ()
    return Origin(conversation_id=context.conversation_id, message_id=context.message_id, quotes=quotes)


def _says_more(sentence: str, line: str) -> bool:
    """Tell whether of one statement only the typed sentence has a subject: "Lev cap: 3x" is beside no other limit."""
    if read_subject(line).is_single or not read_subject(sentence).is_single:
        return False
    return len(sentence) <= MAX_CONTENT and not find_untyped(sentence, [TypedMessage(0, line)])


def _is_end_meant(context: ToolContext, typed: Sequence[TypedMessage], fact: UserFact) -> bool:
    """Tell whether the user means to end this fact. Raises FactAmbiguous if their words fit another one as well.

    With untrusted text in view only a message that names the fact counts: a "yes" may answer a question that the
    text of others brought up. Without, a wish to forget is enough.
    """
    is_trusted = not context.window.is_untrusted
    if not typed:
        return is_trusted  # nothing was typed here, as in a chat that a page opened
    text, naming = typed[-1].text, _find_naming(typed, fact)
    if naming != "unnamed":
        return naming == "named" or is_trusted
    # What replaces the fact, or may do so, or announces its change ends it, too.
    clauses = (clause for sentence in sentences(keep_statements(text)) for clause in split_clauses(sentence))
    if any(excludes(fact.content, clause) for clause in clauses) or states_change(text, fact.content):
        return True
    return is_trusted and _is_wished(context, text, fact)


def _is_written_here(context: ToolContext, fact: UserFact) -> bool:
    """Tell whether this turn wrote the line in place of another one, whose id the model gives."""
    if context.message_id is None:
        return False
    events = MemoryEvent.objects.filter(after=fact, before__isnull=False, undone_at__isnull=True)
    return events.filter(conversation_id=context.conversation_id, message_id=context.message_id).exists()


def _swap_value(context: ToolContext, line: str, newest: Sequence[TypedMessage]) -> Wording | None:
    """Return the one known fact to which the newest message gives another value ("change that to 2x"), with it."""
    facts = UserFact.objects.current(context.now).by_reference()[:MAX_RIVALS] if newest else ()
    found = [swapped for fact in facts if (swapped := swap_value(fact.content, newest[0].text)) is not None]
    if len(found) != 1 or judge_change(found[0], line) == "apart":
        return None
    return Wording(found[0], Quote(newest[0].id, 0, len(newest[0].text)))


def _find_naming(typed: Sequence[TypedMessage], fact: UserFact) -> Naming:
    if not typed:
        return "unnamed"
    return find_naming(typed[-1].text, _describe_fact(fact), before=typed[-2].text if typed[1:] else "")


def _is_wished(context: ToolContext, text: str, fact: UserFact) -> bool:
    """Tell whether a message wishes something forgotten, and fits this fact best. Raises FactAmbiguous."""
    others = UserFact.objects.current(context.now).exclude(pk=fact.pk).by_reference()[:MAX_RIVALS]
    fits = count_wished(text, map(_describe_fact, chain([fact], others)))  # without a wish, no fact is read
    if not fits:
        return False
    rivals = [other for other, fit in zip(others, fits[1:], strict=True) if fit >= max(fits[0], 1)]
    if rivals:
        raise FactAmbiguous([fact, *rivals], WHICH)
    return True


def _describe_fact(fact: UserFact) -> str:
    """Return the words by which a person may call a fact: its own, its topic and its subject's name."""
    subject = read_subject(fact.content)
    return f"{fact.content} {fact.topic} {subject.key if subject.is_single else ''}"
