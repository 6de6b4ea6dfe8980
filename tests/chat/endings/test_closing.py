import json
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import connection

from chat.conversations.lifecycle import MAX_TRIES, note_here, note_left, request_close, trash_conversation
from chat.endings import closing
from chat.endings.closing import ClosingOutcome, close_if_due
from chat.models import Conversation, ConversationStatus, MemorySnapshot, Message
from chat.prompt.texts import as_blocks
from chat.turns.accept import retry_reply
from config.lib.llm.door import LLMUnavailable
from config.lib.owned import owned, owned_tx
from config.lib.work.leases import LEASE
from config.lib.work.models import SiteDay
from config.lib.work.spending import find_next_day
from memory.facts.services import set_switches
from memory.models import MemoryProposal, UserFact
from tests.chat import talk
from tests.chat.closings import add_exchange, answer, asked, close, close_due, fact, make_chat
from tests.factories.chat import MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, UserFactFactory
from tests.memory.claims.test_sentences import TUNED, UNSEEN
from tests.owners import as_owner

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
BTC = "I only trade BTC and ETH perps."


@pytest.fixture
def chat(trader):
    """An active chat of one exchange."""
    return as_owner(trader, lambda: make_chat((BTC, "Noted.")))


def reread(conversation, user):
    """Return the row as it now is."""
    return as_owner(user, lambda: Conversation.objects.get(pk=conversation.pk))


def facts_of(user):
    """Return the words of the facts that are believed."""
    return as_owner(
        user, lambda: [row.content for row in UserFact.objects.believed().order_by("created_at", "content")]
    )


def ids_of(conversation, user):
    """Return the ids of the messages, oldest first."""
    with owned(user):
        return list(Message.objects.filter(conversation=conversation).order_by("pk").values_list("pk", flat=True))


# --- What a close does ---


def test_close_learns_and_marks_the_chat_idle(trader, chat, model):
    answer(model, fact("Only trades BTC and ETH perps", topic="symbols"), summary="About symbols.")

    closed = close(chat, trader)

    row = reread(chat, trader)
    assert (closed.outcome, closed.learned.saved) == (ClosingOutcome.IDLE, 1)
    assert (row.status, row.summary) == (ConversationStatus.IDLE, "About symbols.")
    assert (row.closing_token, row.closing_until, row.left_at) == (None, None, None)
    assert row.extracted_through == ids_of(chat, trader)[-1]


def test_close_that_is_repeated_calls_no_model(trader, chat, model):
    answer(model)
    close(chat, trader)

    assert close(chat, trader).outcome == ClosingOutcome.NOT_NEEDED

    assert len(model.requests) == 1


def test_close_of_a_chat_without_a_word_of_the_user_calls_no_model(trader, model):
    chat = as_owner(trader, make_chat)

    assert close(chat, trader).outcome == ClosingOutcome.IDLE
    assert model.requests == []


def test_next_close_extracts_the_new_turns_alone_with_the_summary_of_the_old(trader, chat, model):
    answer(model, summary="They spoke of symbols.")
    close(chat, trader)
    send(chat, trader, "I never risk more than 1% per trade.")
    answer(model)

    close(chat, trader)

    assert "1%" in asked(model)
    assert "perps" not in asked(model)
    assert "They spoke of symbols." in asked(model)


def send(chat, user, text):
    """Send a message and let its turn end."""
    with owned_tx(user):
        accepted = talk.send(chat, text)
        talk.finish(accepted.reply)
    return accepted


def test_long_chat_is_extracted_in_parts_and_the_watermark_moves_with_each(trader, model, monkeypatch):
    monkeypatch.setattr(closing, "CHUNK_TOKENS", 120)
    chat = as_owner(trader, lambda: make_chat(*[(f"{BTC} Part {n}. " + "word " * 40, "Noted.") for n in range(3)]))
    for number in range(2):
        answer(model, summary=f"Summary {number}.")
    model.say(RuntimeError("gone"))

    closed = close(chat, trader)

    row, ids = reread(chat, trader), ids_of(chat, trader)
    assert closed.outcome == ClosingOutcome.PUT_OFF
    assert ids[0] < row.extracted_through < ids[-1]
    assert row.summary == "Summary 1."
    assert "Summary 0." in asked(model, 1)


def test_replaced_replies_are_not_sent(trader, model):
    chat = as_owner(trader, make_chat)
    with owned_tx(trader):
        message = add_exchange(chat, BTC, "The second answer.")
        ReplyFactory(reply_to=message, content="The first answer.", replaced=True)
    answer(model)

    close(chat, trader)

    assert "The second answer." in asked(model)
    assert "The first answer." not in asked(model)


def test_known_facts_are_told_with_who_said_them(trader, chat, model):
    with owned_tx(trader):
        said = UserFactFactory(content="Retires at 50")
        learned = UserFactFactory(content="Likes short answers", learned=True)
    answer(model)

    close(chat, trader)

    inside = asked(model).split("<known_facts>\n")[1].split("</known_facts>")[0]
    told = [json.loads(line) for line in inside.strip().split("\n")]
    assert {known["id"]: known["explicit"] for known in told} == {str(said.pk): True, str(learned.pk): False}


# --- Reconciling: the rules of trust ---


# What the user types, and how an extractor words it while it quotes them letter for letter.
OTHER_WORDS = [
    ("I trade the New York session.", "Trades the NY session"),
    ("Age: 34", "Is thirty-four years old"),
    ("Ich handle nur Bitcoin.", "Only trades BTC"),
    ("make it 2x", "Max leverage is 2x"),
]


@pytest.mark.parametrize(("typed", "content"), OTHER_WORDS, ids=[typed for typed, _ in OTHER_WORDS])
def test_what_an_extractor_quotes_of_the_user_is_saved_or_proposed_in_a_clean_chat(trader, model, typed, content):
    chat = as_owner(trader, make_chat)
    with owned_tx(trader):
        add_exchange(chat, typed, "Noted.")
    quoted = typed.rstrip(".").replace("’", "'")
    answer(model, fact(content, quotes=[{"text": quoted}]))

    learned = close(chat, trader).learned

    assert (learned.saved + learned.proposed, learned.dropped) == (1, 0)
    if learned.saved:
        [line] = facts_of(trader)
        assert typed.replace("’", "'").startswith(line)  # the user's sentence, not the model's wording
    else:
        assert facts_of(trader) == []
        with owned(trader):
            proposal = MemoryProposal.objects.get()
            [quote] = proposal.evidence["quotes"]
            message = Message.objects.get(pk=quote["message_id"])
        assert message.content[quote["start"] : quote["end"]] == typed.rstrip(".")
        assert proposal.evidence["why"].startswith("You said this in other words")


def test_most_of_what_an_extractor_words_otherwise_is_saved_at_once(trader, model):
    counts = []
    for typed, content in [*TUNED, *UNSEEN]:
        chat = as_owner(trader, make_chat)
        with owned_tx(trader):
            add_exchange(chat, typed, "Noted.")
        answer(model, fact(content, quotes=[{"text": typed}]))
        counts.append(close(chat, trader).learned)

    assert sum(learned.dropped for learned in counts) == 0
    assert sum(learned.saved for learned in counts) >= 18, counts  # of 20; the others wait for a click


@pytest.mark.parametrize(
    ("typed", "quoted"),
    [
        ("Should I always use a stop?", "Should I always use a stop?"),
        ('My friend says: "always use 50x".', "always use 50x"),
        ("I trade gold.", "I trade silver."),
    ],
)
def test_quote_that_is_no_statement_of_the_user_is_no_reason_to_propose(trader, model, typed, quoted):
    chat = as_owner(trader, make_chat)
    with owned_tx(trader):
        add_exchange(chat, typed, "Noted.")
    answer(model, fact("Goes all in with everything", quotes=[{"text": quoted}]))

    assert close(chat, trader).learned.dropped == 1


def test_close_twice_over_the_same_turns_saves_once(trader, chat, model):
    for _ in range(2):
        answer(model, fact("Only trades BTC and ETH perps"))
    close(chat, trader)
    as_owner(trader, lambda: Conversation.objects.update(extracted_through=0, status=ConversationStatus.ACTIVE))

    assert close(chat, trader).learned.known == 1
    assert facts_of(trader) == ["Only trades BTC and ETH perps"]


# --- What teaches nothing ---


def test_trashed_chat_is_not_extracted(trader, chat, model):
    as_owner(trader, lambda: trash_conversation(conversation_id=chat.pk, now=JUNE))

    assert close(chat, trader).outcome == ClosingOutcome.NOT_NEEDED
    assert model.requests == []


@pytest.mark.parametrize(
    ("act", "status", "token"),
    [
        (lambda pk: trash_conversation(conversation_id=pk, now=JUNE), ConversationStatus.IDLE, None),
        (lambda pk: talk.send(Conversation(pk=pk)), ConversationStatus.ACTIVE, None),
        (lambda pk: Conversation.objects.update(closing_token=UUID(int=1)), ConversationStatus.CLOSING, UUID(int=1)),
    ],
    ids=["trash", "message", "lease taken by another"],
)
def test_chat_taken_back_during_a_close_drops_the_extracted_facts(trader, chat, model, monkeypatch, act, status, token):
    during(monkeypatch, lambda: act(chat.pk))
    answer(model, fact("Only trades BTC and ETH perps"))

    assert close(chat, trader).outcome == ClosingOutcome.TAKEN_BACK

    row = reread(chat, trader)
    assert (row.status, row.extracted_through, row.closing_token) == (status, 0, token)
    assert facts_of(trader) == []


def during(monkeypatch, act):
    """Do something while the extractor thinks."""
    extract = closing.extract_facts

    async def extract_meanwhile(*args, **options):
        found = await extract(*args, **options)
        meanwhile.append(found)
        return found

    meanwhile = []
    monkeypatch.setattr(closing, "extract_facts", extract_meanwhile)
    hold = closing.hold_closing

    def hold_after(*args, **kwargs):
        if len(meanwhile) == 1:
            meanwhile.append(act())
        return hold(*args, **kwargs)

    monkeypatch.setattr(closing, "hold_closing", hold_after)


def test_temporary_chat_teaches_nothing_and_is_deleted_when_it_ends(trader, model):
    chat = as_owner(trader, lambda: make_chat((BTC, "Noted."), is_temporary=True))

    assert close(chat, trader).outcome == ClosingOutcome.DELETED

    assert model.requests == []
    with owned(trader):
        assert not Conversation.objects.exists()
        assert not Message.objects.exists()


def test_what_was_said_before_and_during_a_pause_of_learning_is_passed_over_for_good(trader, chat, model):
    as_owner(trader, lambda: set_switches(learns=False))
    assert close(chat, trader).outcome == ClosingOutcome.IDLE
    send(chat, trader, "I only trade silver.")
    as_owner(trader, lambda: set_switches(learns=True))
    send(chat, trader, "I never risk more than 1% per trade.")
    answer(model)

    close(chat, trader)

    assert len(model.requests) == 1
    assert [word in asked(model) for word in ("1%", "perps", "silver")] == [True, False, False]


def test_pause_during_a_close_drops_the_extracted_facts(trader, chat, model, monkeypatch):
    during(monkeypatch, lambda: set_switches(learns=False))
    answer(model, fact("Only trades BTC and ETH perps"), summary="About symbols.")

    assert close(chat, trader).outcome == ClosingOutcome.IDLE
    assert facts_of(trader) == []
    row = reread(chat, trader)
    assert (row.summary, row.extracted_through) == ("", ids_of(chat, trader)[-1])


# --- A message takes the chat back ---


def test_message_during_a_close_keeps_the_memory_block(trader, chat, model):
    with owned_tx(trader):
        first = talk.send(chat, "One")
        talk.finish(first.reply)
        request_close(conversation_id=chat.pk, now=JUNE)
        second = talk.send(chat, "Two")

    assert first.reply.snapshot_id == second.reply.snapshot_id


@pytest.mark.parametrize("status", [ConversationStatus.IDLE, ConversationStatus.ARCHIVED])
def test_reopened_chat_gets_the_memory_of_today_and_its_old_messages_keep_theirs(trader, chat, status):
    first = send(chat, trader, "One")
    with owned_tx(trader):
        Conversation.objects.filter(pk=chat.pk).update(status=status)
        UserFactFactory(content="Trades silver now")
    second = send(chat, trader, "Two")

    assert "silver" in as_blocks(second.turn.sent.segments)[0]["text"]
    with owned(trader):
        assert Message.objects.get(pk=first.reply.pk).snapshot_id == first.reply.snapshot_id
        assert MemorySnapshot.objects.count() == 2
        assert Conversation.objects.get(pk=chat.pk).snapshot_id == second.reply.snapshot_id
    assert reread(chat, trader).status == ConversationStatus.ACTIVE


def test_retry_reopens_a_chat_too(trader, chat):
    as_owner(trader, lambda: Conversation.objects.update(status=ConversationStatus.IDLE))

    as_owner(trader, lambda: retry_reply(conversation_id=chat.pk, now=JUNE))

    assert reread(chat, trader).status == ConversationStatus.ACTIVE


# --- Failures ---


def fail_extraction(monkeypatch, error=None):
    """Let the model be not to be had, or another error be raised."""

    async def fail(*args, **options):
        raise error or LLMUnavailable("timeout")

    monkeypatch.setattr(closing, "extract_facts", fail)


def test_failed_extraction_is_tried_five_times_ever_later(trader, chat, monkeypatch):
    fail_extraction(monkeypatch)
    moment, waits = JUNE, []
    for _ in range(MAX_TRIES - 1):
        assert close(chat, trader, at=moment).outcome == ClosingOutcome.PUT_OFF
        row = reread(chat, trader)
        assert (row.status, row.extraction_tries, row.extraction_pending) == ("idle", len(waits) + 1, True)
        due = row.extraction_due_at
        waits.append(due - moment)
        moment = due

    assert waits == [MINUTE, 5 * MINUTE, 25 * MINUTE, 125 * MINUTE]
    assert close(chat, trader, at=moment).outcome == ClosingOutcome.GIVEN_UP
    row = reread(chat, trader)
    assert (row.extraction_pending, row.extraction_due_at, row.extracted_through) == (False, None, 0)
    assert close_due(moment + timedelta(days=9)) == []


def test_failed_extraction_is_learned_at_the_next_try(trader, chat, model, monkeypatch):
    with monkeypatch.context() as patch:
        fail_extraction(patch)
        close(chat, trader)
    assert close_due(JUNE) == []
    answer(model, fact("Only trades BTC and ETH perps"))

    (closed,) = close_due(JUNE + MINUTE)

    assert closed.outcome == ClosingOutcome.IDLE
    assert facts_of(trader) == ["Only trades BTC and ETH perps"]
    assert not reread(chat, trader).extraction_pending


def test_close_without_tokens_of_the_site_waits_for_the_next_day_and_counts_no_try(trader, chat, model, settings):
    settings.EXTRACT_MODELS, settings.SITE_DAILY_TOKEN_BUDGET = ["scripted/model"], 1
    SiteDay.objects.create(day=JUNE.date(), tokens=1)

    assert close(chat, trader).outcome == ClosingOutcome.PUT_OFF

    row = reread(chat, trader)
    assert (row.status, row.extraction_tries, row.extraction_due_at) == ("idle", 0, find_next_day(JUNE))
    assert model.requests == []
    answer(model, fact("Only trades BTC and ETH perps"))
    assert [closed.outcome for closed in close_due(find_next_day(JUNE))] == [ClosingOutcome.IDLE]
    assert facts_of(trader) == ["Only trades BTC and ETH perps"]
    assert SiteDay.objects.get(day=find_next_day(JUNE).date()).tokens > 0


def test_message_gives_what_was_given_up_another_round_of_tries(trader, chat, model):
    as_owner(trader, lambda: Conversation.objects.update(status=ConversationStatus.IDLE, extraction_tries=MAX_TRIES))
    send(chat, trader, "Anything new?")
    answer(model, fact("Only trades BTC and ETH perps"))

    close(chat, trader)

    assert facts_of(trader) == ["Only trades BTC and ETH perps"]


def test_archived_chat_stays_archived_when_its_extraction_is_tried_again(trader, chat, model):
    as_owner(trader, lambda: Conversation.objects.update(status=ConversationStatus.ARCHIVED))
    answer(model)

    assert close(chat, trader).outcome == ClosingOutcome.ARCHIVED
    assert reread(chat, trader).status == ConversationStatus.ARCHIVED


def test_fault_of_ours_is_logged_and_counts_as_a_try(trader, chat, monkeypatch, caplog):
    fail_extraction(monkeypatch, ZeroDivisionError())

    assert close(chat, trader).outcome == ClosingOutcome.PUT_OFF
    assert f"Closing conversation {chat.pk} failed" in caplog.text
    assert reread(chat, trader).extraction_tries == 1


def test_answers_that_cannot_be_read_lose_nothing(trader, chat, model):
    for _ in range(3):
        model.say("I would rather not.")

    assert close(chat, trader).outcome == ClosingOutcome.PUT_OFF
    assert reread(chat, trader).extracted_through == 0


def test_log_holds_no_word_of_the_chat(trader, chat, monkeypatch, caplog):
    caplog.set_level("DEBUG")
    fail_extraction(monkeypatch)

    close(chat, trader)

    assert "perps" not in caplog.text


# --- Leases ---


def test_lease_that_holds_keeps_others_away_and_one_that_ran_out_is_taken(trader, chat, model):
    as_owner(
        trader,
        lambda: Conversation.objects.update(
            status=ConversationStatus.CLOSING, closing_token=uuid4(), closing_until=JUNE + LEASE
        ),
    )
    assert close(chat, trader, at=JUNE + LEASE - MINUTE).outcome == ClosingOutcome.NOT_NEEDED
    assert close_due(JUNE + LEASE - MINUTE) == []
    answer(model)

    (closed,) = close_due(JUNE + LEASE)

    assert closed.outcome == ClosingOutcome.IDLE


def test_chat_whose_turn_runs_is_not_closed(trader, chat, model):
    with owned_tx(trader):
        ReplyFactory(reply_to=MessageFactory(conversation=chat), streaming=True)
        request_close(conversation_id=chat.pk, now=JUNE)

    assert close(chat, trader).outcome == ClosingOutcome.NOT_NEEDED
    assert close_due(JUNE) == []
    assert model.requests == []


def test_no_transaction_is_open_while_the_extractor_thinks(trader, chat, model, monkeypatch):
    depths = []
    extract = closing.extract_facts

    async def look(*args, **options):
        depths.append(len(connection.savepoint_ids))
        return await extract(*args, **options)

    outside = len(connection.savepoint_ids)
    monkeypatch.setattr(closing, "extract_facts", look)
    answer(model)

    close(chat, trader)

    assert depths == [outside]


# --- The job ---


def test_due_are_those_that_were_asked_for_left_or_abandoned(trader, stranger, model):
    def chats():
        asked_for = make_chat((BTC, "Noted."), last_message_at=JUNE)
        request_close(conversation_id=asked_for.pk, now=JUNE)
        left = make_chat((BTC, "Noted."), last_message_at=JUNE)
        note_left(conversation_id=left.pk, now=JUNE - MINUTE)
        make_chat((BTC, "Noted."), left_at=JUNE - MINUTE / 2, last_message_at=JUNE)
        make_chat((BTC, "Noted."), left_at=JUNE + MINUTE, last_message_at=JUNE - timedelta(days=1))
        quiet = make_chat((BTC, "Noted."), last_message_at=JUNE - timedelta(hours=1))
        make_chat((BTC, "Noted."), last_message_at=JUNE - timedelta(minutes=59))
        return asked_for, left, quiet

    mine, theirs = as_owner(trader, chats), as_owner(stranger, chats)
    for _ in range(6):
        answer(model)

    closed = close_due(JUNE)

    assert [one.outcome for one in closed] == [ClosingOutcome.IDLE] * 6
    for user, chats_of in ((trader, mine), (stranger, theirs)):
        idle = as_owner(user, lambda: set(Conversation.objects.filter(status="idle").values_list("pk", flat=True)))
        assert idle == {chat.pk for chat in chats_of}


def test_close_if_due_leaves_a_chat_to_which_somebody_came_back(trader, chat):
    as_owner(trader, lambda: note_left(conversation_id=chat.pk, now=JUNE - MINUTE))
    as_owner(trader, lambda: note_here(conversation_id=chat.pk, now=JUNE))

    closed = close_if_due(chat.pk, user_id=trader.pk, clock=lambda: JUNE)

    assert closed.outcome == ClosingOutcome.NOT_NEEDED
    assert reread(chat, trader).status == ConversationStatus.ACTIVE
