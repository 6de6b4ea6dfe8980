"""A line that is to be stored, read once at the door of its write."""

from dataclasses import dataclass

from memory.claims.validity import Validity


@dataclass(frozen=True, slots=True)
class Statement:
    """A fact's text with all that a write has to know of it."""

    text: str  # one line, as it is stored
    key: str  # of its normal form: equal lines have equal keys
    subject: str  # finds the facts that it may exclude
    said: Validity  # when it holds: as given, else by its words
