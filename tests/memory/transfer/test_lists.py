import io
import json
from datetime import UTC, datetime, timedelta
from zipfile import ZipFile

import pytest

from memory.facts.review import accept_proposal
from memory.facts.schemas import MAX_DOCUMENT, MAX_ITEMS
from memory.models import Confidence, FactSource, MemoryProposal, ProposalKind, UserFact
from memory.transfer.arrival import DocumentRefused
from memory.transfer.lists import _MAX_LINES, import_list, parse_list
from memory.transfer.uploads import read_upload
from tests.factories.memory import JULY, JUNE, UserFactFactory


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


def test_import_list_proposes_each_line(as_trader):
    text = "- Trades gold only\n* Funds only\n\n1. Risks 1%\n[2024-11-20] - Likes islands\n• Retires at 50\n"

    done = import_list(parse_list(text), now=JUNE)

    proposals = MemoryProposal.objects.order_by("created_at")
    assert sorted(row.payload["content"] for row in proposals) == [
        "Funds only",
        "I like islands",
        "I risk 1%",
        "I trade gold only",
        "Retires at 50",
    ]
    assert {row.kind for row in proposals} == {ProposalKind.IMPORT}
    assert (done.added, done.known, done.refused, done.batch_id) == (5, 0, [], None)
    assert not UserFact.objects.exists()


def test_import_list_counts_known_and_refused_lines(as_trader):
    UserFactFactory(content="I trade gold only")

    done = import_list(parse_list("trades gold only!\nFunds only\nfunds ONLY\nabc\nMy password is hunter2"), now=JUNE)

    assert (done.added, done.known, len(done.refused)) == (1, 2, 2)
    assert not any("hunter2" in str(row.payload) for row in MemoryProposal.objects.all())


@pytest.mark.limit("memory.facts.schemas.MAX_DOCUMENT", "memory.facts.schemas.MAX_ITEMS")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "1 to"),
        ("\n - \n", "1 to"),
        ("[]", "1 to"),
        ("x" * (MAX_DOCUMENT + 1), "too long"),
        ("abcd\n" * (MAX_ITEMS + 1), "1 to"),
    ],
    ids=lambda value: value[:8],
)
def test_list_without_lines_or_with_too_many_is_refused(as_trader, text, says):
    with pytest.raises(DocumentRefused, match=says):
        import_list(parse_list(text), now=JUNE)


def test_list_nested_deeply_or_beyond_its_bounds_is_refused_while_it_is_read():
    with pytest.raises(DocumentRefused, match="nested too deeply"):
        parse_list('{"memories":[' * 440 + '"x"' + "]}" * 440)
    for text in ("- a fact\n" * (MAX_ITEMS + 1), "A b c. " * 100_000):
        with pytest.raises(DocumentRefused, match="has more"):
            parse_list(text)
    [fact] = parse_list("I trade BTC" + " " * 1_000_000 + "only.")
    assert fact.text == "I trade BTC only."


@pytest.mark.limit("memory.transfer.lists._MAX_LINES")
def test_list_has_so_many_lines():
    assert len(parse_list("\n" * _MAX_LINES + "I trade BTC only")) == 1
    with pytest.raises(DocumentRefused, match="too long"):
        parse_list("\n" * (_MAX_LINES + 1) + "I trade BTC only")
