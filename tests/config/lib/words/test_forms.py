import pytest

from config.lib.words.forms import Grammar, Match, Misfit
from config.lib.words.typed import Word

GRAMMAR = Grammar("""
// Two sides of a comparison
start: value SIGN value | NOT? (KEPT | DONE)+
value: NAME* NUM | NAME NAME -> pair
    | NAME
""")


def words(text):
    """Return words of these types; `NAME|NOT` is one of both."""
    return [{kind: Word(kind, kind.lower(), one) for kind in one.split("|")} for one in text.split()]


def spell(match):
    """Return a match as text: rules as `name(...)`, words by their types."""
    inner = " ".join(spell(part) if isinstance(part, Match) else part.type for part in match.parts)
    return f"{match.name}({inner})"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("NAME SIGN NUM", "start(value(NAME) SIGN value(NUM))"),
        ("NAME NAME NUM SIGN NAME", "start(value(NAME NAME NUM) SIGN value(NAME))"),
        ("NAME NAME SIGN NAME", "start(value(pair(NAME NAME)) SIGN value(NAME))"),
        ("KEPT DONE KEPT", "start(KEPT DONE KEPT)"),
        ("NOT DONE", "start(NOT DONE)"),
        ("NAME|NOT DONE|SIGN", "start(NOT DONE)"),
        ("NAME|NOT DONE|SIGN NUM|NAME", "start(value(NAME) SIGN value(NUM))"),
    ],
)
def test_grammar_takes_all_words_by_its_first_form_that_fits(text, found):
    assert spell(GRAMMAR.match(words(text), "start")) == found


@pytest.mark.parametrize(
    ("text", "at"), [("", 0), ("SIGN", 0), ("NAME SIGN", 2), ("NAME SIGN NUM NUM", 3), ("NOT NAME", 1), ("NUM NAME", 1)]
)
def test_misfit_tells_the_first_word_that_no_form_takes(text, at):
    with pytest.raises(Misfit) as misfit:
        GRAMMAR.match(words(text), "start")

    assert misfit.value.at == at


def test_grammar_knows_the_types_of_its_words():
    assert GRAMMAR.types == {"DONE", "KEPT", "NAME", "NOT", "NUM", "SIGN"}


def test_time_grows_with_the_words_although_each_can_be_taken_in_two_ways():
    grammar = Grammar("start: (A | A A)* B")

    with pytest.raises(Misfit):
        grammar.match(words("A " * 400), "start")
