"""What a line says: its claims and concepts, where it holds, of whom it speaks, and which words name its subject."""

from functools import cached_property, lru_cache
from typing import Final

from config.lib.words.lexer import Token, find_meanings, read_tokens
from config.lib.words.quantities import meets, word_set
from config.lib.words.vocabulary import find_meaning
from memory.claims.claims import Claims, ClaimTerm, list_stems, read_claims, stem_word
from memory.claims.validity import strip_dates

_CONCEPTS: Final = word_set(
    "ANSWER SPEAK LENGTH LANGUAGE BASECURRENCY CURRENCY TIMEZONE ZONECODE EXCHANGE DEAL STYLE DRAWDOWN PERDAY PERWEEK"
    " PERMONTH OPENPOSITIONS POSITIONSIZE TARGET ACCOUNTSIZE RETIRE SESSION LEVERAGE RISK LOSE ONELOSS PERTRADE TRADE"
    " STOP PAUSE STOPLOSS CHANGE ENDED ALSO AGAIN PERSON WHICH DAY LIVE CALLED ONLY BEFORE BY AFTER BETWEEN OPPOSITE"
    " MAX USESTOP DAYSTOP FORDAY RARE FORMER OFTEN ARTICLE"
)
_UNNAMING: Final = ("OFTEN", "RARE", "CHANGE", "ENDED", "FORMER", "ALSO", "AGAIN", "ARTICLE")
# Concepts, and those of phrases around them in which they mean nothing: a stop order ends nothing.
_COVERED: Final = {"ENDED": ("USESTOP", "STOPLOSS"), "STOP": ("USESTOP", "STOPLOSS"), "FORMER": ("MAX",)}
_PREPOSITIONS: Final = word_set("on for in during when if while except with at after before since until")


class Line:
    """What a line says: its tokens, claims and concepts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = read_tokens(text)
        self.reading: Claims = read_claims(text)
        found = find_meanings(self.tokens, _CONCEPTS)
        covered = {(one.concept, at) for one in found for at in range(one.at, one.at + one.length)}
        self.found = [one for one in found if not any((by, one.at) in covered for by in _COVERED.get(one.concept, ()))]
        bounds = {str(term.key).upper() for term in self.reading.of_kind("bound")}  # "never more than" is a maximum
        self.concepts = {one.concept for one in self.found} | bounds
        if "FORMER" in self.concepts:
            self.concepts |= {"CHANGE", "ENDED"}

    def has(self, needed: str) -> bool:
        """Tell whether each needed concept is there (`A|B`: one of two; `-A`: not A)."""
        return meets(self.concepts, needed)

    def numbers(self, units: str) -> list[ClaimTerm]:
        """Return the numbers in some units; "none" stands for those without one."""
        wanted = {"" if unit == "none" else unit for unit in units.split()}
        return [term for term in self.reading.of_kind("number") if term.unit in wanted]

    @cached_property
    def owner(self) -> str:
        """The other person who is spoken of, before the user is."""
        for at, token in enumerate(self.tokens):
            if token.text.partition("'")[0] == "i":
                return ""
            if any(one.concept == "PERSON" and one.at == at for one in self.found):
                return token.text.partition("'")[0]
        return ""

    @cached_property
    def scope(self) -> frozenset[str]:
        """Where, when or of which of several the value holds."""
        found = {one.value for one in self.found if one.concept == "WHICH"} | self.days
        for at, token in enumerate(self.tokens):
            if token.text not in _PREPOSITIONS:
                continue
            behind = [one for one in self.tokens[at + 1 : at + 4] if find_meaning(one.text, "ARTICLE") is None]
            idle = ("NOSCOPE", "NUMBER", "MAX", *(["OPPOSITE"] if token.text == "with" else []))
            if behind and behind[0].kind == "word" and find_meaning(behind[0].text, *idle) is None:
                found.add(behind[0].text.rstrip("s"))
        return frozenset(found)

    @cached_property
    def days(self) -> frozenset[str]:
        return frozenset(one.value for one in self.found if one.concept == "DAY")

    @property
    def is_ending(self) -> bool:
        """Whether it says that something came to an end."""
        return {"CHANGE", "ENDED"} <= self.concepts

    @property
    def is_turn(self) -> bool:
        """Whether it says that something came to an end, or began again."""
        return self.is_ending or "AGAIN" in self.concepts

    def turns(self, known: "Line") -> bool:
        """Tell whether this may end what a known line says ("I quit the Asian session"), or take it up again."""
        named = set(self.nouns) - list_stems("LIGHT", "ENDABLE")
        is_own = self.owner in {known.owner, *known.words}  # "My mentor is gone"
        return (
            self.is_turn and self.is_ending != known.is_ended and is_own and bool(named) and named <= set(known.words)
        )

    def changes(self, known: "Line") -> bool:
        """Tell whether this may say anew what a known line says: "My target is 4R now", "I aim for 3R"."""
        if "CHANGE" not in self.concepts or "ALSO" in self.concepts or self.owner != known.owner:
            return False
        units = [sorted(unit for _, unit in _list_figures(line.reading)) for line in (self, known)]
        ours, theirs = (set(line.nouns) - list_stems("LIGHT") for line in (self, known))
        return units[0] == units[1] and len(ours & theirs) * 2 >= max(1, min(len(ours), len(theirs)))

    @property
    def is_ended(self) -> bool:
        return "ENDED" in self.concepts or bool(self.reading.of_kind("not"))

    @cached_property
    def words(self) -> dict[object, str]:
        """The stems of the words that make the subject, with their polarities; opposites have one name."""
        skipped = {at for one in self.found if one.concept in _UNNAMING for at in range(one.at, one.at + one.length)}
        starts = {self.tokens[at].start for at in skipped}
        words: dict[object, str] = {}
        for term in self.reading.of_kind("word"):
            if term.start not in starts and term.key not in list_stems(*_UNNAMING):
                axis = self.axes.get(term.start, "")
                opposite = {"+": "-", "-": "+"}.get(term.polarity, term.polarity)
                words[axis[1:] or term.key] = opposite if axis[:1] == "-" else term.polarity
        return words

    @cached_property
    def axes(self) -> dict[int, str]:
        """The names of opposites with their signs, by where their words begin: `-liking` of "I can't stand"."""
        return {self.tokens[one.at].start: one.value for one in reversed(self.found) if one.concept == "OPPOSITE"}

    @cached_property
    def nouns(self) -> dict[object, str]:
        """The words that name the subject: without verbs, and without where it holds, if any are left."""
        words = {key: polarity for key, polarity in self.words.items() if key not in list_stems("VERB")}
        return {key: polarity for key, polarity in words.items() if key not in self.scope_stems} or words or self.words

    @cached_property
    def verbs(self) -> set[object]:
        return self.words.keys() - self.nouns.keys() - self.scope_stems

    @cached_property
    def scope_stems(self) -> set[object]:
        return set(map(stem_word, self.scope))

    @cached_property
    def terms(self) -> list[str]:
        """The stems of all words in order, but for those that may be left out and those that deny or restrict."""
        said = [token.text for token in self.tokens if token.kind != "mark" or token.text == "%"]
        return [stem_word(word) for word in said if find_meaning(word, "TRIFLE", "NOT", "ONLY") is None]

    @cached_property
    def flags(self) -> tuple[bool, bool, bool]:
        kinds = {term.kind for term in self.reading.terms}
        return "only" in kinds, self.is_ended, "AGAIN" in self.concepts

    def contradicts(self, other: "Line") -> bool:
        """Tell whether two lines with the same words cannot both hold: a denial, a number or a bound differs."""
        if self.scope_stems - self.nouns.keys() != other.scope_stems - other.nouns.keys():
            return False
        ours, theirs = (_list_figures(line.reading) for line in (self, other))
        if bool(ours) != bool(theirs):
            return False  # a figure beside none is said of something else
        shared = self.nouns.keys() & other.nouns.keys()
        is_told = bool(shared - list_stems("LIGHT"))  # "I trade" and "I never trade that" are of two things
        is_turned = any({self.nouns[key], other.nouns[key]} == {"+", "-"} for key in shared)
        is_rare = ("RARE" in self.concepts) != ("RARE" in other.concepts)
        is_ended = ("ENDED" in self.concepts) != ("ENDED" in other.concepts)
        # "I love gold" and "I don't trade gold" are of two things; "I quit gold" is of both.
        is_same_act = self.verbs == other.verbs or not (self.verbs and other.verbs)
        if is_told and is_same_act and (is_turned or is_ended or is_rare):
            return True
        if ours and len(ours) == len(theirs):
            has_units = sorted(unit for _, unit in ours) == sorted(unit for _, unit in theirs)
            bounds = [{term.key for term in line.reading.of_kind("bound")} for line in (self, other)]
            return (has_units and ours != theirs) or (ours == theirs and {"min", "max"} <= bounds[0] ^ bounds[1])
        return False


@lru_cache(maxsize=2048)
def read_line(text: str) -> Line:
    """Return what a line says, whenever it holds."""
    return Line(strip_dates(text))


def _list_figures(reading: Claims) -> set[tuple[object, str]]:
    return {(term.key, term.unit) for term in reading.of_kind("number")}
