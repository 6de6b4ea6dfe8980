import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

from memory.facts.document import build_document, dump_document
from memory.facts.queries import get_switches
from memory.models import MemoryProposal, UserFact
from tests.memory.browsing import FACTS, SECRET, into, is_page, text_of
from tests.owners import as_owner, note_sign_in


def switches_of(user) -> tuple[bool, bool]:
    """Return whether prompts carry facts and chats save them."""
    switches = as_owner(user, get_switches)
    return switches.uses_facts, switches.learns


SETTINGS, IMPORT, EXPORT = f"{FACTS}settings/", f"{FACTS}import/", f"{FACTS}export/"


@pytest.mark.parametrize(
    ("switch", "paused", "told"),
    [
        ("uses_facts", (False, True), "No chat uses what Keel knows"),
        ("learns", (True, False), "Keel learns nothing from your chats"),
    ],
)
def test_a_switch_is_turned_off_told_on_the_page_and_turned_on_again(client, trader, switch, paused, told):
    client.post(SETTINGS, {"switch": switch, "to": "off"})
    page = client.get(FACTS)

    assert switches_of(trader) == paused
    assert told in text_of(page)
    back = client.post(SETTINGS, {"switch": switch, "to": "on", "next": FACTS}, follow=True)
    assert switches_of(trader) == (True, True)
    assert back.redirect_chain == [(FACTS, 302)]
    assert told not in text_of(back)


def test_htmx_gets_the_switches_alone(client):
    response = client.post(SETTINGS, {"switch": "learns", "to": "off"}, headers=into("switches", at=SETTINGS))

    assert not is_page(response)
    assert "Paused" in text_of(response)


@pytest.mark.parametrize("data", [{}, {"switch": "learns"}, {"switch": "decay_reported_at", "to": "off"}])
def test_no_other_switch_can_be_turned(client, trader, data):
    assert client.post(SETTINGS, data).status_code == 400
    assert switches_of(trader) == (True, True)


def test_export_is_the_document_as_a_file(client, trader, know, strangers_fact):
    know("trades BTC only")
    note_sign_in(client, trader)

    response = client.get(EXPORT)

    assert response["Content-Disposition"].startswith('attachment; filename="keel-memory-')
    assert "no-store" in response["Cache-Control"]
    assert [fact["content"] for fact in json.loads(response.content)["facts"]] == ["trades BTC only"]


def test_a_document_is_brought_in_and_taken_back_at_once(client, trader, stranger, know):
    know("trades BTC only")
    know("wants short answers")
    document = as_owner(trader, lambda: dump_document(build_document(now=timezone.now())))
    client.force_login(stranger)

    response = client.post(
        IMPORT, {"kind": "document", "file": SimpleUploadedFile("memory.json", document.encode())}, follow=True
    )

    assert "2 new, 0 known already, 0 left out" in text_of(response)
    assert "2 facts imported" in text_of(response)
    batch = response.redirect_chain[0][0].partition("batch=")[2].partition("#")[0]
    client.post(reverse("memory:undo_batch", args=[batch]))
    assert not as_owner(stranger, lambda: UserFact.objects.believed().exists())


def test_a_list_waits_for_review(client, trader):
    response = client.post(IMPORT, {"kind": "list", "text": f"- trades BTC only\n- {SECRET}\n"}, follow=True)

    assert response.redirect_chain[0][0].startswith(f"{FACTS}review/")
    assert "1 to review, 0 known already, 1 left out" in text_of(response)
    assert "Brought from elsewhere" in text_of(response)
    assert not as_owner(trader, UserFact.objects.exists)
    assert as_owner(trader, MemoryProposal.objects.get).payload["content"] == "I trade BTC only"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"kind": "document", "text": "{}"}, "This is no memory document"),
        ({"kind": "document", "text": "not JSON"}, "This is no memory document"),
        ({"kind": "document", "text": " "}, "Choose a file, or paste its text"),
        ({"kind": "list", "text": ""}, "Choose a file, or paste its text"),
        ({"kind": "x", "text": "trades BTC only"}, "Select a valid choice"),
        ({"kind": "list", "file": SimpleUploadedFile("facts.txt", b"\xff\xfe\x00")}, "no text in UTF-8"),
    ],
    ids=["empty document", "no JSON", "blank", "nothing", "unknown kind", "bytes"],
)
def test_import_refuses_and_keeps_what_was_typed(client, trader, data, words):
    response = client.post(IMPORT, data)

    assert response.status_code == 422
    assert words in text_of(response)
    assert f">\n{data.get('text', '')}</textarea>" in response.content.decode()
    assert not as_owner(trader, UserFact.objects.exists)
