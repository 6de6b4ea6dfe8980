"""The vocabulary of questions: what each word of one means.

A question is understood when the vocabulary covers it: a word that is not in the table is another subject, and no row
of the table of questions answers it. Longer phrases stand first.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from config.offline.reading.sentences import Pattern
from trading.market.names import COIN, EVENT, events_in, symbols_in

_MONTHS: Final = "january|february|march|april|june|july|august|september|october|november|december|may(?= 20\\d\\d)"
# A line holds tags, or `argument=value`, each with its words. An indented line goes on.
_TABLE: Final = rf"""
period: (?:(?:in|over|for|during|since|of) )?(?:the )?(?:today|yesterday|(?:this|last|past|previous) (?:week|month
    |quarter|year)|(?:last|past) \d+ (?:hours|days|weeks|months)|(?:{_MONTHS})(?: 20\d\d)?
    |20\d\d-\d\d-\d\d\.\.20\d\d-\d\d-\d\d|20\d\d(?:-\d\d){{0,2}})
paper: real money|paper money|fake money|real or (?:paper|simulated|fake)|simulated
net: (?:am|are) (?:i|we) (?:up|down|in profit|in the (?:red|green|black)|profitable|winning|losing)|doing so far
close: t(?:ake|ook) profits?
kind: (?:{EVENT}|rate decisions?)(?: (?:decision|meeting|day|print|data|report|number|hike|cut)s?)?; coin: {COIN}
number: [$€]?\d[\d,]*(?:\.\d+)?(?:k|x|%| ?percent)?
result=won: winners?|winning trades?|won|wins?(?! rate)|profitable trades?
win_rate: win(?:ning)? rate|hit rate|strike rate|how often do i win; profit_factor: profit factor
expectancy: expectancy|expected value|edge|(?:average|mean) (?:result|trade|profit|pnl)(?: per trade)?
drawdown: (?:max(?:imum)? )?draw ?downs?; r: (?:average )?r(?:[- ]multiples?)?
holding: how long do (?:i|we) (?:usually |normally )?hold|holding (?:time|period)s?|time in (?:a )?trades?|how long
mfe: mfe|favou?rable excursions?; mae: mae|adverse excursions?
count: how many(?: times)?|how often|number of|trade count
size: (?:what|which) size|how (?:large|big)(?= (?:for|can|should|could|may|would|must|a|an|this|my next)\b)
    |position siz(?:e|ing)|how much(?= (?:can|should|could|may) i\b)|how much$
stop: (?:with )?(?:a |the |my )?stops?(?: loss)?(?: is)?(?: at| of)?(?= (?:at )?[$\d])
away: away|from (?:the )?(?:entry|price); risking: risking|(?:at |with )?(?=\d[\d.]*% risk)
exit=stop: stopped[- ]out|by stops?|hit (?:my |the |their |its |a )?stops?
result=lost: loses?|lost|loss(?:es)?(?! limit)|losing(?: trades?)?|losers?
net: profits?(?:ability|able)?(?: (?:and|or|&) loss(?:es)?)?|p ?& ?l|p/l|pnl|net|money|earn(?:s|ed|ings?)?|ma(?:de|kes
    |king)|make(?= (?:on|in|with|from|last|this|today|yesterday)|$)|returns?|results?|gains?|income
fees: fees?|commissions?|trading costs?; funding: funding(?: payments?| costs?| rates?)?
average: average|mean|typical|avg; side=long: longs?|buys?; side=short: shorts?
regime=chop: chop(?:py)?|sideways; regime=trend: trend(?:s|ing|y)?; regime=shock: shock
day: (?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?; weekday=sat,sun: (?:at |on )?(?:the )?weekends?
group=exit: exit (?:kinds?|types?|reasons?)|how (?:it|they) ended; group=symbol: symbols?|coins?|pairs?|assets?
    |instruments?; group=side: sides?|directions?; group=version: versions?; group=regime: regimes?
group=hour: (?:what |which )?hours?|time of (?:the )?day|what time; group=month: months?|monthly
group=weekday: weekdays?|(?:which |what )?days? of the week|days? of the week|(?:which|what) days?
skill: skills?|strateg(?:y|ies); agent: agents?|bots?|deployments?; common: in common|alike
trust: samples?|trust|large enough|enough|significant|luck(?:y)?|real(?: or| edge)|reliable|random|real$
per: break ?down|broken down; rule: (?:own |trading )?rules?
broken: break(?:ing|s)?|broke(?:n)?|violat(?:e|ed|ing)|kept|keeping|stick(?:ing)? to|follow(?:ed|ing)?
unrealised: unreali[sz]ed|floating|open (?:profit|pnl); holding_now: (?:am i|is it|are they|are my agents) holding
reject: reject(?:ed|ions?)|refus(?:ed|als?)|declined; order: orders?
worry: worr(?:y|ied)|concern(?:ed|s)?|problems?|issues?|trouble|red flags?|warnings?|healthy|look out|watch(?: out)?
risk: risks?|risky|exposure|exposed; learn: lessons?|learn(?:ed|t|ing)?; help: helped|helping|help$
event: events?|calendar|coming(?: up)?|comes? out|upcoming|ahead|scheduled
effect: hurt|affect|impact|hit|mov(?:e|ed|es)|do to|happens?(?: to)?|mean for|cost me|matter for|cost
news: news|headlines?|what(?:'s| is) new|happened in (?:the )?(?:markets?|news|crypto)
price: price|trading at|quote; vol: volatil(?:e|ity)|vol; basis: basis; market: markets?|crypto
backtest: back-?tests?|simulations?; draft: drafts?; saved: saved
running: running|active|alive|status
open: open(?:ed)?|enter(?:ed)?|t(?:ake|ook)|bought|sold|get into|got into|go|went|put on|start(?:ed)?
close: close[sd]?|exit(?:ed|s)?|get out|got out|leave|cover(?:ed)?|take profits?|sell|end(?:ed)?
position: positions?|holdings|portfolio; trade: trades?|(?:track )?record|trad(?:ed|ing)|round trips?|history
doing: doing|going|work(?:s|ing)?|do(?= on\b)|perform(?:ed|ing|s)?|holding up|look(?:ing)?
pay: pa(?:id|y|ying)|cost(?:s|ed)?; sharpe: sharpe(?: ratio)?; performance: performance|track record|stats|numbers
low: worst|lowest|least|weakest|worse|smallest; top: best|top|highest|most|biggest|largest|greatest|main|better
long: longest; short: shortest; per: per|by|each|every|split|across
versus: compare|or|vs\.?|versus|compared (?:to|with)
which: which; why: why|reasons?|rationale; when: when; show: show|list; all: all
last: last|latest|recent(?:ly)?|newest|previous|past|lately
it: it|this|that|these|those|them|one|ones|they|its|their; you: you|your|keel
me: i|me|my|mine|we|our|i'm|i've; mood: ok|okay|fine|all ?right|anything
idle: the|an?|of|for|on|in|at|to|from|with|is|are|was|were|be|been|being|am|do|does|did|have|has|had|can|could|will
    |would|should|shall|may|might|must|what|what's|whats|what're|how|how's|how're|when's|who|where|much|far|totals?
    |overall|any|some|gets?|got|give|tell|please|about|so|there|right now|now|currently|current|at the moment|just|not
    |if|and|than|as|makes?|hold|need|know|next to|out|big|high|good|well|up|s|also|then|still|else|during|around|after
    |before|too|usually|normally|ever|next|test(?:ed)?
"""


@dataclass(frozen=True, slots=True)
class Words:
    """A question in terms of the vocabulary."""

    text: str
    tags: frozenset[str]
    given: dict[str, str]  # the words or values of tags: measure, group, side, symbol, period ...
    amount: int  # of rows; 0 when that is not said
    is_covered: bool  # no word of it is unknown
    symbols: list[str]
    kinds: list[str]  # of events

    def has(self, wanted: str) -> bool:
        """Tell whether it meets "a b|c -d": a, one of b and c, and no d."""
        return all(
            term[1:] not in self.tags if term[0] == "-" else not self.tags.isdisjoint(term.split("|"))
            for term in wanted.split()
        )


def read_words(text: str) -> Words:
    """Read a plain sentence by the vocabulary."""
    tags: set[str] = set()
    given: dict[str, str] = {}
    amounts: list[int] = []
    pattern, tag_of = _scanner()
    for match in pattern.finditer(text):
        tag, said = tag_of.get(str(match.lastgroup), "unknown"), match[0]
        tag = "unknown" if tag == "coin" and not symbols_in(said) else tag
        name, _, value = tag.partition("=")
        if name == "number":
            amounts += [int(said)] if said.isdecimal() else []
        elif name == "day":
            given["weekday"] = said.casefold().removeprefix("on ")[:3]
        elif name == "period":
            given["period"] = re.sub(r"^(?:in|over|for|during|of) |\bthe ", "", said.casefold())
        elif value and value not in given.get(name, "").split(","):
            given[name] = f"{given[name]},{value}" if name in given else value
        tags |= {name, tag}
    is_one = re.search(r"\b(?:last|latest|newest) (?:\w+ )?trade\b", text, re.IGNORECASE)
    amount = 1 if is_one else next(iter(amounts), 0)
    kinds = events_in(text) or (["fomc"] if "rate decision" in text.casefold() else [])
    return Words(text, frozenset(tags), given, amount, "unknown" not in tags, symbols_in(text), kinds)


@cache
def _scanner() -> tuple[re.Pattern[str], dict[str, str]]:
    entries = [one.partition(": ")[::2] for one in re.split(r"\n|; ", re.sub(r"\n    +", "", _TABLE).strip())]
    named = "|".join(rf"(?P<t{at}>{words})(?![\w'-])" for at, (_, words) in enumerate(entries))
    pattern = Pattern(rf"(?<![\w'-])(?:{named})" + "\n" + r"[^\W_](?:[\w'’.&-]*\w)?")
    return pattern.compiled, {f"t{at}": tag for at, (tag, _) in enumerate(entries)}
