from datetime import timedelta
from uuid import UUID

import pytest

from config.lib.llm import vectors
from config.lib.owned import owned
from config.lib.search.index import ContainsAny, count_holders
from config.lib.search.terms import blend_scores, build_tokens, list_query_terms, score_bm25
from memory.facts.services import supersede_fact
from memory.models import UserFact
from memory.recall import search as recall_module
from memory.recall.search import KEYWORDS, MAX_RECALLED, recall_facts, recall_for_user
from tests.embeddings import EmbeddingModel
from tests.factories.memory import JULY, JUNE, MAY, UserFactFactory
from tests.owners import as_owner
from tests.tables import each_case

BY_WORDS = {
    "risk": "Risks at most 1% per trade",
    "coins": "Trades BTC and ETH perps",
    "chinese": "只交易比特币",
    "thai": "ซื้อทองคำทุกเดือน",
    "arabic": "يتداول البيتكوين فقط",
    "german": "Größe höchstens fünfzig Euro",
    "emoji": "Loves the 🚀 emoji",
    "operators": "Wrote NEAR and OR in a note",
}


@pytest.fixture(autouse=True)
def _nothing_is_kept():
    """Let each test begin like a process that met nobody: ids of users come again."""
    vectors._cache.clear()
    recall_module._terms.clear()
    recall_module._counts.clear()


@pytest.fixture
def words_alone(settings):
    settings.MEMORY_EMBEDDING_MODEL = ""


@pytest.fixture
def facts(as_trader, words_alone):
    for content in BY_WORDS.values():
        UserFactFactory(content=content)


def contents(query: str, **options) -> list[str]:
    return [row.fact.content for row in recall_facts(query=query, now=JUNE, **options).rows]


def found(query: str) -> set[str]:
    names = {content: name for name, content in BY_WORDS.items()}
    return {names[content] for content in contents(query)}


@each_case(
    "query, names",
    [
        ("risk", {"risk"}),
        ("trading", {"risk", "coins"}),
        ("what do I trade, gold or btc?", {"risk", "coins"}),
        ("BTC unicorn", {"coins"}),
        ("unicorn", set()),
        ("比特币", {"chinese"}),
        ("币", {"chinese"}),
        ("ทองคำ", {"thai"}),
        ("البيتكوين", {"arabic"}),
        ("GRÖSSE", {"german"}),
        ("funfzig", {"german"}),
        ("🚀", {"emoji"}),
        ("near", {"operators"}),
        ("", set()),
        (" \n\t", set()),
        ("?!", set()),
        ("the of and", {"coins", "operators", "emoji"}),
    ],
)
def test_any_word_is_found_in_any_script(query, names, facts):
    assert found(query) == names


@pytest.mark.parametrize(
    "query",
    [
        *('"btc', "btc*", "^btc", "content:btc", "btc -eth", "NOT btc", "btc AND unicorn", "(btc", "btc | !eth"),
        *("btc:*", "btc <-> 1"),
    ],
)
def test_nothing_in_a_query_is_an_operator(query, facts):
    assert "coins" in found(query)


@each_case(
    "query",
    [
        *("NEAR(btc eth)", "NEAR/2", '"', "'", "*", ":", "-", "(", "\x00", "\ud800", "%", "\\"),
        "'; DROP TABLE user_facts; --",
    ],
)
def test_no_query_breaks_the_search(query, facts):
    found(query)

    assert UserFact.objects.count() == len(BY_WORDS)


def test_the_best_match_comes_first(as_trader, words_alone):
    UserFactFactory(content="Trades perps on many markets, BTC among them, whenever there is time for it")
    UserFactFactory(content="Trades BTC perps")
    UserFactFactory(content="Trades gold")

    assert contents("btc perps trades") == [
        "Trades BTC perps",
        "Trades perps on many markets, BTC among them, whenever there is time for it",
        "Trades gold",
    ]


@pytest.mark.limit("memory.recall.search.MAX_RECALLED")
@pytest.mark.parametrize("limit", [0, -1, MAX_RECALLED + 1])
def test_a_limit_out_of_bounds_is_refused(limit, as_trader):
    with pytest.raises(ValueError, match="limit"):
        recall_facts(query="btc", limit=limit, now=JUNE)


@pytest.mark.parametrize(
    ("state", "at", "is_found"),
    [
        ({}, JUNE, True),
        ({"archived": True}, JUNE, False),
        ({"ended": True}, JUNE, False),
        ({"begins_later": True}, JUNE, False),
        ({"begins_later": True}, JULY, True),
        ({"valid_until": JULY}, JULY, False),
        ({"learned": True, "score": 0.31}, JUNE, True),
        ({"content": "Has notes", "body": "bought at the lighthouse"}, JUNE, True),
        ({"content": "Has notes", "summary": "lighthouse"}, JUNE, True),
    ],
    ids=["current", "archived", "ended", "future", "begun", "end exclusive", "low score", "body", "summary"],
)
@pytest.mark.parametrize("model", ["", "static"])
def test_current_facts_are_found_whatever_prompts_carry(state, at, is_found, model, as_trader, settings):
    settings.MEMORY_EMBEDDING_MODEL = model
    UserFactFactory(**{"content": "Saw a lighthouse", **state})

    answer = recall_facts(query="lighthouse", now=at)

    assert (len(answer.rows), answer.total) == (is_found, is_found)


@pytest.mark.parametrize("model", ["", "static"])
def test_facts_of_a_stranger_neither_come_in_nor_count(model, as_trader, stranger, settings):
    settings.MEMORY_EMBEDDING_MODEL = model
    UserFactFactory(content="Trades BTC")
    UserFactFactory(content="Trades ETH and more")
    alone = [(row.fact.content, row.rank) for row in recall_facts(query="btc more", now=JUNE).rows]

    for number in range(9):
        as_owner(stranger, lambda number=number: UserFactFactory(content=f"Trades BTC n{number}"))
    beside = recall_facts(query="btc more", now=JUNE)

    assert [(row.fact.content, row.rank) for row in beside.rows] == alone
    assert beside.total == 2


def test_of_very_many_matches_the_rare_word_decides(as_trader, words_alone, monkeypatch):
    monkeypatch.setattr(recall_module, "MAX_COMPARED", 0)
    monkeypatch.setattr(recall_module, "MAX_RANKED", 4)
    UserFactFactory(content="Gold rare", created_at=MAY - timedelta(days=9))
    for number in range(9):
        UserFactFactory(content=f"Gold n{number}")

    answer = recall_facts(query="gold rare", limit=2, now=JUNE)

    assert answer.rows[0].fact.content == "Gold rare"
    assert answer.total == 10


# --- Meaning ---

SIMILAR = [
    ("cryptocurrency", "Only trades BTC", True),
    ("weekend", "Never trades on Saturday or Sunday", True),
    ("pets", "Has a dog called Rex", True),
    ("btc", "Only trades Bitcoin", True),
    ("caffeine", "Drinks green tea instead of coffee", True),
    ("pets", "Pays taxes in Germany", False),
    ("leverage", "Prefers short answers", False),
    ("what coins do I like", "Never trades on Mondays", False),
    ("when can I stop working", "Trades BTC perps only", False),
    ("how much risk do I take", "Lives in Lisbon", False),
    ("zzqx", "Lives in Lisbon", False),
    ("profession", "Works as a nurse on night shifts", False),  # what static vectors do not know
    ("how much risk do I take", "Loses at most one percent per position", True),
]  # fmt: skip


@pytest.mark.parametrize(("query", "content", "is_found"), SIMILAR)
def test_facts_without_a_word_come_in_when_clearly_similar(query, content, is_found, as_trader):
    UserFactFactory(content=content)

    assert contents(query) == [content] * is_found


def test_words_alone_find_when_there_are_no_vectors(as_trader, monkeypatch):
    monkeypatch.setattr(vectors, "_static_files", lambda: None)
    UserFactFactory(content="Only trades BTC")
    UserFactFactory(content="Reads about cryptocurrency")

    assert contents("cryptocurrency") == ["Reads about cryptocurrency"]


# --- A remote model ---

FRUIT = {"Likes apples": [1.0, 0.1], "Likes pears": [0.9, 0.2], "fruit": [1.0, 0.0]}


@pytest.fixture
def remote(settings):
    """An embedding model that knows fruit from the rest; it is asked for what it is sent."""
    model = EmbeddingModel(dict(FRUIT), otherwise=[0.0, 1.0])
    model.register()
    settings.MEMORY_EMBEDDING_MODEL = "embedding/test"
    vectors._cache.clear()
    yield model
    vectors._cache.clear()


@pytest.fixture
def fruit(trader):
    def know() -> None:
        for content in ("Likes apples", "Likes pears", *(f"Trades n{number}" for number in range(20))):
            UserFactFactory(content=content)

    as_owner(trader, know)


def test_recall_asks_a_remote_model_once_for_each_text(remote, fruit, trader):
    answers = [recall_for_user(trader.pk, query="fruit", now=JUNE) for _ in range(2)]

    assert [{row.fact.content for row in answer.rows} for answer in answers] == [{"Likes apples", "Likes pears"}] * 2
    assert not remote.was_asked_in_a_scope
    assert sorted(remote.asked) == sorted(
        ["fruit", "Likes apples", "Likes pears", *(f"Trades n{n}" for n in range(20))]
    )


def test_recall_goes_by_words_when_the_remote_model_fails(remote, fruit, trader):
    remote.fails = True

    answer = recall_for_user(trader.pk, query="apples", now=JUNE)

    assert answer.rows[0].fact.content == "Likes apples"


def test_recall_inside_of_a_door_and_of_a_blank_query_calls_no_model(remote, fruit, trader):
    with owned(trader):
        answer = recall_facts(query="apples", now=JUNE)

    assert answer.rows[0].fact.content == "Likes apples"
    assert recall_for_user(trader.pk, query=" ?", now=JUNE).rows == []
    assert remote.asked == []


# --- Statements ---

METALS = ["gold", "silver", "tin", "iron", "salt"]


@pytest.fixture
def metals(as_trader, words_alone):
    """Forty facts of common words, and some in every state that is not current."""
    for number in range(40):
        UserFactFactory(
            content=f"Fact {number} of {METALS[number % 5]} and {METALS[number % 3]}", body="tin " * (number % 7)
        )
    UserFactFactory(content="Gold that is gone", archived=True)
    UserFactFactory(content="Gold that was", ended=True)
    UserFactFactory(content="Gold to come", begins_later=True)
    UserFactFactory(content="Gold until now", valid_until=JUNE)


def ranks(query: str) -> tuple[list[tuple[UUID, float]], int]:
    found = recall_facts(query=query, limit=50, now=JUNE)
    return [(row.fact.pk, row.rank) for row in found.rows], found.total


@pytest.mark.parametrize("query", ["gold", "gold silver", "silver tin and gold", "copper"])
def test_few_facts_are_ranked_the_same_whether_read_whole_or_looked_up(query, metals, monkeypatch):
    met_first, met_again = ranks(query), ranks(query)
    monkeypatch.setattr(recall_module, "MAX_COMPARED", 0)

    assert met_first == met_again == ranks(query)


@pytest.mark.parametrize("most", [1, 2, 9, 15])
@pytest.mark.parametrize("query", ["gold", "gold 7", "gold silver tin 3 11", "gold silver tin iron salt"])
def test_one_look_up_finds_what_one_for_the_rare_words_and_one_for_the_newest_find(
    query, most, metals, trader, monkeypatch
):
    monkeypatch.setattr(recall_module, "MAX_COMPARED", 0)
    monkeypatch.setattr(recall_module, "MAX_RANKED", most)
    wanted, current = build_tokens(list_query_terms(query), trader.pk), UserFact.objects.current(JUNE)
    holders = dict(zip(wanted, count_holders(UserFact, *([token] for token in wanted)), strict=True))
    rare, room = [], most
    for token in sorted(wanted, key=lambda token: (holders[token], token)):
        if holders[token] > room:
            break
        rare, room = [*rare, token], room - holders[token]
    common = [token for token in wanted if token not in rare]
    expected = {*current.filter(ContainsAny(rare))} | {*current.filter(ContainsAny(common, newest=room))}
    texts = {str(fact.pk): fact.search_terms for fact in expected}
    held = UserFact.objects.believed().count()
    scores = blend_scores(
        score_bm25(texts, wanted, total=held, frequencies=holders, weights=KEYWORDS), {}, weights=KEYWORDS
    )

    found, total = ranks(query)

    assert found == sorted(((UUID(key), rank) for key, rank in scores.items()), key=lambda row: (-row[1], row[0]))
    assert total == count_holders(UserFact, wanted)[0] > most


def test_facts_that_are_all_compared_are_read_once(as_trader, django_assert_num_queries):
    for number in range(9):
        UserFactFactory(content=f"Trades BTC n{number}")

    for statements in (3, 2):  # which there are, what they say, the best whole; and what they say is known then
        with django_assert_num_queries(statements):
            assert recall_facts(query="btc", limit=2, now=JUNE).total == 9


@pytest.mark.parametrize("query", ["gold", "gold silver tin 3 11"])
def test_very_many_matches_take_three_statements(query, metals, monkeypatch, django_assert_num_queries):
    monkeypatch.setattr(recall_module, "MAX_COMPARED", 0)
    monkeypatch.setattr(recall_module, "MAX_RANKED", 4)
    contents(query)  # a process that meets the owner looks first whether there are few, and counts them

    with django_assert_num_queries(3):  # how many hold each word, the candidates, the best whole
        assert recall_facts(query=query, limit=2, now=JUNE).truncated


def test_recall_compares_all_facts_again_below_the_maximum(as_trader, monkeypatch):
    monkeypatch.setattr(recall_module, "MAX_COMPARED", 1)
    UserFactFactory(content="Only trades BTC")
    reads = UserFactFactory(content="Reads about cryptocurrency")
    assert contents("cryptocurrency") == ["Reads about cryptocurrency"]

    reads.delete()

    later = recall_facts(query="cryptocurrency", now=JUNE + recall_module.COUNT_AGE)
    assert [row.fact.content for row in later.rows] == ["Only trades BTC"]


# --- What a process keeps ---


def test_recall_cache_follows_every_change(as_trader, words_alone):
    fact = UserFactFactory(content="Trades gold")
    UserFactFactory(content="Trades silver", valid_until=JULY)
    assert sorted(contents("gold silver")) == ["Trades gold", "Trades silver"]

    supersede_fact(fact_id=fact.pk, content="Trades tin", now=JUNE)

    assert contents("gold silver") == ["Trades silver"]
    assert contents("tin") == ["Trades tin"]
    assert recall_facts(query="silver", now=JULY).rows == []


def test_recall_skips_fact_erased_between_statements(as_trader, words_alone, monkeypatch):
    UserFactFactory(content="Trades gold")
    gone = UserFactFactory(content="Trades more gold")
    look_up = recall_module._terms.look_up

    def erase_and_look_up(keys):
        gone.delete()
        return look_up(keys)

    monkeypatch.setattr(recall_module._terms, "look_up", erase_and_look_up)

    assert contents("gold") == ["Trades gold"]


def test_recall_cache_contains_no_plain_words(as_trader):
    fact = UserFactFactory(content="Fears the taxman", body="Owes a million")
    contents("debts")

    (key,) = recall_module._terms
    (terms,) = recall_module._terms.look_up([key])

    assert terms == fact.search_terms
    assert not {*fact.content.lower().split(), *fact.body.lower().split()} & set(terms.split())
    assert UUID(key) == fact.pk
    assert key in set(vectors._cache)


def test_a_process_knows_the_facts_of_the_last_users_before_their_first_query(trader, stranger, monkeypatch):
    for user, content in ((trader, "Only funds"), (stranger, "Never options")):
        as_owner(user, lambda content=content: UserFactFactory(content=content))
    words = vectors._Words()
    monkeypatch.setattr(vectors, "_words", words)

    recall_module.warm_recall(now=JUNE)

    assert {"Only", "funds", "Never", "options"} <= words._rows.keys()
    assert len(vectors._cache) == len(recall_module._terms) == 2
    for user, content in ((trader, "Only funds"), (stranger, "Never options")):
        assert as_owner(user, lambda: contents("funds options")) == [content]


def test_a_process_loads_the_facts_of_few_users_who_signed_in_last(trader, stranger, monkeypatch):
    monkeypatch.setattr(recall_module, "WARM_USERS", 1)
    trader.last_login = JULY
    trader.save()
    fact = as_owner(trader, lambda: UserFactFactory(content="Only funds"))
    as_owner(stranger, lambda: UserFactFactory(content="Never options"))

    recall_module.warm_recall(now=JUNE)

    assert list(map(UUID, recall_module._terms)) == [fact.pk]


def test_a_process_knows_the_words_of_many_facts_and_the_vectors_of_few(trader, monkeypatch):
    monkeypatch.setattr(recall_module, "WARM_FACTS", 1)
    monkeypatch.setattr(recall_module, "WARM_TEXTS", 2)
    for content, created_at in (("Only funds", JULY), ("Never options", JUNE), ("Reads charts", MAY)):
        as_owner(trader, lambda row=(content, created_at): UserFactFactory(content=row[0], created_at=row[1]))
    words = vectors._Words()
    monkeypatch.setattr(vectors, "_words", words)

    recall_module.warm_recall(now=JULY)

    assert words._rows.keys() == {"Only", "funds", "Never", "options"}
    assert len(vectors._cache) == len(recall_module._terms) == 1


def test_the_start_leaves_half_of_the_table_of_words_free(monkeypatch):
    words = vectors._Words()
    monkeypatch.setattr(vectors, "_words", words)
    monkeypatch.setattr(vectors, "CACHED_WORDS", 8)

    vectors.warm({"1": "Only funds"}, ["Never options or futures"])
    vectors.warm({}, ["Reads charts"])

    assert list(words._rows) == ["Only", "funds", "Never", "options"]


def test_the_number_of_many_facts_is_counted_again_after_a_minute(as_trader, words_alone, monkeypatch):
    monkeypatch.setattr(recall_module, "MAX_COMPARED", 2)
    for content in ("Trades BTC", "Trades ETH", "Trades SOL"):
        UserFactFactory(content=content)

    def count_held(seconds: int) -> int:
        return recall_module._rank_by_words("btc", JUNE + timedelta(seconds=seconds)).held

    assert count_held(0) == 3
    UserFactFactory(content="Trades gold")
    assert [count_held(59), count_held(60)] == [3, 4]
    UserFact.objects.exclude(content="Trades ETH").delete()
    assert [count_held(119), count_held(120), count_held(121)] == [4, 1, 1]
