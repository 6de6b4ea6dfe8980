"""The user's own statements in what they typed, without quotations and questions."""

import re
from typing import Final

from config.lib.words.lexer import MASK
from memory.claims.pasted import find_pasted

_FENCE: Final = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_QUOTED_LINE: Final = re.compile(r"^[ \t]*[>\uff1e].*$", re.MULTILINE)
_CODE: Final = re.compile(r"`[^`\n]+`")
_MARKUP: Final = re.compile(r"<blockquote\b.*?(?:</blockquote>|\Z)", re.IGNORECASE | re.DOTALL)
# An unclosed quotation ends with its paragraph.
_QUOTATIONS: Final = tuple(
    re.compile(rf"{before}{opening}(?P<inside>.*?)(?:{closing}|(?=\n[ \t]*\n)|\Z)", re.DOTALL)
    for before, opening, closing in (
        ("", "[“„]", "[”“]"),
        ("", "«", "»"),
        ("", "「", "」"),
        ("", "『", "』"),
        ("", "《", "》"),
        (r"(?<![^\s(:,;=—–-])", '"', '"'),
        (r"(?<![^\s(:,;=—–-])", "[\u2018']", r"[’'](?!\w)"),
    )
)
# "no 'alts' for me": one or two words without a number are emphasis, not a quotation.
_LETTERS: Final = "(?:(?![\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7a3])[^\\W\\d])+"
_STRESSED: Final = re.compile(rf"\s*{_LETTERS}(?:[\s-]+{_LETTERS})?\s*")
# In remember: "..." and my rule is "..." the quoted words are the user's own.
_OWN_QUOTATION: Final = re.compile(
    r"(?:\b(?:remember|note|save|store)(?: that| this)?|\bmy (?:[\w-]+ ){0,2}(?:rule|goal|motto|plan|limit|name)"
    r"(?: is)?|\bI (?:always )?(?:say|said|tell myself))\s*[:,]?\s*\Z",
    re.IGNORECASE,
)

_REPORTING: Final = (
    r"(?:(?:says?|said|claimed|stated|writes|wrote|reported|tweeted|posted|argue[sd]|thinks|thought|believe[sd]"
    r"|recommend(?:s|ed)|suggest(?:s|ed)|advise[sd]|tells|told|texted|messaged|e-?mailed"
    r"|replied|answered|explained|mentioned|shared|warned|promised|insist(?:s|ed)|announced)\b"
    r"|whisper(?:s|ed)|shout(?:s|ed)|yell(?:s|ed)|sings|sang|mutter(?:s|ed)|(?:reads|goes|claims|states)(?=\s+I\b)"
    # These can be nouns: "earnings reports", "United States".
    r"|(?:claims?|states?|reports?|tweets?|posts?|goes|reads|announces)(?=\s+that\b|\s*:))"
)
# The speaker is another person; "as I said" and "my rule says" are the user.
_REPORTED: Final = re.compile(
    rf"(?<![\w'’])(?!(?:I|we|and|to|not|never|also|often|always|just|only|rules?|plan|journal|system|strategy|goal)\b)"
    rf"[\w’'.]+\s+(?:(?:also|often|always|just|once|clearly|explicitly)\s+)?{_REPORTING}"
    r"(?P<colon>[^.!?\n:]{0,60}:(?=\s|\Z))?",
    re.IGNORECASE,
)
_ACCORDING: Final = re.compile(
    r"\bas\s+(?!(?:it|soon|long|far|much|if|though)\b)(?:(?!\bI\b)[^.!?,:\n]){1,30}?\s"
    r"(?:puts?|likes? to put|says?|said)\b(?: it)?"
    r"|\b(?:according to|as per|quoting)\s+(?!my\b)(?P<colon>[^.!?\n:]{0,60}:(?=\s|\Z))?"
    r"|\b(?:quotes?|headlines?|articles?|news|tweets?|posts?)\b(?P<announced>[^.!?\n:]{0,40}:(?=\s|\Z))",
    re.IGNORECASE,
)
_ENDS_PARAGRAPH: Final = re.compile(r"\n[ \t]*\n")
_ENDS_SENTENCE: Final = re.compile(r"[.!?](?=\s|\Z)|[。！？\n]")
_WHITE: Final = re.compile(r"\s*")
SENTENCE: Final = re.compile(r"(?:[^.!?。！？\n]|[.!?](?![\s\x00)\"'”’]|\Z))+[.!?。！？]*|[.!?。！？]+", re.DOTALL)

_LEAD_IN: Final = r"^\W*(?:(?:hi|hello|hey|so|well|ok|okay|and|but|also|keel|please|btw)\b[\s,.!:-]*)*"
_REQUEST: Final = re.compile(
    _LEAD_IN + r"(?:(?:can|could|would|will) you\s+)?(?:please\s+)?(?:also\s+)?"
    r"(?:remember|note|save|store|write down|keep in mind|bear in mind|make a note)\b"
    r"(?!\s+(?:when|what|how|who|if|whether)\b)",
    re.IGNORECASE,
)
_TAG: Final = re.compile(r",\s*(?:ok|okay|all ?right|got it|please|thanks|understood|yes|clear)\W*\Z", re.IGNORECASE)
_ASKING: Final = (
    r"(?:what|which|who|whom|whose|where|when|why|how|do|does|did|is|are|am|was|were|can|could|should|shall|would|will"
    r"|may|might|have|has)"
)
TURNS_TO_ASK: Final = re.compile(rf"[,;:—–]\s*(?:(?:so|but|and|then)\s+)?{_ASKING}\b", re.IGNORECASE)
_ASKS: Final = re.compile(_LEAD_IN + _ASKING + r"\b", re.IGNORECASE)
_SUPPOSES: Final = re.compile(
    _LEAD_IN + r"(?:suppose|supposing|imagine|assume|assuming|pretend|hypothetically|what if|let[’']?s say|say I\b"
    r"|if I (?:was|were|had|could|would|did|used|went|took|bought|sold|\w+ed)\b|I (?:wish|wonder)\b)",
    re.IGNORECASE,
)


def keep_statements(text: str) -> str:
    """Mask all but the user's own statements, questions and suppositions too, keeping the length."""
    return SENTENCE.sub(lambda match: _mask_questions(match[0]), keep_typed_words(text))


def keep_typed_words(text: str) -> str:
    """Mask pasted text, quotations, code and reported speech, keeping the length."""
    masked = text.replace(MASK, " ")
    for start, end in find_pasted(masked):
        masked = masked[:start] + MASK * (end - start) + masked[end:]
    for pattern in (_FENCE, _QUOTED_LINE, _MARKUP, _CODE):
        masked = pattern.sub(lambda match: MASK * len(match[0]), masked)
    for pattern in _QUOTATIONS:
        masked = pattern.sub(_mask_quotation, masked)
    return _mask_reports(masked)


def has_foreign_words(text: str) -> bool:
    """Tell whether a message contains words of others: pasted, quoted or reported ones."""
    return MASK in keep_typed_words(text)


def _mask_quotation(match: re.Match[str]) -> str:
    if _STRESSED.fullmatch(match["inside"]) or _OWN_QUOTATION.search(
        match.string, max(0, match.start() - 80), match.start()
    ):
        return match[0]
    return MASK * len(match[0])


def _mask_reports(text: str) -> str:
    """Mask reported speech: the rest of the sentence, or after a colon of the paragraph."""
    pieces, done = [], 0
    while (report := _find_report(text, done)) is not None:
        start, begins, is_announced = report
        end = _find_paragraph_end(text, begins) if is_announced else _find_sentence_end(text, begins)
        pieces += [text[done:start], MASK * (end - start)]
        done = end
    return "".join(pieces) + text[done:]


def _find_report(text: str, done: int) -> tuple[int, int, bool] | None:
    """Return the next report's start, its words' start, and whether a colon precedes."""
    found = [match for pattern in (_REPORTED, _ACCORDING) if (match := pattern.search(text, done))]
    if not found:
        return None
    match = min(found, key=lambda match: match.start())
    given = match.groupdict()
    return match.start(), match.end(), bool(given.get("colon") or given.get("announced"))


def _find_paragraph_end(text: str, at: int) -> int:
    # The announced words may begin after an empty line.
    begins = _WHITE.match(text, at)
    end = _ENDS_PARAGRAPH.search(text, begins.end() if begins else at)
    return end.start() if end else len(text)


def _find_sentence_end(text: str, at: int) -> int:
    end = _ENDS_SENTENCE.search(text, at)
    return end.end() if end else len(text)


def _mask_questions(sentence: str) -> str:
    """Mask the questions and suppositions of a sentence."""
    if _SUPPOSES.match(sentence):
        return MASK * len(sentence)
    ending = re.search(r"[.!?。！？]*\Z", sentence)
    if ending is None or not {"?", "？"} & set(ending[0]):
        return sentence
    body = sentence[: ending.start()]
    if _REQUEST.match(body) or _TAG.search(body):
        return sentence
    turn = TURNS_TO_ASK.search(body)
    if turn is None or _ASKS.match(body):
        return MASK * len(sentence)
    return sentence[: turn.start()] + MASK * (len(sentence) - turn.start())
