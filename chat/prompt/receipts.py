"""Prompt receipts: the parts by digest, shown and rebuilt byte for byte.

Texts are kept once per user and found by their digest; the memory block stays in its snapshot and messages in their
rows, so that what is erased there is gone here, too: a receipt then shows digests, and that text was deleted.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chat.models import Message, PromptText, Receipt, Role
from chat.parts import Json, Preamble, add_preamble, as_said, format_preamble_part
from chat.prompt.focus import list_fact_ids
from chat.prompt.texts import GO_ON, Segment, as_blocks, earlier_part
from config.lib.work.retention import BATCH
from memory.facts.queries import find_versions
from memory.models import UserFact

DELETED: Final = "[Text deleted. What was sent had the SHA-256 {sha256}.]"


@dataclass(frozen=True, slots=True)
class Sent:
    """The first prompt of a turn, without the tools."""

    segments: tuple[Segment, ...]
    message_ids: tuple[int, ...]  # of the history, oldest first
    messages: tuple[Mapping[str, Any], ...]  # the history as a model is sent it
    summary_id: int | None = None


@dataclass(frozen=True, slots=True)
class PromptCopy:
    segments: tuple[Segment, ...]
    messages: list[Json]  # as they went to the model, the system prompt first
    tools: list[Json]
    is_exact: bool  # equal to the sent bytes; else text was deleted or changed since


def keep_receipt(
    *, reply_id: int, sent: Sent, tools: Sequence[Mapping[str, Any]], models: Sequence[str], effort: str = ""
) -> None:
    """Store the receipt of a reply's prompt; idempotent. Call it inside `owned_tx(user)`."""
    schemas = _dump_json(list(tools))
    kept = [segment for segment in sent.segments if segment.name != "memory"]
    texts = {segment.sha256: segment.text for segment in kept} | {_hash_text(schemas): schemas}
    PromptText.objects.bulk_create(
        [PromptText(sha256=sha256, text=text) for sha256, text in texts.items()], ignore_conflicts=True
    )
    receipt = Receipt(
        reply_id=reply_id,
        segments=[{"name": segment.name, "sha256": segment.sha256} for segment in sent.segments],
        summary_id=sent.summary_id,
        message_ids=list(sent.message_ids),
        tools_sha256=_hash_text(schemas),
        models_asked=list(models),
        effort=effort,
        sha256=_hash_text(_dump_json(request_messages(sent.segments, sent.messages))),
    )
    Receipt.objects.bulk_create([receipt], ignore_conflicts=True)


def as_sent(
    said: Iterable[Mapping[str, Any]], *, summary: str, preamble: Preamble, is_continuation: bool
) -> list[Json]:
    """Return the history with summary, request to continue and preamble."""
    messages = list(map(dict, said))
    if summary:
        messages.insert(0, {"role": "user", "content": earlier_part(summary)})
    if is_continuation:
        messages.append({"role": "user", "content": GO_ON})
    if messages:
        messages[-1]["content"] = add_preamble(preamble, messages[-1]["content"])
    return messages


def request_messages(segments: tuple[Segment, ...], history: Iterable[Mapping[str, Any]]) -> list[Json]:
    """Return the messages of a turn's first call.

    The turns of a day share every byte up to the newest user message, unless a summary was written.
    """
    return [{"role": "system", "content": as_blocks(segments)}, *map(dict, history)]


def drop_receipts(before: datetime) -> int:
    """Delete at most BATCH receipts of older replies, with the texts that no other receipt names; return how many."""
    replies = Message.objects.filter(created_at__lt=before).values("pk")
    old = dict(Receipt.objects.filter(reply__in=replies).values_list("pk", "user_id")[:BATCH])
    dropped = Receipt.objects.filter(pk__in=old).delete()[0]
    for user_id in set(old.values()):
        named = set()
        for segments, tools in Receipt.objects.filter(user_id=user_id).values_list("segments", "tools_sha256"):
            named |= {tools, *(segment["sha256"] for segment in segments)}
        texts = PromptText.objects.filter(user_id=user_id)
        unnamed = [pk for pk, sha256 in texts.values_list("pk", "sha256") if sha256 not in named]
        texts.filter(pk__in=unnamed).delete()
    return dropped


def find_receipt(reply: Message) -> Receipt | None:
    """Return the receipt of a reply."""
    return Receipt.objects.filter(reply=reply).select_related("summary").first()


def rebuild_prompt(receipt: Receipt, reply: Message) -> PromptCopy:
    """Rebuild a reply's prompt from the current rows."""
    wanted = {segment["sha256"] for segment in receipt.segments} | {receipt.tools_sha256}
    texts = dict(PromptText.objects.filter(sha256__in=wanted).values_list("sha256", "text"))
    block = {"memory": reply.snapshot.text} if reply.snapshot else {}
    segments = tuple(
        Segment(name, block.get(name) or texts.get(sha256) or DELETED.format(sha256=sha256))
        for name, sha256 in ((segment["name"], segment["sha256"]) for segment in receipt.segments)
    )
    messages = request_messages(segments, _restore_history(receipt, reply))
    is_exact = _hash_text(_dump_json(messages)) == receipt.sha256
    return PromptCopy(segments, messages, json.loads(texts.get(receipt.tools_sha256, "[]")), is_exact)


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The rows with pages that a tool call returned."""

    name: str
    trade_ids: list[str]
    note_ids: list[str]


@dataclass(frozen=True, slots=True)
class ShownReceipt:
    segments: tuple[Segment, ...]  # of the system prompt, then of the message's preamble
    facts: list[UserFact]  # of the memory block, then of the preamble, as they were then
    summary: str  # of older messages; empty without one
    told: int  # the number of sent messages
    tools: list[str]  # that it could call
    looked_up: list[LookedUp]
    effort: str  # of reasoning; empty: the provider's default
    is_exact: bool
    sha256: str


def show_receipt(receipt: Receipt, reply: Message) -> ShownReceipt:
    """Return a receipt for display."""
    rebuilt = rebuild_prompt(receipt, reply)
    fact_ids = [UUID(fact_id) for fact_id in reply.snapshot.fact_ids] if reply.snapshot else []
    fact_ids += list_fact_ids(reply.preamble)
    preamble = (Segment(part["name"], format_preamble_part(part)) for part in reply.preamble)
    return ShownReceipt(
        segments=(*rebuilt.segments, *preamble),
        facts=find_versions(fact_ids),
        summary=receipt.summary.text if receipt.summary else "",
        told=len(receipt.message_ids),
        tools=[tool["function"]["name"] for tool in rebuilt.tools],
        looked_up=[
            LookedUp(part["name"], _find_ids(part["result"], "trade_id"), _find_ids(part["result"], "note_id"))
            for part in reply.parts
            if part["kind"] == "tool" and part["status"] == "done"
        ],
        effort=receipt.effort,
        is_exact=rebuilt.is_exact,
        sha256=receipt.sha256,
    )


def _find_ids(value: Any, name: str) -> list[str]:
    """Return the ids under a name anywhere in a result."""
    found: dict[str, None] = {}
    left = [value]
    while left:
        match left.pop():
            case dict() as inner:
                if isinstance(inner.get(name), str):
                    found[inner[name]] = None
                left += reversed(inner.values())
            case list() as items:
                left += reversed(items)
    return list(found)


def _restore_history(receipt: Receipt, reply: Message) -> list[Json]:
    found = Message.objects.filter(pk__in=receipt.message_ids).defer("search_terms").in_bulk()
    rows = [found[pk] for pk in receipt.message_ids if pk in found]
    # A message has the preamble of its first reply here: a later one goes on where that one broke off.
    preambles = {row.reply_to_id: row.preamble for row in reversed(rows) if row.reply_to_id}
    said = [
        message
        for row in rows
        for message in as_said(
            is_user=row.role == Role.USER, content=row.content, parts=row.parts, preamble=preambles.get(row.pk, ())
        )
    ]
    return as_sent(
        said,
        summary=receipt.summary.text if receipt.summary else "",
        preamble=reply.preamble,
        is_continuation=reply.is_continuation,
    )


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
