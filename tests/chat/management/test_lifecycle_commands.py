import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management.base import CommandError
from django.utils import timezone

from chat.conversations.lifecycle import CLOSE, request_close
from chat.jobs import archive_chats, empty_trash
from chat.models import Conversation, ConversationStatus
from config.lib.owned import owned
from config.lib.work.jobs import get_task
from config.lib.work.models import WorkRun
from config.lib.work.runs import run_rows
from memory.models import UserFact
from tests.chat.closings import answer, fact, make_chat
from tests.commands import run
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE
from tests.owners import as_owner
from trading.models import Trader

pytestmark = pytest.mark.django_db
TYPED = "I only trade BTC and ETH perps."


@pytest.mark.parametrize("is_named", [True, False])
def test_close_conversation_closes_and_says_what_it_learned(trader, model, is_named):
    chat = as_owner(trader, lambda: make_chat((TYPED, "Noted.")))
    answer(model, fact("Only trades BTC and ETH perps"))

    printed = json.loads(run("close_conversation", str(chat.pk), *(["--user", trader.email] * is_named), "--json"))

    assert (printed["outcome"], printed["saved"]) == ("idle", 1)
    assert "nothing to do" in run("close_conversation", str(chat.pk))


def test_close_stale_conversations_closes_what_is_due_and_archives_what_is_old(trader, model):
    def chats():
        due = make_chat((TYPED, "Noted."))
        request_close(conversation_id=due.pk, now=timezone.now())
        old = ConversationFactory(status=ConversationStatus.IDLE, last_message_at=timezone.now() - timedelta(days=31))
        return due, old

    due, old = as_owner(trader, chats)
    answer(model)

    printed = run("close_stale_conversations")

    with owned(trader):
        status = dict(Conversation.objects.values_list("pk", "status"))
    # Its last message is of last May, so it goes on to the archive at once.
    assert status == {due.pk: ConversationStatus.ARCHIVED, old.pk: ConversationStatus.ARCHIVED}
    assert printed.splitlines() == [f"close_chat {trader.pk}:{due.pk}: idle", "archive_chats: 2 chats archived"]


def test_purge_trash_says_how_much_it_erased(trader):
    as_owner(trader, lambda: ConversationFactory(trashed_at=timezone.now() - timedelta(days=31)))

    assert run("purge_trash") == "empty_trash: 1 chats and 0 facts of 1 users erased\n"


@pytest.mark.django_db(transaction=True)
def test_chat_with_close_learns_from_what_was_said(trader, model):
    model.say("Noted.")
    answer(model, fact("Only trades BTC and ETH perps"))

    printed = run("chat", "--user", trader.email, "--close", TYPED)

    assert "idle: 1 facts saved" in printed
    with owned(trader):
        assert UserFact.objects.get().content == "Only trades BTC and ETH perps"
        assert Conversation.objects.get().status == ConversationStatus.IDLE


@pytest.mark.django_db(transaction=True)
def test_temporary_chat_with_close_leaves_nothing(trader, model):
    model.say("Noted.")

    assert "deleted" in run("chat", "--user", trader.email, "--temporary", "--close", TYPED)

    with owned(trader):
        assert not Conversation.objects.exists()
        assert not UserFact.objects.exists()


def test_erase_user_asks_for_the_address_and_says_what_it_deleted(trader, monkeypatch):
    as_owner(trader, ConversationFactory)
    WorkRun.objects.create(name=CLOSE, key=f"{trader.pk}:{uuid4()}")
    WorkRun.objects.create(name=CLOSE, key=f"{trader.pk}1:{uuid4()}")
    monkeypatch.setattr("builtins.input", lambda prompt: "no")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        run("erase_user", trader.email)
    assert Trader.objects.filter(pk=trader.pk).exists()

    monkeypatch.setattr("builtins.input", lambda prompt: trader.email)
    printed = json.loads(run("erase_user", trader.email, "--json"))

    assert not Trader.objects.exists()
    assert printed["rows"]["chat.Conversation"] == 1
    assert WorkRun.objects.get().key.startswith(f"{trader.pk}1:")


def test_run_job_prints_its_summary(trader, stranger, model):
    for user in (trader, stranger):
        chat = as_owner(user, lambda: make_chat((TYPED, "Noted."), last_message_at=JUNE))
        as_owner(user, lambda pk=chat.pk: request_close(conversation_id=pk, now=JUNE))
        answer(model)

    assert [run.summary for run in run_rows(get_task(CLOSE), JUNE)] == ["idle", "idle"]
    assert list(run_rows(get_task(CLOSE), JUNE)) == []
    assert archive_chats(JUNE + timedelta(days=30)) == "2 chats archived"
    assert empty_trash(JUNE) == "0 chats and 0 facts of 0 users erased"
