"""The coach's questions: one table from shapes to a tool call and its telling.

A row names the tags of the vocabulary that a question must and must not have; the first row that fits answers. What no
row names is a question to the record, for `query_trades`. Precision goes before recall. One message may hold several
questions, drafts and actions; each is answered in turn from the results of its tools.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from chat.tools.questions import QUERY_TRADES
from config.offline.coach import answers, ledger
from config.offline.coach.actions import action_steps, choice_steps, click_steps, order_steps
from config.offline.coach.lookups import (
    DEPLOYMENTS,
    EVENTS,
    MARKETS,
    NEWS,
    PERFORMANCE,
    SKILLS,
    pick_rows,
    tell_refused,
)
from config.offline.coach.words import Words, read_words
from config.offline.drafting.steps import drafting_steps, is_drafting
from config.offline.facts import Call, Outcome
from config.offline.figures import Row, block, exact, listing, number, paragraphs, rows
from config.offline.phrases import TERMS
from config.offline.reading.sentences import QUOTED, Pattern, is_question, sentences, straight, strip_lead_in
from config.offline.talk import Reply, Steps, Talk, follow_steps, one_after_another, say_text
from trading.market.names import is_market
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

AHEAD_HOURS: Final = MAX_EVENT_LOOKAHEAD_HOURS
SOON_HOURS: Final = 24
_MAX_TRADES: Final = 10
_MOST_EXPOSED: Final = 3  # deployments whose exposure is looked up for one answer
_MAX_SENTENCE: Final = 300  # characters; longer ones are prose
_MAX_SENTENCES: Final = 12  # of a message that are read for questions
_MAX_ANSWERS: Final = 3  # to one message

_ASIDE: Final = re.compile(r"^(?:now|so|ok|okay|and|also|then|but|hey|keel|by the way|one more)[,:]?\s+", re.IGNORECASE)
_POLITE: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|will you|i want to know|i'd like to know|i would like to know"
    r"|let me know|do you know|tell me|show me|give me|remind me|check)\b[,:]?\s+)+(?:please\s+)?(?:about\s+)?"
)
_TERM: Final = Pattern(
    r"^(?:what(?:'s| is| are| does| do)|explain|define|what's the meaning of)(?: the| an?)? (?P<term>[\w /-]{1,30}?)"
    r"(?: (?:mean|stand for))?$"
)
_NAMED: Final = Pattern(
    r"""
^how (?:'s|is|are|was|did|does|has|have) (?:(?P<my>my|our) |the )?(?P<one>[\w' -]{2,60}?) (?:been )?(?:doing
    |perform(?:ed|ing)?|done?)\b.{0,20}$
^(?:what(?:'s| is| are) )?(?:the )?(?:performance|results|track record|record|stats|numbers|win rate|sharpe(?: ratio)?
    |drawdown) (?:of|for) (?P<my2>my |the )?(?P<two>[\w' -]{2,60})$
"""
)
_IT: Final = Pattern(r"^(?:it|this|that|skill|strategy|agent|bot|(?:this|that) .*)$")
_STATES: Final = Pattern(r"^(?:I|I'm|we)\b|\b(?:is|are|was|were|has|have|had|am|isn't|aren't)\b")

Ask = Callable[[Talk, Words], Steps]


def answer_as_coach(talk: Talk) -> Reply | None:
    """Answer about agents, markets, drafts and actions; None if nothing matches."""
    answered = click_steps(talk) or choice_steps(talk)
    plans = [answered] if answered is not None else list(_iter_plans(talk))
    return follow_steps(one_after_another(plans[:_MAX_ANSWERS]), talk.results) if plans else None


def _iter_plans(talk: Talk) -> Iterator[Steps]:
    rest: list[str] = []
    found: list[Steps] = []
    for at, sentence in enumerate(sentences(talk.text)):
        is_read = at < _MAX_SENTENCES and len(sentence) <= _MAX_SENTENCE and not QUOTED.match(sentence)
        steps = _read_sentence(talk, sentence) if is_read else None
        rest += [sentence] if steps is None else []
        found += [steps] if steps is not None else []
    draft = drafting_steps(talk, rest)
    yield from [draft] if draft is not None else []
    yield from found


def _read_sentence(talk: Talk, sentence: str) -> Steps | None:
    plain = _ASIDE.sub("", strip_lead_in(straight(sentence))).strip(" .!?;")
    is_asked = sentence.rstrip().endswith("?")
    asked = action_steps(talk, plain)
    asked = question_steps(talk, plain, is_asked=True) if is_asked and asked is None else asked
    asked = asked or order_steps(talk, plain)
    if asked is not None or is_asked or (is_drafting(talk) and not is_question(sentence)):
        return asked
    return question_steps(talk, plain, is_asked=False)


def question_steps(talk: Talk, plain: str, *, is_asked: bool) -> Steps | None:
    """Return the steps that answer a plain sentence, or None."""
    asked = _POLITE.compiled.sub("", plain).strip()
    term = _TERM.match(asked)
    if term and (told := TERMS.get(term["term"].casefold())):
        return say_text(told)
    words = read_words(asked)
    if {QUERY_TRADES.name, MARKETS} <= talk.acts and ledger.is_check(words):
        return ledger.check_steps(talk, words)
    if PERFORMANCE in talk.acts and (name := _find_skill_name(talk, asked, words)):
        return _answer_performance(talk, name)
    if words.unknown or not (is_asked or asked != plain or is_question(plain) or not _STATES.search(asked)):
        return None
    for row in _QUESTIONS:
        is_met = words.has(row.wanted) and row.tool in talk.acts
        if is_met and (row.said is None or row.said.search(asked)):
            return row.ask(talk, words)
    return ledger.query_steps(talk, words) if QUERY_TRADES.name in talk.acts and ledger.is_query(words) else None


def _find_skill_name(talk: Talk, asked: str, words: Words) -> str:
    """Return the skill whose record a question asks for, or ""."""
    match = _NAMED.match(re.sub(r"^(how|what)'s\b", r"\1 is", asked, flags=re.IGNORECASE))
    if match is None:
        return ""
    name, is_how = (match["one"] or match["two"]).strip(" \"“”'"), bool(match["one"]) and "doing" in asked
    if _IT.match(name):
        return name if talk.scene.skill_id and not is_how else ""
    is_named = name[:1].isupper() and not words.symbols
    return name if is_named or (words.unknown and (match["my"] or match["two"] or not is_how)) else ""


# --- Several lookups ---


def _answer_performance(talk: Talk, name: str) -> Steps:
    name = re.sub(r"\s+(?:skill|strategy|agent|bot)$", "", name, flags=re.IGNORECASE)
    skill_id = talk.scene.skill_id if _IT.match(name) else ""
    if not skill_id:
        [listed] = yield (Call(SKILLS, {}),)
        skills = listed.entries("skills")
        meant = skills if _IT.match(name) else pick_rows(name, skills, "name")
        if listed.error or not skills:
            return tell_refused(talk, [listed]) or answers.format_skills(listed.as_row)
        if len(meant) != 1:
            said = "Which skill do you mean?" if meant else f"I find no skill called “{name[:80]}”."
            return f"{said} Yours:\n\n{listing([exact(one, 'name') for one in skills])}"
        skill_id = exact(meant[0], "skill_id")
    [found] = yield (Call(PERFORMANCE, {"skill_id": skill_id}),)
    return tell_refused(talk, [found]) or answers.format_performance(found.as_row)


def _own(talk: Talk) -> dict[str, Any]:
    return {"deployment_id": talk.scene.deployment_id} if talk.scene.deployment_id else {}


def _list_exposed(deployments: list[Row], symbols: list[str], side: str) -> list[Row]:
    """Return deployments with positions that the words can mean, the largest first."""
    sizes = {id(one): sum(number(held, "size_usd") or 0 for _, held in answers.list_positions([one], symbols)
                          if not side or exact(held, "side") in side) for one in deployments}  # fmt: skip
    return sorted((one for one in deployments if sizes[id(one)] > 0), key=lambda one: -sizes[id(one)])


def _ask_ahead(deployments: list[Row], hours: int, **more: object) -> tuple[Call, ...]:
    ids = [exact(one, "deployment_id") for one in deployments[:_MOST_EXPOSED]]
    return tuple(Call(EVENTS, {"lookaheadHours": hours, "deploymentId": one, **more}) for one in ids)


def _answer_risk(talk: Talk, words: Words) -> Steps:
    """Name the largest position, or what stands out, and the events ahead."""
    is_worry = "worry" in words.tags or "mood" in words.tags
    [found] = yield (Call(DEPLOYMENTS, _own(talk)),)
    deployments = found.entries("deployments")
    events = yield _ask_ahead(_list_exposed(deployments, [], ""), SOON_HOURS if is_worry else AHEAD_HOURS)
    ahead = [one.as_row for one in events]
    told = answers.format_risk(deployments, ahead)
    if is_worry:
        told = answers.format_worries(deployments, ahead, talk.scene.now)
    return tell_refused(talk, [found]) or paragraphs(told, tell_refused(talk, events))


def _answer_effect(talk: Talk, words: Words) -> Steps:
    """Answer an event's effect on positions of the focus or question."""
    kinds, symbols, side = words.kinds, words.symbols, words.given.get("side", "")
    what = " or ".join(kind.replace("_", " ") if "_" in kind else kind.upper() for kind in kinds)
    types = {"types": kinds} if kinds else {}
    meant: list[Row] = [{**_own(talk), "skill_name": talk.scene.focus.get("skill")}]
    if not talk.scene.deployment_id:
        [found] = yield (Call(DEPLOYMENTS, {}),)
        if found.error:
            return tell_refused(talk, [found])
        meant = _list_exposed(found.entries("deployments"), symbols, side)
    if not meant:
        [calendar] = yield (Call(EVENTS, {"lookaheadHours": AHEAD_HOURS, **types}),)
        held = " ".join(part for part in (" or ".join(symbols), side, "position") if part)
        return tell_refused(talk, [calendar]) or f"You hold no open {held} now. {_tell_events(calendar, words)}"
    events = yield _ask_ahead(meant, AHEAD_HOURS, **types)
    told = []
    for one, outcome in zip(meant, events, strict=False):
        exposed = rows(outcome.as_row, "your_exposure")
        met = [row for row in exposed if is_market(exact(row, "symbol"), symbols)] or exposed
        effect = answers.format_effect({**outcome.as_row, "your_exposure": met}, what, AHEAD_HOURS)
        told += [f"**{answers.name_of(one)}**"] if len(meant) > 1 else []
        told.append(tell_refused(talk, [outcome]) or effect)
    return paragraphs(*told)


def _answer_why(talk: Talk, words: Words) -> Steps:
    """Quote the notes of the trade in focus, of what is open or of the last trade."""
    trade_id = "" if words.symbols else talk.scene.focus.get("trade_id", "")
    [found] = yield (Call(DEPLOYMENTS, {**_own(talk), "detail": "trades"}),)
    deployments = found.entries("deployments")
    trades = [one for one in found.entries("trades") if is_market(exact(one, "symbol"), words.symbols)]
    held = [row for _, row in answers.list_positions(deployments, words.symbols)]
    meant = trades[:1] if words.has("close|exit=stop") else held
    if trade_id:
        meant = [row for row in (*trades, *held) if exact(row, "trade_id") == trade_id]
    if trade_id and not meant and not found.error:
        return f"This trade: {talk.scene.focus.get('trade', '')}. Its page has the reasons."
    return tell_refused(talk, [found]) or answers.format_why(meant, deployments)


# --- One lookup ---


def _tell_trades(found: Outcome, words: Words) -> str:
    trades = [one for one in found.entries("trades") if is_market(exact(one, "symbol"), words.symbols)]
    is_one = re.search(r"\b(?:last|latest|newest) (?:\w+ )?trade\b", words.text, re.IGNORECASE)
    amount = next((int(said) for said in words.numbers if said.isdecimal()), _MAX_TRADES)
    return answers.format_trades(trades, 1 if is_one else max(1, amount))


def _hours_ahead(words: Words) -> int:
    return SOON_HOURS if words.given.get("period") == "today" else AHEAD_HOURS


def _tell_events(found: Outcome, words: Words) -> str:
    events, hours = found.entries("events"), _hours_ahead(words)
    listed = f"Scheduled in the next {hours} hours:\n\n{listing([answers.format_event(one) for one in events])}"
    is_longer = re.search(r"week|month", words.given.get("period", ""))
    more = f"I see {AHEAD_HOURS} hours ahead; the calendar page has more." if is_longer else ""
    return paragraphs(listed if events else f"No event of weight is scheduled in the next {hours} hours.", more)


def _hours_back(words: Words) -> int:
    return 168 if "week" in words.given.get("period", "") or "week" in words.text else 24


def _tell_news(found: Outcome, words: Words) -> str:
    hours, told = _hours_back(words), answers.tell_rows("news", found.entries("news"))
    quoted = f"News of the last {hours} hours, quoted as their sources have them:\n\n{told}"
    return quoted if told else f"No news in the last {hours} hours."


def _tell_tests(found: Outcome, words: Words) -> str:
    skills = sorted(found.entries("skills"), key=lambda one: exact(block(one, "last_simulation"), "ends_at"))
    if not skills:
        return answers.format_skills(found.as_row)
    is_next = words.has("next|test")
    one = skills[0 if is_next else -1]
    first = "The one whose last backtest is oldest or missing: " if is_next else ""
    return f"{first}**{exact(one, 'name')}**: {answers.format_test(one)}."


_MARKET_FIELDS: Final = {
    **{"funding": "funding_rate_pct", "basis": "basis_pct", "vol": "realised_vol_pct"},
    **{"regime": "regime", "price": "last_price"},
}


def _tell_markets(found: Outcome, words: Words) -> str:
    field = next((key for tag, key in _MARKET_FIELDS.items() if tag in words.tags), "")
    return answers.format_markets(found.as_row, field)


def _tell_money(found: Outcome, words: Words) -> str:
    kinds = sorted({exact(one, "broker_kind") for one in found.entries("deployments")})
    runs = f"Your deployments run on: {', '.join(kinds)}." if kinds else "You have no deployment."
    return f"{runs} Paper means simulated fills and no real money; only a deployment marked live trades money."


def _look_up(tool: str, tell: Callable[[Outcome, Words], str], detail: str = "") -> Ask:
    def ask(talk: Talk, words: Words) -> Steps:
        coins = {"symbols": words.symbols} if words.symbols else {}
        is_own = (detail or words.has("it|you|reject -agent")) and "running" not in words.tags
        arguments: dict[str, dict[str, Any]] = {
            DEPLOYMENTS: {**(_own(talk) if is_own else {}), **({"detail": detail} if detail else {})},
            MARKETS: coins,
            NEWS: {**coins, "lookbackHours": _hours_back(words)},
            EVENTS: {**coins, "lookaheadHours": _hours_ahead(words), **({"types": words.kinds} if words.kinds else {})},
        }
        [found] = yield (Call(tool, arguments.get(tool, {})),)
        return tell_refused(talk, [found]) or tell(found, words)

    return ask


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table."""

    wanted: str  # tags, as `Words.has` reads them
    ask: Ask
    tool: str = DEPLOYMENTS  # that the chat must have
    said: re.Pattern[str] | None = None  # words that it must have beside


_STATUS: Final = _look_up(DEPLOYMENTS, lambda found, words: answers.format_deployments(found.entries("deployments")))
_TRADES: Final = _look_up(DEPLOYMENTS, _tell_trades, "trades")
_MARKET: Final = _look_up(MARKETS, _tell_markets)
_TESTS: Final = _look_up(SKILLS, _tell_tests)
_SKILLS: Final = _look_up(SKILLS, lambda found, words: answers.format_skills(found.as_row))
_CALENDAR: Final = _look_up(EVENTS, _tell_events)
_CLOSES: Final = _look_up(
    DEPLOYMENTS,
    lambda found, words: answers.format_what_closes(
        found.entries("deployments"), found.entries("trades"), words.symbols
    ),
    "trades",
)
_REFUSED: Final = _look_up(DEPLOYMENTS, lambda found, words: answers.format_rejections(found.entries("deployments")))
_LESSONS: Final = _look_up(
    DEPLOYMENTS, lambda found, words: answers.format_lessons(found.entries("lessons")), "lessons"
)
_MEASURED: Final = "-net -fees -count -win_rate -expectancy -result -holding -average -top -low"
_QUESTIONS: Final = (
    Question("paper", _look_up(DEPLOYMENTS, _tell_money)),
    Question("kind effect|risk me|position|it|side -trade", _answer_effect, EVENTS),
    Question("event effect|risk -trade", _answer_effect, EVENTS),
    Question("kind effect -coin -trade", _answer_effect, EVENTS),
    Question("why close|exit=stop -trust", _answer_why),
    Question("why open|side|position|trade -reject -trust", _answer_why),
    Question("close it|agent|you|position -count -trade -net -last", _CLOSES, said=re.compile(r"(?i)^(?:what|when)\b")),
    Question("reject", _REFUSED),
    Question("worry -trade", _answer_risk),
    Question("mood agent|position -trade", _answer_risk),
    Question("risk -trade -per -rule -stop -number -result", _answer_risk),
    Question("learn", _LESSONS),
    Question("backtest", _TESTS, SKILLS),
    Question("skill test|next", _TESTS, SKILLS),
    Question(f"trade last|show|all|number -group -per -versus -learn -common -doing {_MEASURED}", _TRADES),
    Question(
        f"trade -group -per -versus -side -period -coin -trust -doing -rule {_MEASURED}",
        _TRADES,
        said=re.compile(r"(?i)^(?:my |its |the )?(?:trades|trading history)$|trades (?:did|has|have)\b"),
    ),
    Question("trade last -doing -learn -why", _TRADES, said=re.compile(r"(?i)\blast trade\b")),
    Question("news", _look_up(NEWS, _tell_news), NEWS),
    Question("event -trade", _CALENDAR, EVENTS),
    Question("kind -trade -me -effect", _CALENDAR, EVENTS, re.compile(r"(?i)^(?:when|what time|is there|any)")),
    Question(
        f"coin price|vol|basis|regime|funding|doing|market -me -trade -fees -pay -side {_MEASURED}", _MARKET, MARKETS
    ),
    Question("market -trade -me -group -net", _MARKET, MARKETS),
    Question("funding -me -pay -trade -top", _MARKET, MARKETS),
    Question(
        f"coin -me -trade -side -risk -effect -kind -open -close -order -stop -number -group -performance {_MEASURED}",
        _MARKET,
        MARKETS,
        re.compile(r"(?i)^(?:how|what)"),
    ),
    Question(f"skill|draft -doing -trade -performance {_MEASURED}", _SKILLS, SKILLS),
    Question("skill count -trade -net", _SKILLS, SKILLS),
    Question("running|unrealised|holding_now -trade -count", _STATUS),
    Question(f"open -me -why -coin -trade -close -side {_MEASURED}", _STATUS, said=re.compile(r"(?i)^what")),
    Question(f"position|agent -trade -close -rule -performance -period {_MEASURED}", _STATUS),
    Question(f"agent|position|skill doing -trade {_MEASURED}", _STATUS),
    Question(f"it doing -trade -me {_MEASURED}", _STATUS),
)
