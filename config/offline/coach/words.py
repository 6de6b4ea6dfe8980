"""The vocabulary of questions: what each word of one means.

A question is understood when the vocabulary covers it: a word that is not in the table is another subject, and no row
of the table of questions answers it, unless it can only describe ("deeply", "winning"). Longer phrases stand first.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from config.lib.search.quantities import NUMBER_WORDS
from config.offline.reading.sentences import Pattern
from trading.asking.periods import DAY, parse_period
from trading.asking.query import GROUPS, MEASURES
from trading.market.names import COIN, EVENT, events_in, symbols_in

_MONTHS: Final = "january|february|march|april|june|july|august|september|october|november|december|may(?= 20\\d\\d)"
# A line holds tags (several with `+`), or `argument=value`, each with its words. An indented line goes on.
_TABLE: Final = rf"""
period: (?:(?:in|over|for|during|since|of) )?(?:the )?(?:(?:today|yesterday|(?:my|this|last|past|previous) (?:week
    |month|quarter|year))(?:'s)?|(?:last|past) \d+ (?:hours|days|weeks|months)|(?:{_MONTHS})(?: 20\d\d)?
    |20\d\d-\d\d-\d\d\.\.20\d\d-\d\d-\d\d|20\d\d(?:-\d\d){{0,2}})
paper: (?:real|live|paper|fake) money|(?:real|live) or (?:paper|simulated|fake|demo)|(?:paper|fake|demo) or (?:real
    |live)|account (?:real|simulated|live)|simulated|(?:is|are) (?:this|it|that|(?:my|the) money
    |these(?: trades)?) real|paper trad(?:es?|ing)
ahead: (?:in |over |for |within )?(?:the )?next (?:\d+ (?:hours|days|weeks)|week|month)|tomorrow
test_next: (?:back-?)?test(?:ed)? next|needs? (?:a |to be )?(?:back-?)?test(?:s|ed|ing)?|(?:should
    |to) (?:back-?)?test|never (?:been )?(?:back-?)?tested|untested
help: ma(?:de|ke) (?:a|any) difference; idle: after (?:all |the )?(?:fees|costs)|net of (?:fees|costs)
strategy: break-?outs?|(?:funding )?fad(?:e|es|ing)|momentum|(?:mean )?reversion|dips?|scalp(?:s|er|ers|ing)?|swing
    |carry|grid|pullbacks?|majors|trend follow(?:ing|er)|dca
foreign: allowed|permitted|supposed|templates?|can i (?:lose|risk)|(?:an?|any) rules? (?:on|for|about)|who (?:made
    |built) (?:you|keel)|(?:exposure|position|risk) limits?
idle: in (?:dollars|usd|bucks|percent)
own_rules: what(?:'s| is| are) my (?:own |trading )?rules?$
net: (?:am|are) (?:i|we) (?:up|down|in profit|in the (?:red|green|black)|profitable|winning|losing)(?: or (?:up|down
    |in loss|losing|not))?|(?:doing )?so far|in profit|br(?:ing|ings|inging|ought) in|banked|netted|cash|bucks
    |dollars|take home|took home|(?:my )?(?:account|equity) (?:growing|shrinking|up|down)
close: t(?:ake|ook) profits?
kind: (?:{EVENT}|rate decisions?)(?: (?:date|release|decision|meeting|day|print|data|report|number|hike|cut)s?)?
coin: {COIN}
number: (?:two|three|four|five|six|seven|eight|nine|ten|twenty)(?= )|[$€]?\d[\d,]*(?:\.\d+)?(?:k|x|%| ?percent)?
low+net: damage|bleed(?:s|ing)?|bled|drain(?:s|ed|ing)?|kill(?:s|ed|ing) (?:me|my account)|eat(?:s|ing)? my (?:money
    |account|profits?)
low: drop|turn off|switch off|shut (?:off|down)|get rid of|give up|stop trading|avoid|bad|poor(?:ly|est)?|terrible
    |deepest
result=won: (?<=trades )(?:that )?ma(?:de|ke) money|winners?|winning trades?|won|wins?(?! rate)|profitable trades?
win_rate: (?:win(?:ning)?|hit|strike|success) rate|winning percentage|batting average|how often(?= do (?:i
    |my [\w ]+) win)|(?:what )?(?:share|percent(?:age)?) of
profit_factor: profit factor|(?:ratio of )?wins? (?:to|vs\.?) loss(?:es)?|win[/-]loss(?: ratio)?|outweigh(?:ed)?
expectancy: expectancy|(?:make|earn|lose|made|earned|lost) per trade|expected value|edge|(?:average|mean) (?:result
    |trade|profit|pnl)(?: per trade)?
drawdown: (?:max(?:imum)? )?draw ?downs?(?! limit)|under ?water|(?:biggest|largest|worst|deepest) (?:drop|fall
    |decline)
r: (?:average )?r(?:[- ]multiples?)?
holding: durations?|how (?:fast|quickly|soon) do i (?:cut|close|exit|sell|take)|how long do (?:i|we) (?:(?:usually
    |normally) )?(?:hold|keep|stay(?: in)?)|hold(?:ing)? (?:time|period)s?|time in (?:a )?trades?|how long
mfe: mfe|favou?rable excursions?
mae: mae|adverse excursions?|(?:go(?:es|ne)?|went|move[ds]?) against (?:me|us)|against me
size: (?:what|which) size|how (?:large|big)(?= (?:for|can|should|could|may|would|must|a|an|this|my next)\b)
    |position siz(?:e|ing)|(?:max(?:imum)?|largest) (?:position|size)|how (?:much|many)(?: (?:{COIN}|dollars|usd
    |bucks|coins|contracts))?(?= (?:can|should|could|may) i\b)|how much$|^size(?= an?\b)
count: ^count|how many(?: times)?|how often|number of|trade count
stop: (?:with )?(?:a |the |my )?stops?(?: loss)?(?: is)?(?: at| of)?(?= (?:at )?[$\d])
away: away|from (?:the )?(?:entry|price); risking: risking|(?:at |with )?(?=\d[\d.]*% risk)
exit=stop: stopped[- ]out|(?:by|at) (?:my |the |a )?stops?|hit (?:my |the |their |its |a )?stops?
    |(?<=my )stops(?! (?:at|of|are|is))
exit=signal: (?:by|on) (?:a |the )?signals?
result=lost: loses?|lost|loss(?:es)?(?! limit)|losing(?: trades?)?|losers?
net: profits?(?:ability|able)?(?: (?:and|or|&) loss(?:es)?)?|p ?& ?l|p/l|pnl|net|money|earn(?:s|ed|ings?)?|ma(?:de
    |kes|king)|make(?= (?:me|on|in|with|from|last|this|today|yesterday)|$)|returns?|results?|gains?|income
fees: fees?|commissions?|trading costs?; funding: funding(?: payments?| costs?| rates?)?
average: average|mean|typical|avg; doing: go(?:es)?$|went$|turn(?:ed|s)? out|fare[ds]?; side=long: longs?|buys?
side=short: shorts?
regime=chop: (?:chop(?:py)?|sideways|ranging)(?: markets?)?; regime=trend: (?:trend(?:s|ing|y)?)(?: markets?)?
regime=shock: shock
hour=22-6: (?:at |by )?night(?:time)?s?; hour=6-12: (?:in the )?mornings?; hour=12-18: (?:in the )?afternoons?
hour=18-22: (?:in the )?evenings?; day: (?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)days?
weekday=sat,sun: (?:at |on |over )?(?:the |this )?weekends?
group=exit: exit (?:kinds?|types?|reasons?)|(?<=my )exits|how (?:it|they) ended|how(?= (?:do|did) my [\w ]*trades end)
group=symbol: symbols?|coins?|pairs?|assets?|instruments?|markets?(?= (?:should|did|do i (?:lose|make|earn)|have i
    |am i|is|are|ma[dk]es?|los(?:es|t|ing)|costs?|earn(?:s|ed))\b)|(?:(?<=by )|(?<=per )|(?<=each ))markets?
group=side: sides?|directions?; group=version: versions?; group=regime: regimes?
group=hour: (?:(?:what|which) )?(?:hours?(?: of (?:the )?day)?|time of (?:the )?day)|what time
group=month: months?|monthly
group=weekday: weekdays?|(?:which |what )?days? of the week|days? of the week|(?:which|what) days?
skill: skills?|strateg(?:y|ies); agent: (?:agent|bot|deployment)s?'?; common: in common|alike|come from|patterns?
decide: decid(?:es?|ed)|decisions?
trust: samples?|trust|judge|large enough|enough|significant|luck(?:y)?|real(?: or| edge)|reliable|random|real$
per: break ?down|broken down|^(?:break|split)|down(?= (?:by|per)\b); rule: (?:own |trading |leverage |risk )?rules?
rule: mistakes?
broken: (?:break(?:ing|s)?|broke(?:n)?|violat(?:e|ed|ing)|exceed(?:ed|ing)?)(?: my (?:\w+ )?limits?)?|ke(?:ep|pt
    |eping)|(?:stick(?:ing)?|stuck|kept) to(?: my (?:trading )?plan)?|follow(?:ed|ing)?(?: my (?:trading )?plan)?
unrealised: unreali[sz]ed|floating|open (?:profit|pnl)
holding_now: (?:am i|is it|are they|are my agents) holding|am i (?:long|short)$|(?:what|which \w+) (?:do|does) (?:i
    |we|it) (?:still |currently )?hold
reject: reject(?:ed|ions?)|refus(?:ed|als?)|declined; order: orders?
worry: worr(?:y|ied)|concern(?:ed|s)?|problems?|issues?|trouble|red flags?|warnings?|healthy|look out|watch(?: out)?
risk: risks?|risky|exposure|exposed; learn: lessons?|learn(?:ed|t|ing)?; help: help(?:ed|ing|s)?(?! me\b)
event: events?|what(?:'s| is) (?:happening|going on)|comes? up|(?:on )?(?:the |my )?(?:economic )?calendar
    |coming(?: up)?|comes? out|upcoming|ahead|scheduled
effect: important|danger(?:ous)?(?: for)?|hurt|affect|impact|hit|mov(?:e|ed|es)|do to|happens?(?: to)?|mean for
    |cost me|matter for|cost
news: news|headlines?|(?:what(?:'s| is)|anything) new|happened in (?:the )?(?:markets?|news|crypto)
price: price|trading(?: at|$)|quote; vol: volatil(?:e|ity)|vol; basis: basis; market: markets?|crypto
backtest: back-?tests?|tests?(?= (?:of|go)\b)|simulations?; draft: drafts?; saved: saved
running: running|active|alive|status
open: open(?:ed)?|enter(?:ed)?|t(?:ake|ook)|bought|sold|get into|got into|go|went|put on|start(?:ed)?
close: close[sd]?|exit(?:ed|s)?|get out|got out|leave|cover(?:ed)?|take profits?|sell|end(?:ed)?
position: positions?|holdings|portfolio; trade: trades?|(?:track )?record|trad(?:ed|ing)|round trips?|history
doing: doing|going|work(?:s|ing)?|do(?= (?:on|in|at|around|before|after|with|when|by|per|this|last|today|yesterday)\b
    |$)|perform(?:ed|ing|s)?|holding up|look(?:ing)?
pay: collect(?:ed)?|receive[ds]?|pa(?:id|ys?|ying)|spen[dt]|cost(?:s|ed)?; sharpe: sharpe(?: ratio)?
performance: performance|track record|stats|numbers
low: worst|lowest|least|weakest|worse|smallest
top: best|top|rank(?:ed)?|highest|most|biggest|largest|greatest|main|better
long: longest; short: (?:shortest|quickest|fastest); now: (?:right )?now|currently|at the moment
per: per|by|each|every|split|across
versus: compared?(?: (?:to|with))?|or|vs\.?|versus|than|beat(?:s|ing|en)?|outperform(?:s|ed)?|against
which: which; where: where(?:'s)?; why: why|reasons?|rationale; when: when; show: show|list; all: all
last: last|latest|recent(?:ly)?|newest|previous|past|lately
it: it|this|that|these|those|them|one|ones|they|its|their; you: you|your|keel
me: i|me|my|mine|we|our|i'm|i've; mood: ok|okay|fine|all ?right|anything
idle: the|an?|of|for|on|in|at|to|from|with|is|are|was|were|be|been|being|am|do|does|did|have|has|had|can|could|will
    |would|should|shall|may|might|must|what|what's|whats|what're|how|how's|how're|when's|who|much|many|more|less|far
    |totals?|overall|any|some|gets?|got|give|tell|please|about|so|there|current|just|not|if|and|as|makes?|hold|need
    |know|next to|out|big|high|good|well|up|s|also|then|still|else|during|around|after|before|too|usually|normally
    |ever|next|test(?:ed)?|soon|deep|worth|like(?= (?:on|for|in)\b|$)|macro|something|large|held|reali[sz]ed
    |summari[sz]e|summary|overview|describe|limits?|calm|quiet|busy|down|came|(?:has|have|did|do|does|is|are|was
    |were)n't|there's|here|buy and hold|a lot|lots|really|actually|exactly|see|look|find|due|run|while|since|until
    |through|into|off|other|own|yet|already
"""
_WEEKDAYS: Final = tuple(GROUPS["weekday"].choices)
_NOT_OURS: Final = {"unknown", "foreign"}
_OF_RECORD: Final = {
    *MEASURES,
    *("result", "group", "low", "top", "position", "agent", "backtest", "learn", "broken", "unrealised", "versus"),
    *("strategy", "reject", "side", "trade", "coin"),
}
_DESCRIBES: Final = re.compile(r"^\w{3,}(?:ly|ed|ing|est|en|ive|ile|ble|ful)$", re.IGNORECASE)
_NOUN_FOLLOWS: Final = Pattern(r"\b(?:an?|the|my|our|your|his|her|their|of|on|in|for|from|by|about|with|at) $")


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

    @property
    def is_of_record(self) -> bool:
        """Whether it is about trades, positions or agents rather than what the user said."""
        return not self.tags.isdisjoint(_OF_RECORD)

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
    end = len(text)  # of the name of a skill, which a word that nobody knows continues
    for match in pattern.finditer(text):
        tag, said = tag_of.get(str(match.lastgroup), ""), match[0]
        tag = "unknown" if tag == "coin" and not symbols_in(said) else tag
        if not tag:
            tag = _judge_unknown(text[: match.start()], said)
            is_name = (said[0].isupper() and match.start()) or text[end : match.start()].isspace()
            tag = "strategy" if is_name and tag == "unknown" else tag
        tag, _, other = tag.partition("+")
        name, _, value = tag.partition("=")
        if name == "number":
            number = int(said) if said.isdecimal() else NUMBER_WORDS.get(said.casefold())
            amounts += [] if number is None else [int(number)]
        elif name == "strategy":
            given["skill"], end = f"{given.get('skill', '')} {said}".strip(), match.end()
        elif name == "day":
            given["weekday"] = said.casefold().removeprefix("on ")[:3]
        elif name in ("period", "ahead"):
            words = re.sub(r"^(?:in|over|for|during|of|within) |\bthe |'s$", "", said.casefold())
            given[name] = words.replace("my ", "this ")
        elif value and value not in given.get(name, "").split(","):
            given[name] = f"{given[name]},{value}" if name in given else value
        tags |= {name, tag, other or name}
    is_one = re.search(r"\b(?:last|latest|newest) (?:\w+ )?trade\b", text, re.IGNORECASE)
    amount = 1 if is_one else next(iter(amounts), 0)
    kinds = events_in(text) or (["fomc"] if "rate decision" in text.casefold() else [])
    return Words(text, frozenset(tags), given, amount, tags.isdisjoint(_NOT_OURS), symbols_in(text), kinds)


def _judge_unknown(before: str, word: str) -> str:
    """Return "idle" for a word that describes, by its ending; one behind an article or a preposition is a noun."""
    return "idle" if _DESCRIBES.search(word) and not _NOUN_FOLLOWS.search(before) else "unknown"


def find_window(words: Words, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the instants ahead that a question names, by days in UTC; None without any."""
    said = words.given.get("ahead") or words.given.get("period", "")
    if weekday := words.given.get("weekday"):
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        first = day + DAY * ((_WEEKDAYS.index(weekday[:3]) - day.weekday()) % 7)
        return max(first, now), first + DAY * (1 + weekday.count(","))
    if count := re.search(r"(\d+) (hours|days|weeks)", said):
        return now, now + timedelta(**{count[2]: int(count[1])})
    shift = {"tomorrow": 1, "next week": 7, "next month": 32 - now.day}.get(said, 0)
    words_now = said.replace("tomorrow", "today").replace("next", "this")
    period = parse_period(words_now, zone=ZoneInfo("UTC"), now=now + shift * DAY) if said else None
    if period is None or period.starts_at is None or period.ends_at is None or period.ends_at <= now:
        return None
    return max(period.starts_at, now), period.ends_at


@cache
def _scanner() -> tuple[re.Pattern[str], dict[str, str]]:
    entries = [one.partition(": ")[::2] for one in re.split(r"\n|; ", re.sub(r"\n    +", "", _TABLE).strip())]
    named = "|".join(rf"(?P<t{at}>{words})(?![\w'-])" for at, (_, words) in enumerate(entries))
    pattern = Pattern(rf"(?<![\w'-])(?:{named})" + "\n" + r"[^\W_](?:[\w'’.&-]*\w)?")
    return pattern.compiled, {f"t{at}": tag for at, (tag, _) in enumerate(entries)}
