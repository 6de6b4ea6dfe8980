"""Find lasting statements of the user in a message, in English, by the form of their clauses.

One table weighs the forms of a clause: who speaks of whom, how the verb stands, what bounds it, and what points at a
moment. A clause whose weights come to zero or more is kept; `no` rules it out. The weights were fitted to the labelled
sentences of the tests, and rounded. Whoever wants something kept that no form knows says "remember that ...".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from config.lib.text import normal_form, one_line
from config.lib.words.lexer import MASK
from config.lib.words.sentences import (
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
from memory.claims.statements import keep_statements
from memory.claims.subjects import read_subject
from memory.claims.topics import guess_topic
from memory.wording import MAX_CONTENT, MIN_CONTENT

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
    r"^(?:I|I'm|I've|my|max|never|correction|drawdown|position|time ?zone|base currency|at most|only|no)\b(?!.*\b(?:he"
    r"|she|they|friend|brother|brother's|colleague|boss|uncle|still|thinking|considering)\b)"
)
_BIAS: Final = -6
_SUBJECT: Final = 3  # for a value of the store's table of subjects
_NEVER: Final = -100
_APART: Final = -5  # below it a clause belongs to no other
_MOMENT: Final = frozenset({"supposition", "open", "state", "time"})
_LEXICON: Final = r"""
ADV: (?:(?:never|always|only|usually|generally|mostly|mainly|rarely|often|also|now|really|just|still|do|can|tend to
    |almost|even|already|actually) )*
PAST: (?:was|were|had|didn't|went|bought|sold|made|lost|took|said|got|ran|saw|did|gave|thought|felt|forgot|broke|won
    |left|hit|slept|panic sold|saw|told|came|woke|spent|held|(?!need|bleed|exceed|speed|feed|embed|succeed|indeed
    |based|red\b)\w{2,}ed)
CLOSED: (?:after|all|am|and|at|because|before|both|but|by|don't|during|for|from|half|I|if|I'm|in|most|much|never|no|not
    |of|off|on|once|only|out|over|plus|since|so|than|to|under|until|what|when|while|who|with|without|outside|lost|sold|made)
MANNER: (?:answer|be|call|keep|make|mind|put|remember|respect|show|skip|speak|talk|use|always)
MIND: (?:think(?! in\b| about| best)|guess|bet|reckon|hope(?! to)|wonder|know|forget|see|hear|feel(?! \w+er\b)
    |suppose|suspect|expect|mean|say|understand|remember|wish|ask|doubt|call|smell|like (?:it|this|that|the|your)
    |love (?:it|this|that)|find|found|want out)
LIFE: (?:grew up|was (?:born|trained)|started (?:out|with|in|trading)|came to|moved (?:here|to|from)|switched|stopped
    |quit|gave up|got (?:into|liquidated)|learned|took up|left (?!my|the|money)\w+|blown|taught|lowered|raised|cut my
    |reduced|changed (?:my|to)|relocated|bumped|upped|increased|halved|doubled
    |swapped|unfollowed|got (?:divorced|married|engaged|fired|promoted)|used to)
PEOPLE: (?:he|she|they|everyone|everybody|nobody|somebody|someone|people|traders|analysts|most (?:people|traders)
    |(?:my|a|an|her|his|their|our|the|some|old) (?:[\w-]+ ){0,2}?(?:friends?|brother(?: in law)?|sister|dad|father
    |uncle|cousin|colleagues?|neighbours?|boss|mentor|buddy|mate|guy|fund|desk|group|trader|dog))
"""
_EVIDENCE: Final = r"""
no order: ^(?:please |now )*(?!<CLOSED>\b|<MANNER>\b)[a-z]+(?<!ing)(?<!ed)(?<![^s]s) (?:me )?
    (?:(?:through|at|about|over|into|up) )?(?:my|these|it|the|an?)\b(?!.*\b(?:answers?|jargon|me|first|always
    |in (?:dollars|euros|english|german|spanish|french))\b)
no modal: ^(?!(?:from|starting|as of) [\w ]{2,25}I(?:'ll| will)\b).*\b(?:I|it) ?(?:never )?(?:'ll
    |'d(?! (?:rather|sooner|prefer|like))|would(?! (?:rather|prefer|like))|could|might|may|should|will)\b
no supposition: ^(?:(?:and )?if (?:I|it|you)\b(?!.* (?:a|per) (?:day|week|month)\b)|unless |were
    |suppose|imagine|let's|let us|say I|assume|pretend|maybe
    |perhaps|what if|wish|one day|in theory)
no question: ^(?:give me (?:(?:a|one) (?:second|minute)|my)|(?:(?:at|on|in|for) )?(?:what(?:'s| (?!I\b))|which|how)
    |who|why|where|is|are|am|do (?!not)|does|did|can (?!only)|could|should|would|will|tell me|list
    |show(?! [\w ]+,? not\b)|explain what|when (?:do|should|will|is|does|did)|hello|hi|yes|ok|okay|thanks?|hold on)\b
no command: ^help me\b|^(?:please |now )*(?:sell|buy|close|open|stop|start|wait|check|add|forget|save|tell)\b
    (?! (?:me|more)\b)
no open: \b(?:two|three|one|an?|my) open (?:trades?|orders?|positions?)\b|\bthe (?:second|first|last) (?:one
    |option)\b|\bprefer not\b|\bhaha\b|\bused to(?! \w+ing)\b|^I once\b|\bcurrently\b|\bmy (?:stop|target
    |entry) is (?:at )?\$?[\d.,]+k?$
+7 habit: ^I <ADV>(?!<PAST>\b|am\b|have\b|'|would|could|should|might|may|will|can\b|want|need|like|love|hate
    |just)[a-z-]+
no mind: ^I (?:<ADV>)(?:don't|do not|can't|cannot|can|didn't) (?:<MIND>|believe (?:it|this)|explain
    |log)\b(?! anything )
+4 wish: ^(?:I|I'd) (?:(?:would|really|do) )*(?:prefer|like|love|hate|dislike|enjoy|want|need|trust|rather|sooner
    |mind|aim|hope to|plan to)\b
-8 errand: ^I ?(?:want|need|have|would like|'d like) (?:to )?(?:know|see|ask|hear|check|talk|look|go|run|start|open
    |close|buy|sell|add|long|short|stop(?!.*\b(?:after|when|once)\b)|sleep|help|a break|out|leave|call)\b
-3 mind: ^I <ADV><MIND>\b
-4 past: \b(?:I|we|it) <ADV>(?!<LIFE>\b)<PAST>\b(?!')
+6 life: \b(?:I|I've|I have|we|we've) <ADV>(?:<LIFE>)\b
+4 so far: ^I(?:'ve| have) (?!been \w+ing (?:at|for hours)).*\b(?:for|since|years?|never|always|times|\d{4}|account)\b
+3 possession: ^I(?:'ve| have|'ve got| own) (?:about \d|around \d|\d+k\b|no |a rule|small|adhd|kids
    |an? (?:job|401k|pension|family|habit|system|plan|wife|husband|newborn|baby|child|dog|mortgage|loan|\$)|classes)
+3 being: ^I(?:'m| am)\b
+3 kind: ^I(?:'m| am) an? (?!bit\b|little\b|tad\b|few\b)
+5 trait: ^I(?:'m| am) .*\b(?:based|living|from|retired|years? old|allergic|learning|studying|colou?r ?bl\w+|patient
    |careful|averse|wary|comfortable|terrible|good at|bad at|slow|usually|always|never|only|allowed|paid|resident
    |in [A-Z]\w+|trader|doing this)\b|^I(?:'m| am) [A-Z][a-z]+$
-6 state: ^I(?:'m| am) (?:(?:so|very|a bit|too|still|now|back) )*(?:tired|hungry|bored|sick|lost|long|short
    |flat(?! by)|up|down|out|in (?:a|an|the|my)\b|at (?:the|a|my)\b|on (?:the|my|a)\b|off|done|stopped|curious|sure
    |nervous|happy|going|looking|watching|waiting|holding|reading|sitting|adding|typing|thinking|considering|starving
    |underwater|bullish|bearish|about to|two ticks)\b
+3 my: ^(?:my|our)\b
+4 my rule: ^my (?:name|biggest|best|worst|main|favou?rite|usual|typical|max|rule|plan|edge|weak|limit|style|time
    |comfort)\b
-3 my state: ^(?:my|our) .*\b(?:was|were|is (?:up|down|at|broken|slow|underwater|in the|still|on|so|too|\w+ing)|got
    |had|went|hit|filled|hurts?|broke|froze|didn't)\b
+5 to me: ^(?!I\b|I'|my\b|please|if\b)(?!.*<PAST>).*\b(?:me|my|I|I'm)\b
-4 others: ^<PEOPLE>\b
-5 pointing: \b(?:this(?! account| is play)|that(?! (?:I|already|has|have|ran|moved)\b)|these(?! days)|those
    |here(?! from)|there)\b
-4 time: \b(?:today|tonight|tomorrow|yesterday|right now|just now|earlier|ago|next (?:week|year)|this (?:morning|week
    |month|trade|one)|currently|at the moment|for now|lately|again|finally|in (?:ten|five|a|\d+) minutes?|first|back
    |still|yet)\b
+3 rhythm: \b(?:in the (?:mornings?|evenings?)|at night|(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|weekends?
    |evenings|a (?:day|week|month|trade)|per \w+|overnight|when(?:ever)?|after|before|once|session|open|close)\b
+3 trading: \b(?:trad(?:e|es|ing|er)|stops?|leverage|risk|scalp\w*|drawdowns?|breakouts?|perps?|overnight|orders?
    |alts?|tax(?:es)?|limits?(?! orders?)|broker|journal|charts?|account|capital|losers?|winners?|spot|futures
    |options|size|ema|sma|rsi|macd|vwap|indicators?|averages?|time ?frames?|setups?|strateg(?:y|ies)|targets?|positions
    |entr(?:y|ies)|exits?|swings?|hedge|margin|resistance|trend|volatil\w+|fees?|wallet|ledger|crypto
    |portfolio|401k)\b
+5 answers: \b(?:answers?|replies|explanations?|emojis?|bullet points?|jargon|disclaimers?|abbreviations|sentences
    |concise|percentages|in (?:euros?|dollars)|tone|blunt|brief|simple|numbers first|examples?|german|spanish|english
    |french)\b
+3 order to Keel: ^(?:please )*(?:don't|do not|always|never|use|keep|talk|speak|answer|explain|give me|call me|be|skip
    |show)\b
+4 bound: ^(?:max(?:imum)?|at most|no more than|never more than)\b.*\d
+3 bare: ^[\w ]{3,30} (?:resident|citizen|trader|investor)$|^(?!.*\b(?:is|are)\b)[\w ]{2,20} (?:at|with) \w+$
    |^(?:wife|husband|partner|kid|child)\b|^(?:no|only|don't)\b.*\b(?:stocks|funds)\b|\b(?:stocks|funds) only$
-5 page: \b(?:page|button|link|error|site|app|password|export)\b
no fragment: ^never mind\b|^(?:my|our)(?: [\w'-]+){0,2}$|^I (?:hold on|trust you)\b
+3 rule: ^[\w ]{3,25} only$|^(?:call me|max|at most|never|always|only|no|not more|swing|time)\b
+3 condition: ^(?:if (?:an?|any|I(?:'m)?|the (?!market))|when(?:ever)?|after|before|once|on|every|between
    |most of the time|anything|nothing|two|three|half|losing|being|sizing|big|fast|red)\b
-3 you: \byou(?:r)?\b
+3 goal: \b(?:goal|dream|plan|saving|retire|grow (?:this|my|the) account|years?|mortgage)\b
+3 person: \b(?:wife|husband|partner|kids?|children|daughter|parents|job|work|student|nurse|engineer|teacher
    |developer|sleep|family|hearing|newborn|baby|dog|health|doctor|therap\w+|pension|shifts?|handed|anxi\w+
    |adhd|commute)\b
+5 predicate: ^(?!I\b|<PEOPLE>|the |if |when )[\w' -]{2,50}? (?:is|are) (?:what|where|when|all|for|off|on|a|my|the
    |not|too|how|play|sacred|more|usually|always|easy|small|easier|fine|bad)\b.*\b(?:I|me|my|mine)\b
+3 liking: ^I (?:like|love|hate|prefer) (?!it\b|this\b|that\b|the\b|your\b|you\b|how\b|to\b|here\b)\w+
+3 style: ^(?:please )*(?:keep|make|use|give|talk|speak|answer|explain|always|don't|never|no|skip|short
    |longer)\b.*\b(?:tone|answers?|repl(?:y|ies)|sentences|explanations?|brief|short|simple|emojis?|german
    |me|beginner|numbers|please)\b
+6 cannot: ^I (?:can't|cannot|won't|will not|can only) (?!see|find|log|hear|believe|get|open|say|wait|explain
    |tell)\w+ \w+
"""


@dataclass(frozen=True, slots=True)
class Statement:
    """One lasting statement, in the user's own words."""

    text: str
    topic: str  # risk, symbols, session, goal, style, account, tax or empty
    confidence: Confidence
    is_correction: bool = False  # corrects an earlier statement


_AFTER_ALL: Final = re.compile(r",? (?:actually|after all|instead)[ .!]*$", re.IGNORECASE)
_POINTING: Final = re.compile(r"\b(?:this|that|these|those)[\s,]*$", re.IGNORECASE)
_NAMELESS: Final = re.compile(
    r"[\w']*(?:,? (?:please|ok(?:ay)?|thanks|thank you|for me|for later|too|now))?[.! ]*", re.IGNORECASE
)
_FROM_NOW: Final = re.compile(r"^from now on,?\s+(?=\S)", re.IGNORECASE)


def read_statements(message: str) -> list[Statement]:
    """Return at most MAX_FACTS distinct lasting statements, in order."""
    found: dict[str, Statement] = {}
    in_list, before = False, ""
    for sentence in sentences(keep_statements(message).replace(MASK, "\n")):
        bullet = _BULLET.match(sentence)
        sentence = sentence[bullet.end() :] if bullet else sentence
        rest = _parse_explicit(sentence)
        if rest is not None and _points_back(sentence):
            rest = sentence = before or " "
        before = sentence
        if rest == "":  # "Remember these:", followed by a list
            in_list = True
            continue
        in_list = in_list and bullet is not None
        if rest is None and not in_list:
            statements = [*_plain_statements(sentence)]
        else:
            clauses = [clause for clause in CLAUSE.compiled.split(rest or sentence) if not _is_of_moment(clause)]
            statements = [_make_statement(re.sub(r"^to\s+", "", clause), "asserted") for clause in clauses]
        for statement in statements:
            found.setdefault(normal_form(statement.text), statement)
    return [statement for statement in found.values() if len(statement.text) >= MIN_CONTENT][:MAX_FACTS]


def passing_states(message: str) -> list[str]:
    """Return passing states that the user asks to remember."""
    asked = [rest for sentence in sentences(message) if (rest := _parse_explicit(sentence))]
    return [_tidy_clause(rest) for rest in asked if _is_of_moment(rest)]


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


def _points_back(sentence: str) -> bool:
    """Tell whether a request names nothing itself: "remember that", "please remember that place"."""
    plain = straight(strip_lead_in(sentence))
    match = EXPLICIT.match(plain)
    if match is None or not _NAMELESS.fullmatch(plain, match.end()):
        return False
    return bool(_POINTING.search(match[0]) or _POINTING.match(plain[match.end() :].rstrip(" .!")))


def _plain_statements(sentence: str) -> Iterator[Statement]:
    sentence = strip_lead_in(_FROM_NOW.sub("", sentence)) if len(sentence) <= _LONGEST_SENTENCE else ""
    begun, ended = CORRECTION.match(straight(sentence)), _AFTER_ALL.search(sentence)
    sentence = _AFTER_ALL.sub("", sentence)
    for clause in _iter_lasting(strip_lead_in(sentence[begun.end() :]) if begun else sentence):
        hedged = _HEDGE.match(_plain_form(clause))
        yield _make_statement(clause, "inferred" if hedged else "asserted", is_correction=bool(begun or ended))


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
        subject = "I " if re.match(r"now (?!I\b)", text, re.IGNORECASE) else ""
        weight = weigh(subject + text)
        if weight >= 0:
            found.append((subject, begin, end))
        elif weight > _APART and found:
            found[-1] = (*found[-1][:2], end)
    if not found and breaks and weigh(sentence) >= 0:
        found = [("", 0, len(sentence))]
    yield from (subject + sentence[begin:end] for subject, begin, end in found)


def _make_statement(clause: str, confidence: Confidence, *, is_correction: bool = False) -> Statement:
    text = _tidy_clause(clause)
    return Statement(text, guess_topic(text), confidence, is_correction)


def _tidy_clause(clause: str) -> str:
    """Return a clause as one capitalised line without its lead-in."""
    text = one_line(strip_lead_in(clause.strip())).rstrip(" .!?;,:")
    text = _FROM_NOW.sub("", text)
    if len(text) > MAX_CONTENT:
        text = text[: MAX_CONTENT - 1].rsplit(" ", 1)[0][: MAX_CONTENT - 1] + "…"
    return text[:1].upper() + text[1:]
