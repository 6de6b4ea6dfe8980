"""Read places from a message: "my home is at 123 Main St"."""

from typing import Final

from config.lib.text import make_slug, one_line
from config.offline.reading.sentences import (
    CLAUSE,
    LONGEST_REQUEST,
    QUOTED,
    Pattern,
    is_question,
    sentences,
    strip_preface,
)
from memory.wording import MAX_PLACE_NOTES

_PLACE: Final = Pattern(
    r"""
^(?:(?:my|the)\s+(?P<mine>home|house|apartment|flat|office|workplace|gym|school|university|studio
    |(?:favou?rite|usual|regular|local)\s+(?:[\w-]+\s+){0,2}?<SPOT>)|my (?P<my>work)|(?P<bare>home|work))
    (?:'s address|\s+address)?\s*(?:\bis\b|'s\b|[:=])\s*(?P<is>\S.*)$
^(?P<home>I live)\s+(?P<at>(?:at(?! home\b)|on|near|next to|across from)\s+.+)$
^(?P<work>I work)\s+(?P<there>(?:at|from|on)\s+\d.+)$
""",
    SPOT=(
        r"(?:caf[eé]|coffee shop|restaurant|bar|pub|bakery|diner|park|beach|library|bookshop|bookstore|museum|cinema"
        r"|theat(?:er|re)|gym|pool|supermarket|grocery store|shop|store|spot|place|hotel|trail)"
    ),
)
_SOMEWHERE: Final = Pattern(r"^(?:at|near|next to|across from|opposite|located)\s+\S")
_AT: Final = Pattern(r"^(?:located\s+)?(?:at|called)\s+|^located\s+")
_ADDRESS: Final = Pattern(r"^(?-i:[A-Z]|\d)|^(?:in|on|by|behind|around|called|the)\s+.*(?-i:[A-Z\d])")
_NO_ADDRESS: Final = Pattern(
    r"^(?:at |from |in )?\d+(?:[:.]\d\d)?\s*(?:am|pm|to|-|–|o'clock|hours?|minutes?|days?|%|euros?|dollars?|usd|k|km"
    r"|miles?)\b|^(?:at )?\d+$|\b(?:today|right now|tonight|tomorrow)\b"
)
_ANNOUNCED: Final = Pattern(r"^(?:this |that |the )?(?:place|address)\s*[:,-]\s*")
_KEEP_PLACE: Final = Pattern(
    r"^(?:please |can you |could you )*(?:remember|save|keep|note) (?:that|this|the) (?:place|address)\b[^a-z]*$"
)
_SUPPOSED: Final = Pattern(r"^(?:if|suppose|imagine|what if|I wish|I would|I'd)\b")
_SAME_PLACE: Final = {"house": "home", "apartment": "home", "flat": "home", "workplace": "work"}


def read_places(message: str) -> tuple[list[dict[str, str]], str]:
    """Return a message's places, and the text without them."""
    places: list[dict[str, str]] = []
    rest: list[str] = []
    for sentence in sentences(message):
        is_told = len(sentence) <= 2 * LONGEST_REQUEST and not QUOTED.match(sentence) and not is_question(sentence)
        parts = CLAUSE.compiled.split(strip_preface(sentence)) if is_told else []
        found = [(part, None if _SUPPOSED.match(parts[0]) else _parse_place(part)) for part in parts]
        if places and _KEEP_PLACE.match(sentence):
            continue  # "Please remember that place." asks for what was just read
        if any(place for _, place in found):
            places += [place for _, place in found if place]
            rest += [part for part, place in found if not place]
        else:
            rest.append(sentence)
    return places, "\n".join(rest)


def _parse_place(clause: str) -> dict[str, str] | None:
    plain = _ANNOUNCED.compiled.sub("", clause.strip(" .!;,"))
    match = _PLACE.match(plain) if len(plain) <= LONGEST_REQUEST else None
    if match is None:
        return None
    named = match["mine"] or match["my"] or match["bare"] or ("home" if match["home"] else "work")
    notes = match["is"] or match["at"] or match["there"]
    if _NO_ADDRESS.search(notes) or not (_SOMEWHERE.match(notes) or _ADDRESS.match(notes)):
        return None  # "my office is too loud"
    kind = " ".join(named.casefold().split())
    kind = _SAME_PLACE.get(kind, kind)
    told = one_line(_AT.compiled.sub("", notes))[:MAX_PLACE_NOTES]
    return {"place_id": make_slug(kind, max_length=60), "place_name": kind[:1].upper() + kind[1:], "notes": told}
