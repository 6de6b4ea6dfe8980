"""The words that decide what a line claims: negations, bounds, units, numbers, and those that say nothing."""

from fractions import Fraction
from typing import Final


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _all(meaning: str, words: str) -> dict[str, str]:
    return dict.fromkeys(words.split(), meaning)


def _phrases(meaning: str, phrases: str) -> dict[tuple[str, ...], str]:
    return {tuple(phrase.split()): meaning for phrase in phrases.split(",")}


STOP_WORDS: Final = _set(
    "a about again all also am an and any anymore are as at be been being but by can could d did do does doing done"
    " each else ever for from get gets getting going gonna got had has have having he her here hers him his how i if in"
    " into is it its itself just keel know let lets like ll longer m make makes many may maybe me might mine more most"
    " much must my myself need needs of off on once one ones or other our ours out over own per person please quite"
    " rather re really s said same say she should so some still such t than that the their theirs them themselves then"
    " there these they thing things think this those to too trader under until up us user users usually ve very wanna"
    " want wants was we were what when where whether which while who whom whose why will with would yes yet you your"
    " yours yourself"
)
# A verb said once for several things: "I trade BTC and ETH, never alts".
LIGHT_WORDS: Final = _set("trade use take")
SAME_WORDS: Final = {
    "altcoin": "alt",
    "bitcoin": "btc",
    "ethereum": "eth",
    "ether": "eth",
    "solana": "sol",
    "dogecoin": "doge",
    "memecoin": "meme",
    "trader": "trade",
}

NOT: Final = "not"
OPENS_NOT: Final = "opens"  # denies what follows it in the clause, not what stands before
PARTLY: Final = "partly"
ONLY: Final = "only"
UP, DOWN, MAX, MIN, BEFORE, AFTER = "up", "down", "max", "min", "before", "after"

PHRASES: Final[dict[tuple[str, ...], str]] = {
    **_phrases(NOT, "no longer,not any more,not anymore,gave up,give up,stay away from,stays away from,steer clear of"),
    **_phrases(OPENS_NOT, "rather than,instead of,other than,except for"),
    **_phrases(PARTLY, "not always,not every,not all,not only,not just,not necessarily,not exclusively,not everything"),
    **_phrases(PARTLY, "n't always,n't every,n't all,n't only,n't just,n't necessarily,n't exclusively"),
    **_phrases(ONLY, "nothing but,nothing except"),
    **_phrases(MAX, "at most,up to,no more than,not more than"),
    **_phrases(MIN, "at least,no less than,not less than"),
    **_phrases(UP, "more than,higher than,greater than,bigger than,larger than,longer than"),
    **_phrases(DOWN, "less than,fewer than,lower than,smaller than,shorter than"),
}
WORDS: Final[dict[str, str]] = {
    **_all(NOT, "not n't never cannot nobody none nothing nor neither avoid avoids avoided avoiding refuse refuses"),
    **_all(NOT, "dont doesnt didnt cant couldnt wont wouldnt shouldnt isnt arent wasnt aint mustnt"),
    # The other languages whose speakers write to a coach most.
    **_all(
        NOT, "nicht nie niemals kein keine keinen keiner jamais pas aucun aucune nunca jamás ningún ninguna non mai"
    ),
    **_all(NOT, "nessun não nem niet nooit geen не нет никогда"),
    **_all(OPENS_NOT, "no without except excluding ohne sans sin senza sem zonder без"),
    **_all(ONLY, "only solely exclusively nur seulement uniquement solo sólo solamente apenas alleen только"),
    **_all(MAX, "max maximum limit limits limited cap caps capped ceiling"),
    **_all(MIN, "min minimum floor"),
}
# These compare only before a number: "over 5x", not "over the weekend".
BEFORE_NUMBERS: Final[dict[str, str]] = {
    **_all(UP, "above over past beyond exceed exceeds exceeding"),
    **_all(DOWN, "below under"),
    **_all(BEFORE, "before until till"),
    **_all(AFTER, "after since"),
}
EXCEPTIONS: Final = _set("except excluding other")  # the first words of what is taken out of what stands before
NEGATABLE: Final = {UP: (MIN, MAX), DOWN: (MAX, MIN)}  # as it stands, and under a negation
BREAKS: Final = _set("but because although though whereas however instead yet so unless")  # a clause ends here
RESETS: Final = _set("i i'm i've my always only usually mostly instead then just")  # what begins so is not denied too
USED_TO_PRECEDED: Final = _set("am is are was were be been being get got getting i'm")  # "I am used to" is no past

SCALES: Final = {
    **dict.fromkeys(_set("k thousand"), 1_000),
    **dict.fromkeys(_set("mn mln mio million millions"), 1_000_000),
    **dict.fromkeys(_set("bn billion billions"), 1_000_000_000),
}
UNITS: Final = {
    **_all("%", "% percent pct"),
    **_all("x", "x times fold"),
    **_all("$", "$ usd dollar dollars bucks"),
    **_all("€", "€ eur euro euros"),
    **_all("£", "£ gbp pound pounds"),
    **_all("h", "h hr hrs hour hours"),
    **_all("min", "m min mins minute minutes"),
    **_all("d", "d day days"),
    **_all("w", "w week weeks"),
    **_all("mo", "mo month months"),
    **_all("y", "y yr yrs year years"),
    **_all("bp", "bp bps"),
}
MONEY: Final = _set("$ € £")
NUMBER_WORDS: Final = {
    word: Fraction(value)
    for value, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), start=1
    )
}
NO_NUMBER_AFTER: Final = _set("no the this that which any every each some last first")  # "no one", "the one"
