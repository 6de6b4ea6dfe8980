"""Hold back memory writes that the user did not type.

Once text that the user did not type is in the model's view (news, trade reasons, imports), and as long as it
is, a write passes only if words that the user typed in this conversation support it. A temporary chat writes nothing.
"""

from typing import Final
from uuid import UUID

from chat.conversations.queries import list_typed
from chat.parts import Json
from chat.tools.base import ToolContext
from config.lib.errors import DomainError
from memory.claims.support import Quote, TypedMessage, find_support, has_shared_word
from memory.facts.queries import list_topics
from memory.facts.review import propose_fact
from memory.facts.versions import Origin
from memory.models import ProposalKind
from memory.wording import filter_topic, parse_topic

LAST_MESSAGES: Final = 50  # of the user's, in which words are looked for
HELD: Final = (
    "Not saved: untrusted text is in view, and the user did not say this in their own words. "
    "It waits for them on their page of facts; say so."
)
NOT_ASKED: Final = (
    "Not done: untrusted text is in view, and the user's last message does not speak of this fact. "
    "Ask the user, then try again."
)
TEMPORARY: Final = "This chat is temporary: nothing of it is kept. Say so; a fact can be saved in an ordinary chat."


class WriteRefused(DomainError):
    """This conversation may not write to memory."""


def admit_write(context: ToolContext, content: str) -> Origin | None:
    """Return the origin of a write; None to hold it for review.

    Raises WriteRefused in a temporary chat.
    """
    if context.is_temporary:
        raise WriteRefused(TEMPORARY)
    quote = find_support(content, _list_typed_messages(context)) if context.conversation_id else None
    if quote is None and context.window.is_untrusted:
        return None
    return origin_of(context, quote)


def admit_topic(context: ToolContext, topic: str, content: str) -> str:
    """Return the admitted topic: under taint, only words of the content."""
    if not context.window.is_untrusted:
        return topic
    return filter_topic(parse_topic(topic), content, list_topics())


def admit_change(context: ToolContext, *contents: str) -> Origin:
    """Return the origin of a change without new words.

    Raises WriteRefused in a temporary chat, or if untrusted text is in view and the user's message names none of them.
    """
    if context.is_temporary:
        raise WriteRefused(TEMPORARY)
    if context.window.is_untrusted:
        typed = _list_typed_messages(context, last=1)
        if not typed or not any(has_shared_word(content, typed[-1].text) for content in contents):
            raise WriteRefused(NOT_ASKED)
    return origin_of(context)


def hold_for_review(
    context: ToolContext, *, content: str, topic: str = "", category: str | None = None, target_id: UUID | None = None
) -> Json:
    """Queue a write for review; return the tool's result."""
    propose_fact(
        kind=ProposalKind.UNTRUSTED,
        content=content,
        topic=topic,
        category=category,
        target_id=target_id,
        why="A chat wanted to save this while text was in view that you did not write.",
        origin=origin_of(context),
        now=context.now,
    )
    return {"held_for_review": content, "note": HELD}


def origin_of(context: ToolContext, quote: Quote | None = None) -> Origin:
    """Return the origin of this turn's write."""
    quotes = ({"message_id": quote.message_id, "start": quote.start, "end": quote.end},) if quote else ()
    return Origin(conversation_id=context.conversation_id, message_id=context.message_id, quotes=quotes)


def _list_typed_messages(context: ToolContext, last: int = LAST_MESSAGES) -> list[TypedMessage]:
    if context.conversation_id is None:
        return []
    return [TypedMessage(pk, text) for pk, text in list_typed(context.conversation_id, last=last)]
