"""The coach's questions: one table from shapes to a tool call and its telling.

A row names the tags of the vocabulary that a question must and must not have; the first row that fits answers. What no
row names is a question to the record, for `query_trades`. Precision goes before recall. One message may hold several
questions, drafts and actions; each is answered in turn from the results of its tools.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from chat.tools.questions import QUERY_TRADES
from config.offline.coach import ledger
from config.offline.coach.actions import action_steps, choice_steps, click_steps, find_skill, order_steps
from config.offline.coach.telling import (
    AHEAD_HOURS,
    DEPLOYMENTS,
    EVENTS,
    MARKETS,
    NAME,
    NEWS,
    PERFORMANCE,
    VIEWS,
    join_exposure,
    list_positions,
    tell,
    tell_risk,
)
from config.offline.coach.words import Words, read_words
from config.offline.drafting.steps import drafting_steps, is_drafting
from config.offline.facts import Call
from config.offline.figures import Row, block, exact, fill, number, paragraphs, rows
from config.offline.phrases import TERMS
from config.offline.reading.sentences import QUOTED, Pattern, is_question, sentences, spell_out, straight, strip_lead_in
from config.offline.talk import Reply, Steps, Talk, follow_steps, one_after_another, say_text
from trading.market.names import is_market

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
    |perform(?:ed|ing)?|do(?:ne)?)\b.{0,20}$
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
    plain = spell_out(_ASIDE.sub("", strip_lead_in(straight(sentence)))).strip(" .!?;")
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
    if not words.is_covered or not (is_asked or asked != plain or is_question(plain) or not _STATES.search(asked)):
        return None
    for wanted, answer, said in _QUESTIONS:
        tool = VIEWS[answer].tool if isinstance(answer, str) else answer[0]
        if words.has(wanted) and tool in talk.acts and re.search(said, asked, re.IGNORECASE):
            return _look_up(talk, words, answer) if isinstance(answer, str) else answer[1](talk, words)
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
    return name if is_named or (not words.is_covered and (match["my"] or match["two"] or not is_how)) else ""


def _look_up(talk: Talk, words: Words, view: str) -> Steps:
    """Call the tool of a view and tell its result."""
    tool, detail = VIEWS[view].tool, VIEWS[view].detail
    coins = {"symbols": words.symbols} if words.symbols else {}
    is_own = (detail or words.has("it|you|reject -agent")) and "running" not in words.tags
    arguments: dict[str, dict[str, Any]] = {
        DEPLOYMENTS: {**(_own(talk) if is_own else {}), **({"detail": detail} if detail else {})},
        MARKETS: coins,
        NEWS: {**coins, "lookbackHours": words.hours_back},
        EVENTS: {**coins, "lookaheadHours": words.hours_ahead, **({"types": words.kinds} if words.kinds else {})},
    }
    [found] = yield (Call(tool, arguments.get(tool, {})),)
    result = found.as_row
    if words.has("backtest|test|next") and view == "skills":  # the newest one, or the one that waits longest
        listed = sorted(rows(result, view), key=lambda one: exact(block(one, "last_simulation"), "ends_at"))
        result = {view: listed[:1] if words.has("test|next") else listed[-1:]}
    return talk.tell_errors([found]) or paragraphs(tell(view, result, words), tell("drafts", result))


# --- Several lookups ---


def _answer_performance(talk: Talk, name: str) -> Steps:
    name = re.sub(r"\s+(?:skill|strategy|agent|bot)$", "", name, flags=re.IGNORECASE)
    skill_id = yield from find_skill(talk, "" if _IT.match(name) else name)
    if not isinstance(skill_id, str):
        return skill_id[0]
    [found] = yield (Call(PERFORMANCE, {"skill_id": skill_id}),)
    by_kind = block(found.as_row, "summary")
    records = [{**block(by_kind, kind), "mode": kind.capitalize()} for kind in ("live", "paper", "backtest")]
    told = tell("records", {**found.as_row, "records": [one for one in records if len(one) > 1]})
    return talk.tell_errors([found]) or told


def _own(talk: Talk) -> dict[str, Any]:
    return {"deployment_id": talk.scene.deployment_id} if talk.scene.deployment_id else {}


def _list_exposed(deployments: list[Row], symbols: Sequence[str] = (), side: str = "") -> list[Row]:
    """Return deployments with positions that the words can mean, the largest first."""
    sizes = [(sum(number(held, "size_usd") or 0 for _, held in list_positions([one], symbols)
                  if not side or exact(held, "side") in side), one) for one in deployments]  # fmt: skip
    return [one for size, one in sorted(sizes, key=lambda pair: -pair[0]) if size > 0]


def _ask_ahead(deployments: list[Row], hours: int, **more: object) -> tuple[Call, ...]:
    ids = [exact(one, "deployment_id") for one in deployments[:_MOST_EXPOSED]]
    return tuple(Call(EVENTS, {"lookaheadHours": hours, "deploymentId": one, **more}) for one in ids)


def _answer_risk(talk: Talk, words: Words) -> Steps:
    """Name the largest position, what stands out and the events ahead."""
    [found] = yield (Call(DEPLOYMENTS, _own(talk)),)
    deployments = found.entries("deployments")
    events = yield _ask_ahead(_list_exposed(deployments), AHEAD_HOURS)
    told = tell_risk(deployments, [one.as_row for one in events], talk.scene.now)
    return talk.tell_errors([found]) or paragraphs(told, talk.tell_errors(events))


def _answer_effect(talk: Talk, words: Words) -> Steps:
    """Answer an event's effect on positions of the focus or question."""
    kinds, side = words.kinds, words.given.get("side", "")
    types = {"types": kinds} if kinds else {}
    meant: list[Row] = [{**_own(talk), "skill_name": talk.scene.focus.get("skill")}]
    if not talk.scene.deployment_id:
        [found] = yield (Call(DEPLOYMENTS, {}),)
        if found.error:
            return talk.tell_errors([found])
        meant = _list_exposed(found.entries("deployments"), words.symbols, side)
    calls = _ask_ahead(meant, AHEAD_HOURS, **types) or (Call(EVENTS, {"lookaheadHours": AHEAD_HOURS, **types}),)
    events = yield calls
    held = " ".join(part for part in (" or ".join(words.symbols), side, "position") if part)
    parts = [] if meant else [f"You hold no open {held} now."]
    for one, outcome in zip(meant or [{}], events, strict=False):
        parts += [f"**{fill(NAME, one)}**"] if len(meant) > 1 else []
        told = tell("events", {"events": join_exposure(outcome.as_row, words.symbols)})
        parts.append(talk.tell_errors([outcome]) or told)
    return paragraphs(*parts)


def _answer_why(talk: Talk, words: Words) -> Steps:
    """Quote the notes of the trade in focus, of what is open or of the last trade."""
    trade_id = "" if words.symbols else talk.scene.focus.get("trade_id", "")
    [found] = yield (Call(DEPLOYMENTS, {**_own(talk), "detail": "trades"}),)
    trades = [one for one in found.entries("trades") if is_market(exact(one, "symbol"), words.symbols)]
    held = [row for _, row in list_positions(found.entries("deployments"), words.symbols)]
    meant = trades[:1] if words.has("close|exit=stop") else held
    if trade_id:
        meant = [row for row in (*trades, *held) if exact(row, "trade_id") == trade_id]
    if trade_id and not meant and not found.error:
        return f"This trade: {talk.scene.focus.get('trade', '')}. Its page has the reasons."
    return talk.tell_errors([found]) or tell("why", {"trades": meant})


_RISK: Final = (DEPLOYMENTS, _answer_risk)
_EFFECT: Final = (EVENTS, _answer_effect)
_WHY: Final = (DEPLOYMENTS, _answer_why)
_MEASURED: Final = "-net -fees -count -win_rate -expectancy -result -holding -average -top -low"
# Tags that a question must and must not have; a view, or a tool with the steps of several; a pattern that it must meet.
_QUESTIONS: Final[tuple[tuple[str, str | tuple[str, Ask], str], ...]] = (
    ("paper", "paper", ""),
    ("kind effect|risk me|position|it|side -trade", _EFFECT, ""),
    ("event effect|risk -trade", _EFFECT, ""),
    ("kind effect -coin -trade", _EFFECT, ""),
    ("why close|exit=stop -trust", _WHY, ""),
    ("why open|side|position|trade -reject -trust", _WHY, ""),
    ("close it|agent|you|position -count -trade -net -last", "closing", r"^(?:what|when)\b"),
    ("reject", "refused", ""),
    ("worry -trade", _RISK, ""),
    ("mood agent|position -trade", _RISK, ""),
    ("risk -trade -per -rule -stop -number -result -you", _RISK, ""),
    ("learn", "lessons", ""),
    ("backtest", "skills", ""),
    ("skill test|next", "skills", ""),
    (f"trade last|show|all|number -group -per -versus -learn -common -doing {_MEASURED}", "trades", ""),
    (
        f"trade -group -per -versus -side -period -coin -trust -doing -rule {_MEASURED}",
        "trades",
        r"^(?:my |its |the )?(?:trades|trading history)$|trades (?:did|has|have)\b",
    ),
    ("trade last -doing -learn -why", "trades", r"\blast trade\b"),
    ("news", "news", ""),
    ("event -trade", "events", ""),
    ("kind -trade -me -effect", "events", "^(?:when|what time|is there|any)"),
    (f"coin price|vol|basis|regime|funding|doing|market -me -trade -fees -pay -side {_MEASURED}", "markets", ""),
    ("market -trade -me -group -net", "markets", ""),
    ("funding -me -pay -trade -top", "markets", ""),
    (
        f"coin -me -trade -side -risk -effect -kind -open -close -order -stop -number -group -performance {_MEASURED}",
        "markets",
        "^(?:how|what)",
    ),
    (f"skill|draft -doing -trade -performance {_MEASURED}", "skills", ""),
    ("skill count -trade -net", "skills", ""),
    ("running|unrealised|holding_now -trade -count", "status", ""),
    (f"open -me -why -coin -trade -close -side {_MEASURED}", "status", "^what"),
    (f"position|agent -trade -close -rule -performance -period {_MEASURED}", "status", ""),
    (f"agent|position|skill doing -trade {_MEASURED}", "status", ""),
    (f"it doing -trade -me {_MEASURED}", "status", ""),
)
