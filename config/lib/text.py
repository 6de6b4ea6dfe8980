"""One-line, prompt-safe and CSV-safe text; the normal form."""

import re
import unicodedata
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import dropwhile
from uuid import UUID

# Cc: controls (NUL, escapes), Cf: format (zero width, bidi, tags), Cs: lone surrogates, Co and Cn: private, unassigned.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
_KEPT_IN_MESSAGES = frozenset("\n\t")
_SPACE = re.compile(r"\s+")
_WORDS = re.compile(r"\n|\S+")
_MIXED_WORD = re.compile(r"[^\W\d_]+")
_END_PUNCTUATION = ".!?,;:…。！？、；："
# A run of these could draw a heading, or a fence or a rule, where a renderer or a model looks for one.
_HEADINGS = re.compile(r"^[#\s]+|\s*#+(?=\s)")
_FENCES = re.compile(r"`{3,}|~{3,}|={3,}|([-_*])(?: ?\1){2,}")


def clean_text(text: str) -> str:
    """Return multi-line text without control characters and surrogates; joiners of scripts and emoji stay."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text  # most texts: nothing to look for
    return "".join(c for c in text if c in _KEPT_IN_MESSAGES or not _is_broken(c))


def _is_broken(char: str) -> bool:
    is_bidi_control = "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069"
    return is_bidi_control or unicodedata.category(char) in {"Cc", "Cs"} or char in "\u2028\u2029\ufeff"


def is_small_json(text: str, *, containers: int, values: int) -> bool:
    """Tell whether a JSON text has at most so many objects and lists, and values.

    Counted before the text is parsed, since each value of a few bytes takes fifty times as much memory. Signs within
    quoted texts count, too.
    """
    return text.count("{") + text.count("[") <= containers and text.count(",") <= values


def one_line(text: str) -> str:
    """Return one NFKC line without controls, bidi and zero-width characters."""
    if text.isascii() and text.isprintable():
        return _SPACE.sub(" ", text).strip()  # most texts: nothing to look for
    normal = unicodedata.normalize("NFKC", text)
    printable = (c for c in normal if c.isspace() or unicodedata.category(c) not in _UNSAFE_CATEGORIES)
    kept = "".join(" " if c.isspace() else c for c in printable)
    # Dropping a character can bring two together that compose; a second pass makes the result stable.
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", kept)).strip()


def fold_lookalikes(text: str) -> str:
    """Replace letters that only look Latin in Latin words."""
    return text if text.isascii() else _MIXED_WORD.sub(lambda word: _fold_word(word[0]), text)


def _fold_word(word: str) -> str:
    if word.isascii() or not any(map(str.isascii, word)) or not any(_is_lookalike(char) for char in word):
        return word
    return "".join(_find_latin(char) or char if _is_lookalike(char) else char for char in word)


def _is_lookalike(char: str) -> bool:
    return not char.isascii() and char.isalpha() and not unicodedata.name(char, "LATIN").startswith("LATIN")


def _find_latin(char: str) -> str:
    from confusable_homoglyphs import confusables  # noqa: PLC0415 - reads 0.9 MB, for the few texts that need it

    shapes = confusables.confusables_data.get(char, ())
    return next((shape["c"] for shape in shapes if shape["c"].isascii() and shape["c"].isalpha()), "")


def prompt_line(text: str) -> str:
    """Return text that cannot begin a prompt's heading, fence or rule."""
    return _FENCES.sub(lambda run: run[0][0], _HEADINGS.sub("", one_line(text)))


def normal_form(text: str) -> str:
    """Return the form for equality: NFKC, casefolded, no end punctuation."""
    folded = one_line(one_line(text).casefold())
    return folded.rstrip(_END_PUNCTUATION + " ") or folded


def make_slug(text: str, *, max_length: int) -> str:
    """Return a lower-case tag joined by `-`, in any script."""
    spaced = "".join(c if c.isalnum() or _is_mark(c) else " " for c in one_line(text).casefold())
    # A mark belongs to the letter before it; without one it is a leftover, such as an emoji's variation selector.
    words = ("".join(dropwhile(_is_mark, word)) for word in spaced.split())
    return "-".join(word for word in words if word)[:max_length].strip("-")


def _is_mark(char: str) -> bool:
    return unicodedata.category(char) in {"Mn", "Mc"}  # the vowel signs of many scripts


def csv_cell(text: str) -> str:
    """Return text that spreadsheets do not take for a formula."""
    line = one_line(text)
    return f"'{line}" if line.startswith(("=", "+", "-", "@")) else line


def parse_uuid(text: str) -> UUID | None:
    """Return the text as a UUID, or None."""
    try:
        return UUID(text)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class WordRun:
    kind: str  # "kept", "added", "removed"
    text: str


def list_word_changes(old: str, new: str) -> list[WordRun]:
    """Return the word runs between two versions of a text; its line breaks are kept."""
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    runs: list[WordRun] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            runs.append(WordRun("kept", " ".join(before[i1:i2])))
            continue
        if i1 < i2:
            runs.append(WordRun("removed", " ".join(before[i1:i2])))
        if j1 < j2:
            runs.append(WordRun("added", " ".join(after[j1:j2])))
    return runs
