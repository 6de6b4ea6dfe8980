import json
import logging
from datetime import timedelta
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.db import connection

from chat.endings.closing import close_conversation
from chat.endings.erasure import ERASED, erase_fact, erase_user, list_source_messages, purge_trash
from chat.models import Conversation, ConversationSummary, MemorySnapshot, Message
from chat.prompt.assistants import sent_prompt
from chat.prompt.texts import as_blocks
from chat.tools.base import ToolContext
from chat.turns.accept import accept_message
from chat.turns.replies import finish_reply
from config.lib.owned import owned, owned_tx, system_tx
from memory.facts.services import delete_fact, remember_fact
from memory.facts.versions import FactChanged, FactNotFound, Origin
from memory.models import MemoryEvent, UserFact
from tests.chat.closings import answer, make_chat
from tests.chat.closings import fact as found
from tests.chat.tools.binding import bind_tools
from tests.factories.chat import (
    ConversationFactory,
    ConversationSummaryFactory,
    MemorySnapshotFactory,
    MessageFactory,
    ReplyFactory,
)
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.owners import as_owner
from tests.strangers import dump, make_person
from trading.models import Trader

pytestmark = pytest.mark.django_db
CANARY = "zebrafinch"
THIRTY_DAYS = timedelta(days=30)


def every_text(word):
    """Return where a word stands: each table of the database, Django's and the index's own among them, in full."""
    places = []
    with system_tx("test: what the database holds"), connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            if any(word in _text(value) for row in cursor.fetchall() for value in row):
                places.append(table)
    return places


def _text(value):
    if isinstance(value, bytes | memoryview):
        return bytes(value).decode("utf-8", "replace").lower()
    return str(value).lower()


def save_with_the_coach(user, text, typed):
    """Let a message's turn remember something, as it happens: call, result and memory line stand in the reply."""
    with owned_tx(user):
        chat = ConversationFactory()
        accepted = accept_message(conversation_id=chat.pk, client_id=uuid4(), text=typed, now=JUNE)
    context = ToolContext(user_id=user.pk, now=JUNE, conversation_id=chat.pk, message_id=accepted.message.pk)
    arguments = json.dumps({"fact": text, "topic": "goal", "confidence": "asserted"})
    result = bind_tools("coach", context)["remember"].call(arguments)
    assert "memoryEvent" in result, result
    event = result["memoryEvent"]
    parts = [
        {"kind": "tool", "step": 0, "call_id": "a", "name": "remember", "arguments": arguments, "status": "done",
         "result": result},
        {"kind": "memory", "step": 0, "event_id": event["id"], "event_kind": "save", "text": text,
         "fact_id": result["fact_id"]},
        {"kind": "text", "step": 1, "text": "Noted."},
    ]  # fmt: skip
    with owned_tx(user):
        finish_reply(reply_id=accepted.reply.pk, status="complete", parts=parts, text="Noted.", now=JUNE)
    return chat, accepted


def trash(user, **lookup):
    """Put the fact into the trash and return it."""
    with owned_tx(user):
        fact = UserFact.objects.believed().get(**lookup)
        delete_fact(fact_id=fact.pk, now=JUNE)
    return fact


def erase(fact, **options):
    """Put the fact into the trash and delete it for good, as the owner in scope."""
    delete_fact(fact_id=fact.pk, now=JUNE)
    erase_fact(fact_id=fact.pk, **options)


# --- One fact ---


def test_erased_fact_is_gone_from_every_table_with_its_source(trader):
    typed = f"Remember that my goal is a {CANARY}"
    save_with_the_coach(trader, f"Wants a {CANARY}", typed)
    with owned_tx(trader):
        later = ConversationFactory()
        accept_message(conversation_id=later.pk, client_id=uuid4(), text="Hello", now=JUNE)
    assert {"user_facts", "agent_messages", "memory_snapshots"} <= set(every_text(CANARY))
    fact = trash(trader, content=f"Wants a {CANARY}")

    as_owner(trader, lambda: erase_fact(fact_id=fact.pk, with_messages=True))

    assert every_text(CANARY) == []
    assert every_text(str(fact.pk)) == ["memory_snapshots"]  # an id, without a word


def test_erased_fact_leaves_the_messages_unless_they_are_to_go_too(trader):
    typed = f"Remember that my goal is a {CANARY}"
    chat, accepted = save_with_the_coach(trader, f"Wants a {CANARY}", typed)
    fact = trash(trader, content=f"Wants a {CANARY}")

    as_owner(trader, lambda: erase_fact(fact_id=fact.pk))

    with owned(trader):
        assert Message.objects.get(pk=accepted.message.pk).content == typed
        tool, line, text = Message.objects.get(pk=accepted.reply.pk).parts
    assert (tool["arguments"], tool["result"], line["text"]) == ("{}", {"note": ERASED}, ERASED)
    assert text["text"] == "Noted."
    assert chat.pk == accepted.turn.conversation_id


def test_sources_are_what_was_quoted_and_what_asked_for_it(trader):
    with owned_tx(trader):
        chat = ConversationFactory()
        quoted, asking, other = (MessageFactory(conversation=chat) for _ in range(3))
        origin = Origin(
            conversation_id=chat.pk, message_id=asking.pk, quotes=({"message_id": quoted.pk, "start": 0, "end": 4},)
        )
        fact = remember_fact(content="Wants a boat", origin=origin, now=MAY).fact

        assert list_source_messages(fact_id=fact.pk) == [quoted, asking]
        erase(fact, with_messages=True)

        assert list(Message.objects.all()) == [other]


def test_erased_sources_take_their_answers_the_title_and_quotes_of_other_facts_along(trader):
    with owned_tx(trader):
        chat = ConversationFactory(title=f"I want a {CANARY}")
        message = MessageFactory(conversation=chat, content=f"I want a {CANARY} and a boat")
        ReplyFactory(reply_to=message, content=f"A {CANARY}, then.")
        quote = {"message_id": message.pk, "start": 0, "end": 9}
        fact = UserFactFactory(content=f"Wants a {CANARY}", learned=True, quotes=[quote])
        other = UserFactFactory(content="Wants a boat", learned=True, quotes=[quote])
        erase(fact, with_messages=True)

        assert UserFact.objects.get(pk=other.pk).quotes == []
        assert Conversation.objects.get(pk=chat.pk).title == ""
    assert every_text(CANARY) == []


def test_scrubbed_snapshot_keeps_its_digest_and_says_that_it_was_erased(trader):
    with owned_tx(trader):
        fact = UserFactFactory(content="Wants a boat")
        chat = ConversationFactory()
        held = MemorySnapshotFactory(conversation=chat, text="- Wants a boat", fact_ids=[str(fact.pk)])
        other = MemorySnapshotFactory(conversation=chat, text="- Trades BTC", fact_ids=[str(uuid4())])
        empty = MemorySnapshotFactory(conversation=chat, text="")
        Conversation.objects.filter(pk=chat.pk).update(snapshot=held, summary="They want a boat.")
        erase(fact)

        now = {row.pk: row for row in MemorySnapshot.objects.all()}
        assert (now[held.pk].text, now[held.pk].sha256, now[held.pk].is_erased) == ("", held.sha256, True)
        assert (now[other.pk].text, now[other.pk].is_erased) == ("- Trades BTC", False)
        assert not now[empty.pk].is_erased
        row = Conversation.objects.get(pk=chat.pk)
        assert (row.snapshot, row.summary) == (None, "")


def test_chat_goes_on_with_a_new_block_after_its_own_was_scrubbed(trader):
    with owned_tx(trader):
        fact = UserFactFactory(content="Wants a boat")
        UserFactFactory(content="Trades BTC only")
        chat = ConversationFactory()
        first = accept_message(conversation_id=chat.pk, client_id=uuid4(), text="Hello", now=JUNE)
        finish_reply(reply_id=first.reply.pk, status="complete", parts=[], text="", now=JUNE)
        erase(fact)

        second = accept_message(conversation_id=chat.pk, client_id=uuid4(), text="Again", now=JUNE)

    assert "boat" in as_blocks(first.turn.sent.segments)[0]["text"]
    assert "boat" not in as_blocks(second.turn.sent.segments)[0]["text"]
    assert "Trades BTC only" in as_blocks(second.turn.sent.segments)[0]["text"]


def test_receipt_of_a_scrubbed_prompt_says_that_the_text_is_deleted(trader):
    with owned_tx(trader):
        fact = UserFactFactory(content="Wants a boat")
        chat = ConversationFactory()
        accept_message(conversation_id=chat.pk, client_id=uuid4(), text="Hello", now=JUNE)
        digest = MemorySnapshot.objects.get().sha256
        assert "Wants a boat" in sent_prompt(Conversation.objects.get(), now=JUNE)
        erase(fact)

        receipt = sent_prompt(Conversation.objects.get(), now=JUNE)

    assert "Wants a boat" not in receipt
    assert f"Text deleted. What was sent had the SHA-256 {digest}." in receipt


def test_erase_fact_drops_the_provider_state_of_chats_that_knew_the_fact(trader):
    with owned_tx(trader):
        fact = UserFactFactory(content="Wants a boat")
        knew, other = ConversationFactory(), ConversationFactory()
        held = MemorySnapshotFactory(conversation=knew, text="- Wants a boat", fact_ids=[str(fact.pk)])
        state = {"model": "m", "message": {"reasoning_content": "They want a boat"}}
        call = {"kind": "tool", "step": 0, "call_id": "c", "name": "recall", "arguments": "{}", "status": "done"}
        parts = [{**call, "result": {}, "provider": state}]
        replies = [
            MessageFactory(conversation=chat, role="assistant", parts=parts, snapshot=snapshot)
            for chat, snapshot in ((knew, held), (other, None))
        ]
        erase(fact)

        kept = [Message.objects.get(pk=reply.pk).parts[0] for reply in replies]
    assert ["provider" in part for part in kept] == [False, True]


def test_summary_of_a_chat_that_named_the_fact_goes_with_it(trader):
    save_with_the_coach(trader, "Wants a boat", "I want a boat")
    with owned_tx(trader):
        named, other = Conversation.objects.get(), ConversationFactory()
        for chat in (named, other):
            ConversationSummaryFactory(conversation=chat, text="They want a boat")
        erase(UserFact.objects.get())

        assert ConversationSummary.objects.get().conversation_id == other.pk


def test_erase_fact_keeps_text_about_other_facts(trader):
    _, accepted = save_with_the_coach(trader, "Wants a boat", "I want a boat")
    with owned_tx(trader):
        before = Message.objects.get(pk=accepted.reply.pk).parts
        fact = UserFactFactory(content="Wants a house")
        erase(fact)

        assert Message.objects.get(pk=accepted.reply.pk).parts == before


def test_chat_that_was_opened_about_an_erased_fact_forgets_which(trader):
    with owned_tx(trader):
        fact = UserFactFactory(content="Wants a boat")
        chat = ConversationFactory(opening_context={"mode": "ops", "fact_id": str(fact.pk)})
        erase(fact)

        assert Conversation.objects.get(pk=chat.pk).opening_context == {"mode": "ops"}


def test_only_a_fact_of_the_trash_is_erased(trader):
    with owned_tx(trader):
        fact = UserFactFactory()
        with pytest.raises(FactChanged):
            erase_fact(fact_id=fact.pk)
        with pytest.raises(FactNotFound):
            erase_fact(fact_id=uuid4())
        assert UserFact.objects.get() == fact


# --- The trash, thirty days later ---


def test_purge_erases_chats_and_facts_of_all_users_after_thirty_days(trader, stranger):
    for user in (trader, stranger):
        save_with_the_coach(user, f"Wants a {CANARY}", "My wish, please")
        trash(user, content=f"Wants a {CANARY}")
        as_owner(user, lambda: ConversationFactory(title=CANARY, trashed_at=JUNE))
    assert purge_trash(now=JUNE + THIRTY_DAYS - timedelta(seconds=1)).facts == 0

    purged = purge_trash(now=JUNE + THIRTY_DAYS)

    assert (purged.users, purged.conversations, purged.facts) == (2, 2, 2)
    assert every_text(CANARY) == []


def test_failed_purge_of_one_user_stops_no_other(trader, stranger, monkeypatch, caplog):
    for user in (trader, stranger):
        as_owner(user, lambda: ConversationFactory(trashed_at=JUNE))
    purge = purge_trash.__globals__["purge_conversations"]
    calls = []

    def fail_once(**values):
        calls.append(values)
        if len(calls) == 1:
            raise ZeroDivisionError
        return purge(**values)

    monkeypatch.setitem(purge_trash.__globals__, "purge_conversations", fail_once)

    assert purge_trash(now=JUNE + THIRTY_DAYS).conversations == 1
    assert "was not emptied" in caplog.text


# --- A user ---


def test_erased_user_leaves_no_canary_in_any_table_nor_in_the_log(model, caplog, stranger):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.INFO, logger="factory")  # it tells what this test writes
    person = make_person(CANARY)
    save_with_the_coach(person.user, f"Wants a {CANARY}", f"I want a {CANARY}")
    session = SessionStore()
    session["_auth_user_id"] = str(person.user.pk)
    session["note"] = CANARY
    session.save()
    talk = as_owner(person.user, lambda: make_chat((f"I only trade {CANARY} perps.", "Noted.")))
    answer(model, found(f"Only trades {CANARY} perps"), summary=f"About a {CANARY}.")
    close_conversation(talk.pk, user_id=person.user.pk, clock=lambda: JUNE)
    others = as_owner(stranger, lambda: UserFactFactory(content="Likes gold"))
    before = every_text(CANARY)
    assert {"user_facts", "agent_messages", "agent_conversations", "memory_snapshots", "traders"} <= set(before)

    rows = erase_user(user_id=person.user.pk)

    assert every_text(CANARY) == []
    assert CANARY not in caplog.text
    assert rows["sessions.Session"] == 1
    assert not Session.objects.exists()
    assert not Trader.objects.filter(pk=person.user.pk).exists()
    assert [table for table, left in dump(person.user).items() if left] == []
    assert as_owner(stranger, lambda: UserFact.objects.get()) == others


def test_erased_user_leaves_no_row_that_names_them(trader):
    save_with_the_coach(trader, "Wants a boat", "I want a boat")
    erase_user(user_id=trader.pk)

    with system_tx("test"):
        keyed = [model for model in apps.get_models() if any(f.name == "user" for f in model._meta.fields)]
        assert {model._meta.label for model in keyed if model._default_manager.filter(user=trader.pk).exists()} == set()
    assert len(keyed) > 10


def test_turn_that_runs_while_its_user_is_erased_ends_quietly(trader):
    with owned_tx(trader):
        accepted = accept_message(conversation_id=ConversationFactory().pk, client_id=uuid4(), text="Hello", now=JUNE)
    erase_user(user_id=trader.pk)

    with owned_tx(trader.pk):
        assert not finish_reply(reply_id=accepted.reply.pk, status="complete", parts=[], text=CANARY, now=JUNE)
    assert not as_owner(trader.pk, MemoryEvent.objects.exists)
