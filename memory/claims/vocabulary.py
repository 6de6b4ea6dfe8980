"""Words that decide a claim: negations, bounds, units, numbers, fillers."""

from fractions import Fraction
from typing import Final

from config.lib.search.terms import STOP_WORDS


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


def _words_to(meaning: str, words: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), meaning)


def _phrases_to(meaning: str, phrases: str) -> dict[tuple[str, ...], str]:
    return {tuple(phrase.split()): meaning for phrase in phrases.split(",")}


# Stop words of the search that matter in a claim: they restrict, deny or give a time.
_CLAIMING: Final = word_set(
    "after arent because before cant couldnt didnt doesnt dont further hadnt hasnt havent herself himself id ill im"
    " isnt ive no nor not only ourselves shouldnt thats theres theyre through wasnt werent whats wont wouldnt youre"
    " yourselves"
)
FILLER_WORDS: Final = (STOP_WORDS - _CLAIMING) | word_set(
    "anymore d done each else ever get gets getting going gonna got keel know like ll longer m make makes many may"
    " maybe might mine more most much must need needs one ones per person quite rather re really s said say still t"
    " thing things think trader up user users usually ve wanna want wants whether whose yes yet"
)
# A verb said once for several things: "I trade BTC and ETH, never alts".
LIGHT_WORDS: Final = word_set("trade use take")

NOT: Final = "not"
OPENS_NOT: Final = "opens"  # denies the words after it in the clause, not those before
PARTLY: Final = "partly"
ONLY: Final = "only"
UP, DOWN, MAX, MIN, BEFORE, AFTER = "up", "down", "max", "min", "before", "after"

PHRASES: Final[dict[tuple[str, ...], str]] = {
    **_phrases_to(
        NOT, "no longer,not any more,not anymore,gave up,give up,stay away from,stays away from,steer clear of"
    ),
    **_phrases_to(OPENS_NOT, "rather than,instead of,other than,except for"),
    **_phrases_to(
        PARTLY, "not always,not every,not all,not only,not just,not necessarily,not exclusively,not everything"
    ),
    **_phrases_to(PARTLY, "n't always,n't every,n't all,n't only,n't just,n't necessarily,n't exclusively"),
    **_phrases_to(ONLY, "nothing but,nothing except"),
    **_phrases_to(MAX, "at most,up to,no more than,not more than"),
    **_phrases_to(MIN, "at least,no less than,not less than"),
    **_phrases_to(UP, "more than,higher than,greater than,bigger than,larger than,longer than"),
    **_phrases_to(DOWN, "less than,fewer than,lower than,smaller than,shorter than"),
}
WORDS: Final[dict[str, str]] = {
    **_words_to(
        NOT, "not n't never cannot nobody none nothing nor neither avoid avoids avoided avoiding refuse refuses"
    ),
    **_words_to(NOT, "dont doesnt didnt cant couldnt wont wouldnt shouldnt isnt arent wasnt aint mustnt"),
    # Other languages that users often write in.
    **_words_to(
        NOT, "nicht nie niemals kein keine keinen keiner jamais pas aucun aucune nunca jamás ningún ninguna non mai"
    ),
    **_words_to(NOT, "nessun não nem niet nooit geen не нет никогда"),
    **_words_to(OPENS_NOT, "no without except excluding ohne sans sin senza sem zonder без"),
    **_words_to(ONLY, "only solely exclusively nur seulement uniquement solo sólo solamente apenas alleen только"),
    **_words_to(MAX, "max maximum limit limits limited cap caps capped ceiling"),
    **_words_to(MIN, "min minimum floor"),
}
# Comparisons only before a number: "over 5x", not "over the weekend".
BEFORE_NUMBERS: Final[dict[str, str]] = {
    **_words_to(UP, "above over past beyond exceed exceeds exceeding"),
    **_words_to(DOWN, "below under"),
    **_words_to(BEFORE, "before until till"),
    **_words_to(AFTER, "after since"),
}
# Words that make a statement depend on something. One may neither be added to what a user said nor left out.
CONDITIONS: Final = word_set(
    "if unless until till when whenever while provided providing assuming once depending whether"
)
# Words that take a statement back or put it in doubt; a support may not leave them out.
DOUBTS: Final = word_set(
    "hate hates hated fear feared dislike dislikes tempted wonder wondering consider considering thinking maybe might"
    " could would wish regret regrets doubt try tried trying test tested testing imagine dream pretend joke joking"
    " kidding almost nearly mistake stupid reckless crazy mad insane bad wrong temporarily sometimes rarely seldom"
    " paper demo simulation simulator simulated backtest backtests"
)
# Words that say nothing by themselves: a claim may add them to a whole statement ("Is a trader from Oslo").
FREE_WORDS: Final = word_set("trade use take live user person name account position preference setting")
EXCEPTIONS: Final = word_set("except excluding other")  # words that begin an exception to the words before
NEGATABLE: Final = {UP: (MIN, MAX), DOWN: (MAX, MIN)}  # without and with a negation
BREAKS: Final = word_set("but because although though whereas however instead yet so")  # a clause ends here
RESETS: Final = word_set(
    "i i'm i've my always only usually mostly instead then just"
)  # a clause that begins so ends a denial
USED_TO_PRECEDED: Final = word_set("am is are was were be been being get got getting i'm")  # "I am used to" is not past

SCALES: Final = {
    **dict.fromkeys(word_set("k thousand"), 1_000),
    **dict.fromkeys(word_set("mn mln mio million millions"), 1_000_000),
    **dict.fromkeys(word_set("bn billion billions"), 1_000_000_000),
}
UNITS: Final = {
    **_words_to("%", "% percent pct"),
    **_words_to("x", "x times fold"),
    **_words_to("$", "$ usd dollar dollars bucks"),
    **_words_to("€", "€ eur euro euros"),
    **_words_to("£", "£ gbp pound pounds"),
    **_words_to("h", "h hr hrs hour hours"),
    **_words_to("min", "m min mins minute minutes"),
    **_words_to("d", "d day days"),
    **_words_to("w", "w week weeks"),
    **_words_to("mo", "mo month months"),
    **_words_to("y", "y yr yrs year years"),
    **_words_to("bp", "bp bps"),
}
MONEY: Final = word_set("$ € £")
_BELOW_TWENTY: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS: Final = {
    **{word: Fraction(value) for value, word in enumerate(_BELOW_TWENTY)},
    **{word: Fraction(value) for value, word in zip(range(20, 100, 10), _TENS, strict=True)},
    "nil": Fraction(0),
    "half": Fraction(1, 2),
}
# They multiply the number words before them: "three dozen", "five hundred thousand".
MULTIPLIERS: Final = {
    "dozen": 12,
    "score": 20,
    "hundred": 100,
    "thousand": 1_000,
    "million": 1_000_000,
    "billion": 1_000_000_000,
}
NO_NUMBER_AFTER: Final = word_set("no the this that which any every each some last first")  # "no one", "the one"
