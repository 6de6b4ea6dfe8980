"""Find lasting statements of the user in a message, in English, by the form of their clauses.

A clause is kept when its subject is the user, what is theirs, or something said of them; when its verb tells a habit, a
trait, a limit or a wish; and when nothing in it points at a moment: a time, a trade, a thing in view. Whoever wants
something kept that no form knows says "remember that ...".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
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
_PARTS: Final = {
    "USUALLY": r"(?:never|always|only|usually|generally|normally|typically|mostly|mainly|rarely|seldom|often|regularly"
    r"|strictly|exclusively|also|now|really|just|do|can)",
    "DAYS": r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?",
    # A verb of thinking, sensing or saying tells what is on somebody's mind, not how they trade.
    "MIND": r"(?:think(?! in\b)|smell|guess|bet|reckon|hope(?! to)|wonder|know|knew|see|hear|feel(?! \w+er\b)"
    r"|believe(?! in)|suppose|suspect|expect|assume|mean|say|understand|remember|forget|wish|ask|tell|swear"
    r"|promise|agree|notice|realise|doubt|regret|admit|worry|call|get it|hold on|risk (?!\d|at|less|no|half|a "
    r"|up)\w+ing|have to|can(?! only| afford| live)|want out|close (?:this|it)|go(?: now)?$|run$|explain|care$"
    r"|keep (?:hearing|seeing|thinking)|need (?!at least|an? \w+ (?:for|before|to)|the money|two|three|\d)"
    r"|once blew|want to (?:long|short|buy|sell|open|enter|exit|add)\b|(?:want|like|love"
    r"|prefer) (?:not )?to (?:know|see|say|ask|hear|understand|check|talk|look|stop|close|go)|(?:like|love"
    r"|hate|prefer|trust|follow|miss|use|take|make|mind) (?:it|this|that|them|him|you|your|<THING>))\b",
    "THING": r"the (?:(?:second|first|last|new) )?(?:idea|look|market|price|news|answer|option|one|way|chart|app"
    r"|candle|move)s?",
    "RELATIVE": r"(?:wife|husband|partner|spouse|other half|girlfriend|boyfriend|kids?|children|sons?|daughters?|family"
    r"|accountant|broker|exchange|bank|employer|company|contract|job|work|parents)",
    "NOUN": r"(?:goals?|aims?|targets?|objectives?|name|max(?:imum)?|min(?:imum)?|limits?|caps?|leverage|risk"
    r"|stops?(?:[- ]loss)?|budget|accounts?|capital|funds|money|savings|broker|exchange|time ?zone|sessions?"
    r"|hours|style|strategy|favou?rites?|rules?|tax(?:es)?|residen\w+|country|currency|drawdown|loss|size"
    r"|time ?frames?|horizon|edge|spots?|weakness(?:es)?|strengths?|job|experience|markets?|symbols?|coins?"
    r"|pairs?|language|english|age|schedule|approach|setups?|mistakes?|instruments?|problem|positions?|days?"
    r"|times?|months?|enemy|habits?|memory|breaks?|charts?|trades?|winners|losers|trading|entries|exits"
    r"|tolerance|indicators?|reviews?|routine|plan|dream|fear|downfall|zone|hearing|weekdays?|weekends?"
    r"|mornings?|evenings?|nights|wins|losses|sessions|patience|discipline|system)",
    "TRANSIENT": r"(?:(?:old|new|best|good|little|big|older|younger|last|next|current) )?(?:friends?|brothers?"
    r"|sisters?|dad|father|mum|mom|mother|uncle|aunt|landlord|flatmate|roommate|barber|teacher|janitor"
    r"|kettle|cousin|colleagues?|neighbours?|boss|mentor|coach|buddy|dog|cat|group|guy|head|phone|laptop"
    r"|screen|battery|internet|connection|coffee|train|flight|order|entry|bag|view|gut|guess|feeling|take"
    r"|bet|point|question|eyes|agents?|drafts?|notes?|day|week|position|last|next|short|long|gym|office"
    r"|home|house|apartment|flat|win rate|pnl|dinner|app|skills?|backtests?)\b(?! size| sizes)",
    # The first word of a request, or of a clause that is no statement.
    "ORDER": r"add|sell|buy|delete|remove|drop|list|set|change|help|build|forget|remember|make|keep|close|open|never"
    r"|can|could|would|will|how|why|which|note|stop|put|check|update|draft|write|create|link|take|call|talk"
    r"|send|read|find|get|move|place|cut|run|start|end|try|go|ask|review|thanks?|ok|yes|hi|hello|when"
    r"|whenever|after|before|once|while|because|so|and|but|not|for|with|on|in|at|to|from|by|of|as|lower|raise"
    r"|replace|correct|increase|reduce|rename|name|pause|resume|flatten|backtest|deploy|redeploy|reset|undo"
    r"|confirm|cancel|compare|sort|plot|flip|double|halve|hedge|exit|enter|short|long|break|kill|turn|wait"
    r"|plan|think|work|stay|leave|bring|load|refresh|fix|see|skip|search|filter|export|import|print|say|speak"
    r"|trade|invest|teach|walk|guide|size|calculate|compute|estimate|predict|summari[sz]e|describe|recommend"
    r"|suggest|pick|choose|select|count|measure|track|monitor|watch|alert|notify|warn|save|store|record|log"
    r"|archive|restore|something|deleting",
    # A predicate that tells the state of a moment.
    "STATE": r"(?!(?:losing|working|failing|going|doing|getting|hurting|bleeding|still|so|great|good|fine|ok|okay"
    r"|broken|unclear|what|why|how|not working|underwater|in the money|better last|closed|that|down|up"
    r"|too (?:tight|wide|high|low)|cold|dead)\b)",
}
_PASSING: Final = Pattern(
    r"""
^(?:is|are|am|was|were|do|does|did|has|have|can|could|should|would|will)\b|^(?:(?:at|on|in|for|to|from|with) )?(?:which
    |how|why|where|who)\b
^(?:(?:at|on|in|for|to|from|with) )?what\b(?! I )|^when (?:do|does|did|is|am|are|will|should|can)\b
    |\bmy (?:[a-z]+ )?(?:long|short|bag) (?:is|was)\b
^(?:if(?! (?:an?|any|the|one|two|price)\b)|suppose|supposing|imagine|assume|assuming|pretend|let's say|say i
    |hypothetically|what if|i wish|i wonder|unless|i could|i (?:would|should|might|may|will)(?! (?:like|rather|prefer
    |sooner)\b)|i(?:'d|'ll| wouldn't| couldn't)(?!.* rather than\b)(?! (?:like|rather|sooner|prefer)\b)|i'll|maybe
    |perhaps|one day)\b
^(?:I|I'm|my .{2,30}?) (?:do )?still\b|\b(?:would|could) (?:it|that) be\b|^I (?:usually|always|never|normally) (?:would
    |could|should)\b
\b(?:today|tonight|tomorrow|yesterday|right now|so far|just now|earlier|ago|next week|currently|at the moment|for now
    |lately|by christmas|coffee|dinner|one second|in a minute|back in an? \w+|long day|almost)\b|\bI(?:'ve
    | have)? just\b
\b(?:this|last) (?:morning|afternoon|evening|weekend|week|night|session|time|candle|hour|one|month|quarter|trade|few|two
    |three|five)\b|\bsince (?:lunch|noon|this)\b|\bin (?:ten|five|\d+) (?:seconds?|minutes?|hours?)\b
\bthis\b(?! (?:account|since|to|is (?:play|my|our))\b)|\b(?:these|those)\b(?! days)|\bhere\b|\bthere\b|^that\b
\bthat (?:one|trade|loss|chart|candle|level|rally|move|way)\b|\b(?:like|hate|believe(?! in)|said|call|missed|say) that\b
    |\bi bet\b
\bI(?:'m| am| was)(?: currently| now| already| still)* (?:long|short|flat(?! by)|up|down|holding|stopped out|watching
    |in (?:a |an )?(?:trade|position|profit|loss|drawdown))\b(?! for the day| \d+ ?%)
\b(?:pnl|p&l|unreali[sz]ed|open (?:positions?|trades?)(?<!with open positions)|current positions?|balance|equity is)\b
\b(?:is|are) (?:up|down|green|red)\b|\bhow this works\b
\bmy (?!(?:typical|usual|normal|average|max(?:imum)?|smallest|largest) )(?:\w+ )?positions? (?:is|are|was|were)\b
\bmy (?:stop(?:[- ]loss)?|target|entry|take[- ]profit) (?:is (?:at )?\$?[\d.,]+k?$|got|on)|\bmy (?:last|next|short
    |long)\b
\b(?:I|he|she|they|it) (?:\w+ )?(?:was(?! (?:born|trained|raised))|were|had(?! a habit)|went|bought|sold|made|lost|took
    |said|got(?! (?:into|liq|my|a |around)|$)|ran|came(?! (?:to|from))|saw|did|gave|kept|held|told|knew|thought|felt
    |found|forgot|broke|won(?!')|paid|ate|woke|wrote|asked|used(?! to \w+ing)|risked|traded|closed|opened|entered|exited
    |added|missed|panic sold|expected|wanted|meant|enjoyed|sized|tried|called|changed|typed|hoped|liked|loved|owned
    |earned|watched|looked|talked|walked|needed|worked|played|planned|checked|started (?:the|a)|moved (?:my|the) (?:stop
    |target))\b
""",
    **_PARTS,
)
# A value of a limit, an exchange or a city lasts, however it is put; not what was so, and not of others.
_OWN: Final = Pattern(
    r"^(?:I|I'm|I've|my)\b(?!.*\b(?:he|she|they|friend|brother|brother's|colleague|neighbour|boss|uncle|still|thinking"
    r"|considering)\b)"
)
_FRONT: Final = Pattern(
    r"^(?:these days|ever since \w+|normally|usually|as a rule|most of the time|(?:when|whenever|after|before|once"
    r"|every|on|over|between|during|at|in|until|till|from|as|starting|for the (?:next|coming)|outside"
    r"|with)\b.{2,80}?),?\s+(?=(?:I|I'm|my|only|at most|max|no)\b)"
)
_HABIT_FRONT: Final = Pattern(
    r"^(?:when(?! (?:do|does|did|is|am|are|will|should|can)\b)|whenever|since|after|before|once|every|on|between"
    r"|as a rule|these days)\b"
)
_HEDGE: Final = Pattern(
    r"^(?:I (?:think|guess|feel|believe(?! in)|suppose|suspect)(?: that| like)?|probably|apparently"
    r"|it (?:seems|looks)(?: that| like| as if)?)\s+(?=I\b|my\b)"
)
_HEDGED_VERB: Final = Pattern(
    r"^I (?:seem|tend|appear) to\b|^I (?:probably|might|may|kind of|sort of|possibly)\b(?! (?:go|buy|sell|close"
    r"|take)\b)"
)
_LASTING: Final = Pattern(
    r"""
^(?:I|we) (?:<USUALLY>\s+)*(?!<USUALLY>\b|<MIND>)(?!(?:was|were|am|have|had|got|been|will|would|could|should|might|may
    |can|did|left(?! (?-i:[A-Z]))|don't|won't|can't|cannot|must|and|or|is
    |\w+(?<!ne)(?<!ce)(?<!fe)ed)\b)[a-z]+(?:-[a-z]+)?\b(?! (?:it|them|him|her|you|me)$)
^(?:I|we) (?:do not|don't|dont|can't|cannot|can not|won't|will not|must not|mustn't|no longer|refuse to|must|can only
    |can afford|can live with|have to .*\b(?:by|before|at|every|because of my)\b)\s+(?:<USUALLY>\s+
    |want to\s+)*(?!<MIND>)(?!(?:see|find|log|open|like|get|hear|care)\b(?:$| (?:it|that|this|in|my|the|about)\b))
^I can(?:'t|not) (?:stomach|stand|handle|bear|afford|tolerate|sleep)\b
^I (?:grew up|was (?:born|trained|raised)|started (?:out|with|in \d)|started trading|began|came (?:to|from)
    |moved (?:here )?(?:from|to)|switched|relocated|studied|inherited|(?:have )?(?:stopped|quit|gave up
    |given up) (?!(?:it|this|that|the|my)\b)\w+|left (?-i:[A-Z])|got into|got liquidated|learned)\b
^I (?:only|usually|always|often) have (?!\w*known|wanted)\w|^I (?:always|never) (?:learned|liked|got used|had|understood
    |managed|been)\b
^I(?:'ve| have) (?:never|always|been (?:\w+ing|at|in|doing|on)\b.*\b(?:for|since)|traded|blown .*\bby|lost\b.*\b(?:years
    |row|times))\b
^(?:I|we)(?:'ve got|'ve| have| have got) (?!.*\b(?:question|headache|feeling|idea|look|cold|order|winners
    |losers in)\b).*\b(?:accounts?|job|kids?|children|sons?|daughters?|family|capital|years|portfolio|budget|business
    |rules?|habit|trouble|time|problems? with|tendency|wife|husband|mortgage|degree|limit|to (?:trade|invest|risk)
    |patience|in savings|soft spot|weakness for|diploma|debts?|system|plan)\b
^I(?:'m| am) (?:usually|always|never|mostly|generally|often|rarely|not allowed|only|at my best|in bed|up at|free
    |in meetings)\b
^I(?:'m| am) (?:(?:not|more|very|quite|really|also|still|both|now|just) )*(?:an? |more of an? |the (?:kind|type
    |sort) of )(?!(?:bit|little|lot|fan|mess|wreck|fool|idiot|buyer|seller|while|tad|few)\b)[a-z0-9-]+
^I(?:'m| am) (?:(?:not|very|quite|too|so|more|rather|really|pretty|now|in) )*(?:[\w-]+ )?(?:risk[- ]averse|conservative
    |new to|based (?:in|near|at)|from (?-i:[A-Z])\w+|living|retired|self-employed|\d+ years old|allergic|learning
    |studying|colou?r[- ]blind|dyslexic|deaf|married|single|divorced|unemployed|impatient|patient|disciplined|careful
    |impulsive|cautious|aggressive|stubborn|afraid of|scared of|prone to|wary|suspicious|sceptical|skeptical|paid
    |fond of|keen on|(?:good|bad|better|best|terrible|great|slow) (?:at|with|to)|comfortable (?:with|\w+ing)|happy with
    |fine with|interested in|building|growing|saving|putting (?:away|aside)|aiming|working (?:towards|on my|as)
    |doing this (?:to|for)|trading (?:this|for|to|part)|used to|responsible|no longer|on (?-i:[A-Z])\w+
    |with (?-i:[A-Z])\w+|an? \w+ by)\b
^I(?:'m| am) in (?-i:[A-Z])\w+(?:,| time\b|$)|^I(?:'m| am) (?-i:[A-Z][a-z]+)$|^I(?:'d| would) (?:rather|sooner|prefer)\b
^I(?:'d| would) (?:like|love) (?:to (?!know|see|ask|hear|understand|check|talk|say|look|go|start|open|close|buy|sell
    |add)\w+|(?:longer|shorter|short|brief|more|less|fewer)\b)
^(?:my|our) (?!<TRANSIENT>)(?:(?:[\w'-]+ ){0,4}?(?:<NOUN>|<RELATIVE>)|(?=.{4,}\b(?:me|I|I'm|us|usually|always|never|so
    |at most|\d+)\b)(?:[\w'-]+ ){0,4}?[\w'-]+)(?: (?!is|are)[\w%/'-]+){0,5}? (?:(?:is|are)(?! \w+ing$)|don't|doesn't
    |won't|must|should|equals|=|went (?:down|up) to|can't|cannot|stays?|(?!was\b|his\b|is\b|this\b
    |has\b)[a-z]{2,}(?<!s)s)\b (?:now )?<STATE>\S
^(?:my|our) (?!<TRANSIENT>)(?:\w+ )?(?:<NOUN>|<RELATIVE>) (?!is\b|are\b|was\b|were\b|had\b|has\b
    |and\b)[a-z]+\b(?<!ed) \S|^(?:my|our) \w+(?: [a-z]+)? taught (?:me|us)\b
^(?!<OTHERS>)(?=.*\b(?:me|my|mine|I|I'm|I've|us|our)\b)(?!.*\b(?:was|were|did|had|made|went|told|took|got|broke|ran
    |froze|rang|lost|won|said|came|kept|bought|should|could|would|might|you|page|button|link|error|site|app|screen
    |password|facts)\b|.*\band I'm\b)(?!.*\b(?:is|are) [a-z]+ing\b(?! (?:me|my)))(?!\w{2,}ed\b)\w+ .*\b(?:is|are|[a-z]+s
    |[a-z]+|don't|doesn't|isn't|aren't|won't)\b .*
^(?:what|all) I (?:want|need|do|trade|care)\b.* (?:is|are) |^(?:nothing|everything|anything|whatever
    |the \w+) I \w+\b.*\b\w+s\b
^(?:this|it) is (?:play money|my|our) .*|^it takes me\b|^if (?:an?|any|the|one|two|price) \w+ .*\bI [a-z]+\b
^<DAYS> (?:is|are) for \w|^no\b.{3,40} for me$|^I take <DAYS> off\b|^weekends are\b.*\bfor me$|^the tax man\b.*\bmy\b
^(?:one|two|three|four|five|\d+)\b.{2,40}\band I(?:'m| am) (?:done|out|finished)\b|^every (?:trade|position|entry
    |loss)\b.*\b(?:mine|I|my)\b
^(?:my|the) (?:plan|dream|goal|aim) is (?:to|not to) \w+|^I(?:'m| am) saving (?:up )?for\b
^(?:please )?(?:always|never)\s+(?!mind\b)\w+ \w|^(?:(?:please|you can)\s+)*call me \w|^from now on\b|^skip the \w+
    |^keep your \w+ \w+|^I'd .* rather than\b|^I don't know (?:anything|much) about\b
^(?:please )?(?:talk|speak|explain|be|write)\b.*\b(?:to|with) me\b|^(?:please )?be (?:blunt|brief|honest|direct)\b
^(?:please )?(?:keep|make) (?:(?:your|the|all) )*(?:answers?|repl(?:y|ies)|responses?|explanations?|it (?:simple|short
    |brief))\b
^(?:please )?(?:answer|reply|respond|speak|write|explain|show|use)\b.*\b(?:always|in (?:future|german|spanish|french
    |italian|portuguese|english|dutch|plain \w+|utc|usd|eur)|simple words|with me)\b|^(?:please )?speak \w+ (?:with
    |to) me\b
^(?:please )?(?:do not|don't|dont) (?:ever )?(?:suggest|mention|recommend|propose|show|use|ask|remind|call|sugarcoat
    |lecture|repeat) \w|^(?:please )?give me .*\b(?:first|always)\b|^when(?:ever)? you (?:explain|answer|reply|show
    |write)\b,? .*
^no (?:alts?|altcoins?|meme ?coins?|memes|leverage|shorts|shorting|options|futures|overnight|weekend)\b
^(?:max(?:imum)?|at most|(?:no|not|never) more than)\s+\$?\d|^only (?:trade|btc|eth|sol|majors|long|short|suggest)\b
^(?:short|long|brief|detailed) (?:answers|replies|sentences)\b
""",
    OTHERS=r"(?:this|that|it|he|she|they|these|those|here|there|what|who|you|nobody|looks|feels|seems|sounds|everyone|everybody|people|traders|whales|most"
    r" traders|some|my|the (?:market|guy|news|article|fed)|a trader|a guy|give|tell|show|let|do|does|please|<ORDER>"
    r"|the fed|somebody|someone|if|when you|your|am|is|are|has|have|was|were|a friend|a colleague|friends|our|her|his"
    r"|their|nothing moves|I|I'm|bitcoin|funding|volume)\b",
    **_PARTS,
)
_TOPICS: Final = {
    "tax": r"\btax(?:es|able)?\b|\bcapital gains\b|\birs\b|\bhmrc\b|\bfinanzamt\b",
    "style": r"\b(?:answers?|repl(?:y|ies)|responses?|explanations?|emojis?|jargon|bullet points|tables?|charts in)\b"
    r"|^(?:please )?(?:answer|reply|respond|speak|write|explain|show|talk|give me)\b",
    "goal": r"\b(?:my (?:\w+ )*?|the )(?:goal|aim|target|objective|plan|dream)\b|\bsaving (?:up )?for\b"
    r"|^(?:I (?:want|aim|plan|hope|intend|would like|need|am trying|try)|I'm trying|I'd like) to\b",
    "risk": r"\bleverage\b|\b\d+(?:\.\d+)?\s?[x×](?!\w)|\bstop(?:s|ped)?\b|\bdraw ?downs?\b|\brisk\w*\b|\bmargin\b"
    r"|\blos(?:e|ing|s|ses)\b|\bper trade\b|\b(?:position siz\w+|size positions)\b|\bexposure\b|\brevenge\b|\bsize up\b"
    r"|\bovertrad\w+\b|\baverag\w+ down\b|\bmax(?:imum)?\b(?!.*\bhours?\b)|\breckless\b",
    "session": r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2} ?(?:am|pm)\b|\butc\b|\bsessions?\b|\b(?:morning|afternoon|evening"
    r"|night)s?\b|\bovernight\b|\bweek(?:end|day)s?\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\bhours?\b|\btime ?zone\b|\b(?:london|new york|ny|asian?|us|tokyo) (?:open|close|morning|session"
    r"|hours)\b",
    "symbols": r"\b(?:btc|bitcoin|eth|ethereum|sol|solana|xrp|doge|bnb|ada|avax|link|ltc|spx|eurusd|gold|oil)\b"
    r"|\b(?:alts?|altcoins?|coins?|meme ?coins?|memes|majors|symbols?|pairs?|perps?|futures|options|stocks)\b"
    r"|\bequities\b|\bforex\b|\bfx\b|\bmarkets?\b|\binstruments?\b",
    "account": r"\baccounts?\b|\bcapital\b|\bbrokers?\b|\bexchanges?\b|\bwallets?\b|\bbudget\b|\bportfolio\b"
    r"|\bcurrency\b|\b(?:binance|bybit|hyperliquid|coinbase|kraken|okx|deribit|ibkr|interactive brokers)\b",
}


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
        for statement in _plain_statements(sentence) if is_plain else _explicit_statements(rest or sentence):
            found.setdefault(normal_form(statement.text), statement)
    return list(found.values())[:MAX_FACTS]


def passing_states(message: str) -> list[str]:
    """Return passing states that the user asks to remember."""
    asked = [rest for sentence in sentences(message) if (rest := _parse_explicit(sentence))]
    return [_tidy_clause(rest) for rest in asked if _PASSING.search(straight(rest))]


@cache
def _topic_patterns() -> dict[str, Pattern]:
    return {topic: Pattern(words) for topic, words in _TOPICS.items()}


def topic_of(text: str) -> str:
    """Return the topic of a statement, or "" when no word gives it away."""
    plain = straight(text)
    return next((topic for topic, pattern in _topic_patterns().items() if pattern.search(plain)), "")


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
        if not _PASSING.search(straight(clause)):
            yield from _make_statement(re.sub(r"^to\s+", "", clause), "asserted")


def _plain_statements(sentence: str) -> Iterator[Statement]:
    sentence = strip_lead_in(sentence) if len(sentence) <= _LONGEST_SENTENCE else ""
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
    bare = plain.rstrip(" .!;,")
    front = _FRONT.match(bare)
    main = bare[front.end() :] if front else bare
    if not bare or _PASSING.search(main) or (front and _PASSING.search(front[0]) and not _HABIT_FRONT.match(front[0])):
        return False
    if any(_LASTING.match(text) for text in (bare, main, _HEDGED_VERB.compiled.sub("I", main))):
        return True
    return bool(_OWN.match(main)) and read_subject(main).is_single


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
