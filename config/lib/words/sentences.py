"""Cut a message into sentences and clauses; take off greetings and prefaces. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from config.lib.words.lexer import Token, find_phrase, read_tokens, skip_phrases, skip_tokens, text_at
from config.lib.words.quantities import word_set

LONGEST_REQUEST: Final = 300  # characters of a sentence that says what to do with one fact or place
QUOTED: Final = re.compile("^[>\"“”'`«]")


# --- Where sentences and clauses end ---

_END: Final = re.compile(r"\n|[。！？]+|[.!?]+[)\"'”’]*(?=[\s\x00]|\Z)")
_PART: Final = re.compile(r"(?<=;)\s+|,\s+(?:(?:and|so|but)\s+)?(?=(?:please\s+)?remember that\b)", re.IGNORECASE)
_ABBREVIATIONS: Final = word_set("e.g. i.e. vs. max. min. no. approx.")
_ENDS_TOO: Final = word_set("max. min. no.")  # words that a sentence may end with
_JOINING: Final = word_set("and but also plus while")
_ME: Final = word_set("i im ive my")
_DOING: Final = word_set("risk trade use hold live work")  # "and now risk 2%" begins a clause without "I"


def find_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the sentences and lines of a text begin and end, with their punctuation."""
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if match[0] != "." or not _is_abbreviated(text, end):
            if not text[start:end].isspace():
                yield start, end - (match[0] == "\n")
            start = end
    if text[start:].strip():
        yield start, len(text)


def _is_abbreviated(text: str, end: int) -> bool:
    word = text[max(0, end - len(" approx.")) : end].lower().rpartition(" ")[2]
    return word in _ABBREVIATIONS and not (word in _ENDS_TOO and text[end : end + 2].strip()[:1].isupper())


def sentences(message: str) -> Iterator[str]:
    """Yield the sentences, parts between semicolons and lines of a message with their punctuation."""
    for start, end in find_sentences(message):
        yield from filter(None, map(str.strip, _PART.split(message[start:end])))


def find_clauses(sentence: str) -> list[tuple[int, int]]:
    """Return where the clauses of a sentence begin and end; ", I ...", "and my ..." and "and now risk ..." are new."""
    tokens = read_tokens(sentence)
    cuts = [cut for at in range(1, len(tokens)) if (cut := _find_cut(tokens, at))]
    edges = [0, *(edge for cut in cuts for edge in cut), len(sentence)]
    return list(zip(edges[::2], edges[1::2], strict=True))


def split_clauses(sentence: str) -> list[str]:
    """Return the clauses of a sentence."""
    return [sentence[start:end] for start, end in find_clauses(sentence)]


def _find_cut(tokens: Sequence[Token], at: int) -> tuple[int, int] | None:
    """Return where the clause before a token ends, and where that of the token begins."""
    before = at - 1
    if tokens[at].text.partition("'")[0] not in _ME:
        is_new = tokens[at].text == "now" and text_at(tokens, at + 1) in _DOING
        return (tokens[before].start, tokens[at].start) if is_new and tokens[before].text == "and" and before else None
    is_joined = tokens[before].text in _JOINING
    before -= is_joined and before > 0 and tokens[before - 1].text == ","
    is_cut = before > 0 and (is_joined or tokens[before].text == ",")
    return (tokens[before].start, tokens[at].start) if is_cut else None


# --- What goes before a sentence ---

_SPELLINGS: Final = {
    r"\bim\b": "I'm",
    r"\b(do|ca|wo|does|is|did|are|was|have|has|should|would|could)nt\b": r"\1n't",
    r"\b(that|what|how|where|who|when)s\b": r"\1's",
    r"\bpls\b": "please",
    r"^(?:have|has) been\b": "I have been",
}


def is_question(sentence: str) -> bool:
    """Tell whether a sentence is a question."""
    begun = starts_question(read_tokens(sentence[:LONGEST_REQUEST]))
    return sentence.rstrip().endswith("?") or begun not in (None, "when")


def starts_question(tokens: Sequence[Token]) -> str | None:
    """Return the value of the word that begins a question; None without one. "When" may begin a condition, too."""
    begin = skip_tokens(tokens, 0, "LEADIN")
    found = find_phrase(tokens, begin, {"QUESTION"})
    return found[1].value if found and text_at(tokens, begin + 1) != "not" else None  # "do not ..." asks nothing


def strip_lead_in(sentence: str) -> str:
    """Return a sentence without "Hi Keel,", "by the way", "just so you know" and the like; one of only that is kept."""
    return skip_phrases(sentence, "LEADIN")


def strip_preface(sentence: str) -> str:
    """Return a sentence without "remember that", "actually" and the like."""
    plain = strip_correction(strip_lead_in(sentence))
    asked = parse_request(plain)
    return straight(strip_lead_in(plain if asked is None else asked))


def strip_correction(sentence: str) -> str:
    """Return a sentence without "no, wait", "actually" and the like; one of only that is kept."""
    return skip_phrases(sentence, "CORRECTS")


def parse_request(sentence: str) -> str | None:
    """Return what a sentence asks outright to remember ("please remember that ..."); None if it does not."""
    tokens = read_tokens(sentence[:LONGEST_REQUEST])
    begin = skip_tokens(tokens, 0, "ASKING")
    end = skip_tokens(tokens, begin, "REMEMBERING")
    if end == begin or find_phrase(tokens, end, {"UNTOLD"}):
        return None
    end = skip_tokens(tokens, end, "INTRODUCING")
    return sentence[tokens[end].start :] if end < len(tokens) else ""


def spell_out(text: str) -> str:
    """Return a text with the apostrophes that people leave out, and without what goes before a sentence."""
    for said, meant in _SPELLINGS.items():
        text = re.sub(said, meant, text, flags=re.IGNORECASE)
    return text


def straight(text: str) -> str:
    """Straighten apostrophes; the length stays the same."""
    return text.replace("’", "'").replace("\u2018", "'")
