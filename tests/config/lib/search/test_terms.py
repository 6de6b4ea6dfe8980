# ruff: noqa: RUF001 - characters that look like others are what these tests are about

import math

import pytest
from django.db.models import Q
from hypothesis import given
from hypothesis import strategies as st

from config.lib.owned import owned_tx
from config.lib.search.terms import (
    MAX_TERMS,
    MAX_WORDS,
    TOKEN_LENGTH,
    USUAL,
    blend_scores,
    build_index_text,
    build_tokens,
    build_word_filter,
    iter_ranges,
    iter_terms,
    list_query_terms,
    list_terms,
    score_bm25,
)
from memory.models import UserFact
from tests.factories.memory import UserFactFactory
from tests.factories.trading import TraderFactory

FACTS = {
    "latin": ("Trades BTC and ETH perps", "symbols"),
    "percent": ("Risks at most 1% per trade", "risk"),
    "underscore": ("Account is called main_01", "account"),
    "backslash": (r"Keeps notes in C:\trades", ""),
    "quote": ("Says 'never again' to \"alts\"", ""),
    "german": ("Größe höchstens fünfzig Euro", ""),
    "cyrillic": ("Торгует только Биткоином", ""),
    "hindi": ("केवल बिटकॉइन में व्यापार", ""),
    "chinese": ("只交易比特币", "風險"),
    "arabic": ("يتداول البيتكوين فقط", ""),
}


@pytest.fixture
def facts(db):
    with owned_tx(TraderFactory()):
        for content, topic in FACTS.values():
            UserFactFactory(content=content, topic=topic)
        yield


def found(query: str, *columns: str) -> set[str]:
    names = {content: name for name, (content, _) in FACTS.items()}
    rows = UserFact.objects.filter(build_word_filter(query, *(columns or ("normalised", "topic"))))
    return {names[row.content] for row in rows}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("btc", {"latin"}),
        ("perps TRADES", {"latin"}),
        ("perp", {"latin"}),
        ("btc alts", set()),
        ("symbols eth", {"latin"}),
        ("1%", {"percent"}),
        ("%", {"percent"}),
        ("_", {"underscore"}),
        ("main_01", {"underscore"}),
        ("main-01", set()),
        ("\\", {"backslash"}),
        ("c:\\trades", {"backslash"}),
        ("'never", {"quote"}),
        ('"alts"', {"quote"}),
        ("GRÖSSE", {"german"}),
        ("größe", {"german"}),
        ("fu\u0308nfzig", {"german"}),
        ("БИТКОИНОМ", {"cyrillic"}),
        ("बिटकॉइन", {"hindi"}),
        ("比特币", {"chinese"}),
        ("風險", {"chinese"}),
        ("البيتكوين", {"arabic"}),
        ("ｂｔｃ", {"latin"}),
        ("BTC!", {"latin"}),
        ("b\u200btc", {"latin"}),
        ("'; DROP TABLE user_facts; --", set()),
        ("\x00btc", {"latin"}),
        ("\ud800", set(FACTS)),
        ("", set(FACTS)),
        ("  \n", set(FACTS)),
    ],
)
def test_has_words_finds_each_word_as_it_is_typed(query, names, facts):
    assert found(query) == names


def test_word_filter_searches_the_named_columns_only(facts):
    assert found("symbols", "normalised") == set()
    assert found("symbols", "topic") == {"latin"}


def test_word_filter_limits_the_number_of_words(facts):
    assert found(" ".join(["btc"] * MAX_WORDS + ["nonsense"])) == {"latin"}
    assert found(" ".join(["btc"] * (MAX_WORDS - 1) + ["nonsense"])) == set()


def test_has_words_joins_with_other_conditions(facts):
    rows = UserFact.objects.filter(build_word_filter("trade", "normalised"), ~Q(topic="risk"))

    assert {row.content for row in rows} == {FACTS["latin"][0], FACTS["backslash"][0]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Trading perps, trades positions", ["trade", "perp", "trade", "posit"]),
        ("BTC/ETH stop-loss main_01", ["btc", "eth", "stop", "loss", "main", "01"]),
        ("don't, don’t and dont", ["dont", "dont", "and", "dont"]),
        ("65,200.50 of 1,5 and 3x.", ["65200.50", "of", "1.5", "and", "3x"]),
        ("Größe GRÖSSE grosse", ["gross", "gross", "gross"]),
        ("fu\u0308nfzig fünfzig", ["funfzig", "funfzig"]),
        ("ｂｔｃ b\u200btc b\u00adtc", ["btc", "btc", "btc"]),
        ("½", ["1", "2"]),
        ("Биткоином Ёлка", ["биткоином", "елка"]),
        ("केवल व्यापार", ["केवल", "व्यापार"]),
        ("يَتَدَاوَلُ فقـــط", ["يتداول", "فقط"]),
        ("שָׁלוֹם", ["שלום"]),
        ("比特币", ["比", "比特", "特", "特币", "币"]),
        ("币", ["币"]),
        ("ขึ้น", ["ขึ้", "ขึ้น", "น"]),
        ("거래", ["거", "거래", "래"]),
        ("ｶﾞﾑ", ["ガ", "ガム", "ム"]),
        ("BTC🚀 👍🏽", ["btc", "🚀", "👍"]),
        ("BTC比特", ["btc", "比", "比特", "特"]),
        ("", []),
        (" \n .,'-*\"():^ \x00\x01\ud800 ", []),
        ("\u0301 \u200d", []),
    ],
)
def test_terms_are_the_folded_stems_of_any_script(text, expected):
    assert list_terms(text) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("what is the most I will risk", ["most", "risk"]),
        ("Who am I?", ["who", "am", "i"]),
        ("risk RISKS risking", ["risk"]),
        ("比特币", ["比特", "特币"]),
        ("币", ["币"]),
        ("btc OR eth NOT doge NEAR sol", ["btc", "eth", "doge", "near", "sol"]),
        ('"exact phrase" terms:btc pre* -minus (a AND b)', ["exact", "phrase", "term", "btc", "pre", "minu", "b"]),
        ("", []),
        ("  \n", []),
        ("!?", []),
    ],
)
def test_query_terms_leave_out_stop_words(query, expected):
    assert list_query_terms(query) == expected


def test_query_terms_are_no_more_than_a_sentence_has():
    assert len(list_query_terms(" ".join(f"word{number}" for number in range(MAX_TERMS + 5)))) == MAX_TERMS


@given(st.text())
def test_a_text_is_found_by_each_of_its_own_words(text):
    assert set(list_query_terms(text)) <= set(list_terms(text))


@given(st.text())
def test_terms_have_their_place_in_the_text(text):
    found = list(iter_terms(text))

    assert all(0 <= term.start < term.end <= len(text) and term.text for term in found)
    assert [term.start for term in found] == sorted(term.start for term in found)


def test_stem_of_known_words_never_changes():
    # They are stored: other stems would ask for every row to be indexed again.
    assert (
        build_index_text("Generalizations of 比特 trading", 7)
        == "lijofeaegeli ejadmghjmkpj mdlhinlaicof adnlpmknaheb nghpakakeeal nmhnaeabnjcj"
    )


@given(st.text())
def test_index_tokens_are_letters_of_equal_length(text):
    made = build_index_text(text, 1).split(" ") if list_terms(text) else []

    assert [len(token) for token in made] == [TOKEN_LENGTH] * len(list_terms(text))
    assert all(token.isascii() and token.isalpha() and token.islower() for token in made)


def test_tokens_of_one_word_differ_between_owners():
    assert build_tokens(["btc"], 1) != build_tokens(["btc"], 11)


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Trades BTC, traded ETH", "trading", ["Trades", "traded"]),
        ("只交易比特币吗", "比特币", ["比特币"]),
        ("Größe der Position", "grosse", ["Größe"]),
        ("Flies 🚀 often", "🚀", ["🚀"]),
        ("Nothing here", "btc", []),
    ],
)
def test_ranges_cover_the_matching_words(text, query, expected):
    assert [text[start:end] for start, end in iter_ranges(text, list_query_terms(query))] == expected


# --- BM25 ---

TEXTS = st.dictionaries(st.integers(0, 50), st.lists(st.sampled_from("abcdef"), max_size=12), max_size=8)


@given(texts=TEXTS, query=st.lists(st.sampled_from("abcdefg"), unique=True), more=st.integers(0, 100))
def test_bm25_is_the_formula(texts, query, more):
    wanted = build_tokens(query, 1)
    indexed = {key: " ".join(build_tokens(words, 1)) for key, words in texts.items()}
    total = len(texts) + more
    average = sum(map(len, texts.values())) / len(texts) if texts else 1

    def score(words: list[str]) -> float:
        result = 0.0
        for word in query:
            frequency = sum(word in other for other in texts.values())
            idf = math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))
            damping = USUAL.k1 * (1 - USUAL.b + USUAL.b * len(words) / (average or 1))
            result += idf * words.count(word) * (USUAL.k1 + 1) / (words.count(word) + damping)
        return result

    expected = {key: score(words) for key, words in texts.items() if set(words) & set(query)}
    assert score_bm25(indexed, wanted, total=total) == pytest.approx(expected)


@given(st.randoms(use_true_random=False))
def test_ranking_does_not_depend_on_the_order_of_rows(pick):
    words = {key: [pick.choice("abcdef") for _ in range(pick.randrange(9))] for key in range(30)}
    indexed = [(key, " ".join(build_tokens(text, 1))) for key, text in words.items()]
    near = [(key, round(pick.uniform(-1, 1), 6)) for key in words]
    shuffled, shuffled_near = pick.sample(indexed, len(indexed)), pick.sample(near, len(near))

    ranks = [
        blend_scores(score_bm25(dict(rows), build_tokens("abc", 1), total=30), dict(cosines))
        for rows, cosines in ((indexed, near), (shuffled, shuffled_near))
    ]

    assert ranks[0] == ranks[1]


def test_given_frequencies_count_rows_that_were_left_out():
    indexed = {1: build_index_text("btc", 1), 2: build_index_text("eth", 1)}
    btc, eth = build_tokens(["btc", "eth"], 1)

    scores = score_bm25(indexed, [btc, eth], total=1000, frequencies={btc: 900, eth: 1})

    assert scores[1] < scores[2]


@pytest.mark.parametrize(
    ("words", "near", "best_first"),
    [
        ({1: 2.0, 2: 1.0}, {}, [1, 2]),
        ({}, {1: 0.1, 2: 0.9}, [2, 1]),
        ({1: 1.0, 2: 1.0}, {1: 0.1, 2: 0.9, 3: 0.0}, [2, 1, 3]),
        ({1: 1.0}, {1: -0.1, 2: 0.5, 3: 0.1}, [1, 2, 3]),
        ({1: 1.0, 2: 1.0}, {2: 0.5, 3: 0.5}, [1, 2, 3]),
    ],
    ids=["words alone", "meaning alone", "meaning decides", "a word outweighs a likeness", "not compared"],
)
def test_blend_adds_up_words_and_meaning(words, near, best_first):
    scores = blend_scores(words, near)

    assert sorted(scores, key=lambda key: (-scores[key], key)) == best_first
