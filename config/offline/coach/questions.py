"""Questions about agents, trades, risk and markets, as a table, and their lookups.

A question is one sentence; precision goes before recall. Its steps yield the tools' calls and say what came back.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from config.offline.adapters import Call
from config.offline.coach import market_answers, record_answers
from config.offline.coach.exposure import answer_effect, answer_risk, worries
from config.offline.coach.lookups import (
    AHEAD_HOURS,
    DEPLOYMENTS,
    EVENTS,
    MARKETS,
    NEWS,
    PERFORMANCE,
    SKILLS,
    SOON_HOURS,
    own,
    pick_rows,
    refusal,
)
from config.offline.facts import Outcome
from config.offline.figures import exact, listing
from config.offline.reading.patterns import any_of
from config.offline.talk import Steps, Talk
from trading.market.names import COIN, EVENT, events_in, is_market, symbols_in


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table."""

    pattern: re.Pattern[str]  # of the whole sentence
    tool: str  # that the chat must have
    steps: Callable[[Talk, re.Match[str]], Steps]
    names: Callable[[str], list[str]] | None = None  # what it must name, where the pattern alone does not say it


def question_steps(talk: Talk, plain: str) -> Steps | None:
    """Return the steps that answer a plain sentence, or None."""
    asked = _POLITE.sub("", plain).strip()
    for question in _QUESTIONS:
        match = question.pattern.fullmatch(asked)
        if match and question.tool in talk.acts and (question.names is None or question.names(match[0])):
            return question.steps(talk, match)
    return None


# --- Answers from one lookup: its arguments and the text of the result; `text` is the question ---


def _by_lookup(
    tool: str,
    arguments: Callable[[Talk, str], dict[str, Any]],
    tell: Callable[[Outcome, str], str],
    *patterns: str,
    names: Callable[[str], list[str]] | None = None,
) -> Question:
    def steps(talk: Talk, match: re.Match[str]) -> Steps:
        [found] = yield (Call(tool, arguments(talk, match[0])),)
        return refusal(talk, [found]) or tell(found, match[0])

    return Question(any_of(*patterns), tool, steps, names)


def _has(words: str, text: str) -> bool:
    return bool(re.search(rf"\b(?:{words})\b", text, re.IGNORECASE))


def _symbol(text: str) -> str:
    return next(iter(symbols_in(text)), "")


def _own(talk: Talk, text: str) -> dict[str, Any]:
    return own(talk)


def _own_if_meant(talk: Talk, text: str) -> dict[str, Any]:
    return own(talk) if _has("it|this|that|you", text) and "running" not in text else {}


def _own_trades(talk: Talk, text: str) -> dict[str, Any]:
    return {**own(talk), "detail": "trades"}


def _coins(talk: Talk, text: str) -> dict[str, Any]:
    symbols = symbols_in(text)
    return {"symbols": symbols} if symbols else {}


def _hours_back(text: str) -> int:
    return 168 if _has("week", text) else 24


def _hours_ahead(text: str) -> int:
    return SOON_HOURS if _has("today", text) else AHEAD_HOURS


def _calendar(talk: Talk, text: str) -> dict[str, Any]:
    kinds = events_in(text)
    return {"lookaheadHours": _hours_ahead(text), **({"types": kinds} if kinds else {}), **_coins(talk, text)}


def _tell_deployments(found: Outcome, text: str) -> str:
    return record_answers.format_deployments(found.entries("deployments"))


def _tell_trades(found: Outcome, text: str) -> str:
    trades = [one for one in found.entries("trades") if is_market(exact(one, "symbol"), symbols_in(text))]
    if re.search(r"\b(?:last|latest|previous) trade$", text, re.IGNORECASE):
        most = 1
    else:
        amount = re.search(r"\b\d{1,2}\b", text)
        most = max(1, int(amount[0])) if amount else record_answers.MAX_TRADES
    return record_answers.format_trades(trades, most)


def _tell_markets(found: Outcome, text: str) -> str:
    return market_answers.format_markets(found.as_row, next((key for key, words in _FIELDS if _has(words, text)), ""))


def _tell_events(found: Outcome, text: str) -> str:
    return market_answers.format_events(found.as_row, _hours_ahead(text))


_FIELDS: Final = (
    ("funding_rate_pct", "funding"),
    ("basis_pct", "basis"),
    ("realised_vol_pct", "vol(?:atility)?"),
    ("regime", "regime"),
    ("last_price", "price|trading at"),
)


# --- Answers from several lookups ---


def _by_steps(tool: str, steps: Callable[[Talk, re.Match[str]], Steps], *patterns: str) -> Question:
    return Question(any_of(*patterns), tool, steps)


def _answer_performance(talk: Talk, match: re.Match[str]) -> Steps:
    name = re.sub(r"^(?:my|the|our)\s+|\s+(?:skill|strategy|agent|bot)$", "", match["name"].strip(" \"“”'"), flags=re.I)
    is_it = re.fullmatch(r"(?:it|this|that|skill|strategy|agent|bot|(?:this|that) .*)", name, re.IGNORECASE)
    if is_it and talk.scene.skill_id:
        skill_id = talk.scene.skill_id
    else:
        [listed] = yield (Call(SKILLS, {}),)
        skills = listed.entries("skills")
        meant = skills if is_it else pick_rows(name, skills, "name")
        if listed.error or not skills:
            return refusal(talk, [listed]) or record_answers.format_skills(listed.as_row)
        if len(meant) != 1:
            said = "Which skill do you mean?" if is_it or meant else f"I find no skill called “{name[:80]}”."
            return f"{said} Yours:\n\n{listing([exact(one, 'name') for one in skills])}"
        skill_id = exact(meant[0], "skill_id")
    [found] = yield (Call(PERFORMANCE, {"skill_id": skill_id}),)
    return refusal(talk, [found]) or record_answers.format_performance(found.as_row)


# --- Patterns: of the whole sentence, in the order in which they are tried ---

_POLITE = re.compile(
    r"^(?:(?:please|can you|could you|would you|will you|i want to know|i'd like to know|i would like to know|let me"
    r" know|do you know|tell me|show me|give me|list|show|remind me|check)\b[,:]?\s+)+(?:please\s+)?(?:about\s+)?",
    re.IGNORECASE,
)

# May stand at the end of any question.
_NOW: Final = (
    r"(?: (?:right )?now| today| currently| at the moment| so far| lately| this (?:week|month|morning)| recently)?"
)
_WHO = (
    r"(?:you|it|they|we|he|she|this(?: one)?|that(?: one)?"
    r"|(?:my|the|this|that|our|your) (?:[\w-]+ ){0,3}?(?:agent|bot|strategy|skill|deployment)s?)"
)
_RUNS = r"(?:agents?|bots?|deployments?|positions?|trades|portfolio|account|strateg(?:y|ies)|skills?)"
_OPENED = (
    r"(?:open(?:ed)?|enter(?:ed)?|t(?:ake|aken|ook)|b(?:uy|ought)|s(?:ell|old)|short(?:ed)?|go(?:ne)? (?:long|short)"
    r"|went (?:long|short)|get into|got into|start(?:ed)?|add(?:ed)? to|put on)"
)
_CLOSED = (
    r"(?:closed?|exit(?:ed)?|get out|got out|leave|left|cover(?:ed)?|stop(?:ped)? out|take profits?|took profits?)"
)
_A_TRADE = (
    r"(?: (?:of|out of|into)?\s*(?:(?:this|that|the|my|it|an?|your|last|latest|newest|current|open)\s*)*"
    r"(?:[\w/-]+ ){0,2}?(?:positions?|trades?|order|longs?|shorts?|it|one|[A-Z]{2,8}|bitcoin|ethereum|solana))?"
)
_COIN = rf"(?:{COIN})"
_MEASURE = r"(?:price|funding(?: rate)?|basis|(?:realised |realized )?vol(?:atility)?|regime|24h change)"

_QUESTIONS: Final[tuple[Question, ...]] = (
    _by_steps(
        EVENTS,
        answer_effect,
        rf"(?:what|how|how much) (?:will|would|could|might|does|did|do|can|is|are"
        rf"|should)\b.{{0,80}}?\b(?:{EVENT})\b"
        r".{0,40}?\b(?:do(?:ing)?|mean|affect|impact|hit|move|hurt|matter|cost)\b.{0,80}",
        rf"what (?:happens|will happen|would happen|could happen)\b.{{0,80}}?\b(?:{EVENT})\b.{{0,60}}",
        rf"(?:what(?:'s| is) )?(?:my|the|its) (?:exposure|risk) (?:to|around|on|for|at|from)"
        rf" .{{0,30}}?\b(?:{EVENT})\b"
        r".{0,40}",
        rf"how exposed (?:am i|are we|is it) to .{{0,30}}?\b(?:{EVENT})\b.{{0,40}}",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own_trades,
        lambda found, text: record_answers.format_why_opened(found.entries("deployments"), _symbol(text)),
        rf"why (?:did|do|have|has|had|would) {_WHO} {_OPENED}{_A_TRADE}.{{0,30}}",
        rf"why (?:is|are|am) (?:{_WHO}|i) (?:still )?(?:long|short|in)\b.{{0,40}}",
        r"why (?:was|were) (?:this|that|the|my)\b(?: [\w/-]+){0,3} opened.{0,20}",
        r"why (?:this|that) (?:position|trade)",
        r"what(?:'s| is| was) (?:the|your|its|their) (?:reason|rationale|thesis|reasoning)"
        r"(?: (?:for|behind|of) (?:this|that|the|my|your|its)\b(?: [\w/-]+){0,3} (?:position|trade|entry))",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own_trades,
        lambda found, text: record_answers.told_why_closed(found.entries("trades"), _symbol(text)),
        rf"why (?:did|has|have|had) {_WHO} {_CLOSED}{_A_TRADE}.{{0,30}}",
        r"why (?:was|were) (?:this|that|the|my)\b(?: [\w/-]+){0,3} (?:closed|exited|stopped out).{0,20}",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own_trades,
        lambda found, text: record_answers.told_what_closes(
            found.entries("deployments"), found.entries("trades"), _symbol(text)
        ),
        rf"what (?:would|will|could|might) make {_WHO} {_CLOSED}{_A_TRADE}.{{0,30}}",
        rf"when (?:will|would|do|does) {_WHO} {_CLOSED}{_A_TRADE}.{{0,30}}",
        r"what(?:'s| is| are) (?:the|its|your) exit(?: (?:rule|plan|condition|conditions|criteria))?",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own,
        lambda found, text: record_answers.format_rejections(found.entries("deployments")),
        rf"(?:have|has|had|was|were|did|is|are) (?:{_WHO}|i|any|anything|any(?: of)? (?:my |the )?orders?"
        r"|(?:my|the|your|its) orders?)\b.{0,30}?\b(?:rejected|rejections?|refused|refusals?|declined)\b.{0,40}",
        r"(?:were there |are there |is there )?(?:any |the |my |its |recent |last |latest )+(?:rejections?|refusals?"
        r"|rejected orders?|refused orders?)\b.{0,30}",
        r"(?:what|which|why)(?: orders?)? (?:was|were|got|have been|has been)\b.{0,30}?\b(?:rejected|refused)\b.{0,30}",
    ),
    _by_steps(
        DEPLOYMENTS,
        worries,
        r"(?:is there |are there )?any(?:thing| ?thing else| reason)? (?:that )?(?:i should|i need to|i have to|to)"
        r" (?:be )?(?:worr(?:y|ied)|concerned|watch|look out|be careful|know|keep an eye)\b.{0,40}",
        rf"should i (?:be )?(?:worr(?:y|ied)|concerned)(?: about (?:it|anything|{_WHO}|my {_RUNS}))?{_NOW}",
        rf"what should i (?:be )?(?:worr(?:y|ied)|concerned|watch|watching|look)(?: out)?(?: about| for)?{_NOW}",
        rf"(?:are there |is there )?any (?:problems?|issues?|concerns?|warnings?|red flags?|trouble)"
        rf"(?: with (?:it|anything|my {_RUNS}))?{_NOW}",
        rf"(?:is|are) (?:everything|my {_RUNS}|it) (?:ok|okay|fine|all ?right|healthy){_NOW}",
    ),
    _by_steps(
        DEPLOYMENTS,
        answer_risk,
        r"(?:what(?:'s| is| are) )?(?:my|the|its|our) (?:biggest|largest|main|greatest|worst|top|current|open)"
        rf" risks?{_NOW}",
        rf"(?:what(?:'s| is) )?my (?:biggest |largest |total |current |open )?exposure{_NOW}",
        rf"(?:where am i most|how) exposed(?: am i)?{_NOW}",
        rf"how (?:risky|much risk) (?:is|am i|are we)\b(?: (?:my portfolio|it|in|on|at|taking|running"
        rf"|we)){{0,2}}{_NOW}",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own_trades,
        _tell_trades,
        r"(?:what (?:are|were) )?(?:my |the |its |our |your )?(?:(?:last|latest|recent|newest|closed|past|previous"
        r"|all|best|worst|\d{1,2}|few|couple of) )+(?:[A-Za-z]{2,10} )?trades?",
        r"(?:what (?:are|were) )?(?:my |its |our )(?:[A-Za-z]{2,10} )?trades",
        r"(?:my |the |its )?trad(?:e|ing) history",
        rf"(?:what|which) trades (?:did|have|has) (?:{_WHO}|i)\b.{{0,40}}",
        rf"what (?:did|have|has) (?:i|you|it|we|my agents?|the agents?) traded?{_NOW}",
        rf"how did (?:my|the|its) (?:last|latest|recent)? ?(?:\d{{1,2}} )?trades? (?:go|do|end|perform){_NOW}",
    ),
    _by_lookup(
        DEPLOYMENTS,
        lambda talk, text: {**own(talk), "detail": "lessons"},
        lambda found, text: record_answers.format_lessons(found.entries("lessons")),
        r"(?:what(?:'s| is| are) |are there |do (?:you|i|we) have )?(?:any |the |my |its |our |your |latest |last "
        rf"|new |active )*lessons?(?: (?:learn(?:ed|t)|so far|of {_WHO}|from (?:my|its|the) trades))?",
        r"what lessons (?:did|has|have|do|does|are)\b.{0,50}",
        rf"what (?:has|have|did) {_WHO} (?:learn(?:ed|t)?)(?: (?:from (?:my|its|the|your) (?:\w+ )?trades"
        rf"|from (?:it|this|that)|lately|recently|so far|from trading))?",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own_if_meant,
        _tell_deployments,
        rf"what(?:'s| is| are| do i have)? (?:\w+ )?running"
        rf"(?: and how (?:is|are) (?:it|they|everything) (?:doing|going|performing))?{_NOW}",
        rf"how(?:'s|'re| is| are| were| was| have| has| did)(?: all)?(?: of)? (?:my|the|our) (?:[\w-]+ )?{_RUNS}"
        rf" (?:been )?(?:do|doing|going|performing|performed|perform|looking|holding up){_NOW}",
        rf"(?:what(?:'s| is) )?(?:the |my )?status(?: of (?:my|the|all) (?:[\w-]+ )?{_RUNS})?",
        r"(?:what|which) (?:deployments?|agents?|bots?|positions?) (?:do i have|are|am i)\b.{0,30}",
        r"(?:what are )?(?:all )?my (?:(?:open|running|current|active) )*(?:deployments?|agents|bots|positions?)",
        rf"(?:what(?:'s| is) )?(?:my|the) (?:current |total |open )?(?:pnl|p&l|profit|profits|loss|losses){_NOW}",
        rf"am i (?:up|down|in profit|in the red|in the green|making money|losing money|winning|losing){_NOW}",
        rf"(?:do|have) i (?:have |got )?(?:any )?open positions?{_NOW}",
    ),
    _by_lookup(
        DEPLOYMENTS,
        _own,
        _tell_deployments,
        rf"how(?:'s| is) (?:it|this|this one|this deployment) (?:doing|performing|going|looking){_NOW}",
        rf"how (?:has|have) (?:it|this|this one) been (?:doing|performing|going){_NOW}",
        rf"what (?:is|are) (?:it|they|my agents?|the agents?) (?:holding|doing){_NOW}",
        rf"what (?:did|has|have) (?:it|my agents?|the agents?|my bots?) (?:do|done|been doing){_NOW}",
    ),
    _by_steps(
        PERFORMANCE,
        _answer_performance,
        r"how (?:did|does|has|have) (?P<name>(?:my |the |our )?[\w' -]{2,60}?) (?:perform(?:ed|ing)?"
        rf"|been performing|done?)(?: in (?:the )?backtests?)?{_NOW}",
    ),
    _by_steps(
        PERFORMANCE,
        _answer_performance,
        rf"how(?:'s| is) (?:my|our) (?P<name>[\w' -]{{2,60}}?) (?:doing|performing){_NOW}",
    ),
    _by_steps(
        PERFORMANCE,
        _answer_performance,
        r"(?:what(?:'s| is| are|'re) )?(?:the )?(?:performance|results|track record|record|backtest results|stats"
        r"|numbers|win rate|sharpe(?: ratio)?|drawdown) (?:of|for) (?P<name>(?:my |the )?[\w' -]{2,60})",
    ),
    _by_lookup(
        MARKETS,
        _coins,
        _tell_markets,
        rf"what(?:'s| is| are| was)? (?:the )?(?:crypto )?markets? (?:doing|up to|looking like|like){_NOW}",
        rf"how(?:'s| is| are|'re) (?:the )?(?:crypto )?markets?(?: (?:doing|looking|today))?{_NOW}",
        rf"(?:what(?:'s| is) )?(?:the )?market (?:overview|summary|situation){_NOW}",
        rf"what(?:'s| is) happening (?:in|on) (?:the )?(?:crypto )?markets?{_NOW}",
    ),
    _by_lookup(
        MARKETS,
        _coins,
        _tell_markets,
        rf"(?:what(?:'s| is| are|'re)|how(?:'s| is| high is| much is)) (?:the )?(?:current )?{_COIN}(?:'s)?"
        rf"(?: and {_COIN})? (?:current )?{_MEASURE}{_NOW}",
        rf"(?:what(?:'s| is| are|'re)|how(?:'s| is| high is)) (?:the )?(?:current )?{_MEASURE}"
        rf" (?:of|for|on|in) {_COIN}(?:(?:,| and|, and) {_COIN})*{_NOW}",
        rf"{_COIN} {_MEASURE}",
        rf"how(?:'s| is| are) {_COIN}(?: and {_COIN})?(?: (?:doing|looking|trading|moving))?{_NOW}",
        rf"what(?:'s| is| are) {_COIN}(?: and {_COIN})? (?:doing|at|trading at|up to)(?: right)?{_NOW}",
        rf"how much is (?:a |one )?{_COIN}{_NOW}",
        names=symbols_in,
    ),
    _by_lookup(MARKETS, _coins, _tell_markets, rf"what(?:'s| is) (?:the )?(?:current )?funding(?: rate)?s?{_NOW}"),
    _by_lookup(
        NEWS,
        lambda talk, text: {**_coins(talk, text), "lookbackHours": _hours_back(text)},
        lambda found, text: market_answers.format_news(found.as_row, _hours_back(text)),
        r"(?:is there |are there |what(?:'s| is| are) |what )?(?:any |the |some |latest |recent |new |big |important "
        rf"|market |crypto |{_COIN} )*?(?:news|headlines)(?: (?:is there|do you have|came out))?(?: (?:on|about|for|of"
        rf"|from) (?:{_COIN}|the (?:market|week|day)))?{_NOW}",
        rf"what happened in (?:the )?(?:markets?|news|crypto){_NOW}",
    ),
    _by_lookup(
        EVENTS,
        _calendar,
        _tell_events,
        r"(?:what(?:'s| is| are)? |which |are there |is there |any )+(?:the |any |upcoming |scheduled |next |big"
        r" |important |macro |economic |market )*events?(?: (?:are|is|do we have|do i have))?"
        rf"(?: (?:coming(?: up)?|ahead|scheduled|next|upcoming|soon|planned))?(?: (?:for|on) {_COIN})?"
        r"(?: (?:this week|today|tomorrow|in the next \w+ (?:hours|days)))?",
        r"(?:what(?:'s| is) )(?:coming up|on the (?:event |economic )?calendar|ahead)"
        r"(?: (?:this week|today|tomorrow))?",
        r"(?:the |my )?(?:upcoming |next |scheduled )events",
    ),
    _by_lookup(
        EVENTS,
        _calendar,
        _tell_events,
        r"(?:when(?:'s| is| are)|what time is|is there an?y?) (?:the )?(?:next )?[\w' -]{2,40}",
        names=events_in,
    ),
    _by_lookup(
        SKILLS,
        lambda talk, text: {},
        lambda found, text: record_answers.format_skills(found.as_row),
        r"(?:what are )?(?:all )?(?:of )?my (?:saved )?skills",
        r"(?:what|which) skills (?:do i have|have i(?: got)?|are there)",
        r"(?:what are )?(?:my|the) (?:open )?drafts",
        r"(?:do i have )?any (?:open )?drafts",
        r"how many skills do i have",
    ),
)
