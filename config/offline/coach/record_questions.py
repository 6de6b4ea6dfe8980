"""Questions about agents, trades, lessons and risk, and their lookups.

A question is one sentence; precision goes before recall. Its steps yield the tools' calls and say what came back.
"""

import re
from collections.abc import Sequence
from typing import Final

from config.offline.adapters import Call
from config.offline.coach.lookups import (
    AHEAD_HOURS,
    DEPLOYMENTS,
    EVENTS,
    NOW,
    PERFORMANCE,
    SKILLS,
    SOON_HOURS,
    Ask,
    own,
    parse_question,
    pick_rows,
    refusal,
)
from config.offline.coach.market_answers import format_events, format_risk, told_effect, told_worries
from config.offline.coach.record_answers import (
    MAX_TRADES,
    format_deployments,
    format_lessons,
    format_performance,
    format_rejections,
    format_skills,
    format_trades,
    format_why_opened,
    name_of,
    told_what_closes,
    told_why_closed,
)
from config.offline.figures import Row, exact, listing, number, paragraphs, rows
from config.offline.reading.markets import EVENT, events_in, is_market, symbols_in
from config.offline.reading.patterns import any_of
from config.offline.talk import Steps, Talk

_MOST_EXPOSED: Final = 3  # deployments whose exposure is looked up for one answer

_WHO = (
    r"(?:you|it|they|we|he|she|this(?: one)?|that(?: one)?"
    r"|(?:my|the|this|that|our|your) (?:[\w-]+ ){0,3}?(?:agent|bot|strategy|skill|deployment)s?)"
)
_RUNS = r"(?:agents?|bots?|deployments?|positions?|trades|portfolio|account|strateg(?:y|ies)|skills?)"


def question_steps(talk: Talk, plain: str) -> Steps | None:
    """Return the steps that answer a sentence, None when it is no such question; `plain`: no end mark, no lead-in."""
    asked = parse_question(plain)
    for pattern, needed, ask in _QUESTIONS:
        match = pattern.fullmatch(asked)
        if match and needed in talk.acts:
            return ask(talk, match)
    return None


# --- Agents and their record ---


def _answer_status(talk: Talk, match: re.Match[str]) -> Steps:
    is_about_it = re.search(r"\b(?:it|this|that|you)\b", match[0], re.IGNORECASE) and "running" not in match[0]
    [found] = yield (Call(DEPLOYMENTS, own(talk) if is_about_it else {}),)
    return refusal(talk, [found]) or format_deployments(found.entries("deployments"))


def _answer_this_one(talk: Talk, match: re.Match[str]) -> Steps:
    if not talk.scene.deployment_id:
        return (yield from _answer_status(talk, match))
    [found] = yield (Call(DEPLOYMENTS, own(talk)),)
    return refusal(talk, [found]) or format_deployments(found.entries("deployments"))


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
            return refusal(talk, [listed]) or format_skills(listed.as_row)
        if len(meant) != 1:
            said = "Which skill do you mean?" if is_it or meant else f"I find no skill called “{name[:80]}”."
            return f"{said} Yours:\n\n{listing([exact(one, 'name') for one in skills])}"
        skill_id = exact(meant[0], "skill_id")
    [found] = yield (Call(PERFORMANCE, {"skill_id": skill_id}),)
    return refusal(talk, [found]) or format_performance(found.as_row)


def _answer_why_opened(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, {**own(talk), "detail": "trades"}),)
    symbol = next(iter(symbols_in(match[0])), "")
    return refusal(talk, [found]) or format_why_opened(found.entries("deployments"), symbol)


def _why_closed(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, {**own(talk), "detail": "trades"}),)
    symbol = next(iter(symbols_in(match[0])), "")
    return refusal(talk, [found]) or told_why_closed(found.entries("trades"), symbol)


def _answer_what_closes(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, {**own(talk), "detail": "trades"}),)
    symbol = next(iter(symbols_in(match[0])), "")
    return refusal(talk, [found]) or told_what_closes(found.entries("deployments"), found.entries("trades"), symbol)


def _answer_rejections(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, own(talk)),)
    return refusal(talk, [found]) or format_rejections(found.entries("deployments"))


def _answer_trades(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, {**own(talk), "detail": "trades"}),)
    amount = re.search(r"\b\d{1,2}\b", match[0])
    symbols = symbols_in(match[0])
    trades = [one for one in found.entries("trades") if is_market(exact(one, "symbol"), symbols)]
    if re.search(r"\b(?:last|latest|previous) trade$", match[0], re.IGNORECASE):
        most = 1
    else:
        most = max(1, int(amount[0])) if amount else MAX_TRADES
    return refusal(talk, [found]) or format_trades(trades, most)


def _answer_lessons(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, {**own(talk), "detail": "lessons"}),)
    return refusal(talk, [found]) or format_lessons(found.entries("lessons"))


def skills_steps(talk: Talk, match: re.Match[str]) -> Steps:
    """List the user's skills."""
    [found] = yield (Call(SKILLS, {}),)
    return refusal(talk, [found]) or format_skills(found.as_row)


# --- Risk ---


def _exposed(deployments: Sequence[Row], symbols: Sequence[str] = (), side: str = "") -> list[Row]:
    """Return deployments with matching positions, the largest first."""
    sizes = {
        id(one): sum(
            number(held, "size_usd") or 0
            for held in rows(one, "positions")
            if is_market(exact(held, "symbol"), symbols) and (not side or exact(held, "side") == side)
        )
        for one in deployments
    }
    return sorted((one for one in deployments if sizes[id(one)] > 0), key=lambda one: -sizes[id(one)])


def _ahead_for(deployments: Sequence[Row], hours: int, **more: object) -> tuple[Call, ...]:
    return tuple(
        Call(EVENTS, {"lookaheadHours": hours, "deploymentId": exact(one, "deployment_id"), **more})
        for one in deployments[:_MOST_EXPOSED]
    )


def _worries(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, own(talk)),)
    deployments = found.entries("deployments")
    events = yield _ahead_for(_exposed(deployments), SOON_HOURS)
    told = told_worries(deployments, [one.as_row for one in events], talk.scene.now)
    return refusal(talk, [found]) or paragraphs(told, refusal(talk, events))


def _answer_risk(talk: Talk, match: re.Match[str]) -> Steps:
    [found] = yield (Call(DEPLOYMENTS, own(talk)),)
    deployments = found.entries("deployments")
    events = yield _ahead_for(_exposed(deployments), AHEAD_HOURS)
    told = format_risk(deployments, [one.as_row for one in events])
    return refusal(talk, [found]) or paragraphs(told, refusal(talk, events))


def _answer_effect(talk: Talk, match: re.Match[str]) -> Steps:
    """What an event may do to positions: those of the focus, else those that hold what the question names."""
    kinds, symbols = events_in(match[0]), symbols_in(match[0])
    side = next(iter(re.findall(r"\b(long|short)\b", match[0].lower())), "")
    what = " or ".join(kind.replace("_", " ") if "_" in kind else kind.upper() for kind in kinds)
    if talk.scene.deployment_id:
        meant: list[Row] = [{"deployment_id": talk.scene.deployment_id, "skill_name": talk.scene.focus.get("skill")}]
    else:
        [found] = yield (Call(DEPLOYMENTS, {}),)
        if found.error:
            return refusal(talk, [found])
        meant = _exposed(found.entries("deployments"), symbols, side)
    if not meant:
        [calendar] = yield (Call(EVENTS, {"lookaheadHours": AHEAD_HOURS, "types": kinds}),)
        held = f"{' or '.join(symbols)} {side}".strip()
        told = format_events(calendar.as_row, AHEAD_HOURS)
        return refusal(talk, [calendar]) or f"You hold no open {f'{held} ' if held else ''}position now. {told}"
    events = yield _ahead_for(meant, AHEAD_HOURS, types=kinds)
    told_of = [
        paragraphs(
            f"**{name_of(one)}**" if len(meant) > 1 else "",
            refusal(talk, [outcome]) or told_effect(_narrowed(outcome.as_row, symbols), what, hours=AHEAD_HOURS),
        )
        for one, outcome in zip(meant, events, strict=False)
    ]
    return paragraphs(*told_of)


def _narrowed(result: Row, symbols: Sequence[str]) -> Row:
    """Return the events with the exposure in the symbols that were asked for, or in all where none of them is held."""
    exposed = rows(result, "your_exposure")
    met = [row for row in exposed if is_market(exact(row, "symbol"), symbols)]
    return {**result, "your_exposure": met or exposed}


# --- Patterns: of the whole sentence, in the order in which they are tried ---


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

_QUESTIONS: Final[tuple[tuple[re.Pattern[str], str, Ask], ...]] = (
    (
        any_of(
            rf"(?:what|how|how much) (?:will|would|could|might|does|did|do|can|is|are"
            rf"|should)\b.{{0,80}}?\b(?:{EVENT})\b"
            r".{0,40}?\b(?:do(?:ing)?|mean|affect|impact|hit|move|hurt|matter|cost)\b.{0,80}",
            rf"what (?:happens|will happen|would happen|could happen)\b.{{0,80}}?\b(?:{EVENT})\b.{{0,60}}",
            rf"(?:what(?:'s| is) )?(?:my|the|its) (?:exposure|risk) (?:to|around|on|for|at|from)"
            rf" .{{0,30}}?\b(?:{EVENT})\b"
            r".{0,40}",
            rf"how exposed (?:am i|are we|is it) to .{{0,30}}?\b(?:{EVENT})\b.{{0,40}}",
        ),
        EVENTS,
        _answer_effect,
    ),
    (
        any_of(
            rf"why (?:did|do|have|has|had|would) {_WHO} {_OPENED}{_A_TRADE}.{{0,30}}",
            rf"why (?:is|are|am) (?:{_WHO}|i) (?:still )?(?:long|short|in)\b.{{0,40}}",
            r"why (?:was|were) (?:this|that|the|my)\b(?: [\w/-]+){0,3} opened.{0,20}",
            r"why (?:this|that) (?:position|trade)",
            r"what(?:'s| is| was) (?:the|your|its|their) (?:reason|rationale|thesis|reasoning)"
            r"(?: (?:for|behind|of) (?:this|that|the|my|your|its)\b(?: [\w/-]+){0,3} (?:position|trade|entry))",
        ),
        DEPLOYMENTS,
        _answer_why_opened,
    ),
    (
        any_of(
            rf"why (?:did|has|have|had) {_WHO} {_CLOSED}{_A_TRADE}.{{0,30}}",
            r"why (?:was|were) (?:this|that|the|my)\b(?: [\w/-]+){0,3} (?:closed|exited|stopped out).{0,20}",
        ),
        DEPLOYMENTS,
        _why_closed,
    ),
    (
        any_of(
            rf"what (?:would|will|could|might) make {_WHO} {_CLOSED}{_A_TRADE}.{{0,30}}",
            rf"when (?:will|would|do|does) {_WHO} {_CLOSED}{_A_TRADE}.{{0,30}}",
            r"what(?:'s| is| are) (?:the|its|your) exit(?: (?:rule|plan|condition|conditions|criteria))?",
        ),
        DEPLOYMENTS,
        _answer_what_closes,
    ),
    (
        any_of(
            rf"(?:have|has|had|was|were|did|is|are) (?:{_WHO}|i|any|anything|any(?: of)? (?:my |the )?orders?"
            r"|(?:my|the|your|its) orders?)\b.{0,30}?\b(?:rejected|rejections?|refused|refusals?|declined)\b.{0,40}",
            r"(?:were there |are there |is there )?(?:any |the |my |its |recent |last |latest )+(?:rejections?"
            r"|refusals?"
            r"|rejected orders?|refused orders?)\b.{0,30}",
            r"(?:what|which|why)(?: orders?)? (?:was|were|got|have been|has been)\b.{0,30}?\b(?:rejected"
            r"|refused)\b.{0,30}",
        ),
        DEPLOYMENTS,
        _answer_rejections,
    ),
    (
        any_of(
            r"(?:is there |are there )?any(?:thing| ?thing else| reason)? (?:that )?(?:i should|i need to|i have to|to)"
            r" (?:be )?(?:worr(?:y|ied)|concerned|watch|look out|be careful|know|keep an eye)\b.{0,40}",
            rf"should i (?:be )?(?:worr(?:y|ied)|concerned)(?: about (?:it|anything|{_WHO}|my {_RUNS}))?{NOW}",
            rf"what should i (?:be )?(?:worr(?:y|ied)|concerned|watch|watching|look)(?: out)?(?: about| for)?{NOW}",
            rf"(?:are there |is there )?any (?:problems?|issues?|concerns?|warnings?|red flags?|trouble)"
            rf"(?: with (?:it|anything|my {_RUNS}))?{NOW}",
            rf"(?:is|are) (?:everything|my {_RUNS}|it) (?:ok|okay|fine|all ?right|healthy){NOW}",
        ),
        DEPLOYMENTS,
        _worries,
    ),
    (
        any_of(
            rf"(?:what(?:'s| is| are) )?(?:my|the|its|our) (?:biggest|largest|main|greatest|worst|top|current|open)"
            rf" risks?"
            rf"{NOW}",
            rf"(?:what(?:'s| is) )?my (?:biggest |largest |total |current |open )?exposure{NOW}",
            rf"(?:where am i most|how) exposed(?: am i)?{NOW}",
            rf"how (?:risky|much risk) (?:is|am i|are we)\b(?: (?:my portfolio|it|in|on|at|taking|running"
            rf"|we)){{0,2}}{NOW}",
        ),
        DEPLOYMENTS,
        _answer_risk,
    ),
    (
        any_of(
            r"(?:what (?:are|were) )?(?:my |the |its |our |your )?(?:(?:last|latest|recent|newest|closed|past|previous"
            r"|all|best|worst|\d{1,2}|few|couple of) )+(?:[A-Za-z]{2,10} )?trades?",
            r"(?:what (?:are|were) )?(?:my |its |our )(?:[A-Za-z]{2,10} )?trades",
            r"(?:my |the |its )?trad(?:e|ing) history",
            rf"(?:what|which) trades (?:did|have|has) (?:{_WHO}|i)\b.{{0,40}}",
            rf"what (?:did|have|has) (?:i|you|it|we|my agents?|the agents?) traded?{NOW}",
            rf"how did (?:my|the|its) (?:last|latest|recent)? ?(?:\d{{1,2}} )?trades? (?:go|do|end|perform){NOW}",
        ),
        DEPLOYMENTS,
        _answer_trades,
    ),
    (
        any_of(
            r"(?:what(?:'s| is| are) |are there |do (?:you|i|we) have )?(?:any |the |my |its |our |your |latest "
            r"|last |new"
            rf" |active )*lessons?(?: (?:learn(?:ed|t)|so far|of {_WHO}|from (?:my|its|the) trades))?",
            r"what lessons (?:did|has|have|do|does|are)\b.{0,50}",
            rf"what (?:has|have|did) {_WHO} (?:learn(?:ed|t)?)(?: (?:from (?:my|its|the|your) (?:\w+ )?trades"
            rf"|from (?:it|this|that)|lately|recently|so far|from trading))?",
        ),
        DEPLOYMENTS,
        _answer_lessons,
    ),
    (
        any_of(
            rf"what(?:'s| is| are| do i have)? (?:\w+ )?running"
            rf"(?: and how (?:is|are) (?:it|they|everything) (?:doing|going|performing))?{NOW}",
            rf"how(?:'s|'re| is| are| were| was| have| has| did)(?: all)?(?: of)? (?:my|the|our) (?:[\w-]+ )?{_RUNS}"
            rf" (?:been )?(?:do|doing|going|performing|performed|perform|looking|holding up){NOW}",
            rf"(?:what(?:'s| is) )?(?:the |my )?status(?: of (?:my|the|all) (?:[\w-]+ )?{_RUNS})?",
            r"(?:what|which) (?:deployments?|agents?|bots?|positions?) (?:do i have|are|am i)\b.{0,30}",
            r"(?:what are )?(?:all )?my (?:(?:open|running|current|active) )*(?:deployments?|agents|bots|positions?)",
            rf"(?:what(?:'s| is) )?(?:my|the) (?:current |total |open )?(?:pnl|p&l|profit|profits|loss|losses){NOW}",
            rf"am i (?:up|down|in profit|in the red|in the green|making money|losing money|winning|losing){NOW}",
            rf"(?:do|have) i (?:have |got )?(?:any )?open positions?{NOW}",
        ),
        DEPLOYMENTS,
        _answer_status,
    ),
    (
        any_of(
            rf"how(?:'s| is) (?:it|this|this one|this deployment) (?:doing|performing|going|looking){NOW}",
            rf"how (?:has|have) (?:it|this|this one) been (?:doing|performing|going){NOW}",
            rf"what (?:is|are) (?:it|they|my agents?|the agents?) (?:holding|doing){NOW}",
            rf"what (?:did|has|have) (?:it|my agents?|the agents?|my bots?) (?:do|done|been doing){NOW}",
        ),
        DEPLOYMENTS,
        _answer_this_one,
    ),
    (
        any_of(
            r"how (?:did|does|has|have) (?P<name>(?:my |the |our )?[\w' -]{2,60}?) (?:perform(?:ed|ing)?"
            rf"|been performing|done?)(?: in (?:the )?backtests?)?{NOW}"
        ),
        PERFORMANCE,
        _answer_performance,
    ),
    (
        any_of(rf"how(?:'s| is) (?:my|our) (?P<name>[\w' -]{{2,60}}?) (?:doing|performing){NOW}"),
        PERFORMANCE,
        _answer_performance,
    ),
    (
        any_of(
            r"(?:what(?:'s| is| are|'re) )?(?:the )?(?:performance|results|track record|record|backtest results|stats"
            r"|numbers|win rate|sharpe(?: ratio)?|drawdown) (?:of|for) (?P<name>(?:my |the )?[\w' -]{2,60})"
        ),
        PERFORMANCE,
        _answer_performance,
    ),
)
