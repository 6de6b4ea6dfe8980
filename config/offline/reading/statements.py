"""Find lasting statements of the user in a message, in English, by the form of their clauses.

One table weighs the forms of a clause: who speaks of whom, how the verb stands, what bounds it, and what points at a
moment. A clause whose weights come to zero or more is kept; `no` rules it out. The weights were fitted to the labelled
sentences of the tests, once, and rounded. Whoever wants something kept that no form knows says "remember that ...".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from config.lib.text import normal_form, one_line
from config.offline.reading.sentences import (
    CLAUSE,
    CORRECTION,
    EXPLICIT,
    Pattern,
    parse_table,
    sentences,
    spell_out,
    straight,
    strip_lead_in,
)
from memory.claims.statements import MASK, keep_statements
from memory.claims.subjects import read_subject
from memory.wording import MAX_CONTENT, MIN_CONTENT
from trading.market.names import COIN

MAX_FACTS: Final = 10  # of one message
_LONGEST_SENTENCE: Final = 700  # longer ones are prose that was pasted; they are read only after "remember that"

Confidence = Literal["asserted", "inferred"]

_BULLET = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_HEDGE: Final = Pattern(
    r"""
^(?:I (?:think|guess|feel|believe(?! in)|suppose|suspect)(?: that| like)?|probably|apparently
    |it (?:seems|looks)(?: that| like| as if)?)\s+(?=I\b|my\b)
^(?P<I>I) (?:(?:seem|tend|appear) to|(?:probably|kind of|sort of)\b(?! (?:go|buy|sell|close|take)\b))
"""
)
_CONDITION: Final = Pattern(r"^\W*(?:if|when(?:ever)?|after|before|once|because|since|as)\b")
# A value of a limit, an exchange or a city lasts, however it is put; not what was so, and not of others.
_OWN: Final = Pattern(
    r"^(?:I|I'm|I've|my|max|never|correction|drawdown|time ?zone|base currency|at most|only|no)\b(?!.*\b(?:he|she|they"
    r"|friend|brother|brother's|colleague|boss|uncle|still|thinking|considering)\b)"
)
_BIAS: Final = -6
_SUBJECT: Final = 3  # for a value of the store's table of subjects
_NEVER: Final = -100
_APART: Final = -5  # below it a clause belongs to no other
_MOMENT: Final = frozenset({"supposition", "open", "state", "time", "span"})
_LEXICON: Final = r"""
ADV: (?:(?:never|always|only|usually|generally|normally|typically|mostly|mainly|rarely|seldom|often|regularly|strictly
    |also|now|really|just|still|do|can|tend to|probably|almost|even|already|actually) )*
PAST: (?:panic sold|was|were|had|went|bought|sold|made|lost|took|said|got|ran|came|saw|did|gave|kept|held|told|knew
    |thought|felt|found|forgot|broke|won|paid|ate|woke|wrote|asked|left|spent|shorted|fell|hit|read that|cut my losses
    |slept|spilled|rang|meant|put in|swore|shot|sat|stood|flew|drove|beat|blew|drew|fed|froze|lent|met|rode|rose|sent
    |shook|sank|spoke|stole|swept|tore|threw|wore|(?!need|bleed|exceed|speed|feed|shed|embed|succeed|proceed|indeed|based
    |led|bed|red\b)\w{2,}ed)
MIND: (?:think(?! in\b| about)|guess|bet|reckon|hope(?! to)|wonder|know|see|hear|feel(?! \w+er\b)|believe(?! in)
    |suppose|suspect|expect|assume|mean|say|understand|remember|forget|wish|ask|tell|swear|promise|agree|notice
    |realise|doubt|regret|admit|worry|call|smell|get (?:it|what|why|how)|love (?:it|this|that|you)|like (?:it|this
    |that|the|your|how|you)|hate (?:this|that|it)|can hear|can see|want out|found|find)
LIFE: (?:grew up|was (?:born|trained|raised|a)|started (?:out|with|in|trading)|began|came (?:to|from)|moved (?:here|to
    |from)|switched|relocated|studied|inherited|stopped|quit|gave up|got into|got liquidated|learned|took (?:up
    |a course)|left (?!my|the|money|it)\w+|blown|taught|lowered|raised|cut my|reduced|increased|changed my
    |haven't|used to)
PEOPLE: (?:he|she|they|everyone|everybody|nobody|somebody|someone|people|traders|whales|analysts|experts|pros|the pros
    |retail|most (?:people|traders)|(?:my|a|an|her|his|their|our|the|some|another|old|every|one|professional|good
    |hedge) (?:[\w-]+ ){0,2}?(?:friends?|brother(?: in law)?|sister|dad|father|mum|mom|mother|uncle|aunt|cousin
    |colleagues?|neighbours?|neighbor|boss|mentor|coach|buddy|mate|guy|fund|funds|desk|group|nephew|janitor|landlord
    |flatmate|influencer|trader|traders|courier|dog|kettle|baby|broker froze))
ASSET: (?:btc|bitcoin|eth|ether|sol|doge|gold|silver|the (?:market|dollar|yen|curve|fed|bid|trend|range|price)|market
    |alts|funding|volume|liquidity|momentum|powell|saylor|cpi|price|this (?:chart|pump|range|market|app|candle)
    |eth/btc|nothing|eth season)
"""
_EVIDENCE: Final = r"""
no modal: \b(?:I|it|I'd|it'd) ?(?:never |always )?(?:'ll|'d(?! (?:rather|sooner|prefer|like|love|give))
    |would(?! (?:rather|prefer|like))|could|might|may|should|will)\b
no supposition: ^(?:(?:but |and )?if (?:I|it|rates|only|you)\b|unless |were|suppose|imagine|let's|let us|lets|say I
    |assume|pretend|maybe|perhaps|what if|wish|one day|in theory|were it|hypothet)
no question: ^(?:give me (?:a|one) (?:second|minute|moment|sec)|hold on|(?:(?:at|on|in|for|to|from|with) )?(?:what
    (?:'s|'re| (?!I\b))|which|how)|when's|who|why|where|is|are|am|do (?!not)|does|did|can (?!only)|could|should|would
    |will|tell me|show|list|explain what|when (?:do|should|will|is|does|did)|hello|hi|yes|no(?:pe)?$|ok|okay|thanks?)\b
    |^I (?:can|could) (?:explain|sell|see)
no command: ^(?:please |now |then )*(?:add|sell|buy|delete|remove|drop|list|set|change|help|build|forget|show|close
    |open|link|call it|save|tell|write|create|start|stop|make|review|update|check|run|pause|resume|deploy|backtest
    |enter|exit|find|get|send|read|turn|kill|cut|try|wait|never mind|redeploy|flatten|lower|raise|rename|cancel
    |confirm|undo)\b(?! (?:me|more)\b)
no open: \b(?:two|three|one|some|an?|my) open (?:trades?|orders?|positions?)\b|\bthe (?:second|first|other
    |last) (?:one|option|idea|answer)\b|\bprefer not\b|\bused to(?! \w+ing)\b|^I once\b|\bcurrently\b
    |\bmy (?:stop(?:[- ]loss)?|target|entry|take[- ]profit) is (?:at )?\$?[\d.,]+k?$
+7 habit: ^I <ADV>(?!<MIND>\b|<PAST>\b|am\b|have\b|'|was|had|would|could|should|might|may|will|can\b|did|want|need
    |like|love|hate|just)[a-z-]+
no mind: ^I (?:<ADV>)(?:don't|do not|can't|cannot|can|didn't) (?:<MIND>|understand|see|know|get (?:it|what)
    |find|believe (?:it|this)|explain|log|hear|open|care|say)\b(?! (?:anything|much) )
+4 wish: ^(?:I|I'd|we) (?:(?:would|really|also|do) )*(?:prefer|like|love|hate|dislike|enjoy|want|need|trust|rather
    |sooner|mind|care|aim|hope to|plan to|believe in)\b
-4 errand: ^I (?:(?:want|need|have|would like|'d like|like) (?:to )?(?:know|see|ask|hear|understand|check|talk|look|go
    |run|pick up|explain|wait)|(?:want|need|have) (?:to )?(?:start|open|close|buy|sell|add|long|short|stop|sleep|help
    |a new|a break|out|leave|eat|call|finish))\b
-3 mind: ^I <ADV><MIND>\b
-4 past: \b(?:I|we|it|he|she|they|and|but) <ADV>(?!<LIFE>\b)<PAST>\b(?!')
+6 life: \b(?:I|I've|I have) <ADV>(?:<LIFE>)\b
+4 so far: ^I(?:'ve| have) (?!been \w+ing (?:at|for hours)).*\b(?:for|since|years?|never|always|times|\d{4}|two|three
    |a rule|kids|account|in)\b
+3 possession: ^(?:I|we)(?:'ve| have|'ve got| have got| own) (?:about \d|around \d|trouble|no |a rule
    |two \w+s\b(?! open)|small|\d+k?\b|kids|adhd|patience|an? (?:job|family|soft spot|habit|tendency|system|plan|wife
    |husband|mortgage|\$)|problems? with|classes)
+3 being: ^I(?:'m| am)\b
+5 trait: ^I(?:'m| am) .*\b(?:based|living|from|retired|years? old|allergic|learning|studying|colou?r ?bl\w+|dyslexic
    |deaf|married|single|patient|impatient|disciplined|careful|cautious|prone|wary|terrified|afraid|scared|averse
    |comfortable|happy with|fine with|keen|fond|saving|building|putting|terrible|good at|bad at|slow|usually|always
    |never|only|mostly|allowed|paid|resident|in [A-Z]\w+|dev|trader|\d\d\b|aiming|trying|responsible|at my best|free
    |in cash|new to|doing this|by profession|conservative|aggressive|interested|so (?:no|numbers|mornings|evenings))\b
    |^I(?:'m| am) [A-Z][a-z]+$
-6 state: ^I(?:'m| am) (?:(?:so|very|a bit|a little|too|still|currently|now|off|back|almost|just) )*(?:tired|hungry
    |bored|sick|lost|long|short|flat(?! by)|up|down|out|in (?:a|an|the|my|this|that|front)\b|at (?:the|a
    |my)\b(?! best)|on (?:the|my|a)\b|off|back|done for today|stopped|sitting|so done|curious|sure|nervous|happy and
    |going|looking|watching|waiting|holding|reading|writing|cooking|sitting|adding|typing|heading|getting|expecting
    |thinking|considering|starving|glued|underwater|bullish|bearish|not (?:buying|sure)|two ticks|leaning)\b
+3 my: ^(?:my|our)\b
+4 my rule: ^my (?:name|biggest|best|worst|main|favou?rite|usual|typical|average|max|rule|dream|edge|weak|problem
    |limit|style|time|comfort|enemy)\b
-3 my state: ^(?:my|our) .*\b(?:was|were|is (?:up|down|at|broken|slow|closed|underwater|in the|still|on|so|late|too
    |getting|sick|visiting|asleep|stuck|losing|\w+ing)|got|has|had|went|hit|filled|says? hi|hurts?|died|broke|froze
    |looks?|didn't|stings|keeps?)\b
+3 my people: ^my (?:wife|husband|partner|other half|kids?|children|daughter|son|two|family|accountant|employer|job
    |work|contract|doctor|parents|broker|exchange|bank)\b
+5 to me: ^(?!I\b|I'|my\b|we\b|our\b|please|if\b)(?!.*<PAST>).*\b(?:me|my|mine|I|I'm)\b
-3 market: ^(?:the |my )?<ASSET>\b(?!.*\b(?:me|my|I)\b)
-4 others: ^<PEOPLE>\b
-5 pointing: \b(?:this(?! account| is (?:play|my))|that(?! (?:I|every|a)\b)|these(?! days)|those|here(?! from)
    |there)\b
-4 time: \b(?:today|tonight|tomorrow|yesterday|right now|so far|just now|earlier|ago|next (?:week|year|one)|currently
    |at the moment|for now|lately|again|at last|finally|soon|almost|in (?:ten|five|a|\d+) (?:minutes?|hours?|seconds?
    |20)|first|back|still|yet|minutes? away)\b
-4 span: \b(?:this|last|past|the next) (?:morning|afternoon|evening|weekend|week|night|session|time|candle|hour|one
    |month|year|trade|few|two|three|five|loss|move)\b|\bsince (?:lunch|noon|this|four)\b
+3 rhythm: \b(?:in the (?:mornings?|evenings?|afternoons?)|at night|on (?:mon|tues|wednes|thurs|fri|satur|sun)days?
    |(?:mon|tues|wednes|thurs|fri|satur|sun)days\b|weekends?|weekdays|mornings|evenings|nights|days\b|a (?:day|week
    |month|year|trade)|per \w+|over(?:night)?|when(?:ever)?|after|before|once|session|open|close)\b
+3 trading: \b(?:trad(?:e|es|ing|er)|stops?|leverage|risk|scalp\w*|swing|drawdowns?|position siz\w*|indicators?
    |breakouts?|perps?|overnight|setups?|limit orders?|alts?|tax(?:es)?|broker|long[- ]term|averag\w+|journal|chart
    |time ?frame|account|capital|orders?|losers?|winners?|alerts?|spot|futures|options|size)\b
+5 answers: \b(?:answers?|replies|reply|explain|explanations?|emojis?|bullet points?|jargon|disclaimers?|abbreviations
    |sentences|plain terms|tone|blunt|brief|simple|beginner|sugarcoat|numbers first|conclusion|examples?|short lists
    |metric|german|spanish|english|french)\b
+2 order to Keel: ^(?:please |you can )*(?:don't|do not|always|never|use|keep|talk|speak|answer|reply|explain|skip|be
    |give me|call me|show|remind|write|no)\b
+4 bound: ^(?:max(?:imum)?|at most|no more than|never more than|not more than)\b.*\d
+5 value: ^(?:the |new )?(?:goal|time ?zone|base currency|broker|exchange|drawdown(?: limit)?
    |(?:daily|weekly) loss limit|(?:max )?leverage|position size|name)\b(?: is| are| should be|:|=)? \S+(?: \S+){0,4}$
-5 page: \b(?:page|button|link|error|site|app|password|website|export)\b(?! of)
no fragment: ^(?:my|our)(?: [\w'-]+){0,2}$|^I (?:hold on|trust you)\b
+3 rule: ^(?:call me|swing trader|max|at most|no more than|never|always|only|no|not more|swing|day|position|time)\b
+3 condition: ^(?:if (?:an?|any|the (?!market)|one|two)|when(?:ever)?|after|before|once|on|over|during|every|between
    |as a rule|these days|ever since|since|most of the time|in the|at|anything|anyone|nothing|all|what I|two|three
    |half|zero|losing|being|sizing|revenge|big|fast|red|weekends?)\b
-3 you: \byou(?:r)?\b
+5 lesson: \b(?:taught|told|trained) (?:me|us) (?:to|that)\b|\bever (?:risked|lost)\b|^I(?:'ve
    | have) lost\b.*\b(?:years|times|row)\b|^I(?:'ve| have) been (?:at|in|doing|burned)\b
+3 goal: \b(?:goal|dream|plan|aim|saving|retire|quit my job|living|grow (?:this|my|the) account|double|years?|college
    |house|flat|farm|boat|studies|expenses|mortgage|savings)\b
+3 person: \b(?:sixties|fifties|forties|thirties|wife|husband|partner|kids?|children|daughter|sister|parents|job|work
    |student|nurse|engineer|teacher|developer|desk|english|sleep|family|memory|hearing|eyes|phone plan|internet|cat is
    |called)\b
+5 predicate: ^(?!I\b|I'm|<PEOPLE>|<ASSET>|if |when )[\w' -]{2,50}? (?:is|are) (?:what|where|when|all|for|off|on|a|my
    |the|not|too|how|play|sacred|more|usually|always|easy|small|big|slow|easier|fine|bad)\b.*\b(?:I|me|my|mine|us)\b
+3 liking: ^I (?:like|love|hate|prefer) (?!it\b|this\b|that\b|the\b|your\b|you\b|how\b|these\b|those\b|to (?:know|see
    |ask|say|check|go)|not\b|here)\w+
+3 style: ^(?:please |pls )*(?:keep|make|use|give|talk|speak|answer|reply|write|explain|show|put|always|don't|do not
    |never|no|skip|short|long|longer|shorter|brief|plain)\b.*\b(?:answers?|replies|explanations?|tone|brief|short
    |simple|words|sentences|emojis?|euros|dollars|amounts|numbers|german|spanish|french|points?|examples?|me|beginner
    |terms|please)\b
+2 whole: ^(?:we|our|nobody but me|what I|all I|the most I|the only)\b
+6 cannot: ^I (?:can't|cannot|won't|will not|must not|can only) (?!see|find|log|hear|believe|get|open|say|wait|explain
    |tell)\w+ \w+
+4 place of mine: ^my (?:\w+ )?(?:funds|coins|money|charts?|week|style|savings|account|days?|entries|exits|stops?
    |trades|hours) (?!is up|is down|is at|are up|are down|got|hit|was|were)\w+
"""
_TOPICS: Final = r"""
tax: \btax(?:es|able)?\b|\bcapital gains\b|\birs\b|\bhmrc\b|\bfinanzamt\b
style: \b(?:answers?|repl(?:y|ies)|responses?|explanations?|emojis?|jargon|bullet points|tables?|charts in)\b
    |^(?:please )?(?:answer|reply|respond|speak|write|explain|show|talk|give me)\b
goal: \b(?:my (?:\w+ )*?|the )(?:goal|aim|target|objective|plan|dream)\b|\bsaving (?:up )?for\b
    |^(?:I (?:want|aim|plan|hope|intend|would like|need|am trying|try)|I'm trying|I'd like) to\b
risk: \bleverage\b|\b\d+(?:\.\d+)?\s?[x×](?!\w)|\bstop(?:s|ped)?\b|\bdraw ?downs?\b|\brisk\w*\b|\bmargin\b
    |\blos(?:e|ing|s|ses)\b|\bper trade\b|\b(?:position siz\w+|size positions)\b|\bexposure\b|\brevenge\b|\bsize up\b
    |\bovertrad\w+\b|\baverag\w+ down\b|\bmax(?:imum)?\b(?!.*\bhours?\b)|\breckless\b
session: \b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\butc\b|\bsessions?\b|\b(?:morning|afternoon|evening|night)s?\b
    |\bovernight\b|\bweek(?:end|day)s?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\bhours?\b|\btime ?zone\b
    |\b(?:london|new york|ny|asian?|us|tokyo) (?:open|close|morning|session|hours)\b
symbols: \b(?:<COIN>|spx|eurusd|gold|oil|alts?|altcoins?|coins?|meme ?coins?|memes|majors|symbols?|pairs?|perps?|futures
    |options|stocks|equities|forex|fx|markets?|instruments?)\b
account: \b(?:accounts?|capital|brokers?|exchanges?|wallets?|budget|portfolio|currency|binance|bybit|hyperliquid
    |coinbase|kraken|okx|deribit|ibkr|interactive brokers)\b
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """One lasting statement, in the user's own words."""

    text: str
    topic: str  # risk, symbols, session, goal, style, account, tax or empty
    confidence: Confidence
    is_correction: bool = False  # corrects an earlier statement


_FROM_NOW: Final = re.compile(r"^from now on,?\s+(?=\S)", re.IGNORECASE)


def read_statements(message: str) -> list[Statement]:
    """Return at most MAX_FACTS distinct lasting statements, in order."""
    found: dict[str, Statement] = {}
    in_list = False
    for sentence in sentences(keep_statements(message).replace(MASK, "\n")):
        bullet = _BULLET.match(sentence)
        sentence = sentence[bullet.end() :] if bullet else sentence
        rest = _parse_explicit(sentence)
        if rest == "":  # "Remember these:", followed by a list
            in_list = True
            continue
        in_list = in_list and bullet is not None
        is_plain = rest is None and not in_list
        sentence = _FROM_NOW.sub("", sentence) if is_plain else sentence
        for statement in _plain_statements(sentence) if is_plain else _explicit_statements(rest or sentence):
            found.setdefault(normal_form(statement.text), statement)
    return list(found.values())[:MAX_FACTS]


def passing_states(message: str) -> list[str]:
    """Return passing states that the user asks to remember."""
    asked = [rest for sentence in sentences(message) if (rest := _parse_explicit(sentence))]
    return [_tidy_clause(rest) for rest in asked if _is_of_moment(rest)]


def topic_of(text: str) -> str:
    """Return the topic of a statement, or "" when no word gives it away."""
    plain = straight(text)
    return next((topic for topic, words in parse_table(_TOPICS, COIN=COIN).items() if words.search(plain)), "")


def weigh(clause: str) -> int:
    """Return the evidence that a clause tells what lasts: from 0 on it does."""
    plain = _HEDGE.compiled.sub(lambda match: match["I"] or "", _plain_form(clause))
    rows = [name for name, words in _table().items() if words.search(plain)]
    if any(row.startswith("no") for row in rows):
        return _NEVER
    is_own = bool(_OWN.match(plain)) and read_subject(plain).is_single
    return _BIAS + sum(int(row.split()[0]) for row in rows) + (_SUBJECT if is_own else 0)


def _is_of_moment(clause: str) -> bool:
    """Tell whether a clause speaks of a moment, though it was asked to be remembered."""
    plain, table = _plain_form(clause), _table()
    return any(words.search(plain) for name, words in table.items() if name.split(" ", 1)[1] in _MOMENT)


def _table() -> dict[str, Pattern]:
    """Return the forms by their weight and name."""
    lexicon = (line.partition(": ") for line in re.sub(r"\n    +", "", _LEXICON).strip().split("\n"))
    return parse_table(_EVIDENCE, **{name: words for name, _, words in lexicon})


def _plain_form(clause: str) -> str:
    return spell_out(straight(clause).strip(" .!;,"))


def _parse_explicit(sentence: str) -> str | None:
    """Return the text after "remember that", "" or None."""
    sentence = strip_lead_in(sentence)
    match = EXPLICIT.match(straight(sentence))
    if match is None:
        return None
    rest = sentence[match.end() :].strip()
    return rest if rest or match[0].rstrip().endswith(":") else None


def _explicit_statements(rest: str) -> Iterator[Statement]:
    for clause in CLAUSE.compiled.split(rest):
        if not _is_of_moment(clause):
            yield from _make_statement(re.sub(r"^to\s+", "", clause), "asserted")


def _plain_statements(sentence: str) -> Iterator[Statement]:
    sentence = strip_lead_in(sentence) if len(sentence) <= _LONGEST_SENTENCE else ""
    marker = CORRECTION.match(straight(sentence))
    sentence = strip_lead_in(sentence[marker.end() :]) if marker else sentence
    for clause in _iter_lasting(sentence):
        hedged = _HEDGE.match(_plain_form(clause))
        yield from _make_statement(clause, "inferred" if hedged else "asserted", is_correction=bool(marker))


def _iter_lasting(sentence: str) -> Iterator[str]:
    """Yield the clauses that last. A clause that says little by itself goes on with the one before it."""
    found: list[tuple[str, int, int]] = []
    breaks = [(match.start(), match.end()) for match in CLAUSE.compiled.finditer(straight(sentence))]
    held = -1
    for start, end in zip([0, *(end for _, end in breaks)], [*(at for at, _ in breaks), len(sentence)], strict=True):
        begin, held = (held if held >= 0 else start), -1
        text = sentence[begin:end]
        if end < len(sentence) and _CONDITION.match(text):  # "When I lose twice, I stop"
            held = begin
            continue
        subject = "I " if text[:4].casefold() == "now " else ""
        weight = weigh(subject + text)
        if weight >= 0:
            found.append((subject, begin, end))
        elif weight > _APART and found:
            found[-1] = (*found[-1][:2], end)
    if not found and breaks and weigh(sentence) >= 0:
        found = [("", 0, len(sentence))]
    yield from (subject + sentence[begin:end] for subject, begin, end in found)


def _make_statement(clause: str, confidence: Confidence, *, is_correction: bool = False) -> Iterator[Statement]:
    text = _tidy_clause(clause)
    if len(text) >= MIN_CONTENT:
        yield Statement(text, topic_of(text), confidence, is_correction)


def _tidy_clause(clause: str) -> str:
    """Return a clause as one capitalised line without its lead-in."""
    text = one_line(strip_lead_in(clause.strip())).rstrip(" .!?;,:")
    text = _FROM_NOW.sub("", text)
    if len(text) > MAX_CONTENT:
        text = text[: MAX_CONTENT - 1].rsplit(" ", 1)[0][: MAX_CONTENT - 1] + "…"
    return text[:1].upper() + text[1:]
