"""Numbers in digits, and sets of words."""

import re
from collections.abc import Sequence, Set
from fractions import Fraction
from typing import Final


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def meets(tags: Set[str], wanted: str) -> bool:
    """Tell whether tags have what "a b|c -d" says: a, one of b and c, and no d."""
    return all(
        term[1:] not in tags if term[0] == "-" else not tags.isdisjoint(term.split("|")) for term in wanted.split()
    )


def map_words(meaning: str, words: str) -> dict[str, str]:
    """Return each word of a text with one meaning."""
    return dict.fromkeys(words.split(), meaning)


def join_words(words: Sequence[str], last: str) -> str:
    """Return words as "A, B and C"."""
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


_LONGEST_NUMBER: Final = 40  # digits; longer numbers are compared as text


def parse_digits(digits: str) -> Fraction | str:
    """Return the number of digits with separators, or the text itself."""
    plain = spell_digits(digits)
    if not plain:
        return f"0{digits}" if re.fullmatch(r"\d:\d\d", digits) else digits
    return Fraction(int(plain) if plain.isdecimal() else plain)


def spell_digits(digits: str) -> str:
    """Return the digits of a number without separators, and with its decimal point; empty: they are no number."""
    if len(digits) > _LONGEST_NUMBER or not digits.isascii():
        return ""
    if digits.isdecimal():
        return digits
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", digits):
        digits = digits.replace(",", "")
    elif re.fullmatch(r"\d+,\d{1,2}", digits):
        digits = digits.replace(",", ".")
    return digits if re.fullmatch(r"\d*\.?\d+", digits) else ""
