"""Texts as vectors, for search by meaning: near in direction is near in what is meant.

Without a network: static word vectors, whose weights lie in the wheel of `wordllama`. Its files are read without its
code, which would configure logging and bring an HTTP client. Or those of an embedding model through the one door.
Vectors are kept in this process alone, by a digest of their text, so there is nothing that erasure has to look for;
those of single words by the word, which is nobody's.
"""

import importlib
import importlib.util
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, Final

from config.lib.llm import LLMUnavailable, embed

logger = logging.getLogger(__name__)

STATIC: Final = "static"
CACHED: Final = 16_384  # vectors; 16 MB of static ones, beside the 32 MB of their weights
CACHED_WORDS: Final = 16_384  # static vectors of words, of which those of texts are soon made; again 16 MB
MAX_WORD: Final = 32  # characters; what is longer is none that comes again, as a sentence without spaces
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"

Vector = Any  # a numpy array of length 1; numpy takes a third of a second to import, so only a search does

_lock = threading.Lock()
_kept: OrderedDict[bytes, Vector] = OrderedDict()


def cosines(query: str, texts: Sequence[str], *, model: str) -> list[float] | None:
    """Return how near each text is to the query, -1..1; nan for one without a vector. None: there is none to compare.

    Computes static vectors. Of any other model only vectors that `fetch` has brought are known here, so this may be
    called while a transaction is open.
    """
    vectors = _static_vectors([query, *texts]) if model == STATIC else _known([query, *texts], model)
    if vectors is None or vectors[0] is None:
        return None
    if not texts:
        return []
    numpy = importlib.import_module("numpy")
    none = numpy.full_like(vectors[0], numpy.nan)
    table = numpy.array([none if vector is None else vector for vector in vectors[1:]]).reshape(len(texts), -1)
    # Row by row, and rounded: in a product of matrices the last bits depend on how many rows there are.
    found: list[float] = numpy.einsum("ij,j->i", table, vectors[0]).astype(float).round(6).tolist()
    return found


def fetch(texts: Sequence[str], *, model: str) -> bool:
    """Bring the vectors of a remote model that are not known yet; return whether it could be done.

    Calls the model: never while a transaction is open. Static vectors need no fetching.
    """
    if model == STATIC:
        return True
    missing = [text for text, vector in zip(texts, _known(texts, model), strict=True) if vector is None and text]
    if not missing:
        return True
    try:
        values = embed(list(dict.fromkeys(missing)), model=model)
    except LLMUnavailable as failure:
        logger.warning("Search goes by words alone: %s", failure.kind)
        return False
    units = _units(importlib.import_module("numpy").asarray(values, dtype="float32"))
    _keep(dict(zip(_keys(dict.fromkeys(missing), model), units, strict=True)))
    return True


def _keys(texts: Iterable[str], model: str) -> list[bytes]:
    person = blake2b(model.encode(), digest_size=16).digest()
    return [blake2b(text.encode(errors="replace"), digest_size=16, person=person).digest() for text in texts]


def _known(texts: Sequence[str], model: str) -> list[Vector | None]:
    return _kept_under(_keys(texts, model))


def _kept_under(keys: Sequence[bytes]) -> list[Vector | None]:
    with _lock:
        found = []
        for key in keys:
            vector = _kept.get(key)
            if vector is not None:
                _kept.move_to_end(key)
            found.append(vector)
        return found


def _keep(vectors: Mapping[bytes, Vector | None]) -> None:
    with _lock:
        for key, vector in vectors.items():
            if vector is not None:
                _kept[key] = vector
                _kept.move_to_end(key)
        while len(_kept) > CACHED:
            _kept.popitem(last=False)


def forget() -> None:
    """Drop all vectors that are kept."""
    with _lock:
        _kept.clear()


def _units(table: Any) -> list[Vector | None]:
    """Return the rows of a table at length 1; None for one without a direction."""
    numpy = importlib.import_module("numpy")
    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", table, table))
    has_direction = lengths > 1e-9
    table = table / numpy.where(has_direction, lengths, 1)[:, None]
    # Copies, or one row that is kept would keep all the others with it.
    return [row.copy() if is_one else None for row, is_one in zip(table, has_direction.tolist(), strict=True)]


def _static_vectors(texts: Sequence[str]) -> list[Vector | None] | None:
    if _static_files() is None:
        return None
    keys = _keys(texts, STATIC)
    vectors = _kept_under(keys)
    missing = {key: text for key, text, vector in zip(keys, texts, vectors, strict=True) if vector is None}
    computed = dict(zip(missing, _sums_of_words(list(missing.values())), strict=True))
    _keep(computed)
    return [computed[key] if vector is None else vector for key, vector in zip(keys, vectors, strict=True)]


def _sums_of_words(texts: Sequence[str]) -> list[Vector | None]:
    """Return the vectors of texts; no piece of the tokenizer's reaches from a word into the next, so they are sums."""
    words = [text.split() for text in texts]
    rows = {word: row for row, word in enumerate(dict.fromkeys(chain.from_iterable(words)))}
    if not rows:
        return [None] * len(texts)
    numpy = importlib.import_module("numpy")
    table = numpy.array([_word_vector(word) if len(word) <= MAX_WORD else _sum_of_pieces(word) for word in rows])
    sums = numpy.zeros((len(texts), table.shape[1]), dtype=table.dtype)
    # Texts of as many words at a time: numpy adds a block of rows much faster than it goes from text to text.
    places: dict[int, list[int]] = {}
    for place, found in enumerate(words):
        places.setdefault(len(found), []).append(place)
    for count, at in places.items():
        if count:
            chosen = numpy.array([[rows[word] for word in words[place]] for place in at])
            sums[at] = table[chosen].sum(axis=1)
    return _units(sums)


def _sum_of_pieces(word: str) -> Vector:
    files = _static_files()
    assert files
    tokenizer, weights = files
    return weights.take(tokenizer.encode(_encodable(word), add_special_tokens=False).ids, axis=0).sum(axis=0)


_word_vector = lru_cache(CACHED_WORDS)(_sum_of_pieces)


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()  # a lone surrogate is no text to the tokenizer


@cache
def _static_files() -> tuple[Any, Any] | None:
    """Return the tokenizer and the weights, or None where the package cannot be used: search then goes by words."""
    try:
        spec = importlib.util.find_spec("wordllama")
        folder = Path(spec.origin or "").parent if spec else Path()
        tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(folder / _TOKENIZER))
        weights = (
            importlib.import_module("safetensors.numpy")
            .load_file(folder / _WEIGHTS)["embedding.weight"]
            .astype("float32")
        )
    except Exception:
        logger.exception("Static word vectors cannot be loaded; search goes by words alone")
        return None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, weights
