"""Detect explicit requests to remember or to forget.

Precision goes before recall: it decides over one forced call of a memory tool, for a model that only said it would.
"""

import re
from typing import Final

from config.lib.words.lexer import find_phrase, read_tokens, skip_phrases
from config.lib.words.sentences import sentences
from memory.claims.wishes import list_wishes

_QUOTED: Final = re.compile(r"[\"“][^\"”“\n]*[\"”]")


def find_requested_acts(text: str) -> frozenset[str]:
    """Return the requested memory acts: `remember`, `forget`, both or neither."""
    plain = _QUOTED.sub("", text)  # a quotation asks for nothing
    return frozenset(act for sentence in sentences(plain) if (act := _find_act(sentence)))


def _find_act(sentence: str) -> str:
    if wishes := list_wishes(sentence):
        return "" if wishes[0].casefold().startswith("it") else "forget"  # "Forget it" drops the subject
    wish = skip_phrases(sentence, "WISHING")
    tokens = read_tokens(wish)
    length, meaning = find_phrase(tokens, 0, ("REMEMBER",)) or (0, None)
    is_request = not sentence.endswith("?") or wish != sentence  # "can you remember that ...?" expresses no doubt
    return "remember" if meaning and not meaning.value and is_request and len(tokens) > length else ""
