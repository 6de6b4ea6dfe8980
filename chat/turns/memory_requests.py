"""Detect explicit requests to remember or to forget.

Precision goes before recall: it decides over one forced call of a memory tool, for a model that only said it would.
"""

import re
from typing import Final

# Linear in the length of the text, whatever it is: each sentence is looked at from its beginning only.
_SENTENCE: Final = re.compile(r"[^.!?\n]+[.!?\n]?")
_QUOTED: Final = re.compile(r"[\"“][^\"”“\n]*[\"”]")
_POLITE: Final = re.compile(
    r"(?:(?:ok|okay|and|also|but|so|please|hey|keel|now|(?P<asked>(?:can|could|would) you)|always)\b[, ]*){0,6}",
    re.IGNORECASE,
)
_REMEMBER: Final = re.compile(
    r"(?:remember(?! (?:when|how|what|me\b))|(?:don't|do not|never) forget|keep (?:that |this |it )?in mind|from now on"
    r"|make a note|note (?:that|down|this)|save (?:this|that|it)|for the record)\b[\s:,]*\S",
    re.IGNORECASE,
)
_FORGET: Final = re.compile(
    r"(?:forget\s+(?!(?:about )?it\b)\S|stop remembering\b|(?:delete|remove|erase) .{0,60}\bmemory\b)", re.IGNORECASE
)


def find_requested_acts(text: str) -> frozenset[str]:
    """Return the requested memory acts: `remember`, `forget`, both or neither."""
    plain = _QUOTED.sub("", text.replace("’", "'"))  # a quotation asks for nothing
    return frozenset(act for sentence in _SENTENCE.findall(plain) if (act := _find_act(sentence.strip())))


def _find_act(sentence: str) -> str:
    polite = _POLITE.match(sentence)
    begin = polite.end() if polite else 0
    is_request = polite is not None and polite["asked"] is not None  # "can you remember that ...?" expresses no doubt
    if sentence.endswith("?") and not is_request:
        return ""
    if _REMEMBER.match(sentence, begin):
        return "remember"
    return "forget" if _FORGET.match(sentence, begin) else ""
