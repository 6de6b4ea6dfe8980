"""Words that decide a claim: negations, bounds, units, numbers, fillers."""

from typing import Final

from config.lib.search.terms import STOP_WORDS
from config.lib.words.quantities import map_words, word_set


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
    **_phrases_to(ONLY, "nothing but,nothing except,stick to,sticks to,all i trade"),
    **_phrases_to("maybe", "i might,i could,i may,we might,we could"),
    **_phrases_to(MAX, "at most,up to,no more than,not more than,or less,or lower,or fewer"),
    **_phrases_to(MIN, "at least,no less than,not less than"),
    **_phrases_to(UP, "more than,higher than,greater than,bigger than,larger than,longer than"),
    **_phrases_to(DOWN, "less than,fewer than,lower than,smaller than,shorter than"),
}
WORDS: Final[dict[str, str]] = {
    **map_words(
        NOT, "not n't never cannot nobody none nothing nor neither avoid avoids avoided avoiding refuse refuses"
    ),
    **map_words(NOT, "dont doesnt didnt cant couldnt wont wouldnt shouldnt isnt arent wasnt aint mustnt"),
    # Other languages that users often write in.
    **map_words(
        NOT, "nicht nie niemals kein keine keinen keiner jamais pas aucun aucune nunca jamás ningún ninguna non mai"
    ),
    **map_words(NOT, "nessun não nem niet nooit geen не нет никогда"),
    **map_words(OPENS_NOT, "no without except excluding ohne sans sin senza sem zonder без"),
    **map_words(ONLY, "only solely exclusively nur seulement uniquement solo sólo solamente apenas alleen только"),
    **map_words(MAX, "max maximum limit limits limited cap caps capped ceiling"),
    **map_words(MIN, "min minimum floor"),
}
# Comparisons only before a number: "over 5x", not "over the weekend".
BEFORE_NUMBERS: Final[dict[str, str]] = {
    **map_words(UP, "above over past beyond exceed exceeds exceeding"),
    **map_words(DOWN, "below under"),
    **map_words(BEFORE, "before until till"),
    **map_words(AFTER, "after since"),
}
# Words that make a statement depend on something. One may neither be added to what a user said nor left out.
CONDITIONS: Final = word_set(
    "if unless until till when whenever while provided providing assuming once depending whether maybe perhaps possibly"
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

NO_NUMBER_AFTER: Final = word_set("no the this that which any every each some last first")  # "no one", "the one"
