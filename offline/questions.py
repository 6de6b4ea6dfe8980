"""The coach's questions: one table from shapes to a tool call, whose result `telling` renders.

A row names the tags of the vocabulary that a question must and must not have; the first row that fits answers.
Precision goes before recall. One message may hold several questions, drafts and actions; each is answered in turn from
the results of its tools.
"""

import re
from collections.abc import Callable, Sequence
from datetime import timedelta
from math import ceil
from typing import Any, Final

from chat.tools.deployments import get_my_deployments
from chat.tools.market import get_market_overview, get_recent_news, get_upcoming_events
from chat.tools.questions import query_trades
from chat.tools.skills import list_my_skills
from config.lib.words.lexer import find_phrases, read_tokens, skip_phrases
from config.lib.words.markets import is_market
from config.lib.words.quantities import word_set
from config.lib.words.sentences import QUOTED, is_question, sentences, spell_out, straight, strip_lead_in, strip_preface
from memory.claims.wishes import read_contrast
from offline import sizing, telling
from offline.actions import action_steps, click_steps, order_steps
from offline.drafting import drafting_steps, is_drafting
from offline.messages import Call
from offline.talk import ModelReply, Steps, Talk, follow_steps, one_after_another, say_text
from offline.telling import TERMS, VIEWS, Row, block, exact, list_inside, number, paragraphs, parse_instant, rows, tell
from trading.asking.in_words import read_question
from trading.asking.query import MEASURES
from trading.asking.words import Words, find_window, read_words
from trading.skills.schemas import MAX_EVENT_LOOKAHEAD_HOURS

_MOST_EXPOSED: Final = 3  # deployments whose exposure is looked up for one answer
_MAX_SENTENCE: Final = 300  # characters; longer ones are prose
_MAX_SENTENCES: Final = 12  # of a message that are read for questions
_MAX_ANSWERS: Final = 3  # to one message

_LIKE: Final = ("symbol", "side", "regime", "exit")  # groups in which losing trades may be alike

_ENDINGS: Final = (" mean", " stand for", " strategy", " trade", " trading")  # of a question for a term
_COMMANDS: Final = "^show|^list|^count|^rank|^compare|^break|^split|^summarise|^summarize"
_WHILE: Final = re.compile(r"\s+while (?:I|we)\b.*$", re.IGNORECASE)  # what else the person does
_STATES: Final = word_set("is are was were has have had am not")


def answer_as_coach(talk: Talk) -> ModelReply | None:
    """Answer about agents, markets, drafts and actions; None if nothing matches."""
    plans = [click_steps(talk)]
    if plans == [None]:
        # A draft takes the sentences that ask nothing.
        read = [(one, _read_sentence(talk, one, at)) for at, one in enumerate(sentences(talk.text))]
        draft = drafting_steps(talk, [sentence for sentence, steps in read if steps is None])
        plans = [draft, *(steps for _, steps in read)]
    steps = [plan for plan in plans if plan is not None][:_MAX_ANSWERS]
    return follow_steps(one_after_another(steps), talk.results) if steps else None


def _read_sentence(talk: Talk, sentence: str, at: int) -> Steps | None:
    if at >= _MAX_SENTENCES or len(sentence) > _MAX_SENTENCE or QUOTED.match(sentence):
        return None
    plain = spell_out(skip_phrases(strip_lead_in(straight(sentence)), "ASIDE")).strip(" .!?;")
    is_asked = sentence.rstrip().endswith("?")
    asked = action_steps(talk, plain)
    asked = _question_steps(talk, plain, is_asked=True) if is_asked and asked is None else asked
    is_rule = is_drafting(talk) and any(find_phrases(plain, "WHEN", "AFTER", "UNDER", "OVER"))
    asked = asked or (None if is_rule else order_steps(talk, plain))
    if asked is not None or is_asked or (is_drafting(talk) and not is_question(sentence)):
        return asked
    return _question_steps(talk, plain, is_asked=False)


def _question_steps(talk: Talk, plain: str, *, is_asked: bool) -> Steps | None:
    """Return the steps that answer a plain sentence, or None."""
    asked = _WHILE.sub("", skip_phrases(plain, "POLITE", "TELL"))
    if told := _find_term(asked.casefold()):
        return say_text(told)
    words = read_words(asked)
    if {query_trades.name, get_market_overview.name} <= talk.acts and sizing.is_check(words):
        return sizing.check_steps(talk, words)
    if not (is_asked or asked != plain or is_question(plain) or words.has(_COMMANDS)):
        said = [token.text for token in read_tokens(strip_preface(asked))]
        if said[:1] in (["i"], ["i'm"], ["we"]) or not _STATES.isdisjoint(said) or read_contrast(asked):
            return None  # a statement
    for view, wanted in _QUESTIONS if words.is_covered else ():
        if words.has(wanted) and VIEWS[view].tool in talk.acts:
            return _SEVERAL.get(view, _look_up)(talk, words, view)
    return None


def _find_term(asked: str) -> str:
    """Return what a term means that is asked for; "" for another question."""
    term = skip_phrases(asked, "DEFINE") if asked.startswith(("what", "explain", "define")) else ""
    for ending in _ENDINGS:
        term = term.removesuffix(ending)
    return TERMS.get(term) or TERMS.get(term.removesuffix("s"), "")


def _look_up(talk: Talk, words: Words, view: str) -> Steps:
    """Call the tool of a view and tell its result."""
    tool, detail = VIEWS[view].tool, VIEWS[view].detail
    coins = {"symbols": words.symbols} if words.symbols else {}
    is_own = (detail or words.has("it|you|reject -agent -paper")) and "running" not in words.tags
    arguments: dict[str, dict[str, Any]] = {
        get_my_deployments.name: {**(_own(talk) if is_own else {}), **({"detail": detail} if detail else {})},
        get_market_overview.name: coins,
        get_recent_news.name: {**coins, "lookbackHours": 168 if "week" in words.text.casefold() else 24},
    }
    [found] = yield (Call(tool, arguments.get(tool, {})),)
    result = found.as_row
    listed = rows(result, VIEWS[view].key) or list_inside(result, VIEWS[view].key)
    if view in ("trades", "closing"):
        listed = _pick_market(listed, words)
    live = next((kind for one in listed if (kind := exact(one, "broker_kind")) != "paper"), "")
    if tool == list_my_skills.name:
        listed.sort(key=lambda one: exact(block(one, "last_simulation"), "ends_at"), reverse=view == "skills")
    told = tell(view, {**result, "live": live}, listed, (words.amount if view == "trades" else 0) or 10)
    return talk.tell_errors([found]) or paragraphs(told, tell("open_drafts", result))


def _own(talk: Talk) -> dict[str, Any]:
    return {key: value for key, value in talk.scene.focus.items() if key == "deployment_id"}


# --- Several lookups ---


def _answer_risk(talk: Talk, words: Words, view: str) -> Steps:
    """Tell the positions that are meant, what was refused and what events did to such positions."""
    [found] = yield (Call(get_my_deployments.name, _own(talk)),)
    if found.error or not found.entries("deployments"):
        return talk.tell_errors([found]) or tell(view, {})
    side = words.given.get("side") or "long,short"
    held = [one for one in _pick_market(list_inside(found.as_row, "positions"), words) if exact(one, "side") in side]
    held.sort(key=lambda one: -(number(one, "size_usd") or 0))
    ids = list(dict.fromkeys(exact(one, "deployment_id") for one in held))[:_MOST_EXPOSED]
    events = yield from _answer_events(talk, words, "events", [{"deploymentId": one} for one in ids])
    refused = list_inside(found.as_row, "recent_rejections")
    rejections = tell("recent_rejections", {}, refused) if refused else ""
    return paragraphs(tell(view, found.as_row, held), rejections, events)


def _answer_events(talk: Talk, words: Words, view: str, asked: Sequence[Row] = ()) -> Steps:
    """Tell the events of the window that is meant, as far as the tool looks ahead."""
    now = talk.scene.now
    window = find_window(words, now) if now else None
    hours = ceil((window[1] - now) / timedelta(hours=1)) if window and now else MAX_EVENT_LOOKAHEAD_HOURS
    limits: dict[str, Any] = {"lookaheadHours": min(hours, MAX_EVENT_LOOKAHEAD_HOURS)}
    limits |= {"types": words.kinds} if words.kinds else {}
    asked = asked or [{"symbols": words.symbols} if words.symbols else {}]
    looked = yield tuple(Call(get_upcoming_events.name, {**one, **limits}) for one in asked)
    exposed = [row for outcome in looked for row in _pick_market(outcome.entries("your_exposure"), words)]
    events = {exact(event, "event_id"): event for outcome in looked for event in outcome.entries("events")}
    told = {**looked[0].as_row, "window": f"in the next {limits['lookaheadHours']} hours"}
    if hours > MAX_EVENT_LOOKAHEAD_HOURS:
        told["beyond"] = f"I look at most {MAX_EVENT_LOOKAHEAD_HOURS} hours ahead, and your question reaches further."
    elif window:
        first, end, told["window"] = window
        at = {key: parse_instant(exact(one, "scheduled_at")) or first for key, one in events.items()}
        events = {key: one for key, one in events.items() if first <= at[key] < end}
    ahead = [
        {**event, "your_exposure": [row for row in exposed if exact(row, "event_id") == event_id]}
        for event_id, event in events.items()
    ]
    return talk.tell_errors(looked) or tell(view, told, ahead)


def _answer_help(talk: Talk, words: Words, view: str) -> Steps:
    """Compare the trades before the oldest lesson in use with those since."""
    [found] = yield (Call(get_my_deployments.name, {**_own(talk), "detail": "lessons"}),)
    written = [at for note in found.entries("lessons") if (at := parse_instant(exact(note, "generated_at")))]
    if not written:
        return talk.tell_errors([found]) or tell("lessons", {})
    own = talk.scene.focus.get("deployment_id")
    where = {"deployment": own} if own else {}
    day = min(written).date()
    periods = (f"until {day - timedelta(days=1)}", f"since {day}")
    asked = [{"measure": "expectancy", "period": period, "where": where} for period in periods]
    told = yield from ask_record(talk, words, asked)
    return paragraphs(telling.SAYS["since the lessons"].format(day=day), told, telling.SAYS["no proof"])


def _answer_why(talk: Talk, words: Words, view: str) -> Steps:
    """Quote the notes of the trade in focus, of what is open or of the last trade."""
    trade_id = "" if words.symbols else talk.scene.focus.get("trade_id", "")
    [found] = yield (Call(get_my_deployments.name, {**_own(talk), "detail": VIEWS[view].detail}),)
    trades, held = found.entries("trades"), list_inside(found.as_row, "positions")
    meant = _pick_market(trades, words)[:1] if words.has("close|exit=stop") else _pick_market(held, words)
    if trade_id:
        meant = [one for one in (*trades, *held) if exact(one, "trade_id") == trade_id]
    if trade_id and not meant and not found.error:
        return f"This trade: {talk.scene.focus.get('trade', '')}. Its page has the reasons."
    return talk.tell_errors([found]) or tell(view, found.as_row, meant)


def _pick_market(listed: list[Row], words: Words) -> list[Row]:
    return [one for one in listed if is_market(exact(one, "symbol"), words.symbols)]


def query_steps(talk: Talk, words: Words, view: str) -> Steps:
    """Return the steps that ask the record and tell its answer."""
    where = read_question(words)
    first = {key: where.pop(key, "") for key in ("measure", "period", "group")}
    if words.has("it -me") and "deployment_id" in talk.scene.focus:
        where["deployment"] = talk.scene.focus["deployment_id"]
    groups = _LIKE if "common" in words.tags else (first["group"],)
    return (yield from ask_record(talk, words, [{**first, "where": where, "group": one} for one in groups]))


def ask_record(talk: Talk, words: Words, asked: Sequence[Row]) -> Steps:
    """Ask the record several questions and tell the answers."""
    found = yield tuple(Call(query_trades.name, {key: one[key] for key in one if one[key]}) for one in asked)
    told = [part for outcome in found for part in telling.list_record_parts(outcome.as_row, words) if not outcome.error]
    return paragraphs(talk.tell_errors(found), *dict.fromkeys(told))


_SEVERAL: Final[dict[str, Callable[[Talk, Words, str], Steps]]] = {
    "risk": _answer_risk,
    "events": _answer_events,
    "help": _answer_help,
    "why": _answer_why,
    "record": query_steps,
}
_MEASURES: Final = "|".join(MEASURES)
_QUESTIONS: Final = [
    row.split(": ") for row in telling.TEXTS["questions"].replace("<measures>", _MEASURES).strip().splitlines()
]
