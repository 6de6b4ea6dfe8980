"""Find lasting first-person statements in a message, in English.

Precision over recall: a question, a supposition, a quotation or a passing state (today's positions, this week's PnL) is
never a fact. Whoever wants something kept that no pattern knows says "remember that ...".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from config.lib.text import normal_form, one_line
from config.offline.reading.sentences import CLAUSE, CORRECTION, EXPLICIT, Pattern, sentences, straight, strip_lead_in
from memory.claims.statements import MASK, keep_statements
from memory.claims.subjects import read_subject
from memory.wording import MAX_CONTENT, MIN_CONTENT

MAX_FACTS: Final = 10  # of one message
_LONGEST_SENTENCE: Final = 700  # longer ones are prose that was pasted; they are read only after "remember that"

Confidence = Literal["asserted", "inferred"]

_BULLET = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_SUPPOSITION: Final = Pattern(
    r"""
^(?:if|suppose|supposing|imagine|assume|assuming|pretend|let's say|say i|hypothetically|what if|i wish|i wonder|unless
    |i could|i would(?! (?:like|rather) to)|i'd(?! (?:like to|rather)))\b
\b(?:would|could) (?:it|that) be\b
^I (?:usually|always|never|normally) (?:would|could|should)\b
"""
)
_NOT_LASTING: Final = Pattern(
    r"""
\b(?:today|tonight|tomorrow|yesterday|right now|so far|just now|earlier|a (?:minute|moment) ago|next week)\b
\b(?:this|last) (?:morning|afternoon|evening|week|night|session|trade|time|candle|hour|one)\b|\b(?:this|that) one\b
\b\d+ (?:seconds?|minutes?|hours?|days?) ago\b
\bI(?:'m| am| was)(?: currently| now| already| still)* (?:long|short|flat|up|down|holding|stopped out|watching
    |in (?:a |an )?(?:trade|position|profit|loss|drawdown))\b
\bI(?:'ve| have)? just\b|\bI (?:bought|sold|opened|closed|entered|exited|lost|made|got(?! into trading)|had|took)\b
\b(?:pnl|p&l|unreali[sz]ed|open (?:positions?|trades?)|current positions?|balance|equity(?<!of equity))\b
\bmy (?!(?:typical|usual|normal|average|max(?:imum)?|smallest|largest) )(?:\w+ )?positions? (?:is|are|was|were)\b
\b(?:is|are) (?:up|down|green|red)\b|\blooks? here\b
\bmy (?:stop(?:[- ]loss)?|target|entry|take[- ]profit) is (?:at )?\$?[\d.,]+k?$
"""
)
_FOR_NOW: Final = Pattern(r"\b(?:currently|at the moment|for now|lately|these days|this (?:month|quarter))\b")
_DATED: Final = Pattern(
    r"^(?:until|till|from|starting|as of|for the (?:next|coming)|during|over the next)\b.{2,40}?,?\s+(?=(?:I|my|only|at"
    r" most|max|no)\b)"
)
_OWN_PRESENT: Final = Pattern(
    r"^(?:I|I'm|my)\b(?!\s+(?:used|risked|traded|was|were|had|lost|made|could|would|might|should|want to know)\b)"
    r"(?!.*\b(?:this|that|these|those|he|she|they|friend|still|thinking|considering|wonder|maybe|thought|watching)\b)"
)
_HEDGE: Final = Pattern(
    r"^(?:I (?:think|guess|feel|believe|suppose|suspect)(?: that| like)?|maybe|perhaps|probably|apparently"
    r"|it (?:seems|looks)(?: that| like| as if)?)\s+(?=I\b|my\b)"
)
_HEDGED_VERB: Final = Pattern(
    r"^I (?:seem|tend|appear) to\b|^I (?:probably|might|may|kind of|sort of|possibly)\b(?! (?:go|buy|sell|close)\b)"
)
_LASTING: Final = Pattern(
    r"""
^I (?:never|always|only|usually|generally|normally|typically|mostly|mainly|rarely|seldom|often|regularly|strictly
    |exclusively)\s+(?!(?:know|think|thought|wonder|wanted|asked|ask|said|meant|was|were|got|had|forget|mix|confuse
    |expected|knew|enjoy losing|want to (?:know|ask|see))\b)\w
^I (?:do )?(?:prefer|avoid|hate|love|like|dislike|favou?r|enjoy|trust|distrust|focus on|speciali[sz]e in|follow|stick to
    |need(?! help| to\b| some\b| your\b| an? (?:break|coffee|minute|moment|hint|hand)\b))<NOT_THIS>\s+(?!to (?:know
    |see|ask)\b)\S
^I (?:do not|don't|dont|can't|cannot|can not|won't|will not|must not|mustn't|no longer|refuse to|must)\s+
    (?:(?:ever|usually|really|generally|normally|want to|always|never)\s+)*<VERB>\b<NOT_THIS>
^I can(?:'t|not) (?:stomach|stand|handle|bear|afford|tolerate|sleep)\b|^I can (?:only|afford to lose|live with)\b
^I (?:have )?(?:stopped|quit|gave up) (?:trading|using|holding|shorting|scalping|taking|buying|chasing)\b
^I (?:do |now )?(?:trade|scalp|swing trade|day[- ]?trade|journal|backtest|invest)\b<NOT_THIS>
^I (?:do|quit|sit|look|start|use|hold|close|stop|take|risk|size|enter|exit|cut|set|place|review|skip|work|keep|wait
    |reduce|move
    |scale|check
    |add|limit|cap|get out|walk away|go flat|sleep|pay)\b.*<GENERAL>
^I (?:risk|limit|cap|pay|size)\b.*\d|^I use (?:limit|market|stop)\b|^I pay\b.*\btax|^I keep\b.*\bof my\b
    |^I keep an? \w+$|^I(?:'d| would) rather \w+
^I use (?:the|an?|\d\S*)\b.*\b(?:charts?|bars?|indicators?|broker|time ?frames?|spreadsheet|stops?|orders?|leverage)\b
^(?:after|before|when|whenever|once|every time|on|during|outside)\b.{3,80}?,?\s+I (?:(?:always|usually|never|only)\s+)?
    (?:stop|don't|do not|trade|take|close|avoid|reduce|cut|skip|wait|walk away|journal|go flat|never|only)\b
^I (?!\w+ed\b)\w+ (?:when|whenever|after|if) (?!you\b|this\b|that\b|it\b|we\b|there\b)\w
^I take \w+days? off\b|^I do (?:better|worse|best|well|badly) (?:on|in|at|when|with)\b|^\w+ (?:is|are) all I \w+$
^I(?:'m| am) (?:building|growing|trading) this account\b|^(?:short|long|brief|detailed) (?:answers|replies)\b
^(?:one|two|three|four|five|\d+)\b.{2,40}\band I(?:'m| am) (?:done|out|finished)\b
^every (?:trade|position|entry|loss)\b.*\b(?:mine|I|my)\b
^I (?:seem|tend|appear) to\s+\w
^I (?:get|become|turn|feel|go)\s+[a-z]+\s+(?:when|whenever|after|before|if|easily|quickly|fast|often)\b
^(?!<OTHERS>).{3,60}? (?:(?:makes?|keeps?|drives?|gets?) me|annoys?|scares?|worr(?:y|ies)|stresses|bothers?|ruins?
    |bores?|tempts?
    |kills?|suits?|works? for
    |(?:doesn't|don't) work for|stays out of) (?:me|my|nervous|\w+)\b(?<!ed)
^(?!<OTHERS>).{2,60}? (?:is|are) (?:\w+ ){0,3}(?:for|to|with) me$
^(?!<OTHERS>).{3,60}? (?:is|are) my (?:(?:biggest|main|favou?rite|full-time|real|worst|best|only|usual) )?<MY_NOUN>\b
^no\b.{3,40} for me$|^\w+days? (?:is|are) for \w|^(?:please )?speak \w+ (?:with|to) me\b
^(?:I (?:want|aim|plan|hope|intend|would like|need|am trying|try)|I'm trying|I'd like) to (?:grow|retire|reach|double
    |triple|become|earn|protect|preserve|limit|compound|get better|improve|live off|beat|learn (?:to|how)
    |make (?:\$|€|£|\d|money|a living)|keep (?:my )?(?:risk|drawdown|losses)|turn (?:my|this|\$?\d))\b
^(?:my|the) (?:plan|dream|goal|aim) is (?:to|not to) \w+|^I(?:'m| am) saving (?:up )?for\b
^my (?:[\w'-]+ ){0,4}?<MY_NOUN>(?: [\w%/'-]+){0,5}? (?:is|are|=|equals|must be|should be|stays?)\s+<STATE>\S
^my (?:wife|husband|partner|kids?|children|son|daughter|accountant|broker|exchange|bank|employer)\s+(?:\w+s|\w+ up
    |(?:doesn't|don't|won't) \w+)\b
^I(?:'m| am) (?:not )?(?:an? )?(?:[\w-]+ ){0,4}?(?:traders?|scalper|investor|beginner|novice|professional|quant|student
    |engineer|follower|contrarian|resident|risk[- ]averse|conservative|new to|based in|(?<=I'm )from|(?<=I am )from
    |living in|retired
    |self-employed|\d+ years old|allergic|learning|colou?r[- ]blind|dyslexic|married|single|unemployed|impatient|patient
    |disciplined|careful|impulsive|cautious|aggressive|afraid of|scared of|(?:good|bad|better|best) (?:at|with)
    |comfortable with
    |interested in)\b
^I(?:'m| am) an? (?!(?:bit|little|lot|fan|mess|wreck|fool|idiot)\b)[a-z-]+(?: [a-z-]+)?(?: (?:by|and|in|at|from
    |of)\b.*)?$
^I(?:'m| am) in (?-i:[A-Z])\w+(?:,|$)|^I(?:'m| am) (?-i:[A-Z][a-z]+)$
^I (?:live|work|reside|bank|moved|switched|relocated)(?: [\w-]+)? (?:in|as|at|for|from|with|nights|to)\b
^I (?:started|began|got into) trading\b|^I(?:'ve| have) (?:been trading|traded)\b
^I have (?:an?|about|around|over|\$?\d|two|three|four|five|ten)\b.*\b(?:account|job|kids|children|family|capital|years
    |portfolio|budget|business|to (?:trade|invest|risk))\b
^(?:(?:please|you can)\s+)*call me \w|^I go by \w|^(?:please )?talk to me (?:like|as)\b
^(?:please )?(?:always|never)\s+(?!mind\b)\w+ \w
^(?:please )?(?:keep|make) (?:your |the |all )*(?:answers?|repl(?:y|ies)|responses?|explanations?)\b
    |^keep it (?:simple|short|brief|plain)\b
^(?:please )?(?:answer|reply|respond|speak|write|explain|show)\b.*\b(?:always|in (?:future|german|spanish|french|italian
    |portuguese|english|dutch|plain \w+|utc|usd|eur))\b
^(?:please )?(?:do not|don't|dont) (?:ever )?(?:suggest|mention|recommend|propose|show|use|ask|remind|call) \w
^from now on\b
^no (?:alts?|altcoins?|meme ?coins?|memes|leverage|shorts|shorting|options|futures|overnight|weekend)\b
^(?:max(?:imum)?|at most|(?:no|not|never) more than)\s+\$?\d
^only (?:trade|btc|eth|sol|majors|long|short|suggest)\b
""",
    NOT_THIS=(
        r"(?!\s+(?:it|this|that|these|those|you|your|me|what|how|with you|the (?:\w+ )?(?:idea|look|market|price|news"
        r"|answer|option|one|way|plan|chart))\b"
        r"|\s+not to\b|\s+to (?:know|see|ask|hear|understand|check|talk|say|look)\b)"
    ),
    VERB=(
        r"(?:trade|take|use|hold|touch|buy|sell|short|go|risk|do|add|average|scalp|chase|enter|leave|like|want|trust"
        r"|pay"
        r"|invest|work|open|close|follow|exceed|put|keep|size|move|fade|look at|swing|day[- ]?trade|overtrade|let|carry"
        r"|prefer|need|care)"
    ),
    GENERAL=(
        r"\b(?:every|each|before|after|whenever|per (?:trade|day|week|month|position)|at most|at least|max(?:imum)?"
        r"|(?:no|not|never) more than|less than|only|always|usually|by default|overnight|during|between|on"
        r" (?:weekends?|weekdays|\w+days)|over (?:the )?weekends?|row|losses|once|most of|for the day|too (?:early"
        r"|late|often|much|soon|big|small))\b"
    ),
    MY_NOUN=(
        r"(?:goals?|aims?|targets?|objectives?|name|max(?:imum)?|min(?:imum)?|limits?|caps?|leverage|risk"
        r"|stops?(?:[- ]loss)?|budget|account|capital|broker|exchange|time ?zone|sessions?|hours|style|strategy"
        r"|favou?rites?|rules?|tax(?:es)?|residen\w+|country|currency|drawdown|loss|size|time ?frames?|horizon|edge"
        r"|weakness(?:es)?|strengths?|job|experience|markets?|symbols?|coins?|pairs?|language|age|schedule|approach"
        r"|setups?|mistakes?|instruments?|problem|positions?|days?|hours?|times?|months?|enemy|habit)"
    ),
    STATE=(
        r"(?!(?:losing|working|failing|going|doing|getting|hurting|bleeding|still|too|very|so|great|good|bad|fine|ok"
        r"|okay|unclear|what|why|how|not working|underwater)\b)"
    ),
    OTHERS=r"(?:this|that|it|he|she|they|these|those|here|there|what|who|you|everyone|everybody|my friend|I|I'm)\b",
)
_TOPICS: Final = (
    ("tax", Pattern(r"\btax(?:es|able)?\b|\bcapital gains\b|\birs\b|\bhmrc\b|\bfinanzamt\b")),
    (
        "style",
        Pattern(
            r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|emojis?|jargon|bullet points|tables?|charts in)\b"
            r"|^(?:please )?(?:answer|reply|respond|speak|write|explain|show|talk)\b"
        ),
    ),
    (
        "goal",
        Pattern(
            r"\b(?:my (?:\w+ )*?|the )(?:goal|aim|target|objective|plan|dream)\b|\bsaving (?:up )?for\b"
            r"|^(?:I (?:want|aim|plan|hope|intend|would like|need|am trying|try)|I'm trying|I'd like) to\b"
        ),
    ),
    (
        "risk",
        Pattern(
            r"\bleverage\b|\b\d+(?:\.\d+)?\s?[x×](?!\w)|\bstop(?:s|ped)?\b|\bdraw ?downs?\b|\brisk\w*\b"
            r"|\blos(?:e|ing|s|ses)\b|\bper trade\b|\b(?:position siz\w+|size positions)\b|\bexposure\b|\bmargin\b"
            r"|\brevenge\b|\bovertrad\w+\b|\baverag\w+ down\b|\bmax(?:imum)?\b(?!.*\bhours?\b)|\bsize up\b|\breckless\b"
        ),
    ),
    (
        "session",
        Pattern(
            r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\butc\b|\bsessions?\b|\b(?:morning|afternoon|evening)s?\b"
            r"|\bnights?\b|\bovernight\b|\bweek(?:end|day)s?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
            r"|\bhours?\b"
            r"|\btime ?zone\b|\b(?:london|new york|ny|asian?|us|tokyo) (?:open|close|morning|session|hours)\b"
        ),
    ),
    (
        "symbols",
        Pattern(
            r"\b(?:btc|bitcoin|eth|ethereum|sol|solana|xrp|doge|bnb|ada|avax|link|ltc|spx|eurusd|gold|oil)\b"
            r"|\b(?:alts?|altcoins?|coins?|meme ?coins?|memes|majors|symbols?|pairs?|perps?|futures|options|stocks)\b"
            r"|\bequities\b|\bforex\b|\bfx\b|\bmarkets?\b|\binstruments?\b"
        ),
    ),
    (
        "account",
        Pattern(
            r"\baccounts?\b|\bcapital\b|\bbrokers?\b|\bexchanges?\b|\bwallets?\b|\bbudget\b|\bportfolio\b|\bcurrency\b"
            r"|\b(?:binance|bybit|hyperliquid|coinbase|kraken|okx|deribit|ibkr|interactive brokers)\b"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Statement:
    """One lasting statement, in the user's own words."""

    text: str
    topic: str  # risk, symbols, session, goal, style, account, tax or empty
    confidence: Confidence
    is_correction: bool = False  # corrects an earlier statement


def read_statements(message: str) -> list[Statement]:
    """Return at most MAX_FACTS distinct lasting statements, in order."""
    found: dict[str, Statement] = {}
    for statement in _iter_statements(keep_statements(message).replace(MASK, "\n")):
        found.setdefault(normal_form(statement.text), statement)
    return list(found.values())[:MAX_FACTS]


def passing_states(message: str) -> list[str]:
    """Return passing states that the user asks to remember."""
    asked = [rest for sentence in sentences(message) if (rest := _parse_explicit(sentence))]
    return [_tidy_clause(rest) for rest in asked if _NOT_LASTING.search(straight(rest))]


def topic_of(text: str) -> str:
    """Return the topic of a statement, or "" when no word gives it away."""
    plain = straight(text)
    return next((topic for topic, pattern in _TOPICS if pattern.search(plain)), "")


def _iter_statements(message: str) -> Iterator[Statement]:
    in_list = False
    for sentence in sentences(message):
        bullet = _BULLET.match(sentence)
        sentence = sentence[bullet.end() :] if bullet else sentence
        rest = _parse_explicit(sentence)
        if rest == "":  # "Remember these:", followed by a list
            in_list = True
            continue
        in_list = in_list and bullet is not None
        if rest is None and not in_list:
            yield from _plain_statements(sentence)
        else:
            yield from _explicit_statements(sentence if rest is None else rest)


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
        if not _NOT_LASTING.search(straight(clause)):
            yield from _make_statement(re.sub(r"^to\s+", "", clause), "asserted")


def _plain_statements(sentence: str) -> Iterator[Statement]:
    if len(sentence) > _LONGEST_SENTENCE:
        return
    sentence = strip_lead_in(sentence)
    marker = CORRECTION.match(straight(sentence))
    if marker:
        sentence = strip_lead_in(sentence[marker.end() :])
    for clause in _iter_clauses(sentence):
        plain = straight(clause)
        hedge = _HEDGE.match(plain)
        if _is_lasting(plain[hedge.end() :] if hedge else plain):
            hedged = hedge or _HEDGED_VERB.match(plain)
            yield from _make_statement(clause, "inferred" if hedged else "asserted", is_correction=bool(marker))


def _iter_clauses(sentence: str) -> Iterator[str]:
    """Yield a sentence's clauses, split at `and I`, `, my` and the like; "and now risk" goes on with its subject."""
    start, subject = 0, ""
    for match in CLAUSE.compiled.finditer(straight(sentence)):
        clause = f"{subject}{sentence[start : match.start()]}"
        if _is_lasting(straight(clause)):
            yield clause
            start, subject = match.end(), "I " if sentence[match.end() :][:4].casefold() == "now " else ""
    yield f"{subject}{sentence[start:]}"


def _is_lasting(plain: str) -> bool:
    dated = _DATED.match(plain)
    rest = plain[dated.end() :] if dated else plain
    if _SUPPOSITION.search(rest) or _NOT_LASTING.search(rest):
        return False
    if _FOR_NOW.search(rest) and topic_of(rest) != "goal":
        return False
    bare = rest.rstrip(" .!;,")
    if any(_LASTING.match(text) for text in (bare, _HEDGED_VERB.compiled.sub("I", bare))):
        return True
    # A value of a limit, an exchange, a city or the like lasts, however it is put.
    return bool(_OWN_PRESENT.match(bare)) and read_subject(bare).is_single


def _make_statement(clause: str, confidence: Confidence, *, is_correction: bool = False) -> Iterator[Statement]:
    text = _tidy_clause(clause)
    if len(text) >= MIN_CONTENT:
        yield Statement(text, topic_of(text), confidence, is_correction)


def _tidy_clause(clause: str) -> str:
    """Return a clause as one capitalised line without its lead-in."""
    text = one_line(strip_lead_in(clause.strip())).rstrip(" .!?;,:")
    text = re.sub(r"^(?:from now on),?\s+(?=\S)", "", text, flags=re.IGNORECASE)
    if len(text) > MAX_CONTENT:
        text = text[: MAX_CONTENT - 1].rsplit(" ", 1)[0][: MAX_CONTENT - 1] + "…"
    return text[:1].upper() + text[1:]
