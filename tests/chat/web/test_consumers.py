import asyncio
import json
import threading
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from channels.layers import InMemoryChannelLayer
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from chat.models import Message, MessageStatus
from chat.turns import live
from chat.turns.replies import finish_reply, save_progress
from chat.web import consumers, rooms
from chat.web.rendering import view_messages
from config.lib.web import find_user
from tests.chat.conftest import new_talk
from tests.chat.tabs import connection, hang_up, open_tab, signed_in, visible
from tests.chat.talk import until
from tests.chat.web.test_figures import without_marks
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = {"type": "snapshot", "seq": 0, "last_message_id": "", "reply": None}


def is_one_by_one(seqs: list[int]) -> bool:
    return seqs == list(range(seqs[0], seqs[0] + len(seqs)))


async def run_in_another_process(talk):
    """Store a message whose turn runs elsewhere: no room of this process knows it."""
    return await talk.say("asked elsewhere")


async def follow_turn(ann, talk, text="Hello"):
    """Send a message in a tab of its own; return the tab and the frame that ends the turn."""
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say(text)
        return tab, await tab.until("done")


def switch_off(user) -> None:
    user.is_active = False
    user.save(update_fields=["is_active"])


# --- One turn, one tab ---


async def test_message_is_accepted_answered_and_done(model, ann, talk):
    model.say("Hello ", "Ann.")
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()

        client_id = await tab.say("Hi there")
        done = await tab.until("done")

    question, reply = await talk.messages()
    accepted = tab.frames[1]
    assert accepted["type"] == "accepted"
    assert (accepted["client_id"], accepted["message_id"]) == (client_id, str(question.pk))
    assert accepted["reply_id"] == done["reply_id"] == str(reply.pk)
    assert f'id="message-{question.pk}"' in accepted["html"]
    assert f'id="message-{reply.pk}"' in accepted["html"]
    assert "Hi there" in accepted["html"]
    assert (done["status"], "<p>Hello Ann.</p>" in done["html"]) == ("complete", True)
    assert is_one_by_one(tab.seqs)
    assert tab.seqs[0] == 1
    assert tab.page.text == "HelloAnn."


ANSWER = """\
# A plan

First *this*, then **that**:

1. Look at the [chart](https://example.com/a)
2. Wait

```python
def wait():

    return "<b>"
```

| a | b |
|---|---|
| 1 | 2 |

> Quoted
> twice

The end.
"""


@pytest.mark.parametrize("size", [1, 7, 40, 1000])
async def test_what_a_tab_shows_while_streaming_is_what_it_shows_at_the_end(model, ann, talk, size):
    model.say(*[ANSWER[at : at + size] for at in range(0, len(ANSWER), size)])
    tab, done = await follow_turn(ann, talk)

    article = done["html"].partition('<div class="message__closed">')[2].partition('<div class="message__open">')[0]
    # The last block is still plain text, and the only one. Figures are compared when the reply has ended.
    assert visible(without_marks(article)).endswith("Theend.")
    assert tab.page.text == visible(without_marks(article))
    assert is_one_by_one(tab.seqs)


async def test_message_that_cannot_be_rendered_at_once_is_answered_all_the_same(model, ann, talk, monkeypatch):
    model.say("Answered.")
    broken = iter([True])
    monkeypatch.setattr(
        "chat.web.frames_html.view_messages", lambda *args: 1 / 0 if next(broken, False) else view_messages(*args)
    )
    tab, done = await follow_turn(ann, talk)

    assert [frame["type"] for frame in tab.frames][1] == "accepted"
    assert "Answered." in done["html"]
    assert is_one_by_one(tab.seqs)


async def test_memory_line_with_its_undo_and_card_of_a_failed_tool_stand_in_the_reply(model, ann, talk):
    model.call("remember", {"fact": "Never trades alts"}, text="Noted.")
    model.call("remember", {"fact": ""})
    model.say("What else?")
    tab, done = await follow_turn(ann, talk)

    types = [frame["type"] for frame in tab.frames]
    assert (types.count("memory"), types.count("tool_finished")) == (1, 1)
    closed_before, memory = tab.frames[types.index("memory") - 1 :][:2]
    assert (closed_before["html"], closed_before["tail"]) == ("<p>Noted.</p>\n", "")
    assert f'id="memory-{memory["event_id"]}"' in memory["html"]
    assert "Never trades alts" in memory["html"]
    assert reverse("memory:undo", args=[memory["event_id"]]) in memory["html"]
    card = tab.frames[types.index("tool_finished")]
    assert f'id="tool-{card["call_id"]}"' in card["html"]
    for frame in (memory, card):
        assert frame["html"].strip() in done["html"]


async def test_markup_of_model_and_user_is_never_html(model, ann, talk):
    attack = "<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1))\n\n<script>alert(1)</script>\n\n\"'>"
    model.say(*(f"{line}\n" for line in attack.split("\n")))
    tab, _ = await follow_turn(ann, talk, attack)

    for frame in tab.frames:
        html = frame.get("html") or ""
        assert "<img" not in html
        assert "<script" not in html
        assert 'href="javascript' not in html


async def test_provider_trouble_is_one_failed_frame(model, ann, talk):
    model.say("Half a", RuntimeError("words of the provider"))
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say()
        failed = await tab.until("failed", "done")
        assert await tab.hears_nothing() or (await tab.next())["type"] == "snapshot"

    assert failed["text"] == "The answer broke off before its end. Please try again."
    assert failed["retry"] is True
    assert "Half a" in failed["html"]
    assert failed["html"].count(failed["text"]) == 1
    assert "words of the provider" not in json.dumps(tab.frames)


# --- Joining, leaving, resuming ---


async def test_turn_outlives_its_socket_and_is_joined_by_another(model, ann, talk):
    gate = Gate()
    model.say("First block.\n\nSecond ", gate, "block.")
    async with open_tab(ann, talk.conversation_id) as first:
        await first.say()
        await until(gate.reached.is_set)
        await first.until("text")

    async with open_tab(ann, talk.conversation_id) as second:
        snapshot = await second.next()
        gate.open()
        await second.until("done")

    reply = await talk.reply()
    assert snapshot["reply"] == {
        "message_id": str(reply.pk),
        "html": "<p>First block.</p>\n",
        "tail": "Second ",
        "status": "streaming",
    }
    assert snapshot["last_message_id"] == str(reply.pk)
    assert second.seqs[0] == snapshot["seq"] + 1
    assert is_one_by_one(second.seqs)
    assert second.page.text == "Firstblock.Secondblock."
    assert reply.status == MessageStatus.COMPLETE


async def test_tabs_that_join_at_any_moment_show_the_same(model, ann, talk, settings):
    settings.SOCKETS_PER_USER = 20
    gates = [Gate() for _ in range(7)]
    pieces = [ANSWER[at : at + 3] for at in range(0, len(ANSWER), 3)]
    for number, gate in enumerate(gates):
        pieces.insert(5 + number * 11, gate)
    model.say(*pieces)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(open_tab(ann, talk.conversation_id))
        await first.say()
        joined = []
        for gate in gates:
            await until(gate.reached.is_set)
            tab = await stack.enter_async_context(open_tab(ann, talk.conversation_id))
            assert (await tab.next())["reply"]
            joined.append(tab)
            gate.open()
        for tab in (first, *joined):
            await tab.until("done")

    for tab in joined:
        assert tab.seqs == list(range(tab.frames[0]["seq"] + 1, tab.frames[-1]["seq"] + 1))
    assert {tab.page.text for tab in joined} == {first.page.text}


async def test_resume_answers_with_a_snapshot(model, ann, talk):
    gate = Gate()
    model.say("So far", gate)
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say()
        text = await tab.until("text")

        await tab.send(type="resume", seq=1)
        snapshot = await tab.until("snapshot")

        gate.open()
        await tab.until("done")
    assert (snapshot["seq"], snapshot["reply"]["tail"]) == (text["seq"], "So far")


async def test_next_turn_may_begin_while_the_last_one_still_says_goodbye(model, ann, talk, monkeypatch):
    async def slow_group_send(self, group, message):
        await asyncio.sleep(0.2)

    monkeypatch.setattr(live, "_send_to_group", lambda *args: slow_group_send(None, *args))
    gate = Gate()
    model.say("One.")
    model.say("Two ", gate, "three.")
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say()
        await tab.until("done")
        await tab.say()
        await until(gate.reached.is_set)
        await asyncio.sleep(0.4)

        running = live.find_turn(talk.conversation_id)
        gate.open()
        await tab.until("done")

    assert running is not None
    assert tab.page.final.count("Two three.") >= 1


# --- Stop, retry, resend ---


async def test_stop_of_any_tab_ends_the_turn(model, ann, talk):
    gate = Gate()
    model.say("Keep this", gate, " not this")
    async with open_tab(ann, talk.conversation_id) as first, open_tab(ann, talk.conversation_id) as second:
        await first.say()
        await first.until("text")
        await second.send(type="stop")
        done = await first.until("done", "failed")

    assert (done["type"], done["status"]) == ("done", "interrupted")
    assert "Keep this" in done["html"]
    assert model.closed == 1
    assert (await talk.reply()).content == "Keep this"


async def test_stop_of_a_turn_in_another_process_is_left_in_its_row(ann, talk):
    await run_in_another_process(talk)
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        await tab.send(type="stop")
        while (await talk.reply()).stop_requested_at is None:
            await asyncio.sleep(0.01)

    assert (await talk.reply()).status == MessageStatus.STREAMING


async def test_retry_takes_the_place_of_the_last_reply(model, ann, talk):
    model.say("First try.")
    model.say("Second try.")
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say("Question")
        first = await tab.until("done")
        await tab.send(type="retry")
        accepted = await tab.until("accepted")
        second = await tab.until("done")

    assert accepted["replaces"] == first["reply_id"] != second["reply_id"] == accepted["reply_id"]
    assert (accepted["client_id"], accepted["message_id"]) == (None, None)
    assert "Question" not in accepted["html"]
    assert "Second try." in second["html"]


async def test_resend_while_the_turn_runs_is_no_second_message(model, ann, talk):
    gate = Gate()
    model.say("Half of it.\n\nAnd", gate, " the rest.")
    async with open_tab(ann, talk.conversation_id) as first:
        client_id = await first.say("Once")
        await first.until("text")

    async with open_tab(ann, talk.conversation_id) as second:
        await second.say("Once", client_id=client_id)
        accepted = await second.until("accepted")
        snapshot = await second.until("snapshot")
        gate.open()
        await second.until("done")

    rows = await talk.messages()
    assert [row.role for row in rows] == ["user", "assistant"]
    assert (accepted["client_id"], accepted["reply_id"]) == (client_id, str(rows[1].pk))
    # The row was behind; the snapshot is not, and what follows continues it.
    assert snapshot["reply"]["tail"] == "And"
    assert second.page.text == "Halfofit.Andtherest."


# --- Refusals ---


async def test_text_that_cannot_be_taken_is_refused(ann, talk):
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        client_id = await tab.say("\x00\u202e")
        failed = await tab.next()

    assert "nothing to send" in failed["text"]
    nothing = {"type": "failed", "seq": 0, "reply_id": None, "retry": False, "html": None}
    assert failed == {**nothing, "client_id": client_id, "text": failed["text"]}
    assert await talk.messages() == []


async def test_longest_message_is_taken(model, ann, talk):
    model.say("Read.")
    text = '"\n' * 8192  # twice as long in JSON
    await follow_turn(ann, talk, text)

    assert (await talk.messages())[0].content == text.strip()


async def test_unreadable_frames_are_refused_and_the_socket_lives_on(ann, talk):
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        for text in ("no json", "[" * 20_000, "1" * 5_000, '{"type": "\\ud800"}'):
            await tab.communicator.send_to(text_data=text)
            refused = await tab.next()
            assert (refused["type"], refused["text"]) == ("failed", consumers.UNREADABLE)
        await tab.send(type="stop")  # of no turn: no fault
        await tab.send(type="resume", seq=0)

        assert await tab.next() == NOTHING


@pytest.mark.limit("chat.web.consumers.MAX_FRAME")
@pytest.mark.parametrize(
    "frame",
    [{"text_data": "x" * (consumers.MAX_FRAME + 1)}, {"bytes_data": b'{"type": "stop"}'}],
    ids=["oversized", "binary"],
)
async def test_frame_of_the_wrong_make_closes_the_socket(ann, talk, frame):
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.communicator.send_to(**frame)

        assert await tab.closed_with() == 4400


# --- Who may come in ---


async def test_socket_of_a_signed_out_browser_or_a_switched_off_account_closes_with_4401(trader, ann, talk):
    await sync_to_async(switch_off)(trader)
    for client in (Client(), ann):
        async with open_tab(client, talk.conversation_id) as tab:
            assert await tab.closed_with() == 4401


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "",
        "null",
        "http://evil.example",
        "http://testserver.evil.example",
        "http://testserver:81",
        "http://testserver@evil.example",
        "http://evil.example/testserver",
        "ftp://testserver",
        "//testserver",
        "testserver",
        "http://TESTSERVER.",
    ],
)
async def test_foreign_page_is_refused_at_the_handshake(ann, talk, origin):
    communicator = connection(ann, talk.conversation_id, origin=origin)

    connected, _ = await communicator.connect(5)

    await hang_up(communicator)
    assert not connected


def test_switched_off_user_opens_no_socket_at_the_handshake_whoever_read_the_session(trader):
    trader.is_active = False

    assert find_user({"user": trader}) is None


async def test_page_without_tls_is_refused_at_the_handshake_of_a_site_with_it(ann, talk, settings):
    settings.SESSION_COOKIE_SECURE = True
    communicator = connection(ann, talk.conversation_id, origin="http://testserver")

    connected, _ = await communicator.connect(5)

    await hang_up(communicator)
    assert not connected


async def test_page_of_a_trusted_origin_may_connect(ann, talk, settings):
    settings.CSRF_TRUSTED_ORIGINS = ["https://keel.example"]

    async with open_tab(ann, talk.conversation_id, origin="https://keel.example") as tab:
        assert await tab.next() == NOTHING


@pytest.mark.limit("config.settings.SOCKETS_PER_USER")
async def test_sixth_socket_closes_the_oldest(ann, talk):
    async with AsyncExitStack() as stack:
        tabs = []
        for _ in range(7):
            tabs.append(await stack.enter_async_context(open_tab(ann, talk.conversation_id)))
            await tabs[-1].next()

        codes = [await tabs[0].closed_with(), await tabs[1].closed_with()]

        for tab in tabs[2:]:
            await tab.send(type="resume", seq=0)
            assert (await tab.next())["type"] == "snapshot"
    assert codes == [4409, 4409]
    assert dict(consumers._open_sockets) == {}


async def test_sockets_of_another_user_do_not_count(ann, stranger, talk):
    bob, theirs = await sync_to_async(signed_in)(stranger), await sync_to_async(new_talk)(stranger)
    async with AsyncExitStack() as stack:
        mine = await stack.enter_async_context(open_tab(ann, talk.conversation_id))
        await mine.next()
        for _ in range(5):
            await stack.enter_async_context(open_tab(bob, theirs.conversation_id))

        assert await mine.hears_nothing()


# --- Sessions that end ---


async def sign_out(client: Client, user) -> None:
    await sync_to_async(client.post)(reverse("account_logout"))


async def change_password_elsewhere(client: Client, user) -> None:
    elsewhere = await sync_to_async(signed_in)(user)
    passwords = {"oldpassword": "old-password-1", "password1": "new-password-2", "password2": "new-password-2"}
    response = await sync_to_async(elsewhere.post)(reverse("account_change_password"), passwords)
    assert response.status_code == 302


@pytest.mark.parametrize("act", [sign_out, change_password_elsewhere])
async def test_socket_closes_at_once_with_its_session(trader, talk, act):
    def prepare() -> Client:
        trader.set_password("old-password-1")
        trader.save(update_fields=["password"])
        return signed_in(trader)

    client = await sync_to_async(prepare)()
    async with open_tab(client, talk.conversation_id) as tab:
        await tab.next()
        await act(client, trader)

        assert await asyncio.wait_for(tab.closed_with(), 5) == 4401


async def test_writing_without_changing_the_session_closes_nothing(ann, talk):
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        response = await sync_to_async(ann.post)(reverse("chat:new"))

        assert response.status_code == 201
        assert await tab.hears_nothing()


async def test_session_that_ends_out_of_sight_is_noticed_in_a_while(trader, ann, talk, monkeypatch):
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.2)
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        await sync_to_async(switch_off)(trader)

        assert await asyncio.wait_for(tab.closed_with(), 5) == 4401


async def test_session_is_looked_at_while_a_reply_streams(trader, ann, model, talk, monkeypatch):
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.3)
    model.say(*["word "] * 400, delay=0.01)
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say()
        await tab.until("text")
        await sync_to_async(ann.session.flush)()

        assert await asyncio.wait_for(tab.closed_with(), 3) == 4401
    live.find_turn(talk.conversation_id).control.stop()
    await until(lambda: not rooms._rooms)


# --- Slow browsers, other processes, broken parts ---


async def test_frames_flow_while_the_check_of_the_session_waits_for_the_database(ann, model, talk, monkeypatch):
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.1)
    released, checks = threading.Event(), []

    def wait_for_database(self):
        checks.append(self)
        return released.wait(30)

    gate = Gate()
    model.say("Long ", gate, "enough.")
    try:
        async with open_tab(ann, talk.conversation_id) as tab:
            await tab.say("Hello")
            await tab.until("text")
            monkeypatch.setattr(consumers.ChatConsumer, "_has_session", wait_for_database)
            await until(lambda: checks)
            await asyncio.sleep(0.3)  # the next checks are due, and wait for the first
            gate.open()

            await tab.until("done")

            assert len(checks) == 1
    finally:
        released.set()


async def test_browser_that_falls_behind_is_dropped_and_resumes(model, ann, talk):
    gate = Gate()
    model.say("Said before.", gate, " Said after.")
    async with open_tab(ann, talk.conversation_id) as slow:
        await slow.say()
        await slow.until("text")
        # All at once: the carrier gets no turn in between.
        for _ in range(rooms.QUEUE_SIZE + 1):
            rooms._rooms[talk.conversation_id].publish({"type": "notice", "seq": 0, "text": "x"})

        assert await slow.closed_with() == 1013

    async with open_tab(ann, talk.conversation_id) as back:
        snapshot = await back.next()
        gate.open()
        await back.until("done")
    assert snapshot["reply"]["tail"] == "Said before."
    assert back.page.text == "Saidbefore.Saidafter."


async def test_turn_of_another_process_is_shown_as_it_is_saved(ann, talk):
    start = await run_in_another_process(talk)
    of_reply = {"reply_id": start.reply_id, "now": timezone.now()}
    text = "So **far**"
    parts = [{"kind": "text", "step": 0, "text": text}]
    ended = {"status": MessageStatus.COMPLETE, "parts": [], "text": ""}

    async with open_tab(ann, talk.conversation_id) as tab:
        first = await tab.next()
        await talk.look(lambda: save_progress(**of_reply, parts=parts, text=text))
        await live.tell_news(talk.conversation_id)
        second = await tab.next()
        await talk.look(lambda: finish_reply(**of_reply, **ended))
        await live.tell_news(talk.conversation_id)
        third = await tab.next()

    assert (first["reply"]["html"], first["reply"]["status"]) == ("", "streaming")
    assert second["reply"]["html"] == "<p>So <strong>far</strong></p>\n"
    assert (third["reply"], third["last_message_id"]) == (None, str(start.reply_id))


async def test_dead_turn_is_closed_when_a_page_opens(ann, talk):
    start = await run_in_another_process(talk)
    died_at = timezone.now() - timedelta(seconds=11)
    await talk.look(lambda: Message.objects.filter(pk=start.reply_id).update(heartbeat_at=died_at))
    async with open_tab(ann, talk.conversation_id) as tab:
        snapshot = await tab.next()

    assert snapshot["reply"] is None
    assert (await talk.reply()).status == MessageStatus.INTERRUPTED


class BrokenLayer(InMemoryChannelLayer):
    """A layer whose server is gone."""

    async def group_add(self, group, channel):
        raise ConnectionError("gone")

    group_discard = group_send = group_add


class HangingLayer(InMemoryChannelLayer):
    """A layer whose server does not answer."""

    async def group_send(self, group, message):
        await asyncio.sleep(3600)


@pytest.mark.parametrize("layer", ["BrokenLayer", "HangingLayer"])
async def test_words_flow_without_the_channel_layer(model, ann, talk, settings, monkeypatch, layer):
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": f"{__name__}.{layer}"}}
    monkeypatch.setattr(live, "LAYER_SECONDS", 0.3)
    model.say(*["word "] * 20, delay=0.01)
    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.say()
        done = await asyncio.wait_for(tab.until("done"), 3)

    await until(lambda: not rooms._rooms)
    assert done["status"] == "complete"


async def test_fault_while_storing_sends_failed_and_keeps_the_socket_open(model, ann, talk, monkeypatch):
    model.say("Now it works.")

    def accept(**kwargs):
        raise RuntimeError("a canary of the inside")

    async with open_tab(ann, talk.conversation_id) as tab:
        await tab.next()
        with monkeypatch.context() as patch:
            patch.setattr(consumers, "accept_message", accept)
            client_id = await tab.say("Try")
            failed = await tab.next()
        await tab.say("Try", client_id=client_id)
        await tab.until("done")

    assert (failed["client_id"], failed["text"]) == (client_id, consumers.BROKE)
    assert len(await talk.messages()) == 2


async def test_socket_that_breaks_gives_its_place_back(ann, talk, monkeypatch):
    def refuse(self) -> None:
        raise RuntimeError("rows cannot be read")

    async with open_tab(ann, talk.conversation_id) as healthy:
        await healthy.next()
        monkeypatch.setattr(consumers.ChatConsumer, "_stored_snapshot", refuse)
        communicator = connection(ann, talk.conversation_id)
        await communicator.connect()
        with pytest.raises(RuntimeError):
            await communicator.wait(5)

        assert [len(mine) for mine in consumers._open_sockets.values()] == [1]
    assert dict(consumers._open_sockets) == {}
