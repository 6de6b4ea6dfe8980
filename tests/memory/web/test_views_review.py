import re
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from memory.facts.review import propose_fact, propose_merge
from memory.facts.services import archive_fact, supersede_fact
from memory.facts.versions import Origin
from memory.models import MemoryProposal, ProposalKind, UserFact
from memory.web.views.review import ASKED_AT_ONCE
from tests.factories.memory import UserFactFactory
from tests.memory.browsing import FACTS, SECRET, act, into, is_page, text_of
from tests.owners import as_owner

REVIEW = f"{FACTS}review/"


def answers(**by_fact) -> dict:
    """Return the form's data: for each fact what was answered, and what was typed over it."""
    data: dict = {"fact": [str(fact.pk) for fact, _, _ in by_fact.values()]}
    for fact, answer, content in by_fact.values():
        data |= {f"answer-{fact.pk}": answer, f"content-{fact.pk}": content or fact.content}
    return data


@pytest.fixture
def propose(trader):
    """A function that puts words into the trader's queue."""

    def proposal(content: str = "trades SOL", kind: ProposalKind = ProposalKind.UNTRUSTED, **values) -> MemoryProposal:
        values = {"why": "It stood in a trade's reason.", "origin": Origin(), **values}
        return as_owner(trader, lambda: propose_fact(kind=kind, content=content, now=timezone.now(), **values))

    return proposal


# --- Are these right? ---


def test_review_asks_about_inferred_facts_that_hold_and_no_others(client, trader, know):
    know("favours mean reversion")
    know("trades BTC only", confidence="asserted")
    ended = know("trades at night")
    as_owner(trader, lambda: archive_fact(fact_id=ended.pk, now=timezone.now()))

    words = text_of(client.get(REVIEW))

    assert "Are these right? 1" in words
    assert "favours mean reversion" in words
    assert "BTC only" not in words
    assert "at night" not in words.partition("Decided")[0]


def test_facts_are_confirmed_corrected_and_forgotten_in_one_go_and_undone_together(client, know, last):
    right, wrong, off, later = (
        know("favours mean reversion"), know("trades alts"), know("risks 2%"), know("likes mornings"),
    )  # fmt: skip

    data = answers(
        a=(right, "right", ""), b=(wrong, "forget", ""), c=(off, "later", "risks 1%"), d=(later, "later", "")
    )
    response = client.post(REVIEW, data, follow=True)

    assert last(right).confidence == "asserted"
    assert last(wrong).archived_reason == "user_corrected"
    assert (last(off).content, last(off).confidence) == ("risks 1%", "asserted")
    assert last(later).pk == later.pk
    assert "1 fact corrected, 1 forgotten, 1 marked as said by you" in text_of(response)
    batch = response.redirect_chain[0][0].partition("batch=")[2].partition("#")[0]
    client.post(reverse("memory:undo_batch", args=[batch]))
    assert [last(fact).confidence for fact in (right, wrong, off)] == ["inferred"] * 3
    assert (last(wrong).is_archived, last(off).content) == (False, "risks 2%")


@pytest.mark.parametrize("content", ["abc", SECRET], ids=["too short", "a secret"])
def test_one_bad_answer_saves_none_and_keeps_all_that_was_typed(client, know, last, content):
    right, bad = know("favours mean reversion"), know("risks 2%")

    response = client.post(REVIEW, answers(a=(right, "right", ""), b=(bad, "later", content)))

    assert response.status_code == 422
    assert (last(right).confidence, last(bad).content) == ("inferred", "risks 2%")
    assert f">{content}</textarea>" in response.content.decode()
    assert "field__error" in response.content.decode()
    assert 'value="right" checked' in " ".join(response.content.decode().split())


def test_an_answer_to_a_fact_changed_since_is_kept_and_asked_again(client, trader, know, last):
    fact = know("risks 2%")
    as_owner(
        trader, lambda: supersede_fact(fact_id=fact.pk, content="risks 3%", confidence="inferred", now=timezone.now())
    )

    response = client.post(REVIEW, answers(a=(fact, "later", "risks 1%")))

    assert response.status_code == 422
    assert "now reads: “risks 3%”" in text_of(response)
    assert ">risks 1%</textarea>" in response.content.decode()
    assert f'value="{last(fact).pk}"' in response.content.decode()
    assert client.post(REVIEW, answers(a=(last(fact), "later", "risks 1%"))).status_code == 302
    assert last(fact).content == "risks 1%"


@pytest.mark.limit("memory.web.views.review.ASKED_AT_ONCE")
def test_review_asks_about_some_at_a_time(client, trader):
    as_owner(trader, lambda: UserFactFactory.create_batch(ASKED_AT_ONCE + 1, inferred=True))

    first, second = client.get(REVIEW).content.decode(), client.get(REVIEW, {"page": 2}).content.decode()

    assert (first.count("<textarea"), second.count("<textarea")) == (ASKED_AT_ONCE, 1)
    assert "Page 1 of 2" in text_of(client.get(REVIEW))


# --- Proposals ---


def test_review_shows_what_waits_why_and_from_where(client, propose, know):
    conversation_id = uuid4()
    target = know("never trades alts", confidence="asserted")
    propose("trades <b>SOL</b>", ProposalKind.CONFLICT, target_id=target.pk, origin=Origin(conversation_id, 7))

    response = client.get(REVIEW)

    body = response.content.decode()
    assert "trades &lt;b&gt;SOL&lt;/b&gt;" in body
    assert f"/chat/{conversation_id}/#message-7" in body
    for words in (
        "Conflicts with what you said",
        "It would replace never trades alts",
        "a trade's reason",
        "To review 1",
    ):
        assert words in text_of(response).replace("&#x27;", "'")
    assert "<del>" in body


@pytest.mark.parametrize("kind", [ProposalKind.CONFLICT, ProposalKind.UNTRUSTED, ProposalKind.IMPORT])
def test_accepting_writes_and_taking_it_back_waits_again(client, trader, propose, know, last, kind):
    target = know("never trades alts", confidence="asserted")
    proposal = propose(kind=kind, target_id=target.pk if kind == ProposalKind.CONFLICT else None)
    slot = into(f"proposal-{proposal.pk}", at=REVIEW)

    accepted = client.post(act("accept", proposal), headers=slot)

    written = as_owner(trader, lambda: UserFact.objects.believed().get(content="trades SOL"))
    assert (written.confidence, last(target).content == "trades SOL") == ("asserted", kind == ProposalKind.CONFLICT)
    assert not is_page(accepted)
    assert "Accepted" in text_of(accepted)
    reopened = client.post(act("reopen", proposal), headers=slot)
    assert "Dismiss" in text_of(reopened)
    assert last(target).content == "never trades alts"
    assert not as_owner(trader, lambda: UserFact.objects.believed().filter(content="trades SOL").exists())


def test_a_merge_names_both_facts_and_ends_one(client, trader, know, last):
    ending, kept = know("lost 12% on a long"), know("a long lost 12%")
    proposal = as_owner(
        trader, lambda: propose_merge(fact_id=ending.pk, into_id=kept.pk, why="They say the same.", now=timezone.now())
    )

    words = text_of(client.get(REVIEW))
    client.post(act("accept", proposal))

    assert "lost 12% on a long It would end in favour of a long lost 12%" in words
    assert (last(ending).archived_reason, last(kept).is_archived) == ("merged", False)


def test_dismissing_writes_nothing_and_is_listed_as_decided(client, trader, propose):
    proposal = propose()

    response = client.post(act("dismiss", proposal), {"next": REVIEW}, follow=True)

    decided = text_of(response).partition("Decided lately")[2]
    assert "trades SOL" in decided
    assert "Dismissed" in decided
    assert "Nothing waits" in text_of(response)
    assert not as_owner(trader, UserFact.objects.exists)


@pytest.mark.parametrize("verb", ["accept", "dismiss"])
def test_what_was_decided_is_not_decided_again(client, propose, verb):
    proposal = propose()
    client.post(act("dismiss", proposal))

    page = client.post(act(verb, proposal), follow=True)
    piece = client.post(act(verb, proposal), headers=into(f"proposal-{proposal.pk}"))

    assert "You decided about this before." in text_of(page)
    assert (piece.status_code, is_page(piece)) == (409, False)
    assert "You decided about this before." in text_of(piece)


@pytest.fixture
def imported(propose):
    """Two facts of a document, which wait."""
    return [str(propose(text, ProposalKind.IMPORT).pk) for text in ("trades SOL", "trades ETH")]


def take_back(client, decided) -> str:
    """Press the button that takes all decisions of a page back; return what the page says then."""
    moment = re.search(r'name="decided" value="([^"]+)"', decided.content.decode())[1]
    return text_of(client.post(f"{REVIEW}all/reopen/", {"decided": moment}, follow=True))


@pytest.mark.parametrize(("decision", "saved"), [("accept", 2), ("dismiss", 0)])
def test_all_are_decided_at_once_and_taken_back_at_once(client, trader, imported, decision, saved):
    response = client.post(f"{REVIEW}all/", {"proposal": imported, "decision": decision}, follow=True)
    assert as_owner(trader, lambda: UserFact.objects.believed().count()) == saved
    assert f"2 {decision}ed. Undo all" in text_of(response)

    assert "Waiting for you 2" in take_back(client, response)
    assert as_owner(trader, lambda: UserFact.objects.believed().count()) == 0


def test_taking_all_back_is_refused_whole_when_something_stands_on_one(client, trader, imported):
    response = client.post(f"{REVIEW}all/", {"proposal": imported, "decision": "accept"}, follow=True)
    fact = as_owner(trader, lambda: UserFact.objects.believed().get(content="trades SOL"))
    as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="trades XRP", now=timezone.now()))

    assert "Nothing was undone" in take_back(client, response)
    assert as_owner(trader, lambda: MemoryProposal.objects.filter(status="accepted").count()) == 2


def test_what_was_decided_before_is_left_and_said_when_all_are_decided(client, trader, propose):
    decided, waiting = propose("trades SOL"), propose("trades ETH")
    client.post(act("dismiss", decided))
    data = {"proposal": [str(decided.pk), str(waiting.pk)], "decision": "accept"}

    response = client.post(f"{REVIEW}all/", data, follow=True)

    assert "1 left as they were: You decided about this before." in text_of(response)
    assert as_owner(trader, lambda: UserFact.objects.believed().get()).content == "trades ETH"


@pytest.mark.parametrize(
    "data", [{}, {"decision": "accept"}, {"decision": "erase", "proposal": "00000000-0000-4000-8000-000000000000"}]
)
def test_all_are_decided_only_with_a_decision(client, data):
    assert client.post(f"{REVIEW}all/", data).status_code == 400


@pytest.mark.parametrize(
    "decided", ["", "x", "2026-13-45T00:00:00+00:00", "2026-05-01T12:00:00", "0001-01-01T00:00+23:59"]
)
def test_nothing_is_taken_back_of_a_moment_at_which_nothing_was_decided(client, decided):
    assert client.post(f"{REVIEW}all/reopen/", {"decided": decided}).status_code == 404
    assert client.get(REVIEW, {"decided": decided}).status_code == 200


def test_review_takes_as_many_queries_for_many_as_for_few(client, trader, propose, know, django_assert_max_num_queries):
    for number in range(20):
        propose(f"trades coin number {number}")
        know(f"seems to like coin {number}")

    with django_assert_max_num_queries(12):
        client.get(REVIEW)
