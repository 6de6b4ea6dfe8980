"""The socket matrix: every client frame as Ann, naming Bob's rows."""

import json
from uuid import UUID

import pytest
from django.test import Client

from chat.turns.frames import PLAIN
from chat.web.consumers import NOT_FOUND, SIGNED_OUT, websocket_urlpatterns
from config.lib.threads import run_in_thread
from tests.chat.tabs import open_tab, signed_in
from tests.strangers import (
    CANARY,
    Answer,
    Names,
    Person,
    dump,
    filled,
    make_person,
    make_unused_message_id,
    mark_as_running,
    unknown_names,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.computing]

SOCKETS = {"ws/chat/<uuid:conversation_id>/"}
FRAMES = {
    "message": {"client_id": "{client_id}", "text": "Hello", "conversation_id": "{conversation_id}"},
    "resume": {"seq": 0, "conversation_id": "{conversation_id}", "last_message_id": "{message_id}"},
    "stop": {"conversation_id": "{conversation_id}", "message_id": "{message_id}"},
    "retry": {"conversation_id": "{conversation_id}", "message_id": "{message_id}"},
    "continue": {"conversation_id": "{conversation_id}", "message_id": "{message_id}"},
    "edit": {"message_id": "{message_id}", "text": "Mine now", "conversation_id": "{conversation_id}"},
}


def frame_types() -> set[str]:
    """Return the types of frame that a browser may send."""
    return {*PLAIN, "message", "edit"}


@pytest.mark.parametrize(
    ("covered", "present"),
    [(SOCKETS, {str(route.pattern) for route in websocket_urlpatterns}), (FRAMES.keys(), frame_types())],
    ids=["SOCKETS", "FRAMES"],
)
@pytest.mark.django_db(transaction=False)
def test_matrix_has_a_case_for_each_entry(covered, present):
    assert sorted(present - covered) == [], "no case in the matrix: say how to send these at somebody else's rows"
    assert sorted(covered - present) == [], "a case in the matrix for what is gone"


@pytest.fixture
def bob(db):
    return make_person(CANARY)


@pytest.fixture
def nobody(bob):
    return unknown_names(make_unused_message_id())


@pytest.fixture
def ann(nobody):
    return make_person("ann")


def frame(name: str, names: Names) -> dict:
    return json.loads(filled(json.dumps({"type": name, **FRAMES[name]}), names))


async def said_to(client: Client, conversation_id: str, name: str, names: Names) -> Answer:
    """Return what a socket that is to be closed says when a frame comes before the browser knows."""
    async with open_tab(client, UUID(conversation_id)) as tab:
        await tab.send(**frame(name, names))
        code = await tab.closed_with()
        is_silent = await tab.hears_nothing(0.02)
    return Answer(f"{code} {is_silent} {tab.frames}", names)


async def test_socket_of_bobs_chat_is_the_same_as_of_none(ann, bob, nobody):
    client, before = await run_in_thread(signed_in, ann.user), await run_in_thread(dump, bob.user)
    for name in FRAMES:
        of_nobody = await said_to(client, nobody["conversation_id"], name, nobody)
        of_bob = [await said_to(client, names["conversation_id"], name, names) for names in bob.names()]

        assert of_nobody.text == f"{NOT_FOUND} True []"
        assert {said.text for said in of_bob} == {of_nobody.text}
    assert await run_in_thread(dump, bob.user) == before


async def test_socket_tells_strangers_nothing(bob, nobody):
    before = await run_in_thread(dump, bob.user)
    for name in FRAMES:
        for names in (nobody, bob.names()[0]):
            said = await said_to(Client(), names["conversation_id"], name, names)

            assert said.text == f"{SIGNED_OUT} True []"
    assert await run_in_thread(dump, bob.user) == before


async def test_frame_with_bobs_ids_is_the_same_as_with_none(ann, bob, nobody):
    client, before = await run_in_thread(signed_in, ann.user), await run_in_thread(dump, bob.user)
    for name in FRAMES:
        of_nobody = await heard(client, ann, name, nobody)
        for names in bob.names():
            of_bob = await heard(client, ann, name, names)

            assert of_bob.gives_away(bob) == []
            assert of_bob.comparable == of_nobody.comparable
        assert of_nobody.text.startswith('[{"type": "snapshot"')
    assert await run_in_thread(dump, bob.user) == before


async def heard(client: Client, person: Person, name: str, names: Names) -> Answer:
    """Return what a person hears in a chat of their own, where a reply is being written elsewhere, after a frame."""
    conversation = await run_in_thread(mark_as_running, person)
    async with open_tab(client, conversation.pk) as tab:
        await tab.until("snapshot")
        await tab.send(**frame(name, names))
        await tab.send(type="resume")  # what comes before its answer is the frame's
        await tab.until("snapshot")
        while not await tab.hears_nothing(0.02):
            await tab.next()
    # News may bring the same snapshot once more or not, as the tasks happen to run.
    different = [frame for number, frame in enumerate(tab.frames) if frame not in tab.frames[:number]]
    return Answer(json.dumps(different), names)
