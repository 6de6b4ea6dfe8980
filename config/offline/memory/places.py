"""Read places from a message: "my home is at 123 Main St"."""

import re
from typing import Final

from config.lib.text import make_slug, one_line
from config.offline.reading.patterns import CLAUSE, NOT_LASTING, QUOTED, SUPPOSITION
from config.offline.reading.sentences import LONGEST_REQUEST, is_question, sentences, strip_preface
from memory.wording import MAX_PLACE_NOTES

_SPOT = (
    r"(?:caf[eé]|coffee shop|restaurant|bar|pub|bakery|diner|park|beach|library|bookshop|bookstore|museum|cinema"
    r"|theat(?:er|re)|gym|pool|supermarket|grocery store|shop|store|spot|place|hotel|trail)"
)
_PLACE_IS = re.compile(
    r"^(?:(?:my|the)\s+(?P<mine>home|house|apartment|flat|office|workplace|gym|school|university|studio"
    rf"|(?:favou?rite|usual|regular|local)\s+(?:[\w-]+\s+){{0,2}}?{_SPOT})|my (?P<my>work)|(?P<bare>home|work))"
    r"(?:'s address|\s+address)?\s*(?:\bis\b|'s\b|[:=])\s*(?P<notes>\S.*)$",
    re.IGNORECASE,
)
_LIVE_AT = re.compile(r"^I live\s+(?P<notes>(?:at(?! home\b)|on|near|next to|across from)\s+.+)$", re.IGNORECASE)
_WORK_AT = re.compile(r"^I work\s+(?P<notes>(?:at|from|on)\s+\d.+)$", re.IGNORECASE)
_SOMEWHERE = re.compile(r"^(?:at|near|next to|across from|opposite|located)\s+\S", re.IGNORECASE)
_AT = re.compile(r"^(?:located\s+)?(?:at|called)\s+|^located\s+", re.IGNORECASE)
_AN_ADDRESS = re.compile(r"^(?:[A-Z]|\d)|^(?:in|on|by|behind|around|called|the)\s+.*[A-Z\d]")
_NO_ADDRESS = re.compile(
    r"^(?:at |from |in )?\d+(?:[:.]\d\d)?\s*(?:am|pm|to|-|–|o'clock|hours?|minutes?|days?|%|euros?|dollars?|usd|k|km"
    r"|miles?)\b|^(?:at )?\d+$",
    re.IGNORECASE,
)
_ANNOUNCED: Final = re.compile(r"^(?:this |that |the )?(?:place|address)\s*[:,-]\s*", re.IGNORECASE)
_KEEP_PLACE: Final = re.compile(
    r"^(?:please |can you |could you )*(?:remember|save|keep|note) (?:that|this|the) (?:place|address)\b[^a-z]*$",
    re.IGNORECASE,
)
_SAME_PLACE: Final = {"house": "home", "apartment": "home", "flat": "home", "workplace": "work"}


def read_places(message: str) -> tuple[list[dict[str, str]], str]:
    """Return a message's places, and the text without them."""
    places: list[dict[str, str]] = []
    rest: list[str] = []
    for sentence in sentences(message):
        is_told = len(sentence) <= 2 * LONGEST_REQUEST and not QUOTED.match(sentence) and not is_question(sentence)
        found = [(part, _parse_place(part)) for part in CLAUSE.split(strip_preface(sentence))] if is_told else []
        if places and _KEEP_PLACE.match(sentence):
            continue  # "Please remember that place." asks for what was just read
        if any(place for _, place in found):
            places += [place for _, place in found if place]
            rest += [part for part, place in found if not place]
        else:
            rest.append(sentence)
    return places, "\n".join(rest)


def _parse_place(clause: str) -> dict[str, str] | None:
    plain = _ANNOUNCED.sub("", clause.strip(" .!;,"))
    if len(plain) > LONGEST_REQUEST or NOT_LASTING.search(plain) or SUPPOSITION.search(plain):
        return None
    if match := _PLACE_IS.match(plain):
        said = next(filter(None, (match["mine"], match["my"], match["bare"])))
        kind = " ".join(said.casefold().split())
    elif match := _LIVE_AT.match(plain):
        kind = "home"
    elif match := _WORK_AT.match(plain):
        kind = "work"
    else:
        return None
    notes = match["notes"]
    if _NO_ADDRESS.match(notes) or not (_SOMEWHERE.match(notes) or _AN_ADDRESS.match(notes)):
        return None  # "my office is too loud"
    kind = _SAME_PLACE.get(kind, kind)
    told = one_line(_AT.sub("", notes))[:MAX_PLACE_NOTES]
    return {"place_id": make_slug(kind, max_length=60), "place_name": kind[:1].upper() + kind[1:], "notes": told}
