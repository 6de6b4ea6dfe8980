"""Prepare actions: find the target and have its card drawn.

It never says that anything was done: only the user's click on the card does it.
"""

import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from chat.tools.actions import PREPARE_ACTION
from chat.tools.drafts import SET_STRATEGY
from config.offline.coach.telling import DEPLOYMENTS, LABEL, NO_DEPLOYMENTS, SKILLS, tell
from config.offline.drafting.steps import WRITES
from config.offline.facts import Call, Outcome
from config.offline.figures import escape, exact, fill, listing, paragraphs, plain, rows
from config.offline.memory.rules import read_choice
from config.offline.reading.sentences import Pattern
from config.offline.scene import NOVICE
from config.offline.talk import Steps, Talk, pick_rows, say_text
from trading.asking.periods import PeriodRefused, parse_period
from trading.market.names import symbols_in

PREPARE: Final = PREPARE_ACTION.name
ONLY_YOUR_CLICK: Final = "only your click on Confirm does it"

Search = Generator[tuple[Call, ...], list[Outcome], str | tuple[str]]  # an id, or in a tuple what to say instead

_WHICH: Final = "Which one do you mean? Then I prepare a card to"
_ASKED_WHICH = re.compile(rf"{re.escape(_WHICH)} \*\*(?P<words>[^*]+)\*\*(?P<rest>[^\n]*)$", re.MULTILINE)
_MAX_LENGTH: Final = 200  # characters of a sentence that asks for an action
_KIND: Final = r"(?:agents?|bots?|deployments?|strateg(?:y|ies)|skills?)"
_NOW: Final = r"(?:,? (?:please|now|right now|immediately|for me|at once|today|asap))*"
# "it", "my agent", "the funding agent", "Funding fade": a name begins with a capital or precedes its kind.
_TARGET: Final = (
    rf"(?:(?P<it>it|this|that|them|this one|that one|(?:my|the|this|that) {_KIND}|trading|everything|all)|(?:my |the"
    rf" )?(?P<named>[\w' -]{{2,60}}?) {_KIND}|(?:my |the )?(?P<quoted>[\"“][^\"”]{{2,80}}[\"”]|[A-Z][\w' -]{{2,60}}?))"
)


# What a card does, the verbs, what may follow the target, and the statuses in which it makes sense.
_ACTIONS: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    "start_backtest": (
        "backtest it",
        r"back-?test|run a (?:back-?test|simulation)(?: (?:of|for|on|with))?|simulate|test",
        r"(?:,? (?:over|for|from|during|on|in|since|between|with|using)\b.{2,80})?",
        (),
    ),
    "redeploy": (
        "move it to its newest version",
        "redeploy|update|upgrade",
        r"(?: (?:to|with|on) (?:the|its) (?:new|newest|latest) version)?",
        ("paused", "running"),
    ),
    "stop": ("stop it", "stop|shut down|turn off|kill|terminate|end", "", ("paused", "running")),
    "pause": ("pause it", "pause|suspend|halt", "", ("running",)),
    "resume": ("resume it", "resume|unpause|restart", "", ("paused",)),
    "deploy": ("deploy it", "deploy|launch|go live with", r"(?: (?:on|in|to|as|with)? ?(?:a )?(?:paper|live))?", ()),
    "flatten": ("close its positions", r"(?!)", "", ()),
}
_FLATTEN: Final = Pattern(
    r"(?:flatten(?: (?:it|this|that|everything|all|(?:my|the) positions?))?|(?:close|exit|liquidate|get (?:me )?out of"
    r"|sell) (?:everything|it all|all(?: of)?(?: (?:my|the|its|open))*(?: positions?)?|(?:my|the|its|this"
    r"|that)(?: \w+)? positions?)"
    rf"|(?:close|exit|get (?:me )?out of) (?:it|this|that)|get me out){_NOW}"
)
_POLITE: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|will you|i want to|i want you to|i'd like to|i'd like you to|let's|let"
    r" us|just|now|ok|okay|then|go ahead and|you should)\b[,:]?\s+)+"
)
_ORDER: Final = Pattern(
    r"""
(?:place|put in|submit|send|make|enter|open) (?:me )?(?:an?|the|my|some)? ?(?:new )?(?:(?:market|limit|buy|sell
    |stop) )*(?:orders?|trades?|(?:long |short )?positions?)(?: (?:for|of|on|in|to) .{1,60})?
(?:buy|sell|short|long|go long|go short|purchase|open a (?:long|short)(?: in| on)?)(?: me)?(?: (?:some|a|an|one
    |all(?: my| of my)?|my|the|half(?: my| of my)?|\$?[\d.,]+k?(?: (?:usd|dollars?))?(?: (?:of|worth of
    |in))?))*[ ](?!me\b|low\b)[A-Za-z]{2,10}(?: (?:at|for|with) .{1,30})?<NOW>
""",
    NOW=_NOW,
)
_YES: Final = Pattern(
    r"(?:(?:yes|yep|yeah|ok|okay|sure|please|fine|good)[,.! ]*)*(?:yes|yep|yeah|ok|okay|sure|confirm(?:ed)?|do it"
    r"|go ahead|proceed|execute|please do)(?:[,.! ]*(?:please|now|it|do it))*[.! ]*"
)
_NO: Final = Pattern(
    r"(?:no(?:pe)?|cancel(?: it| that)?|never ?mind|stop|don't|do not|forget it|not now|neither|none|leave it)"
    r"(?:[,.! ]*(?:thanks?|thank you|cancel(?: it)?|do it|don't))*[.! ]*"
)
_PERIOD: Final = Pattern(
    r"\b(?:(?P<since>since\s.*)|(?:over|for|from|during|in|between)\s+(?:the\s+)?(?P<days>.*?)"
    r"(?:,? (?:with|using)\b.*)?)$"
)
_MONEY: Final = Pattern(r"\$ ?(\d[\d,]{0,12}(?:\.\d+)?)(k)?|\b(\d[\d,]{2,12})(k)? ?(?:usd|dollars)")


@dataclass(frozen=True, slots=True)
class Wish:
    """An action that was asked for."""

    type: str
    name: str = ""  # as the user named it; "": "it"
    said: str = ""  # with the days and the money of a backtest, or the broker


def action_steps(talk: Talk, sentence: str) -> Steps | None:
    """Return the steps that prepare a card, or None."""
    if not {PREPARE, DEPLOYMENTS} & talk.acts or len(sentence) > _MAX_LENGTH:
        return None
    wish = _read_wish(talk, _POLITE.compiled.sub("", sentence).strip())
    if wish is not None and PREPARE not in talk.acts:
        return say_text("I can prepare no action in this chat: that is the coach's. Say it in a chat with the coach.")
    return _prepare_card(talk, wish) if wish is not None else None


def order_steps(talk: Talk, sentence: str) -> Steps | None:
    """Refuse an order; None if the sentence asks for none."""
    asked = _POLITE.compiled.sub("", sentence).strip()
    if DEPLOYMENTS not in talk.acts or len(sentence) > _MAX_LENGTH or not _ORDER.compiled.fullmatch(asked):
        return None
    if not re.match(r"(?:place|put|submit|send|make|enter|open)\b", asked, re.IGNORECASE) and not symbols_in(
        asked.upper()
    ):
        return None
    can = "draft a strategy with you whose agent trades on paper, and " if SET_STRATEGY.name in talk.acts else ""
    cards = f"{can}prepare cards for what is deployed, such as “close everything”, that take effect by your click."
    told = cards if PREPARE in talk.acts else "tell you what your agents hold and what the market does."
    return say_text(f"I cannot place an order: no chat here can, whoever asks.\n\nWhat I can do: {told}")


def click_steps(talk: Talk) -> Steps | None:
    """Answer a typed yes or no after a card."""
    if ONLY_YOUR_CLICK not in talk.before or talk.results:
        return None
    if _YES.compiled.fullmatch(talk.text.strip()):
        return say_text(f"A yes in the chat does nothing: {ONLY_YOUR_CLICK}, on the card above.")
    is_no = _NO.compiled.fullmatch(talk.text.strip())
    return say_text("Nothing has happened. Click Cancel on the card above, or let it expire.") if is_no else None


def choice_steps(talk: Talk) -> Steps | None:
    """Return the steps after "Which one do you mean?", or None."""
    asked = _ASKED_WHICH.search(talk.before)
    action = next((name for name, (words, *_) in _ACTIONS.items() if asked and words == asked["words"]), None)
    if asked is None or action is None or PREPARE not in talk.acts:
        return None
    if _NO.compiled.fullmatch(talk.text.strip()):
        return say_text("All right, I have prepared nothing.")
    chosen = read_choice(talk.text, talk.before)
    return _prepare_card(talk, Wish(action, chosen[0], asked["rest"])) if len(chosen) == 1 else None


def _prepare_card(talk: Talk, wish: Wish) -> Steps:
    """Find the target, prepare its card and name it; the card itself says the rest."""
    is_of_skill = wish.type in {"deploy", "start_backtest"}
    details = _read_details(wish, talk.scene.now)
    which = f"{_WHICH} **{_ACTIONS[wish.type][0]}**" + (f": {wish.said}" if details else "")
    find = find_skill(talk, wish.name, which) if is_of_skill else _find_deployment(talk, wish, which)
    found = yield from find
    if not isinstance(found, str):
        return found[0]
    target = {"skill_id" if is_of_skill else "deployment_id": found}
    [card] = yield (Call(PREPARE, {"type": wish.type, **target, **details}),)
    if card.error:
        return f"I could not prepare that: {escape(card.error)}"
    is_first = wish.type == "deploy" and talk.scene.tier == NOVICE
    return paragraphs(
        f"I prepared a card: **{plain(card.as_row, 'title') or _ACTIONS[wish.type][0]}**. It is yours to decide:"
        f" {ONLY_YOUR_CLICK}." + fill("| The card expires at {expires_at}.", card.as_row),
        "As this is your first: backtest before you deploy. Say “backtest it over the last month”." if is_first else "",
    )


def _find_deployment(talk: Talk, wish: Wish, which: str) -> Search:
    if talk.scene.deployment_id and not wish.name:
        return talk.scene.deployment_id
    [found] = yield (Call(DEPLOYMENTS, {}),)
    every, statuses = found.entries("deployments"), _ACTIONS[wish.type][3]
    if found.error or not every:
        return (talk.tell_errors([found]) or NO_DEPLOYMENTS,)
    fitting = [one for one in every if exact(one, "status") in statuses or (not statuses and rows(one, "positions"))]
    named = [one for one in every if fill(LABEL, one) == wish.name] or pick_rows(wish.name, every, "skill_name")
    meant = ([one for one in named if one in fitting] or named) if wish.name else fitting
    if len(meant) == 1:
        return exact(meant[0], "deployment_id")
    if not meant and not wish.name:
        verb = {"flatten": "close", "redeploy": "move to a newer version"}.get(wish.type, wish.type)
        return (f"There is nothing to {verb}: no deployment is {' or '.join(statuses) or 'with an open position'}.",)
    return (
        _ask_which(wish.name, [fill(LABEL, one) for one in meant or fitting or every], which, is_known=bool(meant)),
    )


def find_skill(talk: Talk, name: str, which: str = "Say its name.") -> Search:
    """Return the id of a skill by its name, the focus or the draft."""
    if talk.scene.skill_id and not name:
        return talk.scene.skill_id
    [found] = yield (Call(SKILLS, {}),)
    skills, names = found.entries("skills"), [exact(one.as_row, "name") for one in talk.earlier if one.name in WRITES]
    drafted = "" if name else next((name for name in reversed(names) if name), "")
    same = [one for one in skills if exact(one, "name").casefold() == drafted.casefold()]
    if found.error or (not skills and not drafted):
        return (talk.tell_errors([found]) or tell("skills", {}),)
    if drafted and not same:
        return (f"“{drafted}” is not saved yet. Save is on the preview of the draft.",)
    meant = pick_rows(name, skills, "name") if name else same or skills
    if len(meant) == 1:
        return exact(meant[0], "skill_id")
    return (_ask_which(name, [exact(one, "name") for one in meant or skills], which, is_known=bool(meant)),)


def _ask_which(name: str, labels: Sequence[str], which: str, *, is_known: bool) -> str:
    unknown = "" if is_known or not name else f"I find nothing called “{escape(name)}”. "
    return f"{unknown}There are several:\n\n{listing(list(dict.fromkeys(labels)))}\n\n{which}."


def _read_wish(talk: Talk, asked: str) -> Wish | None:
    if _FLATTEN.compiled.fullmatch(asked):
        return Wish("flatten")
    for name, (_, verbs, tail, _) in _ACTIONS.items():
        # The verb in any case; the name of a skill by its capital.
        match = re.fullmatch(rf"(?i:{verbs})(?: (?-i:{_TARGET}))?(?i:{tail}{_NOW})", asked)
        if match is None:
            continue
        is_test = name == "start_backtest"
        is_clear = match["it"] or match["named"] or match["quoted"] or (not is_test and talk.scene.deployment_id)
        if is_clear or name in {"redeploy", "deploy"} or (is_test and asked[:4].casefold() != "test"):
            return Wish(name, (match["named"] or match["quoted"] or "").strip(' "“”'), asked)
    return None


def _read_details(wish: Wish, now: datetime | None) -> dict[str, Any]:
    """Return the further arguments of a card: broker, days, money."""
    if wish.type == "deploy" and re.search(r"\blive\b", wish.said, re.IGNORECASE):
        return {"broker": "live"}
    details: dict[str, Any] = {}
    period = _PERIOD.search(wish.said) if wish.type == "start_backtest" and now else None
    if period and now:
        yesterday = now.replace(hour=0, minute=0, second=0) - timedelta(days=1)
        said = re.sub(r"^(?:last|past|previous) (?=[a-z])", "last 1 ", period["since"] or period["days"])  # up to now
        try:
            days = parse_period(said, zone=ZoneInfo("UTC"), now=now)
        except PeriodRefused:
            days = None
        if days and days.starts_at and days.starts_at < yesterday:
            ends_at = min(days.ends_at - timedelta(days=1) if days.ends_at else yesterday, yesterday)
            details |= {"starts_on": f"{days.starts_at:%Y-%m-%d}", "ends_on": f"{ends_at:%Y-%m-%d}"}
    if wish.type == "start_backtest" and (money := _MONEY.search(wish.said)):
        amount = float((money[1] or money[3]).replace(",", "")) * (1000 if money[2] or money[4] else 1)
        details["starting_equity_usd"] = int(amount) if amount == int(amount) else amount
    return details
