import logging
import math
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from config.lib.cache import RecentCache
from config.lib.llm import door, vectors
from config.lib.llm.door import LLMUnavailable
from config.lib.llm.vectors import CACHED, STATIC, compute_cosines, compute_static_cosines, fetch_vectors
from tests.embeddings import EmbeddingModel
from tests.source import ROOT

REMOTE = "embedding/test"


@pytest.fixture(autouse=True)
def _forget():
    vectors._cache.clear()
    yield
    vectors._cache.clear()


@pytest.fixture
def words(monkeypatch):
    """The table of words, without any."""
    monkeypatch.setattr(vectors, "_words", vectors._Words())
    return vectors._words


@pytest.fixture
def remote():
    """A remote model with a few vectors of its own."""
    model = EmbeddingModel({"east": [2.0, 0.0], "west": [-1.0, 0.0], "nowhere": [0.0, 0.0]}, otherwise=[0.0, 3.0])
    model.register()
    return model


# --- Static vectors ---


def test_similar_meanings_have_high_cosines():
    near, far = compute_cosines("cryptocurrency", ["Only trades BTC", "Lives in Lisbon"], model=STATIC)

    assert near > 0.2 > far


@pytest.mark.parametrize(
    "text", ["Trades BTC-perps, 1.5x at most!", "Größe höchstens 50 €", "只交易 比特币 🚀", "Ünïcödé \x00 end"]
)
def test_a_text_is_cut_like_the_sum_of_its_words(text):
    tokenizer, weights = vectors._static_files()
    whole = weights[tokenizer.encode(text, add_special_tokens=False).ids].sum(axis=0, dtype="float32")

    (vector,) = vectors._add_words([text])

    assert vector == pytest.approx(whole / math.sqrt(whole.dot(whole)), abs=1e-6)


def test_weights_are_mapped_as_the_file_has_them():
    path = Path(find_spec("wordllama").origin).parent / vectors._WEIGHTS
    _, weights = vectors._static_files()

    assert (weights == load_file(path)["embedding.weight"]).all()
    assert (weights.dtype, weights.flags.owndata, weights.flags.writeable) == ("float16", False, False)


def test_words_are_kept_but_sentences_without_spaces_are_not(words):
    compute_cosines("btc", ["Trades " + "只交易比特币" * 10, "Trades gold"], model=STATIC)

    assert set(words._rows) == {"btc", "Trades", "gold"}


@pytest.mark.parametrize("most", [1, 2, 3, 5])
def test_vector_does_not_depend_on_cached_words(most, words, monkeypatch):
    texts = ["Trades BTC and gold", "gold", "只交易比特币" * 10, "BTC " + "x" * 40, ""]
    expected = [compute_cosines("coins", [text], model=STATIC) for text in texts]
    monkeypatch.setattr(vectors, "CACHED_WORDS", most)
    vectors._cache.clear()
    words._table = None

    assert [compute_cosines("coins", [text], model=STATIC) for text in texts] == [
        pytest.approx(value, nan_ok=True) for value in expected
    ]
    assert len(words._rows) <= most


def test_a_table_of_words_that_was_given_does_not_change_when_another_begins(words, monkeypatch):
    monkeypatch.setattr(vectors, "CACHED_WORDS", 2)
    table, rows = words.rows_of(["gold", "silver"])
    before = table[rows["gold"]].copy()

    words.rows_of(["tin", "iron"])

    assert (table[rows["gold"]] == before).all()


def test_cosine_does_not_depend_on_other_texts():
    texts = [f"Trades coin number {number}" for number in range(50)]

    alone = [compute_cosines("coins", [text], model=STATIC)[0] for text in texts]
    vectors._cache.clear()

    assert compute_cosines("coins", texts, model=STATIC) == alone
    assert compute_cosines("coins", texts, model=STATIC) == alone, "known vectors are others"


@pytest.mark.parametrize(
    "text", ["", "\ud800", "\x00", "比特币 🚀", "x" * 100_000], ids=["blank", "surrogate", "nul", "cjk", "long"]
)
def test_any_text_can_be_compared(text):
    (value,) = compute_cosines("btc", [text], model=STATIC)

    assert math.isnan(value) or -1.000001 <= value <= 1.000001


def test_a_blank_query_compares_with_nothing_and_no_texts_give_none():
    assert compute_cosines("", ["Trades BTC"], model=STATIC) is None
    assert compute_cosines("btc", [], model=STATIC) == []


def test_without_the_package_there_are_no_vectors_and_the_log_says_so(monkeypatch, caplog):
    monkeypatch.setattr(vectors, "_WEIGHTS", "no/such/file")
    vectors._static_files.cache_clear()
    try:
        with caplog.at_level(logging.ERROR):
            answers = [compute_cosines("btc", ["Trades BTC"], model=STATIC) for _ in range(2)]
    finally:
        vectors._static_files.cache_clear()

    assert answers == [None, None]
    assert [record.message for record in caplog.records] == [
        "Static word vectors cannot be loaded; search goes by words alone"
    ]


def test_cache_contains_no_text_and_is_bounded(monkeypatch):
    monkeypatch.setattr(vectors, "_cache", RecentCache(10))
    compute_cosines("btc", [f"Trades secret coin {number}" for number in range(50)], model=STATIC)

    assert len(vectors._cache) == 10 < CACHED
    assert {type(key) for key in vectors._cache} == {int}


def test_texts_of_ids_are_read_once():
    said = {"a": "Only trades BTC", "b": "Lives in Lisbon", "c": ""}
    asked = []

    def read(ids):
        asked.extend(ids)
        return {key: said[key] for key in ids if key in said}

    first = compute_static_cosines("cryptocurrency", ["a", "b", "gone"], read)
    again = compute_static_cosines("cryptocurrency", ["b", "a"], read)

    assert first[:2] == again[::-1] == compute_cosines("cryptocurrency", [said["a"], said["b"]], model=STATIC)
    assert math.isnan(first[2])
    assert asked == ["a", "b", "gone"]


def test_only_a_search_loads_the_weights():
    late = "{'numpy', 'tokenizers', 'safetensors', 'wordllama', 'litellm', 'snowballstemmer'}"
    script = f"import sys; import config.lib.llm.vectors, config.lib.fields; print(*{late} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


# --- A remote model ---


def test_fetched_vectors_are_compared(remote):
    assert fetch_vectors(["north", "east", "west", "nowhere"], model=REMOTE)

    assert compute_cosines("east", ["east", "west", "north"], model=REMOTE) == [1.0, -1.0, 0.0]
    assert math.isnan(compute_cosines("east", ["nowhere"], model=REMOTE)[0]), "it has no direction"


def test_unfetched_texts_have_no_cosine(remote):
    assert compute_cosines("east", ["west"], model=REMOTE) is None

    fetch_vectors(["east"], model=REMOTE)

    assert math.isnan(compute_cosines("east", ["west"], model=REMOTE)[0])


def test_each_text_is_fetched_once_in_batches(remote):
    fetch_vectors(["east", "west", "east"], model=REMOTE)
    fetch_vectors(["west", "north"], model=REMOTE)
    assert remote.asked == ["east", "west", "north"]
    before = len(remote.batches)

    fetch_vectors([f"text {number}" for number in range(150)], model=REMOTE)

    assert remote.batches[before:] == [64, 64, 22]


def test_a_failure_says_no_and_logs_nothing_of_the_provider(remote, caplog):
    remote.fails = True

    assert fetch_vectors(["east"], model=REMOTE) is False
    assert "secret" not in caplog.text
    assert "words alone" in caplog.text


@pytest.mark.parametrize("vector", [[], [1.0, 2.0, 3.0], [math.nan, 1.0], ["x", 1.0], None])
def test_an_answer_of_another_shape_is_no_answer(vector, remote):
    remote.vectors["bad"] = vector

    with pytest.raises(LLMUnavailable):
        door.embed(["east", "bad"], model=REMOTE)


def test_embed_answers_in_the_order_of_the_texts(remote):
    assert door.embed(["west", "other", "east"], model=REMOTE) == [[-1.0, 0.0], [0.0, 3.0], [2.0, 0.0]]
