"""The vocabulary of questions: what each word of one means.

A question is understood when the vocabulary covers it: a word that is not in a table is another subject, and no row of
the table of questions answers it, unless it can only describe ("deeply"). Phrases go before words.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo

from config.lib.search.terms import STOP_WORDS, porter_stem
from config.lib.words.markets import COIN, EVENT, events_in, symbols_in
from config.lib.words.quantities import NUMBER_WORDS
from config.lib.words.sentences import Pattern
from trading.asking.periods import DAY, parse_period
from trading.asking.query import GROUPS, MEASURES

_MONTHS: Final = "january|february|march|april|june|july|august|september|october|november|december|may(?= 20\\d\\d)"
# A line holds a tag (several with `+`), or `argument=value`, and its phrases. An indented line goes on.
_PHRASES: Final = rf"""
period: (?:since )?(?:(?:today|yesterday|(?:my|this|last|past|previous) (?:week|month|quarter|year))(?:'s)?|(?:last
    |past) \d+ (?:hours|days|weeks|months)|(?:{_MONTHS})(?: 20\d\d)?|20\d\d(?:-\d\d){{2}}\.\.20\d\d(?:-\d\d){{2}}
    |20\d\d(?:-\d\d){{0,2}})
paper: (?:real|live|paper|fake) money|(?:real|live|paper|fake|demo) or (?:real|live|paper|simulated|fake|demo)|(?:is
    |are) (?:this|it|that|(?:my|the) money|these(?: trades)?) real
ahead: next (?:\d+ (?:hours|days|weeks)|week|month)|tomorrow
test_next: (?:back-?)?test(?:ed)? next|needs? (?:a |to be )?(?:back-?)?test(?:s|ed|ing)?|(?:should|to) (?:back-?)?test
    |(?:never (?:been )?|un)(?:back-?)?tested
idle: after (?:all |the )?(?:fees|costs)|in (?:dollars|usd|bucks|percent)|buy and hold|a lot|like(?= (?:on|for|in)\b|$)
strategy: funding fad(?:e|es|ing)|mean reversion|majors
foreign: can i (?:lose|risk)|(?:an?|any) rules? (?:on|for|about)|who (?:made|built) (?:you|keel)|(?:exposure|position
    |risk|loss) limits?; own_rules: what(?:'s| is| are) my (?:own |trading )?rules?$
net: (?:am|are) (?:i|we) (?:up|down|in profit|in the (?:red|green|black)|profitable|winning|losing)(?: or (?:up|down
    |in loss|losing|not))?|br(?:ing|ings|inging|ought) in|(?:my )?(?:account|equity) (?:growing|shrinking|up|down)
close: t(?:ake|ook) profits?
kind: (?:{EVENT}|rate decisions?)(?: (?:date|release|decision|meeting|day|print|data|report|number|hike|cut)s?)?
coin: {COIN}
number: (?:two|three|four|five|six|seven|eight|nine|ten|twenty)(?= )|[$€]?\d[\d,]*(?:\.\d+)?(?:k|x|%| ?percent)?
low+net: eat(?:s|ing)? my (?:money|account|profits?)
low: (?<=should i )(?:stay|keep) (?:away|out)(?: (?:from|of))?|(?:turn|switch|shut) (?:off|down)|get rid of|give up
    |stop trading; result=won: (?<=trades )(?:that )?ma(?:de|ke) money
win_rate: (?:win(?:ning)?|hit|strike|success) rate|winning percentage|batting average|how often(?= do (?:i
    |my [\w ]+) win)|(?:what )?(?:share|percent(?:age)?) of
profit_factor: profit factor|(?:ratio of )?wins? (?:to|vs\.?) loss(?:es)?|win[/-]loss(?: ratio)?
expectancy: (?:make|earn|lose|made|earned|lost) per trade|expected value
drawdown: (?:max(?:imum)? )?draw ?downs?(?! limit)|under ?water|(?:account|equity) (?:drop(?:ped)?|fall|fell)
    |(?:biggest|largest|worst|deepest) (?:drop|fall|decline); r: (?:average )?r(?:[- ]multiples?)?
holding: how (?:fast|quickly|soon) do i (?:cut|close|exit|sell|take)|how long(?: do (?:i|we) (?:(?:usually
    |normally) )?(?:hold|keep|stay(?: in)?))?|hold(?:ing)? (?:time|period)s?; mfe: favou?rable excursions?
mae: adverse excursions?|(?:(?:go(?:es|ne)?|went|move[ds]?) )?against (?:me|us)
size: (?:what|which) size|how (?:large|big)(?= (?:for|can|should|could|may|would|must|a|an|this|my next)\b)
    |position siz(?:e|ing)|(?:max(?:imum)?|largest) (?:position|size)|how (?:much|many)(?: (?:{COIN}|dollars|usd|bucks
    |coins|contracts))?(?= (?:can|should|could|may) i\b)|how much$
    |how (?:big|large|many (?:coins|contracts))(?=$| (?:at|with|for) (?:an? |my )?\$?\d)|^size(?= an?\b)
count: ^count|how many(?: times)?|how often|number of|trade count
stop: (?:with )?(?:a |the |my )?stops?(?: loss)?(?: is)?(?: at| of)?(?= (?:at )?[$\d])
away: from (?:the )?(?:entry|price); risking: (?:at |with )?(?=\d[\d.]*% risk)
stops_at: where(?:'s| is| are) (?:(?:my|the) )?stops?
equity: (?:my |the )?(?:equity|account (?:balance|size|value)|balance)|money do (?:i|we) have
    |my (?:account|portfolio) worth
exit=stop: stopped[- ]out|stops?(?: were| was| got| are)? hit|(?:by|at|hit) (?:(?:my|the|their|its|a) )?stops?
    |(?:(?<=my )|(?<=the ))stops(?! (?:at|of|are
    |is)); exit=signal: (?:by|on) (?:a |the )?signals?
net: profits? (?:and|or|&) loss(?:es)?|p ?& ?l|p/l|ma(?:de|kes|king)|make(?= (?:me|on|in|with|from|last|this|today
    |yesterday)|$); fees: trading costs?; funding: funding(?: payments?| costs?| rates?)?
doing: go(?:es)?$|went$|pa(?:y|ys|id) off|turn(?:ed|s)? out; weekday=sat,sun: (?:this )?weekends?
day: (?:mon|tues|wednes|thurs|fri|satur|sun)days?
group=exit: exit (?:kinds?|types?|reasons?)|(?<=my )exits|how(?= (?:do|did) my [\w ]*trades end)
group=symbol: markets?(?= (?:should|did|do i (?:lose|make|earn)|have i|am i|is|are|ma[dk]es?|los(?:es|t|ing)|costs?
    |earn(?:s|ed))\b)|(?<=by )markets?; group=hour: (?:what )?(?:hours?|time) of (?:the )?day|what time
group=weekday: days? of the week|(?:which|what) days?|(?:(?<=best )|(?<=worst )|(?<=per )|(?<=each )|(?<=every )
    |(?<=trades a ))day; common: in common|come from; trust: large enough|real(?: or| edge)|real$
per: break ?down|^(?:break|split)|down(?= (?:by|per)\b); rule: (?:own |trading |leverage |risk )?rules?
broken: (?:break(?:ing|s)?|broken?|violat(?:e|ed|ing)|exceed(?:ed|ing)?)(?: my (?:\w+ )?limits?)?
unrealised: open (?:profit|pnl)
holding_now: (?:am i|is it|are they|are my agents) holding|am i (?:long|short)$|(?:what|which \w+) (?:do|does) (?:i|we
    |it) (?:still |currently )?hold; worry: red flags?|look out
event: what(?:'s| is) (?:happening|going on)|com(?:es?|ing) (?:up|out)|economic calendar
effect: important|do to|matter for
news: news|(?:what(?:'s| is)|anything) new|happened in (?:the )?(?:markets?|news|crypto); price: trading(?: at|$)
backtest: back-tests?|tests?(?= (?:of|go)\b); running: running; open: g[eo]t into|put on; position: holdings
trade: round trips?
doing: doing|going|holding up|do(?= (?:on|in|at|around|before|after|with|when|by|per|this|last|today|yesterday)\b|$)
sharpe: sharpe(?: ratio)?; performance: performance; now: right now|at the moment; mood: all right
"""
# Tags with their words in any ending, which are compared by their stems; `itself` has words that are their own tags.
_WORDS: Final = """
idle: numbers could shall may might must who much many far total overall any some get got give tell please there and
    make hold need know high big good well up s still else around usually normally ever next test soon deep plan worth
    macro something large held realised realized summarise summarize summary overview describe limit calm quiet busy
    came here lots really actually exactly see find due run since yet already way how're what're
itself: net expectancy mfe mae away risking average skill agent decide trust unrealised reject order worry risk learn
    help event price vol basis market backtest draft open close position trade pay top now per versus which where why
    when show all last it you me; paper: simulated; strategy: breakout break-out fade momentum reversion dip scalp
    scalper swing carry grid pullback dca; foreign: allowed permitted supposed template
low+net: damage bleed bled drain; low: drop avoid bad poor poorly terrible deepest worst lowest least weakest worse
    smallest; result=won: winner won win; result=lost: lose lost loss loser; net: profit profitability profitable pnl
    money earn return result gain income banked cash buck dollar; profit_factor: outweigh; expectancy: edge
holding: duration; fees: fee commission; average: mean typical avg; doing: fare work perform look; side=long: long buy
side=short: short; regime=shock: shock; group=symbol: symbol coin pair asset instrument; group=side: side direction
group=version: version; group=regime: regime; group=month: month monthly; skill: strategy; agent: bot deployment
common: alike pattern; decide: decision; trust: sample judge enough significant luck lucky reliable random
rule: mistake; unrealised: unrealized floating; reject: refuse declined; broken: keep kept stick stuck follow
worry: watch concern problem issue trouble healthy warning; risk: risky exposure exposed; learn: lesson learnt
event: calendar coming upcoming ahead scheduled; effect: danger dangerous hurt affect impact hit move happen
news: headline; price: quote; vol: volatile; market: crypto; backtest: simulation; running: active alive status
open: enter take took bought sold go went start; close: exit leave cover sell end; position: portfolio
trade: record history; pay: collect receive paid spend spent costs; performance: stats
top: best rank highest most biggest largest greatest main better; long: longest; short: shortest quickest fastest
per: by each every split across; versus: compare or vs than beat outperform against; why: reason rationale; show: list
last: latest recent newest previous past lately; now: current; it: this that these those them one they its their
you: your keel; me: i my mine we our i'm i've; more: more less; mood: ok okay fine alright anything
hour=22-6: night nighttime; hour=6-12: morning; hour=12-18: afternoon; hour=18-22: evening; group=hour: hour
group=weekday: weekday; regime=chop: chop choppy sideways ranging; regime=trend: trend trending trendy
"""
_WEEKDAYS: Final = tuple(GROUPS["weekday"].choices)
_NOT_OURS: Final = {"unknown", "foreign"}
_OF_RECORD: Final = {
    *MEASURES,
    *("result", "group", "low", "top", "position", "agent", "backtest", "learn", "broken", "unrealised", "versus"),
    *("strategy", "reject", "side", "trade", "coin"),
}
_MEASURED: Final = {"net", "fees", "count", "win_rate", "expectancy", "result", "holding", "average", "top", "low"}
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
    pattern, tag_of = _vocabulary()
    end = len(text)  # of the name of a skill, which a word that nobody knows continues
    for match in pattern.finditer(text):
        said = match[0]
        word = said.casefold().removesuffix("'s")
        tag = tag_of.get(match.lastgroup or (_stem(word) if len(word) > 3 else word))
        tag = tag or _judge_unknown(text[: match.start()], word)
        is_name = (said[0].isupper() and match.start()) or text[end : match.start()].isspace()
        if tag == "unknown" or (tag == "coin" and not symbols_in(said)):
            tag = "strategy" if is_name and tag == "unknown" else "unknown"
        tag, _, other = tag.partition("+")
        name, _, value = tag.partition("=")
        if name == "number":
            number = int(said) if said.isdecimal() else NUMBER_WORDS.get(word)
            amounts += [] if number is None else [int(number)]
        elif name == "strategy":
            given["skill"], end = f"{given.get('skill', '')} {said}".strip(), match.end()
        elif name == "day":
            given["weekday"] = word[:3]
        elif name in ("period", "ahead"):
            given[name] = word.replace("my ", "this ")
        elif value and value not in given.get(name, "").split(","):
            given[name] = f"{given[name]},{value}" if name in given else value
        tags |= {name, tag, other or name}
    tags |= {"measured"} if tags & _MEASURED else set()
    is_one = re.search(r"\b(?:last|latest|newest) (?:\w+ )?trade\b", text, re.IGNORECASE)
    amount = 1 if is_one else next(iter(amounts), 0)
    kinds = events_in(text) or (["fomc"] if "rate decision" in text.casefold() else [])
    return Words(text, frozenset(tags), given, amount, tags.isdisjoint(_NOT_OURS), symbols_in(text), kinds)


def _judge_unknown(before: str, word: str) -> str:
    """Return "idle" for a word that describes, by its ending; one behind an article or a preposition is a noun."""
    is_idle = word.replace("'", "") in STOP_WORDS
    return "idle" if is_idle or (_DESCRIBES.search(word) and not _NOUN_FOLLOWS.search(before)) else "unknown"


def find_window(words: Words, now: datetime) -> tuple[datetime, datetime, str] | None:
    """Return the instants ahead that a question names, by days in UTC, and its words for them; None without any."""
    said = words.given.get("ahead") or words.given.get("period", "")
    if weekday := words.given.get("weekday"):
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        first = day + DAY * ((_WEEKDAYS.index(weekday[:3]) - day.weekday()) % 7)
        named = "at the weekend" if "," in weekday else f"on {first:%A}"
        return max(first, now), first + DAY * (1 + weekday.count(",")), f"{named} (in UTC)"
    if count := re.search(r"(\d+) (hours|days|weeks)", said):
        return now, now + timedelta(**{count[2]: int(count[1])}), f"in the {said}"
    shift = {"tomorrow": 1, "next week": 7, "next month": 32 - now.day}.get(said, 0)
    words_now = said.replace("tomorrow", "today").replace("next", "this")
    period = parse_period(words_now, zone=ZoneInfo("UTC"), now=now + shift * DAY) if said else None
    if period is None or period.starts_at is None or period.ends_at is None or period.ends_at <= now:
        return None
    return max(period.starts_at, now), period.ends_at, f"{said} (in UTC)"


@cache
def _vocabulary() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the pattern of phrases and words, and the tags by the groups of the phrases, by words and by stems."""
    phrases = re.split(r"\n|; ", re.sub(r"\n    ", "", _PHRASES).strip())
    words = re.split(r"\n(?! )|; ", _WORDS.strip())
    named = "|".join(rf"(?P<t{at}>{line.partition(': ')[2]})(?![\w'-])" for at, line in enumerate(phrases))
    tags = {f"t{at}": line.partition(": ")[0] for at, line in enumerate(phrases)}
    for tag, _, listed in (line.partition(": ") for line in words):
        tags |= {key: word if tag == "itself" else tag for word in listed.split() for key in (word, _stem(word))}
    return Pattern(rf"(?<![\w'-])(?:{named})" + "\n" + r"[^\W_](?:[\w'’.&-]*\w)?").compiled, tags


def _stem(word: str) -> str:
    return f"~{porter_stem(word)}"  # apart from the words: the stem of "one" is "on"
