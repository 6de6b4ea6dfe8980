"""Questions about the record, agents and markets: one table from shapes to a tool call and its telling.

A row names the tags of the vocabulary that a question must and must not have; the first row that fits answers. What no
row names is a question to the record, for `query_trades`. Precision goes before recall.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from chat.tools.market import GET_MARKET_OVERVIEW, GET_RECENT_NEWS
from chat.tools.questions import QUERY_TRADES
from chat.tools.skills import GET_SKILL_PERFORMANCE, LIST_MY_SKILLS
from config.lib.text import normal_form
from config.offline.coach import answers, ledger
from config.offline.coach.risk import (
    AHEAD_HOURS,
    DEPLOYMENTS,
    EVENTS,
    SOON_HOURS,
    answer_effect,
    answer_risk,
    own,
    refusal,
)
from config.offline.coach.words import Words, read_words
from config.offline.facts import Call, Known, Outcome, best_matches
from config.offline.figures import Row, exact, listing, paragraphs
from config.offline.phrases import TERMS
from config.offline.reading.sentences import Pattern, is_question
from config.offline.talk import Steps, Talk, say_text
from trading.market.names import is_market

SKILLS: Final = LIST_MY_SKILLS.name
PERFORMANCE: Final = GET_SKILL_PERFORMANCE.name
MARKETS: Final = GET_MARKET_OVERVIEW.name
NEWS: Final = GET_RECENT_NEWS.name

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
^how (?P<is>'s|is|are|was) (?:(?P<my>my|our) |the )?(?P<one>[\w' -]{2,60}?) (?:doing|performing)\b.{0,20}$
^how (?:did|does|has|have) (?:my |our |the )?(?P<two>[\w' -]{2,60}?) (?:been )?(?:perform(?:ed|ing)?|doing
    |done?)\b.{0,20}$
^(?:what(?:'s| is| are) )?(?:the )?(?:performance|results|track record|record|stats|numbers|win rate|sharpe(?: ratio)?
    |drawdown) (?:of|for) (?:my |the )?(?P<three>[\w' -]{2,60})$
"""
)
_IT: Final = Pattern(r"^(?:it|this|that|skill|strategy|agent|bot|(?:this|that) .*)$")
_STATES: Final = Pattern(r"^(?:I|I'm|we)\b|\b(?:is|are|was|were|has|have|had|am|isn't|aren't)\b")


@dataclass(frozen=True, slots=True)
class Question:
    """A row of the table."""

    wanted: str  # tags, as `Words.has` reads them
    steps: Callable[[Talk, Words], Steps]
    tool: str = DEPLOYMENTS  # that the chat must have
    said: re.Pattern[str] | None = None  # words that it must have beside


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
    for question in _QUESTIONS:
        is_met = words.has(question.wanted) and question.tool in talk.acts
        if is_met and (question.said is None or question.said.search(asked)):
            return question.steps(talk, words)
    if QUERY_TRADES.name in talk.acts and ledger.is_query(words):
        return ledger.query_steps(talk, words)
    return None


def _find_skill_name(talk: Talk, asked: str, words: Words) -> str:
    """Return the skill whose record a question asks for, or ""."""
    match = _NAMED.match(re.sub(r"^(how|what)'s\b", r"\1 is", asked, flags=re.IGNORECASE))
    if match is None:
        return ""
    name = (match["one"] or match["two"] or match["three"]).strip(" \"“”'")
    if _IT.match(name):
        return name if talk.scene.skill_id and not match["one"] else ""
    is_named = name[:1].isupper() and not words.symbols
    return name if is_named or (words.unknown and (match["my"] or not match["one"])) else ""


# --- Answers from one lookup ---


def pick_rows(name: str, found: list[Row], key: str) -> list[Row]:
    """Return the rows of a name, exact or by shared words."""
    wanted = normal_form(name)
    if same := [row for row in found if normal_form(exact(row, key)) == wanted]:
        return same
    names = {exact(row, key) for row in found}
    best = {match.text for match in best_matches(name, [Known(text) for text in sorted(names)], least=0.5)}
    return [row for row in found if exact(row, key) in best]


def _look_up(
    tool: str, arguments: Callable[[Talk, Words], dict[str, Any]], tell: Callable[[Outcome, Words], str]
) -> Callable[[Talk, Words], Steps]:
    def steps(talk: Talk, words: Words) -> Steps:
        [found] = yield (Call(tool, arguments(talk, words)),)
        return refusal(talk, [found]) or tell(found, words)

    return steps


def _deployments(detail: str, tell: Callable[[Outcome, Words], str]) -> Callable[[Talk, Words], Steps]:
    def arguments(talk: Talk, words: Words) -> dict[str, Any]:
        is_meant = detail or words.has("it|you|reject -agent")
        return {
            **(own(talk) if is_meant and "running" not in words.tags else {}),
            **({"detail": detail} if detail else {}),
        }

    return _look_up(DEPLOYMENTS, arguments, tell)


def _coins(words: Words) -> dict[str, Any]:
    return {"symbols": words.symbols} if words.symbols else {}


def _ahead(words: Words) -> int:
    return SOON_HOURS if words.given.get("period") == "today" else AHEAD_HOURS


def _back(words: Words) -> int:
    return 168 if "week" in words.given.get("period", "") or "week" in words.text else 24


def _tell_trades(found: Outcome, words: Words) -> str:
    trades = [one for one in found.entries("trades") if is_market(exact(one, "symbol"), words.symbols)]
    is_one = re.search(r"\btrade$", words.text, re.IGNORECASE) and "last" in words.tags
    amount = next((int(said) for said in words.numbers if said.isdecimal()), answers.MAX_TRADES)
    return answers.format_trades(trades, 1 if is_one else max(1, amount))


def _tell_events(found: Outcome, words: Words) -> str:
    told = answers.format_events(found.as_row, _ahead(words))
    is_longer = re.search(r"week|month", words.given.get("period", ""))
    return paragraphs(told, f"I see {AHEAD_HOURS} hours ahead; the calendar page has more." if is_longer else "")


def _tell_tests(found: Outcome, words: Words) -> str:
    skills = found.entries("skills")
    if not skills:
        return answers.format_skills(found.as_row)
    newest = sorted(skills, key=lambda one: exact(one.get("last_simulation") or {}, "ends_at"))
    if "next" in words.tags or "test" in words.tags:
        one = newest[0]
        return (
            f"The one whose last backtest is oldest or missing: **{exact(one, 'name')}**, {answers.format_test(one)}."
        )
    return f"**{exact(newest[-1], 'name')}**: {answers.format_test(newest[-1])}."


_MARKET_FIELDS: Final = {
    "funding": "funding_rate_pct",
    "basis": "basis_pct",
    "vol": "realised_vol_pct",
    "regime": "regime",
    "price": "last_price",
}


def _tell_markets(found: Outcome, words: Words) -> str:
    return answers.format_markets(
        found.as_row, next((key for tag, key in _MARKET_FIELDS.items() if tag in words.tags), "")
    )


def _answer_money(found: Outcome, words: Words) -> str:
    kinds = sorted({exact(one, "broker_kind") for one in found.entries("deployments")})
    runs = f"Your deployments run on: {', '.join(kinds)}." if kinds else "You have no deployment."
    return f"{runs} Paper means simulated fills and no real money; only a deployment marked live trades money."


# --- Answers from several lookups ---


def _answer_performance(talk: Talk, name: str) -> Steps:
    name = re.sub(r"\s+(?:skill|strategy|agent|bot)$", "", name, flags=re.IGNORECASE)
    is_it = _IT.match(name)
    if is_it and talk.scene.skill_id:
        skill_id = talk.scene.skill_id
    else:
        [listed] = yield (Call(SKILLS, {}),)
        skills = listed.entries("skills")
        meant = skills if is_it else pick_rows(name, skills, "name")
        if listed.error or not skills:
            return refusal(talk, [listed]) or answers.format_skills(listed.as_row)
        if len(meant) != 1:
            said = "Which skill do you mean?" if is_it or meant else f"I find no skill called “{name[:80]}”."
            return f"{said} Yours:\n\n{listing([exact(one, 'name') for one in skills])}"
        skill_id = exact(meant[0], "skill_id")
    [found] = yield (Call(PERFORMANCE, {"skill_id": skill_id}),)
    return refusal(talk, [found]) or answers.format_performance(found.as_row)


# --- The table ---

_STATUS: Final = _deployments("", lambda found, words: answers.format_deployments(found.entries("deployments")))
_MARKET: Final = _look_up(MARKETS, lambda talk, words: _coins(words), _tell_markets)
_SKILLS: Final = _look_up(SKILLS, lambda talk, words: {}, lambda found, words: answers.format_skills(found.as_row))
_CALENDAR: Final = _look_up(
    EVENTS,
    lambda talk, words: {
        "lookaheadHours": _ahead(words),
        **({"types": words.kinds} if words.kinds else {}),
        **_coins(words),
    },
    _tell_events,
)
_MEASURED: Final = "-net -fees -count -win_rate -expectancy -result -holding -average -top -low"


def _answer_trade(otherwise: Callable[[Talk, Words], Steps]) -> Callable[[Talk, Words], Steps]:
    """Tell of the trade in focus where there is one and no market is named."""

    def steps(talk: Talk, words: Words) -> Steps:
        trade_id = talk.scene.focus.get("trade_id", "")
        if not trade_id or words.symbols:
            return (yield from otherwise(talk, words))
        [found] = yield (Call(DEPLOYMENTS, {**own(talk), "detail": "trades"}),)
        held = [row for _, row in answers.list_positions(found.entries("deployments"), [])]
        known = [row for row in (*found.entries("trades"), *held) if exact(row, "trade_id") == trade_id]
        in_short = f"This trade: {talk.scene.focus.get('trade', '')}. Its page has the reasons."
        return refusal(talk, [found]) or (answers.format_trade(known[0]) if known else in_short)

    return steps


_QUESTIONS: Final[tuple[Question, ...]] = (
    Question("paper", _deployments("", _answer_money)),
    Question("kind effect|risk me|position|it|side -trade", answer_effect, EVENTS),
    Question("event effect|risk -trade", answer_effect, EVENTS),
    Question("kind effect -coin -trade", answer_effect, EVENTS),
    Question(
        "why close|exit=stop -trust",
        _answer_trade(
            _deployments(
                "trades", lambda found, words: answers.format_why_closed(found.entries("trades"), words.symbols)
            )
        ),
    ),
    Question(
        "why open|side|position|trade -reject -trust",
        _answer_trade(
            _deployments(
                "trades", lambda found, words: answers.format_why_opened(found.entries("deployments"), words.symbols)
            )
        ),
    ),
    Question(
        "close it|agent|you|position -count -trade -net -last",
        _deployments(
            "trades",
            lambda found, words: answers.format_what_closes(
                found.entries("deployments"), found.entries("trades"), words.symbols
            ),
        ),
        said=re.compile(r"^(?:what|when)\b", re.IGNORECASE),
    ),
    Question("reject", _deployments("", lambda found, words: answers.format_rejections(found.entries("deployments")))),
    Question("worry -trade", answer_risk),
    Question("mood agent|position -trade", answer_risk),
    Question("risk -trade -per -rule -stop -number -result", answer_risk),
    Question("learn", _deployments("lessons", lambda found, words: answers.format_lessons(found.entries("lessons")))),
    Question("backtest", _look_up(SKILLS, lambda talk, words: {}, _tell_tests), SKILLS),
    Question("skill test|next", _look_up(SKILLS, lambda talk, words: {}, _tell_tests), SKILLS),
    Question(
        f"trade last|show|all|number -group -per -versus -learn -common -doing {_MEASURED}",
        _deployments("trades", _tell_trades),
    ),
    Question(
        f"trade -group -per -versus -side -period -coin -trust -doing -rule {_MEASURED}",
        _deployments("trades", _tell_trades),
        said=re.compile(r"^(?:my |its |the )?(?:trades|trading history)$|trades (?:did|has|have)\b", re.IGNORECASE),
    ),
    Question(
        "news",
        _look_up(
            NEWS,
            lambda talk, words: {**_coins(words), "lookbackHours": _back(words)},
            lambda found, words: answers.format_news(found.as_row, _back(words)),
        ),
        NEWS,
    ),
    Question("event -trade -me", _CALENDAR, EVENTS),
    Question("event -trade", _CALENDAR, EVENTS),
    Question(
        "kind -trade -me -effect", _CALENDAR, EVENTS, re.compile(r"^(?:when|what time|is there|any)", re.IGNORECASE)
    ),
    Question(
        f"coin price|vol|basis|regime|funding|doing|market -me -trade -fees -pay -side {_MEASURED}", _MARKET, MARKETS
    ),
    Question("market -trade -me -group -net", _MARKET, MARKETS),
    Question("funding -me -pay -trade -top", _MARKET, MARKETS),
    Question(
        f"coin -me -trade -side -risk -effect -kind -open -close -order -stop -number -group -performance {_MEASURED}",
        _MARKET,
        MARKETS,
        re.compile(r"^(?:how|what)", re.IGNORECASE),
    ),
    Question(f"skill|draft -doing -trade -performance {_MEASURED}", _SKILLS, SKILLS),
    Question("skill count -trade -net", _SKILLS, SKILLS),
    Question("running|unrealised|holding_now -trade -count", _STATUS),
    Question(f"position|agent -trade -close -rule -performance -period {_MEASURED}", _STATUS),
    Question(f"agent|position|skill doing -trade {_MEASURED}", _STATUS),
    Question(f"it doing -trade -me {_MEASURED}", _STATUS),
)
