"""What a user's message asks for an existing fact: to end, to keep or to relate it.

A wish must be stated: a shared word in a question is none. It must name the fact as a whole: of "forget that I get
angry after a loss", a fact about three losses has only one word.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from config.lib.words.lexer import MASK, Token, find_phrase, has_phrase, read_tokens
from config.lib.words.quantities import word_set
from config.lib.words.vocabulary import find_meaning
from memory.claims.claims import list_stems, read_claims, stem_word
from memory.claims.statements import TURNS_TO_ASK, keep_typed_words
from memory.claims.support import TypedMessage, find_support

Naming = Literal["named", "pointed", "unnamed"]

_DENIAL: Final = re.compile(
    r"\b(?:no longer|any ?more|not true|isn['’]t true|untrue|not right|not correct|incorrect|wrong|outdated|stopped"
    r"|quit|gave up|given up|used to|changed my mind|not valid|gone|no more(?! than)"
    r"|does(?:n['’]t| not) (?:hold|apply))\b",
    re.IGNORECASE,
)
_CHANGE: Final = re.compile(
    r"\b(?:(?<!for )now|actually|instead|from now on|these days|changed?|switch(?:ed)?|moved|replaced?|correction|new"
    r"|swapped|relocated|bumped|upped|halved|doubled|lower(?:ed)?|raised?|cut|increased?|reduced?|set|update[ds]?|rather|sorry|wrong|bring|tighten|since"
    r"|(?:fine|ok|okay|good|allowed) again)\b",
    re.IGNORECASE,
)
# "That's wrong, I trade in the mornings" points at what was said before.
_BACK: Final = re.compile(
    r"^\W*(?:scratch that|no,? wait|(?:that|this|it)(?:['’]?s| is| was) (?:wrong|incorrect"
    r"|not (?:right|true|correct)))(?=[,:;.])",
    re.IGNORECASE,
)
# "Not 3x, 2x", "it's Kimberly, not Kim", "my broker isn't Kraken any more, it's Bybit".
_CONTRAST: Final = re.compile(
    r"^\W*(?:(?:no|nope|sorry|wait|well|oops|actually|rather|correction|i mean|i meant)\W+)*"
    r"(?:it['’]?s\s+|(?:my|the) (?P<what>[\w ]{2,30}?) is(?:n['’]t)?\s+)?"
    r"(?:(?:(?<=n['’]t )|not\s+)(?P<old>[^\s,;]+)(?:\s+any ?more)?[,;]?\s+(?:but\s+)?(?:it['’]?s\s+)?"
    r"(?P<new>[^\s,;]+(?: [^\s,;]+)?)"
    r"|(?!(?:I|we|you|he|she|they|my)\b)(?P<now>[^\s,;]+(?: [^\s,;]+){0,4}?),?\s+(?:and )?not\s+(?P<was>[^\s,;]+))"
    r"(?:\s+(?:any ?more|now|please|pls))*\W*$",
    re.IGNORECASE,
)
_POINTING: Final = word_set(
    "yes yep yeah sure ok okay right exactly correct please do go ahead no nope well actually forget delete"
    " remove erase drop about that this it them both all everything the one first second third last latter"
    " former fact rule thing is s isn isnt t not longer true wrong any more anymore just said told you i what of"
    " know me my from your memory have remember facts memories"
)
_WORD: Final = re.compile(r"[^\W_]+")
_KEEPING: Final = re.compile(
    r"\b(?:still|yes|yep|yeah|right|correct|true|exactly|indeed|holds?|keep|confirm(?:ed)?|remains?|as before|same)\b",
    re.IGNORECASE,
)
_RELATING: Final = re.compile(r"\b(?:link|relate|connect|tie|belongs?|goes with|because of)\b", re.IGNORECASE)
_ASKS: Final = re.compile(
    r"^\W*(?:so|and|but|well|ok|okay)?\W*(?:what|which|who|when|where|why|how|do|does|did|is|are|was|should|shall)\b",
    re.IGNORECASE,
)
_SENTENCE: Final = re.compile(r"(?:[^.!?\n]|[.!?](?!\s|\Z))+")
_NEXT: Final = re.compile(
    r",\s+(?:(?:and|but|so)\s+)?(?=(?:I|I['’]m|my|now)\b)|\s+(?=(?:because|since|so that)\b)", re.IGNORECASE
)
# "Forget that I like gold" does not mean the fact "I trade gold".
_CLAUSE: Final = re.compile(
    r"\bthat I (?:(?:never|always|only|usually|often|really|still|also|do|will)\s+)*"
    r"(?!(?:am|was|have|had|don|can|could|should|would|no)\b)(?P<verb>[a-z]+)",
    re.IGNORECASE,
)
# Words of the wish itself: they name no fact.
_IDLE: Final = frozenset(
    map(
        stem_word,
        word_set(
            "fact rule memory remember thing note forget delete remove erase drop true right correct wrong"
            " longer anymore any more about everything anything said told changed change mind used outdated"
            " valid gone hold apply know saved entry one line please still quit now actually instead trade use part bit"
        ),
    )
)


def find_naming(text: str, fact: str, *, before: str = "") -> Naming:
    """Tell how a message asks to end a fact; `before` is the message before, perhaps answered with a question."""
    if _only_points(text):
        return "pointed"
    sentences = list(_iter_sentences(text))
    objects = [wish for sentence in sentences if (wish := _read_object(sentence)) is not None]
    if any(_is_named(wish, fact) for wish in objects):
        return "named"
    if objects and all(map(_only_points, objects)):
        return "pointed"
    is_answer = any(_read_object(sentence) is not None for sentence in _iter_sentences(before))
    if not objects and is_answer and any(_is_named(sentence, fact) for sentence in sentences):
        return "named"
    return "unnamed"


def read_contrast(text: str) -> tuple[str, str] | None:
    """Return the old and the new value of a text that only contrasts them ("not 3x, 2x"), or None."""
    match = _CONTRAST.match(text)
    return (match["old"] or match["was"], match["new"] or match["now"]) if match else None


def list_wishes(text: str) -> list[str]:
    """Return what a message asks outright to forget, "" where it does not say; a correction asks for nothing."""
    return [wish for sentence in _iter_sentences(text) if (wish := _read_wish(sentence)) is not None]


def count_wished(text: str, facts: Iterable[str]) -> list[int]:
    """Return how many words of each fact a wish to forget has; nothing without a wish.

    A wish that states the fact itself ("forget that I like gold") counts for nothing here: it must name the fact whole.
    """
    objects = [_list_words(wish) for wish in list_wishes(text) if wish and not _CLAUSE.search(wish)]
    if not objects:
        return []
    return [max(len(wish & words) for wish in objects) for words in map(_list_words, facts)]


def states_change(text: str, fact: str) -> bool:
    """Tell whether a message announces a change of a fact's subject, or says what stands instead of its value."""
    return any(
        (_CHANGE.search(sentence) and _list_words(sentence) & _list_words(fact))
        or ((contrast := read_contrast(sentence)) and _is_named(contrast[0], fact))
        for sentence in _iter_sentences(text)
    )


def affirms(text: str, fact: str) -> bool:
    """Tell whether a message repeats a fact as still true."""
    sentences = "\n".join(sentence for sentence in _iter_sentences(text) if _KEEPING.search(sentence))
    return bool(find_support(fact, [TypedMessage(0, sentences)]))


def relates(text: str, facts: Sequence[str]) -> bool:
    """Tell whether one sentence of a message asks to relate these facts."""
    asking = [_list_words(sentence) for sentence in _iter_sentences(text) if _RELATING.search(sentence)]
    return any(all(words & _list_words(fact) for fact in facts) for words in asking)


def _iter_sentences(text: str) -> Iterator[str]:
    """Yield the user's own sentences; of the questions only requests ("could you forget that ...?")."""
    for match in _SENTENCE.finditer(keep_typed_words(text)):
        sentence = match[0].replace(MASK, " ").strip()
        is_question = text[match.end() : match.end() + 1] in {"?", "？"} or bool(_ASKS.match(sentence))
        # "Forget the news, is my rule good?" asks, and wishes nothing of a fact.
        if sentence and (not is_question or (_read_wish(sentence) and not TURNS_TO_ASK.search(sentence))):
            yield sentence


def _only_points(text: str) -> bool:
    words = _WORD.findall(text.casefold())
    return words == [word for word in words if word in _POINTING] or (len(words) == 1 and words[0].isdigit())


def _read_object(sentence: str) -> str | None:
    if _BACK.match(sentence):
        return "that"
    if (wish := _read_wish(sentence)) is not None:
        return wish
    return next((clause for clause in _NEXT.split(sentence) if _DENIAL.search(clause)), None)


def _read_wish(sentence: str) -> str | None:
    """Return what a sentence wishes forgotten, "" if it does not say, or None without a wish."""
    tokens = [token for token in read_tokens(sentence) if token.kind != "mark" or token.text not in ",:"]
    if has_phrase(tokens, "FORNOW"):
        return None
    at, found = 0, find_phrase(tokens, 0, ("FORGET",)) if tokens else None
    while found is None and at < len(tokens) and (polite := find_phrase(tokens, at, ("WISHING",))):
        at += polite[0]
        found = find_phrase(tokens, at, ("FORGET",)) if at < len(tokens) else None
    if at == len(tokens):
        return None
    if found:
        rest = at + found[0]
        is_use = found[1].value == "noun" and not _names_own(tokens[rest:])
        return None if is_use else sentence[tokens[rest].start :] if rest < len(tokens) else ""
    is_split = find_meaning(tokens[at].text, "SPLITFORGET") is not None
    if is_split and (end := next((one for one in tokens[at + 2 :] if find_meaning(one.text, "OUT") is not None), None)):
        return sentence[tokens[at + 1].start : end.start]
    ends = ((n, gone[0]) for n in range(1, len(tokens)) if (gone := find_phrase(tokens, n, ("GONE",))))
    at, length = next(ends, (0, 0))
    return sentence[: tokens[at].start] if at and at + length + 1 >= len(tokens) else None


def _names_own(tokens: Sequence[Token]) -> bool:
    """Tell whether words name something that can be forgotten: "my bank", "that I smoke", "what I said of gold"."""
    return find_phrase(tokens, 0, ("ARTICLE", "NAMED")) is not None


def _is_named(wish: str, fact: str) -> bool:
    """Tell whether a wish has words of the fact and no others, its verb included."""
    named, clause = _list_words(wish), _CLAUSE.search(wish)
    if not named or not named <= _list_words(fact) | _IDLE:
        return False
    if clause is None:
        return True
    verb, stems = stem_word(clause["verb"].casefold()), {*map(stem_word, _WORD.findall(fact.casefold()))}
    return verb in stems or (verb in list_stems("LIGHT") and not list_stems("LIGHT").isdisjoint(stems))


def _list_words(text: str) -> frozenset[object]:
    reading = read_claims(text)
    words = {term.key for term in reading.of_kind("word")} - _IDLE
    return frozenset(words | {term.key for term in reading.of_kind("number")})
