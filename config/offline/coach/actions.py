"""Prepare actions: find the target and have its card drawn.

It never says that anything was done: only the user's click on the card does it.
"""

import re
from collections.abc import Generator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

from chat.tools.actions import PREPARE_ACTION
from chat.tools.drafts import SET_STRATEGY
from config.offline.coach.answers import LABEL, NO_DEPLOYMENTS
from config.offline.coach.lookups import DEPLOYMENTS, SKILLS, pick_rows, tell_refused
from config.offline.drafting.steps import WRITES
from config.offline.facts import Call, Outcome
from config.offline.figures import Row, escape, exact, fill, listing, moment, paragraphs, plain, rows
from config.offline.memory.rules import read_choice
from config.offline.reading.sentences import Pattern
from config.offline.scene import NOVICE
from config.offline.talk import Steps, Talk, say_text
from trading.market.names import symbols_in

PREPARE: Final = PREPARE_ACTION.name
ONLY_YOUR_CLICK: Final = "only your click on Confirm does it"

_Search = Generator[tuple[Call, ...], list[Outcome], dict[str, str] | str]  # arguments, or what to say instead

_SUITS: Final = {  # the statuses in which an action makes sense
    "stop": ("paused", "running"),
    "pause": ("running",),
    "resume": ("paused",),
    "redeploy": ("paused", "running"),
}
_WHICH: Final = "Which one do you mean? Then I prepare a card to"
_ASKED_WHICH = re.compile(rf"{re.escape(_WHICH)} \*\*(?P<words>[^*]+)\*\*(?P<rest>[^\n]*)$", re.MULTILINE)
_WORDS: Final = {
    "stop": "stop it",
    "pause": "pause it",
    "resume": "resume it",
    "flatten": "close its positions",
    "redeploy": "move it to its newest version",
    "deploy": "deploy it",
    "start_backtest": "backtest it",
}
_DETAILS: Final = {"starts_on": "from {}", "ends_on": "to {}", "starting_equity_usd": "with ${}", "broker": "{}"}
_MAX_LENGTH: Final = 200  # characters of a sentence that asks for an action


@dataclass(frozen=True, slots=True)
class Wish:
    """An action that was asked for."""

    type: str
    name: str = ""  # as the user named it; "": "it"
    details: tuple[tuple[str, Any], ...] = ()  # further arguments of the card


def action_steps(talk: Talk, sentence: str) -> Steps | None:
    """Return the steps that prepare a card, or None."""
    if not {PREPARE, DEPLOYMENTS} & talk.acts or len(sentence) > _MAX_LENGTH:
        return None
    asked = _POLITE.compiled.sub("", sentence).strip()
    wish = _read_wish(talk, asked)
    if wish is not None and PREPARE in talk.acts:
        return _prepare_card(talk, wish)
    if wish is not None:
        return say_text("I can prepare no action in this chat: that is the coach's. Say it in a chat with the coach.")
    return None


def order_steps(talk: Talk, sentence: str) -> Steps | None:
    """Refuse an order; None if the sentence asks for none."""
    asked = _POLITE.compiled.sub("", sentence).strip()
    if DEPLOYMENTS not in talk.acts or len(sentence) > _MAX_LENGTH:
        return None
    is_named = re.match(r"(?:place|put|submit|send|make|enter|open)\b", asked, re.IGNORECASE) or symbols_in(
        asked.upper()
    )
    if not (_ORDER.compiled.fullmatch(asked) and is_named):
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
    action = next((action for action, words in _WORDS.items() if asked and words == asked["words"]), None)
    if asked is None or action is None or PREPARE not in talk.acts:
        return None
    if _NO.compiled.fullmatch(talk.text.strip()):
        return say_text("All right, I have prepared nothing.")
    chosen = read_choice(talk.text, talk.before)
    details = _parse_details(action, asked["rest"], talk.scene.today)
    return _prepare_card(talk, Wish(action, chosen[0], details)) if len(chosen) == 1 else None


def _prepare_card(talk: Talk, wish: Wish) -> Steps:
    """Find the target, prepare its card and name it; the card itself says the rest."""
    is_of_skill = wish.type in {"deploy", "start_backtest"}
    found = yield from (_find_skill if is_of_skill else _find_deployment)(talk, wish)
    if isinstance(found, str):
        return found
    [card] = yield (Call(PREPARE, {"type": wish.type, **found, **dict(wish.details)}),)
    if card.error:
        return f"I could not prepare that: {escape(card.error)}"
    is_first = wish.type == "deploy" and talk.scene.tier == NOVICE
    return paragraphs(
        f"I prepared a card: **{plain(card.as_row, 'title') or _WORDS[wish.type]}**. It is yours to decide:"
        f" {ONLY_YOUR_CLICK}." + fill("| The card expires at {expires_at}.", card.as_row),
        "As this is your first: backtest before you deploy. Say “backtest it over the last month”." if is_first else "",
    )


def _find_deployment(talk: Talk, wish: Wish) -> _Search:
    """Return the arguments that name a deployment, or what to say instead."""
    if talk.scene.deployment_id and not wish.name:
        return {"deployment_id": talk.scene.deployment_id}
    [found] = yield (Call(DEPLOYMENTS, {}),)
    every = found.entries("deployments")
    if found.error or not every:
        return tell_refused(talk, [found]) or NO_DEPLOYMENTS
    statuses = _SUITS.get(wish.type, ())
    fitting = [one for one in every if exact(one, "status") in statuses or (not statuses and rows(one, "positions"))]
    named = [one for one in every if fill(LABEL, one) == wish.name] or pick_rows(wish.name, every, "skill_name")
    meant = ([one for one in named if one in fitting] or named) if wish.name else fitting
    if len(meant) == 1:
        return {"deployment_id": exact(meant[0], "deployment_id")}
    if not meant and not wish.name:
        verb = {"flatten": "close", "redeploy": "move to a newer version"}.get(wish.type, wish.type)
        return f"There is nothing to {verb}: no deployment is {' or '.join(statuses) or 'with an open position'}."
    return _ask_which(wish, [fill(LABEL, one) for one in meant or fitting or every], is_unknown=not meant)


def _find_skill(talk: Talk, wish: Wish) -> _Search:
    """Return the arguments that name a skill, or what to say instead."""
    if talk.scene.skill_id and not wish.name:
        return {"skill_id": talk.scene.skill_id}
    [found] = yield (Call(SKILLS, {}),)
    skills = found.entries("skills")
    if found.error:
        return tell_refused(talk, [found])
    names = [exact(one.as_row, "name") for one in talk.earlier if one.name in WRITES and not one.error]
    drafted = "" if wish.name else next((name for name in reversed(names) if name), "")
    same = [one for one in skills if exact(one, "name").casefold() == drafted.casefold()]
    if not skills or (drafted and not same):
        return f"{f'“{drafted}”' if drafted else 'That'} is not saved yet. Save is on the preview of the draft."
    meant: list[Row] = pick_rows(wish.name, skills, "name") if wish.name else same or skills
    if len(meant) == 1:
        return {"skill_id": exact(meant[0], "skill_id")}
    return _ask_which(wish, [exact(one, "name") for one in meant or skills], is_unknown=not meant)


def _ask_which(wish: Wish, labels: list[str], *, is_unknown: bool) -> str:
    unknown = f"I find nothing called “{escape(wish.name)}”. " if is_unknown and wish.name else ""
    details = "".join(f", {_DETAILS.get(name, '{}').format(value)}" for name, value in wish.details)
    listed = listing(list(dict.fromkeys(labels)))
    return f"{unknown}There are several:\n\n{listed}\n\n{_WHICH} **{_WORDS[wish.type]}**{details}."


# --- Reading ---

_KIND: Final = r"(?:agents?|bots?|deployments?|strateg(?:y|ies)|skills?)"
_NOW: Final = r"(?:,? (?:please|now|right now|immediately|for me|at once|today|asap))*"
# "it", "my agent", "the funding agent", "Funding fade": a name begins with a capital or precedes its kind.
_TARGET: Final = (
    rf"(?:(?P<it>it|this|that|them|this one|that one|(?:my|the|this|that) {_KIND}|trading|everything|all)|(?:my |the"
    rf" )?(?P<named>[\w' -]{{2,60}}?) {_KIND}|(?:my |the )?(?P<quoted>[\"“][^\"”]{{2,80}}[\"”]|[A-Z][\w' -]{{2,60}}?))"
)
# The verbs of an action and what may follow its target.
_VERBS: Final = {
    "start_backtest": (
        r"back-?test|run a (?:back-?test|simulation)(?: (?:of|for|on|with))?|simulate|test",
        r"(?:,? (?:over|for|from|during|on|in|since|between|with|using)\b.{2,80})?",
    ),
    "redeploy": (r"redeploy|update|upgrade", r"(?: (?:to|with|on) (?:the|its) (?:new|newest|latest) version)?"),
    "stop": (r"stop|shut down|turn off|kill|terminate|end", ""),
    "pause": (r"pause|suspend|halt", ""),
    "resume": (r"resume|unpause|restart", ""),
    "deploy": (r"deploy|launch|go live with|run live", r"(?: (?:on|in|to|as|with)? ?(?:a )?(?:paper|live))?"),
}
_POLITE: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|will you|i want to|i want you to|i'd like to|i'd like you to|let's|let"
    r" us|just|now|ok|okay|then|go ahead and|you should)\b[,:]?\s+)+"
)
_FLATTEN: Final = Pattern(
    r"(?:flatten(?: (?:it|this|that|everything|all|(?:my|the) positions?))?|(?:close|exit|liquidate|get (?:me )?out of"
    r"|sell) (?:everything|it all|all(?: of)?(?: (?:my|the|its|open))*(?: positions?)?|(?:my|the|its|this"
    r"|that)(?: \w+)? positions?)"
    rf"|(?:close|exit|get (?:me )?out of) (?:it|this|that)|get me out){_NOW}"
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
_SPAN: Final = Pattern(
    r"\b(?:(?:the )?(?:last|past|previous)|a|one)(?: (\d{1,3}|two|three|four|six|twelve))? (day|week|month|quarter"
    r"|year)s?\b"
)
_MONEY: Final = Pattern(r"\$ ?(\d[\d,]{0,12}(?:\.\d+)?)(k)?|\b(\d[\d,]{2,12})(k)? ?(?:usd|dollars)")
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "quarter": 91, "year": 365}
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "six": 6, "twelve": 12}


def _read_wish(talk: Talk, asked: str) -> Wish | None:
    if _FLATTEN.compiled.fullmatch(asked):
        return Wish("flatten")
    for action, (verbs, tail) in _VERBS.items():
        # The verb in any case; the name of a skill by its capital.
        match = re.fullmatch(rf"(?i:{verbs})(?: (?-i:{_TARGET}))?(?i:{tail}{_NOW})", asked)
        if match is None:
            continue
        is_test = action == "start_backtest"
        is_clear = match["it"] or match["named"] or match["quoted"] or (not is_test and talk.scene.deployment_id)
        if is_clear or action in {"redeploy", "deploy"} or (is_test and asked[:4].casefold() != "test"):
            name = (match["named"] or match["quoted"] or "").strip(' "“”')
            return Wish(action, name, _parse_details(action, asked, talk.scene.today))
    return None


def _parse_details(action: str, text: str, today: date | None) -> tuple[tuple[str, Any], ...]:
    if action == "deploy" and re.search(r"\blive\b", text, re.IGNORECASE):
        return (("broker", "live"),)
    if action != "start_backtest":
        return ()
    details: dict[str, Any] = {}
    dates = [at.date() for found in re.findall(r"\d{4}-\d\d-\d\d", text) if (at := moment(found))]
    span = None if dates else _SPAN.search(text)
    yesterday = today - timedelta(days=1) if today else date.min
    if len(dates) > 1:
        details |= {"starts_on": min(dates[:2]).isoformat(), "ends_on": max(dates[:2]).isoformat()}
    elif dates and dates[0] < yesterday:
        details |= {"starts_on": dates[0].isoformat(), "ends_on": yesterday.isoformat()}
    elif span and today:
        days = (_COUNTS.get((span[1] or "").casefold()) or int(span[1] or 1)) * _DAYS[span[2].casefold()]
        starts = today - timedelta(days=max(1, min(days, 3650)))
        details |= {"starts_on": starts.isoformat(), "ends_on": yesterday.isoformat()}
    if money := _MONEY.search(text):
        amount = float((money[1] or money[3]).replace(",", "")) * (1000 if money[2] or money[4] else 1)
        details["starting_equity_usd"] = int(amount) if amount == int(amount) else amount
    return tuple(details.items())
