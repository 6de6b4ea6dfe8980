"""Embeddings for search by meaning, local or remote.

Local: static word vectors from the wheel of `wordllama`. Its files are read without its code, which would configure
logging and import an HTTP client. Remote: an embedding model through the door. Vectors stay in this process, by a keyed
hash of their text or by an id whose text never changes, so erasure has nothing to delete. Vectors of single words are
stored by the word, which belongs to no user.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import mmap
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from config.lib.cache import RecentCache
from config.lib.llm.door import LLMUnavailable, embed

if TYPE_CHECKING:
    from numpy import floating
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    Vector = NDArray[floating]  # of length 1
    Table = NDArray[floating]  # a vector a row

logger = logging.getLogger(__name__)

STATIC: Final = "static"
CACHED: Final = 16_384  # vectors; 16 MB of static ones
CACHED_WORDS: Final = 16_384  # static vectors of words, of which those of texts are soon made; again 16 MB
MAX_WORD: Final = 32  # characters; a longer one is a sentence without spaces, which will not repeat
_WEIGHTS: Final = "weights/l2_supercat_256.safetensors"
_TOKENIZER: Final = "tokenizers/l2_supercat_tokenizer_config.json"

Key = TypeVar("Key", int, str)
Read = Callable[[Sequence[str]], Mapping[str, str]]  # the texts of ids, without deleted ones

_cache: Final[RecentCache[int | str, Vector]] = RecentCache(CACHED)


def compute_cosines(query: str, texts: Sequence[str], *, model: str) -> list[float] | None:
    """Return each text's cosine to the query; None without vectors.

    It computes static vectors and calls no model: remote ones must have been fetched.
    """
    keys = _build_keys([query, *texts], model)
    if model == STATIC:
        by_key = dict(zip(keys, (query, *texts), strict=True))
        vectors = _static_vectors(keys, lambda _: by_key)
    else:
        vectors = _cache.look_up(keys)
    return _compute_cosines(vectors[0], vectors[1:]) if vectors else None


def compute_static_cosines(query: str, ids: Sequence[str], read: Read) -> list[float] | None:
    """Return the cosines of texts by id; `read` returns the texts of new ids."""
    [key] = _build_keys([query], STATIC)
    asked, vectors = _static_vectors([key], lambda _: {key: query}), _static_vectors(ids, read)
    return None if asked is None or vectors is None else _compute_cosines(asked[0], vectors)


def _compute_cosines(asked: Vector | None, vectors: Sequence[Vector | None]) -> list[float] | None:
    if asked is None:
        return None
    if not vectors:
        return []
    import numpy  # noqa: PLC0415 - takes 0.3 s

    none = numpy.full_like(asked, numpy.nan)
    table = numpy.array([none if vector is None else vector for vector in vectors])
    # Row by row, and rounded: in a product of matrices the last bits depend on the number of rows.
    return [float(cosine) for cosine in numpy.einsum("ij,j->i", table, asked).astype(float).round(6)]


def fetch_vectors(texts: Sequence[str], *, model: str) -> bool:
    """Fetch the missing vectors of a remote model, outside of transactions; report success."""
    if model == STATIC:
        return True
    known = _cache.look_up(_build_keys(texts, model))
    missing = [text for text, vector in zip(texts, known, strict=True) if vector is None and text]
    if not missing:
        return True
    try:
        values = embed(list(dict.fromkeys(missing)), model=model)
    except LLMUnavailable as failure:
        logger.warning("Search goes by words alone: %s", failure.kind)
        return False
    import numpy  # noqa: PLC0415 - takes 0.3 s

    units = _scale_rows(numpy.asarray(values, dtype="float32"))
    _cache.keep(zip(_build_keys(dict.fromkeys(missing), model), units, strict=True))
    return True


def _build_keys(texts: Iterable[str], model: str) -> list[int]:
    # Python's own hash has a new key in each process and takes an eighth of the time of a digest. Two of the cached
    # texts share a hash of 64 bits once in a hundred billion processes.
    return [hash((model, text)) for text in texts]


def _scale_rows(table: Table) -> list[Vector | None]:
    import numpy  # noqa: PLC0415 - takes 0.3 s

    lengths = numpy.sqrt(numpy.einsum("ij,ij->i", table, table))
    has_direction = lengths > 1e-9
    table = table / numpy.where(has_direction, lengths, 1)[:, None]
    # Copy each row: a cached view would keep the whole table in memory.
    return [row.copy() if is_one else None for row, is_one in zip(table, has_direction.tolist(), strict=True)]


def _static_vectors(keys: Sequence[Key], read: Callable[[list[Key]], Mapping[Key, str]]) -> list[Vector | None] | None:
    """Return static vectors by key; `read` returns uncached texts."""
    if _static_files() is None:
        return None
    vectors = _cache.look_up(keys)
    missing = list(dict.fromkeys(key for key, vector in zip(keys, vectors, strict=True) if vector is None))
    if not missing:
        return vectors
    texts = read(missing)
    made = dict(zip(missing, _add_words([texts.get(key, "") for key in missing]), strict=True))
    _cache.keep(made.items())
    return [made[key] if vector is None else vector for key, vector in zip(keys, vectors, strict=True)]


def _add_words(texts: Sequence[str]) -> list[Vector | None]:
    """Return text vectors as exact sums of word vectors."""
    words = [text.split() for text in texts]
    distinct = dict.fromkeys(chain.from_iterable(words))
    if not distinct:
        return [None] * len(texts)
    import numpy  # noqa: PLC0415 - takes 0.3 s

    table, rows = _words.rows_of(distinct)
    sums = numpy.zeros((len(texts), table.shape[1]), dtype=table.dtype)
    # Texts of equal length together: numpy adds a block of rows much faster than text by text.
    places: dict[int, list[int]] = {}
    for place, found in enumerate(words):
        places.setdefault(len(found), []).append(place)
    for count, at in places.items():
        if count:
            chosen = numpy.array([[rows[word] for word in words[place]] for place in at])
            sums[at] = table[chosen].sum(axis=1)
    return _scale_rows(sums)


class _Words:
    """Known words' vectors in one table, which is fast to add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._table: Table | None = None
        self._rows: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def rows_of(self, words: Collection[str]) -> tuple[Table, Mapping[str, int]]:
        """Return the table and the words' rows, which never change."""
        import numpy  # noqa: PLC0415 - takes 0.3 s

        with self._lock:
            new = [word for word in words if word not in self._rows and len(word) <= MAX_WORD]
            if self._table is None or len(self._rows) + len(new) > CACHED_WORDS:
                new = [word for word in words if len(word) <= MAX_WORD][:CACHED_WORDS]
                self._table, self._rows = numpy.zeros((CACHED_WORDS, _add_pieces("").size), dtype="float32"), {}
            for row, word in enumerate(new, start=len(self._rows)):
                self._table[row] = _add_pieces(word)
                self._rows[word] = row
            table, rows = self._table, self._rows
        if all(word in rows for word in words):
            return table, rows
        of_all = [table[rows[word]] if word in rows else _add_pieces(word) for word in words]
        return numpy.array(of_all), {word: row for row, word in enumerate(words)}


_words: Final = _Words()


def _add_pieces(word: str) -> Vector:
    files = _static_files()
    assert files
    tokenizer, weights = files
    text = word.encode(errors="replace").decode()  # a lone surrogate is no text to the tokenizer
    pieces = weights.take(tokenizer.encode(text, add_special_tokens=False).ids, axis=0)
    vector: Vector = pieces.sum(axis=0, dtype="float32")
    return vector


def warm(texts: Mapping[str, str], others: Iterable[str] = ()) -> None:
    """Make the static vectors of texts by id, and of words of others while half of the table is free; slow."""
    if _static_files() is not None:
        _static_vectors(list(texts), lambda _: texts)
        words = dict.fromkeys(chain.from_iterable(text.split() for text in others))
        _words.rows_of(list(islice(words, max(0, CACHED_WORDS // 2 - len(_words)))))


def _map_weights(path: Path) -> Table:
    """Return the table of float16 of a file of safetensors, mapped and not read.

    The system loads the parts that are used, processes share them, and it may drop them again when memory is short.
    """
    import numpy  # noqa: PLC0415 - takes 0.3 s

    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    begin = 8 + int.from_bytes(mapped[:8], "little")  # behind the length of the description, and the description
    described = json.loads(mapped[8:begin])["embedding.weight"]
    first, end = described["data_offsets"]
    table = numpy.frombuffer(mapped, "float16", offset=begin + first, count=(end - first) // 2)
    return table.reshape(described["shape"])


@cache
def _static_files() -> tuple[Tokenizer, Table] | None:
    """Return tokenizer and weights, or None: search then uses words."""
    try:
        from tokenizers import Tokenizer  # noqa: PLC0415 - only a search needs it

        spec = importlib.util.find_spec("wordllama")
        folder = Path(spec.origin or "").parent if spec else Path()
        tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
        weights = _map_weights(folder / _WEIGHTS)
    except Exception:
        logger.exception("Static word vectors cannot be loaded; search goes by words alone")
        return None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, weights
