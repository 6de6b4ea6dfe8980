"""What a user's message asks for an existing fact: to end, to keep or to relate it.

A wish must be stated: a shared word in a question is none. It must name the fact as a whole: of "forget that I get
angry after a loss", a fact about three losses has only one word.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal

from config.lib.words.clauses import Forms
from config.lib.words.lexer import MASK, has_phrase, read_tokens
from config.lib.words.sentences import find_sentences, split_clauses, starts_question
from config.lib.words.vocabulary import find_meaning
from memory.claims.claims import list_stems, read_claims, stem_word
from memory.claims.statements import find_turn, keep_typed_words
from memory.claims.support import TypedMessage, find_support

Naming = Literal["named", "pointed", "unnamed"]

_FORMS: Final = Forms("""
wish: ^ !!FORNOW WISHING|LEADIN|,|:* FORGET|FORGETTING what( ... ) $ / ^ !!FORNOW WISHING|LEADIN|,|:* FORGETNOUN $
    / ^ !!FORNOW WISHING|LEADIN|,|:* FORGETNOUN what( ARTICLE|NAMED ... ) $
    / ^ !!FORNOW WISHING|LEADIN|,|:* SPLITFORGET what( . ... ) OUT / ^ !!FORNOW what( . ... ) GONE .? $
back: ^ WITHDRAWS ,|.|:|; / ^ no ,? wait ,|.|:|;
end: what( ... FORMER|UNTRUE ... ) because|since|so_that / FORMER|UNTRUE|WITHDRAWS / no more !than / not hold|apply
change: UPDATES
contrast: ^ CORRECTS|LEADIN|,|.|:* it? is|its? not old( !,|; ) FORMER* ,|;? but? it? is|its? new( !,|; !,|;? )
    FORMER|now|TAG* $
    / ^ CORRECTS|LEADIN|,|.|:* my|the . .? .? is not old( !,|; ) FORMER* ,|;? but? it? is|its? new( !,|; !,|;? )
    FORMER|now|TAG* $
    / ^ CORRECTS|LEADIN|,|.|:* !!can it? is|its? new( !i|my|we|you|he|she|they|,|; !,|;? !,|;? !,|;? !,|;? ) ,? and? not
    old( !,|; ) FORMER|now|TAG* $
said: that i ADVERB|will* verb( !am|was|have|had|not|can|could|should|would|no )
""")


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
    found = _FORMS.read(text).find("contrast")
    return (found["old"], found["new"]) if found else None


def list_wishes(text: str) -> list[str]:
    """Return what a message asks outright to forget, "" where it does not say; a correction asks for nothing."""
    return [wish for sentence in _iter_sentences(text) if (wish := _read_wish(sentence)) is not None]


def count_wished(text: str, facts: Iterable[str]) -> list[int]:
    """Return how many words of each fact a wish to forget has; nothing without a wish.

    A wish that states the fact itself ("forget that I like gold") counts for nothing here: it must name the fact whole.
    """
    objects = [_list_words(wish) for wish in list_wishes(text) if wish and "said" not in _FORMS.read(wish)]
    if not objects:
        return []
    return [max(len(wish & words) for wish in objects) for words in map(_list_words, facts)]


def states_change(text: str, fact: str) -> bool:
    """Tell whether a message announces a change of a fact's subject, or says what stands instead of its value."""
    return any(
        ("change" in _FORMS.read(sentence) and _list_words(sentence) & _list_words(fact))
        or ((contrast := read_contrast(sentence)) and _is_named(contrast[0], fact))
        for sentence in _iter_sentences(text)
    )


def affirms(text: str, fact: str) -> bool:
    """Tell whether a message repeats a fact as still true."""
    kept = (one for one in _iter_sentences(text) if has_phrase(read_tokens(one), "AGREE", "AFFIRMS"))
    return bool(find_support(fact, [TypedMessage(0, "\n".join(kept))]))


def relates(text: str, facts: Sequence[str]) -> bool:
    """Tell whether one sentence of a message asks to relate these facts."""
    asking = [_list_words(one) for one in _iter_sentences(text) if has_phrase(read_tokens(one), "RELATES")]
    return any(all(words & _list_words(fact) for fact in facts) for words in asking)


def _iter_sentences(text: str) -> Iterator[str]:
    """Yield the user's own sentences; of the questions only requests ("could you forget that ...?")."""
    typed = keep_typed_words(text)
    for start, end in find_sentences(typed):
        sentence = typed[start:end].replace(MASK, " ").strip(" .!?？")
        is_question = typed[start:end].endswith(("?", "？")) or starts_question(read_tokens(sentence)) is not None
        # "Forget the news, is my rule good?" asks, and wishes nothing of a fact.
        if sentence and (not is_question or (_read_wish(sentence) and find_turn(sentence) is None)):
            yield sentence


def _only_points(text: str) -> bool:
    words = [token for token in read_tokens(text) if token.kind in ("word", "digits", "clock")]
    is_choice = len(words) == 1 and words[0].kind == "digits"
    return is_choice or all(find_meaning(token.text.partition("'")[0], "POINTING") is not None for token in words)


def _read_object(sentence: str) -> str | None:
    if "back" in _FORMS.read(sentence):
        return "that"
    if (wish := _read_wish(sentence)) is not None:
        return wish
    ends = ((clause, _FORMS.read(clause).find("end")) for clause in split_clauses(sentence))
    return next((end.get("what", clause) for clause, end in ends if end is not None), None)


def _read_wish(sentence: str) -> str | None:
    """Return what a sentence wishes forgotten, "" if it does not say, or None without a wish."""
    wish = _FORMS.read(sentence).find("wish")
    return None if wish is None else wish.get("what", "")


def _is_named(wish: str, fact: str) -> bool:
    """Tell whether a wish has words of the fact and no others, its verb included."""
    named, clause = _list_words(wish), _FORMS.read(wish).find("said")
    if not named or not named <= _list_words(fact) | list_stems("WISHED"):
        return False
    if clause is None:
        return True
    # "Forget that I like gold" does not mean the fact "I trade gold".
    verb, stems = stem_word(clause["verb"].casefold()), {stem_word(token.text) for token in read_tokens(fact)}
    return verb in stems or (verb in list_stems("LIGHT") and not list_stems("LIGHT").isdisjoint(stems))


def _list_words(text: str) -> frozenset[object]:
    reading = read_claims(text)
    words = {term.key for term in reading.of_kind("word")} - list_stems("WISHED")
    return frozenset(words | {term.key for term in reading.of_kind("number")})
