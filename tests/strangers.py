"""Two people whose rows are alike: Ann, and Bob, every text of whose holds a canary that Ann must never see."""

import re
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from hashlib import sha256
from itertools import cycle, islice
from typing import Any
from urllib.parse import quote_plus, unquote_plus
from uuid import UUID, uuid4

from django.apps import apps
from django.db import connection
from django.utils import timezone

from chat.cards import cancel_card, draw_card
from chat.models import ActionCard, Bookmark, Conversation, Message, PromptText, Receipt, UsageDay
from config.lib.owned import OwnedModel, owned_tx, system_tx
from config.lib.proofs import OPERATOR
from memory.facts.places import add_place, remove_place
from memory.facts.review import dismiss_proposal, propose_fact, propose_merge
from memory.facts.services import (
    archive_fact,
    delete_fact,
    link_facts,
    promote_fact,
    remember_fact,
    set_switches,
    supersede_fact,
)
from memory.facts.versions import Origin
from memory.models import FactLink, FactSource, MemoryEvent, MemoryProposal, Place, ProposalKind, UserFact
from tests.factories.chat import (
    BookmarkFactory,
    ConversationFactory,
    ConversationSummaryFactory,
    DayNoteFactory,
    MemorySnapshotFactory,
    MessageFactory,
    ReplyFactory,
)
from tests.factories.memory import MAY, PlaceMentionFactory, UserFactFactory
from tests.factories.record import (
    BacktestRunFactory,
    DecisionSnapshotFactory,
    DeploymentCommandFactory,
    DeploymentFactory,
    EquityPointFactory,
    FillFactory,
    FundingPaymentFactory,
    ImportBatchFactory,
    OrderFactory,
    PositionCheckFactory,
    ReflectionNoteFactory,
    ReflectionRunFactory,
    SavedFilterFactory,
    SkillDraftFactory,
    SkillVersionFactory,
    TradeFactory,
    TradeFileFactory,
    TradeRemarkFactory,
    TradingRuleFactory,
    VenueAccountFactory,
)
from tests.factories.trading import StaffEntryFactory, TraderFactory
from trading.account.tokens import create_token, revoke_token
from trading.models import (
    ApiToken,
    BacktestRun,
    DecisionSnapshot,
    Deployment,
    ImportBatch,
    PositionCheck,
    ReflectionNote,
    SavedFilter,
    Skill,
    SkillDraft,
    Trade,
    TradeFile,
    Trader,
    TradingRule,
    VenueAccount,
)
from trading.record.actions import Action

CANARY = "canary"
Names = dict[str, str]


# What a request can name: a model's rows, in the order of their kinds and states.
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "conversation": (Conversation, ("title",)),
    "message": (Message, ("pk",)),
    "fact": (UserFact, ("created_at", "content")),
    "event": (MemoryEvent, ("created_at", "kind")),
    "link": (FactLink, ("created_at",)),
    "place": (Place, ("name",)),
    "proposal": (MemoryProposal, ("kind", "created_at")),
    "token": (ApiToken, ("name",)),
    "skill": (Skill, ("name",)),
    "draft": (SkillDraft, ("created_at",)),
    "import": (ImportBatch, ("name",)),
    "file": (TradeFile, ("name",)),
    "account": (VenueAccount, ("address",)),
    "deployment": (Deployment, ("broker_kind", "created_at")),
    "trade": (Trade, ("status", "symbol")),
    "filter": (SavedFilter, ("pk",)),
    "rule": (TradingRule, ("words",)),
    "run": (BacktestRun, ("created_at",)),
    "note": (ReflectionNote, ("lessons_text",)),
    "card": (ActionCard, ("status", "type")),
    "bookmark": (Bookmark, ("created_at", "note")),
}


@dataclass
class Person:
    """A user with a row of every kind in every state, and what a request could name of them."""

    user: Trader
    word: str  # stands in each text
    rows: dict[str, list[Any]] = field(default_factory=dict)  # by the words of KINDS, and other columns that are named

    def names(self) -> list[Names]:
        """Return sets of names that between them hold each id, and the words of each fact, at least once."""
        columns = {f"{kind}_id": [str(row.pk) for row in self.rows[kind]] for kind in KINDS}
        columns |= {
            "opening_id": [str(row.pk) for row in self.rows["opening"]],
            "client_id": [str(row.client_id) for row in self.rows["message"] if row.client_id],
            "words": [row.content for row in self.rows["fact"]],
            "batch_id": sorted({str(row.batch_id) for row in self.rows["event"] if row.batch_id}),
            "tick": [str(row.tick) for row in self.rows["decision"]],
            "digest": [row.digest for row in self.rows["card"]],
            "version": [str(row.latest_version) for row in self.rows["skill"]],
            "user_id": [str(self.user.pk)],
        }
        longest = max(map(len, columns.values()))
        rows = zip(*(islice(cycle(values), longest) for values in columns.values()), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]

    @cached_property
    def secrets(self) -> set[str]:
        """What no answer to somebody else may hold: the canary and the ids that nobody could guess."""
        return {self.word} | {value for names in self.names() for value in names.values() if _is_uuid(value)}


def make_person(word: str) -> Person:
    """Make a user, and in their name the rows."""
    person = Person(TraderFactory(email=f"{word}@example.com", first_name=word, last_name=word), word)
    with owned_tx(person.user):
        _write_facts(word)
        _write_review(word)
        _write_places(word)
        _write_chats(word)
        _write_tokens(word)
        _write_record(word)
        _write_cards(word)
        person.rows = {kind: list(model.objects.order_by(*order)) for kind, (model, order) in KINDS.items()}
        person.rows["opening"] = list(PositionCheck.objects.filter(is_opening=True))
        person.rows["decision"] = list(DecisionSnapshot.objects.order_by("tick"))
    return person


def _write_facts(word: str) -> None:
    def remember(text: str) -> UUID:
        return remember_fact(content=f"{word} {text}", topic=word, now=MAY).fact.pk

    remember("trades gold")
    supersede_fact(fact_id=remember("reads two books"), content=f"{word} reads one book", now=MAY)
    archive_fact(fact_id=remember("looks for an exchange"), now=MAY)
    UserFactFactory(content=f"{word} in full", summary=f"{word} in short", body=f"{word} at length")
    external = {"id": f"{word}-1", "conversation_id": f"{word}-2", "message_id": f"{word}-3"}
    UserFactFactory(content=f"{word} came along", source=FactSource.IMPORTED, external=external)


def _write_review(word: str) -> None:
    """Write what links, waits, was decided, was done together, and what lies in the trash."""
    first = remember_fact(content=f"{word} lost on leverage", now=MAY).fact
    second = remember_fact(content=f"{word} lost with leverage", now=MAY).fact
    link_facts(from_id=str(first.pk), to_id=str(second.pk), relation=f"{word}-relates", now=MAY)
    promote_fact(fact_id=second.pk, origin=Origin(batch_id=uuid4()), now=MAY)
    delete_fact(fact_id=remember_fact(content=f"{word} threw this away", now=MAY).fact.pk, now=MAY)
    propose_merge(fact_id=first.pk, into_id=second.pk, why=f"{word} said it twice", now=MAY)
    for kind in (ProposalKind.CONFLICT, ProposalKind.UNTRUSTED, ProposalKind.IMPORT):
        target = first.pk if kind == ProposalKind.CONFLICT else None
        why = f"{word} reasons"
        propose_fact(kind=kind, content=f"{word} {kind}", target_id=target, why=why, origin=Origin(), now=MAY)
    decided = propose_fact(
        kind=ProposalKind.IMPORT, content=f"{word} said no", why=word, origin=Origin(), now=MAY + timedelta(hours=1)
    )
    assert decided is not None, "the words are new"
    dismiss_proposal(proposal_id=decided.pk, now=MAY)
    set_switches(learns=True)


def _write_places(word: str) -> None:
    in_a_chat = Origin(conversation_id=uuid4(), message_id=1)
    gym = add_place(place_id=f"{word}-gym", name=f"{word} gym", notes=f"{word} lifts", origin=in_a_chat, now=MAY).place
    PlaceMentionFactory(place=gym, conversation_ref=f"{word}-chat", message_ref=f"{word}-message")
    gone = add_place(place_id=f"{word}-bar", name=f"{word} bar", now=MAY).place
    remove_place(id=gone.pk, now=MAY)


def _write_chats(word: str) -> None:
    saved = MemoryEvent.objects.order_by("created_at", "kind").last()
    conversation = ConversationFactory(title=f"1 {word} plans", opening_context={"mode": "ops", "focus": word})
    conversation.snapshot = MemorySnapshotFactory(conversation=conversation, text=f"- {word}", fact_ids=[])
    conversation.save()
    message = MessageFactory(conversation=conversation, content=f"{word} asks")
    ReplyFactory(
        reply_to=message,
        snapshot=conversation.snapshot,
        content=f"{word} is told",
        parts=_parts(word, saved),
        model=f"{word}-1",
        error=f"{word} was interrupted",
        interrupted=True,
    )
    archived = ConversationFactory(title=f"2 {word} history", archived=True)
    told = ReplyFactory(
        reply_to=MessageFactory(conversation=archived, content=f"{word} asked"), content=f"{word} was told"
    )
    BookmarkFactory(message=told, note=f"{word} notes")
    DayNoteFactory(text=f"{word} writes of the day")
    _write_prompt(told, word)
    BookmarkFactory(message=None, text=f"{word} kept this of a chat that is gone")
    gone = ConversationFactory(title=f"4 {word} regrets", trashed_at=MAY)
    ReplyFactory(reply_to=MessageFactory(conversation=gone, content=f"{word} blurted"), content=f"{word} was hushed")
    running = ConversationFactory(title=f"3 {word} now", last_message_at=MAY + timedelta(days=1))
    ReplyFactory(
        reply_to=MessageFactory(conversation=running, content=f"{word} waits"), content=f"{word} hears", streaming=True
    )


def _write_prompt(reply: Message, word: str) -> None:
    summary = ConversationSummaryFactory(
        conversation=reply.conversation, text=f"{word} spoke of funding", through=reply.pk, replaced_at=MAY
    )
    text = PromptText.objects.create(text=f"{word} is in focus", sha256=sha256(word.encode()).hexdigest())
    Receipt.objects.create(
        reply=reply,
        segments=[{"name": "focus", "sha256": text.sha256}],
        summary=summary,
        message_ids=[reply.reply_to_id],
        tools_sha256=text.sha256,
        models_asked=[f"{word}/model"],
        sha256=text.sha256,
    )
    UsageDay.objects.create(day=MAY.date(), turns=777, prompt_tokens=777_777)


def _write_tokens(word: str) -> None:
    create_token(name=f"1 {word} bot", proof=OPERATOR, now=MAY)
    revoked, _ = create_token(name=f"2 {word} old bot", scope="write", proof=OPERATOR, now=MAY)
    revoke_token(token_id=revoked.pk, now=MAY)
    StaffEntryFactory(reason=f"{word} asked for help")


def _write_record(word: str) -> None:
    deployment = DeploymentFactory(version__skill__name=f"{word} dips")
    version = deployment.version
    SkillDraftFactory(payload={"name": f"{word} writes"})
    edited = {**version.payload, "description": f"{word} edits"}
    SkillDraftFactory(base_skill=deployment.skill, base_version=1, payload=edited)
    SkillVersionFactory(skill__name=f"{word} rests")
    DeploymentFactory(version=version, broker_kind="live")
    DeploymentCommandFactory(deployment=deployment, outcome=f"{word} waits")
    BacktestRunFactory(deployment__version=version, error=f"{word} failed")
    snapshot = DecisionSnapshotFactory(deployment=deployment, context=f"{word} saw", steps=[{"tool": word}])
    order = OrderFactory(deployment=deployment, snapshot=snapshot, reason=f"{word} hoped")
    FillFactory(deployment=deployment, order=order, fill_id=f"{word} filled")
    ImportBatchFactory(deployment=deployment, name=f"{word} file")
    own = DeploymentFactory(version__skill__name=f"{word} trades", broker_kind="live", label=f"{word} futures")
    ImportBatchFactory(deployment=own, name=f"{word} trades")
    PositionCheckFactory(deployment=own, is_opening=True)
    VenueAccountFactory(markets=[word], error=f"{word} failed", gaps=[f"{word} is missing"])
    TradeFileFactory(name=f"{word}.csv")
    fact = remember_fact(content=f"{word} never goes above 5x", now=MAY).fact
    TradingRuleFactory(fact_id=fact.pk, lineage=fact.lineage, words=fact.content)
    FundingPaymentFactory(deployment=deployment)
    PositionCheckFactory(deployment=deployment)
    EquityPointFactory(deployment=deployment)
    TradeFactory(deployment=deployment, entry_reason=f"{word} hoped", entry_snapshot=snapshot, exit_reason=word)
    held = TradeFactory(deployment=deployment, still_open=True, symbol="ETH", entry_reason=f"{word} hopes")
    picture = {"picture": word.encode(), "picture_width": 4, "picture_height": 3}
    TradeRemarkFactory(trade_id=held.pk, text=f"{word} doubts", tags=f",{word}-tag,", **picture)
    SavedFilterFactory(name=f"{word} saved", query=f"q={word}")
    ReflectionNoteFactory(deployment=deployment, lessons_text=f"- {word} learned")
    ReflectionNoteFactory(deployment=None, skill=deployment.skill, lessons_text=f"- {word} kept")
    ReflectionRunFactory(deployment=deployment, status="failed", error=f"{word} was silent")


def _write_cards(word: str) -> None:
    """Draw cards as of now, since they live for minutes: two that wait, one cancelled; a reply shows the first."""
    deployment = Deployment.objects.get(broker_kind="paper", skill__in=Skill.objects.filter(name=f"{word} dips"))
    conversation = Conversation.objects.get(title=f"1 {word} plans")
    stop, flatten, deploy = (
        draw_card(conversation_id=conversation.pk, action=action, now=timezone.now())
        for action in (
            Action("stop", deployment_id=deployment.pk),
            Action("flatten", deployment_id=deployment.pk),
            Action("deploy", skill_id=deployment.skill_id),
        )
    )
    cancel_card(card_id=flatten.pk, now=timezone.now())
    shown = [{"kind": "card", "step": 0, "card_id": str(card.pk)} for card in (stop, deploy)]
    asked = MessageFactory(conversation=conversation, content=f"{word} wants out")
    ReplyFactory(reply_to=asked, content="", parts=shown)


def _parts(word: str, event: MemoryEvent) -> list[dict[str, Any]]:
    call = {"call_id": f"call_{word}", "name": "remember", "arguments": f'{{"fact": "{word}"}}', "status": "done"}
    memory = {"event_id": str(event.pk), "event_kind": event.kind, "fact_id": str(event.lineage)}
    return [
        {"kind": "text", "step": 0, "text": f"{word} is told"},
        {"kind": "tool", "step": 0, "result": {"saved": word}, **call},
        {"kind": "memory", "step": 0, "text": word, **memory},
    ]


def filled(text: str, names: Names) -> str:
    """Return the text with names in the place of their braces."""
    for name, value in names.items():
        text = text.replace(f"{{{name}}}", value)
    return text


@dataclass(frozen=True)
class Answer:
    """What came back, and the names it was asked with."""

    text: str
    names: Names

    @property
    def comparable(self) -> str:
        """The text without what differs from request to request."""
        text = self.text.replace(quote_plus(self.names["words"]), "<words>").replace(self.names["words"], "<words>")
        text = re.sub(r'"topic": "[a-z]*"', '"topic": ""', text)  # a topic is guessed from the words themselves
        text = re.sub(rf"\b(after|conversation)={self.names['message_id']}\b", "<id>", text)
        text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", text)
        return re.sub(r"\b[A-Za-z0-9]{64}\b|\bkeel_\d+_[\w-]+", "<token>", text)

    def gives_away(self, person: Person) -> list[str]:
        """Return what the text tells of a person beyond the names it was asked with."""
        text = unquote_plus(unquote_plus(self.text))  # an address may stand inside of another
        for name in self.names.values():
            text = text if name.isdecimal() else text.replace(name, "")  # without a 1, no id would be whole
        return [secret for secret in person.secrets if secret in text]


def unknown_names(unused_message_id: int) -> Names:
    """Return names that nobody bears, of the same shape as a person's."""
    ids = {f"{kind}_id": str(uuid4()) for kind in (*KINDS, "client", "batch")}
    numbers = {
        "message_id": str(unused_message_id),
        "user_id": "987654321",
        "opening_id": "765432109",
        "tick": "876543",
        "version": "765432",
    }
    return {**ids, **numbers, "words": "nobody said this", "digest": "0" * 64}


def make_unused_message_id() -> int:
    """Return the id of a message that is gone, below those of everybody who is made later."""
    with system_tx("test"):
        user = TraderFactory()
        message = MessageFactory(user=user, conversation=ConversationFactory(user=user))
        unused = message.pk
        user.delete()
    return unused


def dump(user: Trader) -> dict[str, list[tuple]]:
    """Return every row that belongs to a user, and the user's own, as the database holds them."""
    tables = [model._meta.db_table for model in apps.get_models() if issubclass(model, OwnedModel)]
    with system_tx("test: what the database holds"), connection.cursor() as cursor:
        found = {}
        for table, column in [*((table, "user_id") for table in tables), (Trader._meta.db_table, "id")]:
            cursor.execute(f"SELECT * FROM {table} WHERE {column} = %s ORDER BY id", [user.pk])  # noqa: S608
            found[table] = cursor.fetchall()
    return found


def mark_as_running(person: Person) -> Conversation:
    """Return the conversation in which a reply is being written, its turn alive as of now."""
    with owned_tx(person.user):
        reply = Message.objects.streaming().get()
        Message.objects.filter(pk=reply.pk).update(heartbeat_at=timezone.now())
        return reply.conversation


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
