from datetime import timedelta
from uuid import UUID

import pytest

from benchmarks.dialogue import dialogue
from chat.conversations.search import MAX_HITS, SNIPPET, RankedTurn, Said, rank_turns, search_conversations, snippet_of
from chat.conversations.services import start_conversation
from chat.models import Message, MessageStatus
from chat.turns.accept import accept_message, retry_reply
from chat.turns.replies import finish_reply, save_progress
from config.lib.llm.vectors import STATIC, compute_cosines
from config.lib.owned import owned_tx, system_tx
from config.lib.search.terms import blend_scores, build_index_text, build_tokens, list_query_terms, score_bm25
from tests.chat.exchanges import exchange
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE, MAY
from tests.owners import as_owner


def titles(query: str, **options) -> list[str]:
    return [hit.conversation.title for hit in search_conversations(query=query, **options).rows]


def test_conversations_are_found_by_title_question_and_answer(as_trader):
    ConversationFactory(title="About the lighthouse")
    exchange(ConversationFactory(title="Asked"), "Where is the lighthouse?", "Over there.")
    exchange(ConversationFactory(title="Answered"), "Where is it?", "Near the lighthouses.")
    exchange(ConversationFactory(title="Other"), "Hello", "Hello!")

    assert set(titles("lighthouse")) == {"About the lighthouse", "Asked", "Answered"}


def test_a_conversation_is_one_hit_with_its_best_message(as_trader):
    conversation = ConversationFactory(title="Risk")
    exchange(conversation, "What about leverage?", "It depends on many things I could tell you of, leverage too.")
    best, _ = exchange(conversation, "Leverage of three for BTC?", "Fine.")

    (hit,) = search_conversations(query="btc leverage").rows

    assert hit.message_id == best.pk
    assert [hit.snippet[start:end] for start, end in hit.snippet_ranges] == ["Leverage", "BTC"]
    assert hit.title_ranges == []


@pytest.mark.parametrize(("query", "speaker"), [("When did I see the lighthouse?", 0), ("the lighthouse", 1)])
def test_a_question_about_oneself_finds_ones_own_words_first(as_trader, query, speaker):
    pair = exchange(ConversationFactory(), "The lighthouse on Sunday.", "The lighthouse on Sunday.")

    (hit,) = search_conversations(query=query).rows

    assert hit.message_id == pair[speaker].pk


def test_a_hit_by_its_title_alone_has_no_message(as_trader):
    exchange(ConversationFactory(title="BTC leverage"), "Hello", "Hello!")

    (hit,) = search_conversations(query="leverage").rows

    assert (hit.message_id, hit.snippet, hit.snippet_ranges) == (None, "", [])
    assert [hit.conversation.title[start:end] for start, end in hit.title_ranges] == ["leverage"]


def test_words_of_the_turns_around_count(as_trader):
    together, apart = ConversationFactory(title="Together"), ConversationFactory(title="Apart")
    exchange(apart, "How much leverage?", "Three.")
    exchange(apart, "Hello", "Hello!")
    exchange(apart, "Hello", "Hello!")
    exchange(apart, "What of the weekend?", "Closed.")
    exchange(together, "Hello", "Hello!")
    exchange(together, "How much leverage?", "And on the weekend?")
    exchange(together, "Hello", "Hello!")

    assert titles("weekend leverage") == ["Together", "Apart"]


def test_equal_hits_come_newest_first(as_trader):
    for days in (2, 0, 1):
        conversation = ConversationFactory(title=f"{days} days", last_message_at=MAY + timedelta(days=days))
        exchange(conversation, "What about leverage?", "Hello!")

    assert titles("leverage") == ["2 days", "1 days", "0 days"]


@pytest.mark.parametrize(
    ("change", "query"),
    [
        ({"trashed_at": MAY}, "lighthouse"),
        ({"is_temporary": True}, "lighthouse"),
        ({"trashed_at": MAY}, "title"),
        ({"is_temporary": True}, "title"),
    ],
)
def test_trash_and_temporary_chats_are_not_searched(change, query, as_trader):
    exchange(ConversationFactory(title="Title", **change), "Where is the lighthouse?", "There.")

    answer = search_conversations(query=query)

    assert (answer.rows, answer.total) == ([], 0)


def test_archived_chats_are_searched(as_trader):
    exchange(ConversationFactory(title="Old", archived=True), "Where is the lighthouse?", "There.")

    assert titles("lighthouse") == ["Old"]


def test_chats_of_a_stranger_neither_come_in_nor_count(as_trader, stranger):
    exchange(ConversationFactory(title="Mine"), "Where is the lighthouse?", "There.")
    alone = search_conversations(query="lighthouse").rows[0].score

    as_owner(stranger, lambda: exchange(ConversationFactory(title="Lighthouse"), "The lighthouse?", "The lighthouse."))
    beside = search_conversations(query="lighthouse")

    assert [(hit.conversation.title, hit.score) for hit in beside.rows] == [("Mine", alone)]
    assert beside.total == 1


@pytest.mark.parametrize("query", ["", " \n", "?!", '"', "*", "\x00", "\ud800"])
def test_a_blank_query_finds_nothing(query, as_trader):
    exchange(ConversationFactory(), "Anything", "At all")

    assert search_conversations(query=query).total == 0


SCRIPTS = ["比特币", "🚀", "ทองคำ", "البيتكوين", "GRÖSSE"]
OPERATORS = ['"lighthouse', "NEAR(lighthouse x)", "lighthouse*", "-lighthouse", "content:lighthouse"]


@pytest.mark.parametrize("query", [*SCRIPTS, *OPERATORS])
def test_any_script_is_found_and_nothing_is_an_operator(query, as_trader):
    exchange(ConversationFactory(title="All"), "只交易比特币 🚀 ซื้อทองคำ البيتكوين", "Größe of the lighthouse")

    assert titles(query) == ["All"]


def test_rows_total_and_whether_there_are_more(as_trader):
    for _ in range(4):
        exchange(ConversationFactory(), "Where is the lighthouse?", "There.")

    some, all_ = search_conversations(query="lighthouse", limit=3), search_conversations(query="lighthouse", limit=4)

    assert (len(some.rows), some.total, some.truncated) == (3, 4, True)
    assert (len(all_.rows), all_.total, all_.truncated) == (4, 4, False)


@pytest.mark.limit("chat.conversations.search.MAX_HITS")
@pytest.mark.parametrize("limit", [0, MAX_HITS + 1])
def test_a_limit_out_of_bounds_is_refused(limit, as_trader):
    with pytest.raises(ValueError, match="limit"):
        search_conversations(query="btc", limit=limit)


# --- What is indexed, and when ---


@pytest.fixture
def accepted(as_trader):
    """A message whose reply is being written."""

    conversation = start_conversation(now=JUNE)
    return accept_message(
        conversation_id=conversation.pk, client_id=UUID(int=1), text="Where is the harbour?", now=JUNE
    )


def found(query: str) -> list[int | None]:
    return [hit.message_id for hit in search_conversations(query=query).rows]


def finish(reply: Message, text: str, status: MessageStatus = MessageStatus.COMPLETE) -> None:
    finish_reply(reply_id=reply.pk, status=status, parts=[], text=text, now=JUNE)


def test_a_reply_is_indexed_when_it_ends_and_not_while_it_grows(accepted):
    save_progress(reply_id=accepted.reply.pk, parts=[], text="At the light", now=JUNE)
    assert found("light") == []

    finish(accepted.reply, "At the lighthouse.")

    assert found("lighthouse") == [accepted.reply.pk]
    assert found("light") == []


@pytest.mark.parametrize("status", [MessageStatus.INTERRUPTED, MessageStatus.FAILED])
def test_a_reply_that_broke_off_is_found_by_what_it_said(status, accepted):
    finish(accepted.reply, "At the lighthouse", status)

    assert found("lighthouse") == [accepted.reply.pk]


def test_a_reply_that_the_sweep_ends_is_indexed_for_its_owner(trader):

    with owned_tx(trader):
        conversation = start_conversation(now=JUNE)
        accepted = accept_message(conversation_id=conversation.pk, client_id=UUID(int=1), text="Where?", now=JUNE)
    with system_tx("test"):
        finish(accepted.reply, "At the lighthouse", MessageStatus.INTERRUPTED)

    with owned_tx(trader):
        assert found("lighthouse") == [accepted.reply.pk]
        assert Message.objects.get(pk=accepted.reply.pk).search_terms == build_index_text(
            "At the lighthouse", trader.pk
        )


@pytest.mark.parametrize(
    ("leave", "left"),
    [
        (lambda sent: retry_reply(conversation_id=sent.message.conversation_id, now=JUNE), True),
        (lambda sent: sent.message.conversation.delete(), False),
    ],
    ids=["a replaced reply", "a deleted chat"],
)
def test_what_is_replaced_or_deleted_is_not_found(accepted, leave, left):
    finish(accepted.reply, "At the lighthouse.")
    asked = accepted.message.pk

    leave(accepted)

    assert found("lighthouse") == []
    assert found("harbour") == [asked] * left


# --- The snippet ---

LONG = "word " * 100


@pytest.mark.parametrize(
    ("content", "query", "marked"),
    [
        ("Where is the lighthouse?", "lighthouse", ["lighthouse"]),
        (f"{LONG}the lighthouse, the lighthouses {LONG}", "lighthouse", ["lighthouse", "lighthouses"]),
        (f"the lighthouse {LONG} lighthouse", "lighthouse", ["lighthouse"]),
        ("line\n\nbreaks  and\tlighthouse", "lighthouse", ["lighthouse"]),
        (f"{'比' * 300}特币", "特币", ["特币"]),
        ("x" * 300 + " lighthouse " + "y" * 300, "lighthouse", ["lighthouse"]),
        ("z" * 500, "z" * 500, ["z" * SNIPPET]),
        ("nothing of it", "lighthouse", []),
    ],
    ids=["short", "middle", "start", "lines", "no spaces", "long words", "longer than a snippet", "none"],
)
def test_snippet_is_one_line_around_the_first_word(content, query, marked):
    snippet, ranges = snippet_of(content, list_query_terms(query))

    assert [snippet[start:end] for start, end in ranges] == marked
    assert len(snippet) <= SNIPPET + 2
    assert "\n" not in snippet


def test_snippet_says_what_was_left_out():
    snippet, _ = snippet_of(f"{LONG}lighthouse {LONG}", ["lighthous"])

    assert snippet.startswith("…word")
    assert snippet.endswith("word…")


def test_search_finds_at_least_what_words_the_turns_around_and_vectors_find_together(as_trader):
    talk = dialogue(fillers=300)
    indexed = {at: build_index_text(turn, as_trader.pk) for at, turn in enumerate(talk.turns)}
    around = {at: " ".join(indexed[near] for near in (at, at - 1, at + 1) if near in indexed) for at in indexed}
    passages = [" ".join(talk.turns[max(0, at - 1) : at + 1]) for at in indexed]
    said = {RankedTurn(UUID(int=1), at + 1): Said(turn, indexed[at]) for at, turn in enumerate(talk.turns)}

    def of_reference(query):
        words = score_bm25(around, build_tokens(list_query_terms(query), as_trader.pk), total=len(indexed))
        return blend_scores(words, dict(enumerate(compute_cosines(query, passages, model=STATIC))))

    def of_search(query):
        ranks = rank_turns(query, said, by_title={}, total=len(said), frequencies={})
        return {turn.pk - 1: rank for turn, rank in ranks.items()}

    def found(ranking):
        tops = [(ranking(query), answer) for query, answer in talk.questions]
        return sum(answer in sorted(ranks, key=lambda at: (-ranks[at], at))[:10] for ranks, answer in tops)

    assert found(of_search) >= found(of_reference) > len(talk.questions) / 2
