"""Find pasted material in a user's message: mail, transcripts, tables, links, comments, markup."""

import re
from collections.abc import Iterator
from typing import Final

from config.lib.words.quantities import word_set

Span = tuple[int, int]

# An announcement or a mail header gives no end, so the rest of the message counts as pasted.
_TO_THE_END: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"^[ \t]*-{2,}[ \t]*(?:original|forwarded|weitergeleitete|begin)\b.*",
        r"^[ \t]*(?:from|to|subject|sent|date|cc)[ \t]*:.*\n[ \t]*(?:from|to|subject|sent|date|cc)[ \t]*:",
        r"^[ \t]*(?:fwd?|re|subject)[ \t]*:.*$",
        r"^[ \t]*on\b[^\n]{3,80}\bwrote[ \t]*:",
        # "Found this on a blog:", "Transcript of the podcast below.", "What do you make of this?" and then a new line.
        r"^(?=[^\n]{0,200}\b(?:blogs?|articles?|posts?|threads?|transcripts?|podcasts?|discord|telegram|reddit|twitter"
        r"|forums?|e-?mails?|newsletters?|tweets?|websites?|web ?pages?|chat ?logs?|group chat|headlines?|captions?"
        r"|copied|pasted?|forwarded|below|following|found this|make of (?:this|that|it)|think of (?:this|that)"
        r"|(?:summari[sz]e|translate|explain|check|read|rate|review) (?:this|that|it|the))\b)"
        r"[^\n]*(?:[:?>.]|>>|below|this|following)[ \t]*\n(?=\s*\S)",
    )
)
_PARTS: Final = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (r"<!--.*?(?:-->|\Z)|/\*.*?(?:\*/|\Z)", re.DOTALL),
        (r"<(?P<tag>[a-z][a-z0-9]{0,20})\b[^>\n]*>.*?(?:</(?P=tag)>|(?=\n[ \t]*\n)|\Z)", re.DOTALL | re.IGNORECASE),
        (r"\[[^\]\n]*\]\([^)\n]*\)|\bhttps?://\S+|\bwww\.\S+", 0),
        (r"^[ \t]*(?:#{1,6}[ \t]|//|--[ \t]|;;).*$", re.MULTILINE),  # headings and comments
        (r"^(?:[^|\n]*\|){2,}[^\n]*$|^[^\t\n]+\t[^\t\n]+\t[^\n]*$", re.MULTILINE),  # rows of a table
        (r"(?:^[ \t]*\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?[ \t]+\S[^\n]*(?:\n|\Z)){2,}", re.MULTILINE),  # subtitles
        (r"(?:^[^;\n]+;(?![ \n])[^\n]*(?:\n|\Z)){2,}", re.MULTILINE),
        (r"(?:^[^,\n]+,(?![\s\d])[^\n]*(?:\n|\Z)){2,}", re.MULTILINE),
        (r"^(?: {4}|\t)(?![ \t]*[-*•])[^\n]*\S[^\n]*$", re.MULTILINE),  # indented code
        (r"\{[^{}]*\}", 0),
        # A letter, from its greeting to its sender.
        (
            r"^[ \t]*(?:dear|hi|hello|hey|good (?:morning|day|evening))\b(?! keel)[^\n.!?:]{0,40}[,!]?[ \t]*\n"
            r"(?:[^\n]*\n){0,60}?"
            r"[ \t]*(?:(?:best|kind|warm)(?: (?:regards|wishes))?|regards|sincerely|cheers|yours(?: \w+)?|greetings)"
            r"[ \t]*,?[ \t]*(?:\n[^\n]{1,40}|\Z)",
            re.MULTILINE | re.IGNORECASE,
        ),
    )
)
_LABEL: Final = re.compile(
    r"(?:^|(?<=[.!?] ))[ \t]*(?:[-*•][ \t]+)?(?P<time>\[[^\]\n]{1,40}\][ \t]*|\(?\d{1,2}:\d\d[^\s]{0,6}\)?[ \t]+)?"
    r"(?P<label>[^\s:\[][^:.!?\n]{0,40}?)(?:[ \t]*\([^)\n]{1,20}\))?[ \t]*:[ \t]+(?P<text>\S[^\n]*)$",
    re.MULTILINE,
)
# "Ana 09:12" or "Ana, [09:12]" on a line of its own, and what Ana wrote.
_CHAT_HEADER: Final = re.compile(
    r"^[ \t]*(?P<label>[^\W\d][\w.'-]*(?: [^\s:]+){0,2}?)[ ,—–-]*[\[(]?\d{1,2}:\d\d(?:[ \t]?[ap]m)?[\])]?[ \t]*\n"
    r"(?:(?![ \t]*\n)[^\n]+(?:\n|\Z)){1,8}?(?=\s*\Z|[ \t]*\n|[^\n]{1,40}\d:\d\d[^\n]{0,4}\n)",
    re.MULTILINE | re.IGNORECASE,
)
_QUOTED_KEY: Final = re.compile(r"[\"']\s*:")
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FIRST_PERSON: Final = re.compile(r"\s*(?:I|I['’]\w+|my|me|we|our)\b", re.IGNORECASE)
_ANY_FIRST_PERSON: Final = re.compile(r"\b(?:I|I['’]\w+|my|me|mine|we|our)\b")


# "My rule: ...", "Note: I trade on Kraken": the user speaks.
_OWN_LABELS: Final = word_set(
    "my our note notes rule rules remember remembered goal goals plan plans correction update edit ps also btw reminder"
    " fact facts about answer please so yes no ok okay hi hello hey keel one thing today actually news tell question"
    " this that these record more thing to be clear fyi short background context it simple what important"
)
_NO_OWNERS: Final = word_set("today's tomorrow's week's month's year's it's that's here's what's there's let's")
# "Max leverage: 3x": a field. A first-person sentence behind it would be the speech of somebody called Max.
_FIELD_LABELS: Final = word_set(
    "max maximum min minimum leverage risk loss losses limit limits drawdown stop stops target profit size position"
    " positions exchange broker symbols symbol coins pairs instruments markets market style hours session sessions"
    " time zone timezone tz currency base city country home office gym place places name age job language tone format"
    " length preference preferences experience days weekdays capital account budget entry entries exit exits strategy"
    " setup schedule trade trades trading per a of the in on and for to day daily week weekly month monthly year first"
    " second third number"
)
_LONG_VOICE: Final = 45  # words of a paragraph without a first person: nobody states rules of their own so


def find_pasted(text: str) -> Iterator[Span]:
    """Yield the spans of pasted material; they may overlap."""
    starts = [match.end() if "\n" in match[0] else match.start() for p in _TO_THE_END if (match := p.search(text))]
    if starts:
        yield min(starts), len(text)
    for pattern in _PARTS:
        yield from (
            match.span() for match in pattern.finditer(text) if match[0][0] != "{" or _QUOTED_KEY.search(match[0])
        )
    for match in _LABEL.finditer(text):
        if match["time"] or not _is_own_label(match["label"], match["text"]):
            yield match.span()
    yield from _find_chat_logs(text)
    yield from _find_long_voices(text)


def _is_own_label(label: str, text: str) -> bool:
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(label)]
    if any(word.endswith("'s") and word not in _NO_OWNERS for word in words):
        return False  # "My friend's rule is: ..."
    if set(words) & {"my", "our", "i", "i'm", "me"} or not words:
        return True
    words = [word.removesuffix("'s") for word in words]
    if len(words) > 4 or not set(words) <= _OWN_LABELS | _FIELD_LABELS:
        # "Here is what I do: ..." has a verb of the user; a speaker's label is short.
        return len(words) > 4
    return words[-1] in _OWN_LABELS or not _FIRST_PERSON.match(text)


def _find_chat_logs(text: str) -> Iterator[Span]:
    """Yield the lines under the names and times of a copied chat, if there are two."""
    headers = [match for match in _CHAT_HEADER.finditer(text) if not _is_own_label(match["label"], "")]
    if len(headers) > 1:
        yield from (match.span() for match in headers)


def _find_long_voices(text: str) -> Iterator[Span]:
    for match in re.finditer(r"(?:[^\n]|\n(?![ \t]*\n))+", text):
        is_long = len(match[0]) > 4 * _LONG_VOICE and len(match[0].split()) >= _LONG_VOICE
        if is_long and not _ANY_FIRST_PERSON.search(match[0]):
            yield match.span()
