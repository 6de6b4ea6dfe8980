"""Prepare actions: find the target and have its card drawn.

It never says that anything was done: only the user's click on the card does it.
"""

import re
from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from chat.tools.actions import PREPARE_ACTION
from chat.tools.deployments import GET_MY_DEPLOYMENTS
from config.lib.text import normal_form
from config.offline.coach.telling import LABEL, VIEWS, tell
from config.offline.drafting.steps import WRITES
from config.offline.facts import Call, Known, Outcome, best_matches
from config.offline.figures import Row, escape, exact, fill, listing, paragraphs, plain, rows
from config.offline.reading.sentences import Pattern
from config.offline.talk import Steps, Talk, say_text
from trading.asking.periods import PeriodRefused, parse_period
from trading.market.names import symbols_in

ONLY_YOUR_CLICK: Final = "only your click on Confirm does it"

Search = Generator[tuple[Call, ...], list[Outcome], str | tuple[str]]  # an id, or in a tuple what to say instead

_KIND: Final = r"(?:agents?|bots?|deployments?|strateg(?:y|ies)|skills?|positions?)"
_NOW: Final = r"(?:,? (?:please|now|right now|immediately|for me|at once|today|asap))*"
# "it", "my agent", "the funding agent", "Funding fade": a name begins with a capital or precedes its kind.
_TARGET: Final = (
    rf"(?:(?P<it>it|this|that|them|this one|that one|(?:my|the|this|that) {_KIND}|trading|everything|all)|(?:my |the"
    rf" )?(?P<named>[\w' -]{{2,60}}?) {_KIND}|(?:my |the )?(?P<quoted>[\"“][^\"”]{{2,80}}[\"”]|[A-Z][\w' -]{{2,60}}?))"
)
# Verbs, what may follow the target, and the statuses in which the action makes sense.
_ACTIONS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "start_backtest": (
        r"back-?test|run a (?:back-?test|simulation)(?: (?:of|for|on|with))?|simulate|test",
        r"(?:,? (?:over|for|from|during|on|in|since|between)\b.{2,80})?",
        (),
    ),
    "redeploy": (
        "redeploy|update|upgrade",
        r"(?: (?:to|with|on) (?:the|its) (?:new|newest|latest) version)?",
        ("paused", "running"),
    ),
    "stop": ("stop|shut down|turn off|kill|terminate|end", "", ("paused", "running")),
    "pause": ("pause|suspend|halt", "", ("running",)),
    "resume": ("resume|unpause|restart", "", ("paused",)),
    "deploy": ("deploy|launch|go live with", r"(?: (?:on|in|to|as|with)? ?(?:a )?(?:paper|live))?", ()),
    "flatten": (r"flatten|close|exit|liquidate|get (?:me )?out(?: of)?", "", ()),
}
_POLITE: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|will you|i want to|i want you to|i'd like to|i'd like you to|let's|let"
    r" us|just|now|ok|okay|then|go ahead and|you should)\b[,:]?\s+)+"
)
_ORDER: Final = Pattern(
    r"(?:place|put in|submit|send|make|enter|open|buy|sell|short|long|go (?:long|short)|purchase)\b(?P<what>.{1,80})"
)
_NO_ORDER: Final = (
    "I cannot place an order: no chat here can, whoever asks.\n\nA coach can draft a strategy with you whose agent"
    " trades on paper, and prepare cards for what is deployed, such as “close everything”, that take effect by your"
    " click."
)
_YES_OR_NO: Final = Pattern(
    r"(?:(?:yes|yep|ok|okay|sure|please|no(?:pe)?|never ?mind|do not|don't|thanks?|cancel|confirm|do|go ahead|proceed"
    r"|it|that|now)[,.! ]*)+"
)
_PERIOD: Final = Pattern(r"\b(?:(?P<since>since\s.*)|(?:over|for|from|during|in|between)\s+(?:the\s+)?(?P<days>.*))$")


def action_steps(talk: Talk, sentence: str) -> Steps | None:
    """Return the steps that prepare a card, or None."""
    if not {PREPARE_ACTION.name, GET_MY_DEPLOYMENTS.name} & talk.acts:
        return None
    asked = _POLITE.compiled.sub("", sentence).strip()
    action, name = _read_wish(talk, asked)
    if action and PREPARE_ACTION.name not in talk.acts:
        return say_text("I can prepare no action in this chat: that is the coach's. Say it in a chat with the coach.")
    return _prepare_card(talk, action, name, asked) if action else None


def order_steps(talk: Talk, sentence: str) -> Steps | None:
    """Refuse an order; None if the sentence asks for none."""
    order = _ORDER.compiled.fullmatch(_POLITE.compiled.sub("", sentence).strip())
    if GET_MY_DEPLOYMENTS.name not in talk.acts or order is None:
        return None
    if not symbols_in(order["what"].upper()) and not re.search(r"\borders?\b", order["what"]):
        return None
    return say_text(_NO_ORDER)


def click_steps(talk: Talk) -> Steps | None:
    """Answer a typed yes or no after a card."""
    if ONLY_YOUR_CLICK not in talk.before or talk.results or not _YES_OR_NO.compiled.fullmatch(talk.text.strip()):
        return None
    return say_text(f"A word in the chat does nothing: {ONLY_YOUR_CLICK}, on the card above. Cancel drops it.")


def _prepare_card(talk: Talk, action: str, name: str, asked: str) -> Steps:
    """Find the target, prepare its card and name it; the card itself says the rest."""
    kind = "skill" if action in {"deploy", "start_backtest"} else "deployment"
    found = yield from find_target(talk, kind, name, action)
    if not isinstance(found, str):
        return found[0]
    details = _read_details(action, asked, talk.scene.now)
    [card] = yield (Call(PREPARE_ACTION.name, {"type": action, f"{kind}_id": found, **details}),)
    if card.error:
        return f"I could not prepare that: {escape(card.error)}"
    told = f"I prepared a card: **{plain(card.as_row, 'title')}**. It is yours to decide: {ONLY_YOUR_CLICK}."
    return told + fill("| The card expires at {expires_at}.", card.as_row)


def find_target(talk: Talk, kind: str, name: str, action: str = "") -> Search:
    """Return the id of a skill or deployment by its name, the focus, the draft or what fits an action."""
    key = f"{kind}_id"
    if not name and key in talk.scene.focus:
        return talk.scene.focus[key]
    view, name_key, label = ("skills", "name", "{name}") if kind == "skill" else ("status", "skill_name", LABEL)
    [found] = yield (Call(VIEWS[view].tool.name, {}),)
    every = found.entries(VIEWS[view].key)
    written = [one for one in talk.earlier if one.name in WRITES] if kind == "skill" else []
    drafted = next((exact(one.as_row, "name") for one in reversed(written)), "")
    if found.error or not (every or drafted):
        return (talk.tell_errors([found]) or tell(view, {}),)
    name, statuses = name or drafted, _ACTIONS[action][2] if action else ()
    fitting = [one for one in every if not statuses or exact(one, "status") in statuses]
    fitting = [one for one in fitting if action != "flatten" or rows(one, "positions")]
    named = _pick_rows(name, every, name_key) if name else fitting
    meant = [one for one in named if one in fitting] or named
    if len(meant) == 1:
        return exact(meant[0], key)
    if not meant and not name:
        return (f"There is nothing to {action}: no deployment is {' or '.join(statuses) or 'with an open position'}.",)
    lines = listing([fill(label, one) for one in meant or fitting])
    unsaved = "; a draft has to be saved first, on its preview" if drafted else ""
    unknown = f"I find nothing called “{escape(name)}”{unsaved}."
    return (paragraphs("There are several:" if meant else unknown, lines, "Say it again with its name."),)


def _pick_rows(name: str, found: list[Row], key: str) -> list[Row]:
    """Return the rows of a name, exact or by shared words."""
    names = [Known(text) for text in sorted({exact(row, key) for row in found})]
    best = {match.text for match in best_matches(name, names, least=0.5)}
    same = [row for row in found if normal_form(exact(row, key)) == normal_form(name)]
    return same or [row for row in found if exact(row, key) in best]


def _read_wish(talk: Talk, asked: str) -> tuple[str, str]:
    """Return the action that is asked for, "" when none is, and the name of its target, "" for "it"."""
    for action, (verbs, tail, _) in _ACTIONS.items():
        # The verb in any case; the name of a skill by its capital.
        match = re.fullmatch(rf"(?i:{verbs})(?: (?-i:{_TARGET}))?(?i:{tail}{_NOW})", asked)
        if match is None:
            continue
        is_test, is_alone = action == "start_backtest", action in {"redeploy", "deploy"}
        is_alone |= asked.casefold().startswith(("flatten", "get me out", "back", "run a", "simul"))
        is_clear = (
            match["it"] or match["named"] or match["quoted"] or (not is_test and "deployment_id" in talk.scene.focus)
        )
        if is_clear or is_alone:
            return action, (match["named"] or match["quoted"] or "").strip(' "“”')
    return "", ""


def _read_details(action: str, asked: str, now: datetime | None) -> dict[str, str]:
    """Return the further arguments of a card: broker, days."""
    if action == "deploy" and re.search(r"\blive\b", asked, re.IGNORECASE):
        return {"broker": "live"}
    period = _PERIOD.search(asked) if action == "start_backtest" else None
    if period is None or now is None:
        return {}
    yesterday = now.replace(hour=0, minute=0, second=0) - timedelta(days=1)
    said = re.sub(r"^(?:last|past|previous) (?=[a-z])", "last 1 ", period["since"] or period["days"])  # up to now
    try:
        days = parse_period(said, zone=ZoneInfo("UTC"), now=now)
    except PeriodRefused:
        return {}
    if not days or not days.starts_at or days.starts_at >= yesterday:
        return {}
    ends_at = min(days.ends_at - timedelta(days=1) if days.ends_at else yesterday, yesterday)
    return {"starts_on": f"{days.starts_at:%Y-%m-%d}", "ends_on": f"{ends_at:%Y-%m-%d}"}
