import io
import json
from datetime import UTC, datetime, timedelta
from zipfile import ZipFile

import pytest

from memory.facts.review import accept_proposal
from memory.models import Confidence, FactSource, MemoryProposal, UserFact
from memory.transfer.arrival import DocumentRefused
from memory.transfer.lists import import_list, parse_list, parse_memory, read_upload
from tests.factories.memory import JULY, JUNE


def pack(**files: object) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w") as packed:
        for name, value in files.items():
            packed.writestr(f"export/{name}.json", json.dumps(value))
    return target.getvalue()


def test_import_dated_list_proposes_facts_with_date_and_topic(as_trader):
    import_list(parse_list("1. [2025-04-02]. The user never risks more than 1%"), now=JUNE)

    proposal = MemoryProposal.objects.get()
    assert proposal.payload["content"] == "I never risk more than 1%"
    assert proposal.payload["topic"] == "risk"
    assert "2025-04-02" in proposal.evidence["why"]
    accept_proposal(proposal_id=proposal.pk, now=JULY)
    fact = UserFact.objects.get()
    assert (fact.valid_from, fact.category) == (datetime(2025, 4, 2, tzinfo=UTC), "profile")
    assert (fact.source, fact.confidence, fact.score) == (FactSource.IMPORTED, Confidence.ASSERTED, None)


def test_import_list_ignores_a_date_in_the_future(as_trader):
    import_list(parse_list("[2999-01-01] Trades BTC only"), now=JUNE)

    assert "said_at" not in MemoryProposal.objects.get().payload


def test_import_list_keeps_the_end_of_another_product(as_trader):
    ends_at = (JULY + timedelta(days=30)).isoformat()

    import_list(parse_list(json.dumps([{"memory": "User trades half size", "expiration_date": ends_at}])), now=JUNE)

    proposal = MemoryProposal.objects.get()
    assert ends_at[:10] in proposal.evidence["why"]
    accept_proposal(proposal_id=proposal.pk, now=JULY)
    assert UserFact.objects.get().valid_until == JULY + timedelta(days=30)


def test_import_list_leaves_out_what_has_ended_and_says_so(as_trader):
    done = import_list(parse_list(json.dumps([{"fact": "User uses Bybit", "invalid_at": "2020-01-01"}])), now=JUNE)

    assert done.refused == ["I use Bybit: It ended on 2020-01-01."]
    assert not MemoryProposal.objects.exists()


@pytest.mark.parametrize("name", ["memories", "memories/7c0e"])
def test_read_upload_of_claudes_zip_returns_its_memories(name):
    data = pack(conversations=[], **{name: [{"conversations_memory": "Is a swing trader"}]})

    assert "swing" in read_upload(data)


def test_read_upload_of_chatgpts_zip_returns_the_notes_of_its_chats(as_trader):
    note = {"recipient": "bio", "create_time": 1_743_588_000, "content": {"parts": ["User trades BTC only"]}}
    other = {"recipient": "all", "content": {"parts": ["Hello"]}}
    chats = [{"mapping": {"a": {"message": note}, "b": {"message": other}, "c": {"message": None}}}, 7]

    import_list(parse_list(read_upload(pack(conversations=chats))), now=JUNE)

    assert MemoryProposal.objects.get().payload["content"] == "I trade BTC only"


@pytest.mark.parametrize(
    "data", [b"PK not a zip", pack(other=1), b"\xff\xfe\xff"], ids=["no zip", "another file", "no text"]
)
def test_read_upload_of_another_file_is_refused(data):
    with pytest.raises(DocumentRefused):
        read_upload(data)


def test_text_that_is_neither_an_archive_nor_a_document_is_refused():
    with pytest.raises(DocumentRefused):
        parse_memory("Trades BTC only", is_list=False)
