"""Prepare actions: find the target and have its card drawn.

It never says that anything was done: only the user's click on the card does it.
"""

import re
from datetime import timedelta
from typing import Final

from chat.tools.actions import PREPARE_ACTION
from chat.tools.deployments import GET_MY_DEPLOYMENTS
from config.lib.text import normal_form
from config.lib.words.markets import symbols_in
from config.lib.words.sentences import Pattern
from config.offline.coach.telling import LABEL, VIEWS, tell
from config.offline.facts import Call, Known, best_matches
from config.offline.figures import Row, escape, exact, fill, listing, paragraphs, rows
from config.offline.talk import Steps, Talk, say_text

ONLY_YOUR_CLICK: Final = "only your click on Confirm does it"

_KIND: Final = r"(?:agents?|bots?|deployments?|strateg(?:y|ies)|skills?|positions?)"
_NOW: Final = r"(?:,? (?:please|now|right now|immediately))*"
# "it", "my agent", "the funding agent", "Funding fade": a name begins with a capital or precedes its kind.
_TARGET: Final = (
    rf"(?:(?P<it>it|this|that|them|this one|that one|(?:my|the|this|that) {_KIND}|trading|everything|all)|(?:my |the"
    rf" )?(?P<named>[\w' -]{{2,60}}?) {_KIND}|(?:my |the )?(?P<quoted>[\"“][^\"”]{{2,80}}[\"”]|[A-Z][\w' -]{{2,60}}?))"
)
# Verbs, what may follow the target, and the statuses in which the action makes sense.
_ACTIONS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "start_backtest": (
        r"back-?test|run a (?:back-?test|simulation)(?: (?:of|for|on|with))?|simulate",
        r"(?: (?:over|for|from|since|between)\b.{2,80})?",
        (),
    ),
    "deploy": ("deploy|launch|go live with", r"(?: (?:on|in|to|as|with)? ?(?:a )?(?:paper|live))?", ()),
    "redeploy": ("redeploy", r"(?: with the (?:new|newest|latest) version)?", ("paused", "running")),
    "flatten": (r"flatten|close|liquidate|get (?:me )?out(?: of)?", "", ()),
    "stop": ("stop|shut down|turn off|kill|end", "", ("paused", "running")),
    "pause": ("pause|suspend|halt", "", ("running",)),
    "resume": ("resume|restart", "", ("paused",)),
}
_ALONE: Final = frozenset({"start_backtest", "deploy", "redeploy", "flatten"})  # need no target
_POLITE: Final = Pattern(
    r"^(?:(?:please|can you|could you|would you|i want to|i want you to|i'd like to|let's|just|now|ok|then)\b[,:]?\s+)+"
)
_ORDER: Final = Pattern(
    r"(?:place|put in|submit|send|make|enter|open|buy|sell|short|long|go (?:long|short)|purchase)\b(?P<what>.{1,80})"
)
_NO_ORDER: Final = (
    "I cannot place an order: no chat here can. A card for what is deployed, such as “close everything”, takes effect"
    " by your click."
)
_YES_OR_NO: Final = Pattern(
    r"(?:(?:yes|yep|ok|okay|sure|please|no(?:pe)?|never ?mind|do not|don't|thanks?|cancel|confirm|do|go ahead|proceed"
    r"|it|that|now)[,.! ]*)+"
)
_LAST: Final = Pattern(r"\b(?:last|past) (?:(?P<count>[1-9]\d{0,2}) )?(?P<unit>day|week|month)s?")
_DAYS: Final = {"day": 1, "week": 7, "month": 30}


def action_steps(talk: Talk, sentence: str) -> Steps | None:
    """Return the steps that prepare a card, or None."""
    if PREPARE_ACTION.name not in talk.acts:
        return None
    asked = _POLITE.compiled.sub("", sentence).strip()
    for action, (verbs, tail, _) in _ACTIONS.items():
        # The verb in any case; the name of a skill by its capital.
        match = re.fullmatch(rf"(?i:{verbs})(?: (?-i:{_TARGET}))?(?i:{tail}{_NOW})", asked)
        name = (match["named"] or match["quoted"] or "").strip(' "“”') if match else ""
        if match and (name or match["it"] or action in _ALONE or "deployment_id" in talk.scene.focus):
            return _prepare_card(talk, action, name, asked)
    return None


def order_steps(talk: Talk, sentence: str) -> Steps | None:
    """Refuse an order; None if the sentence asks for none."""
    order = _ORDER.compiled.fullmatch(_POLITE.compiled.sub("", sentence).strip())
    if GET_MY_DEPLOYMENTS.name not in talk.acts or order is None:
        return None
    is_order = symbols_in(order["what"].upper()) or re.search(r"\borders?\b", order["what"])
    return say_text(_NO_ORDER) if is_order else None


def click_steps(talk: Talk) -> Steps | None:
    """Answer a typed yes or no after a card."""
    if ONLY_YOUR_CLICK not in talk.before or talk.results or not _YES_OR_NO.compiled.fullmatch(talk.text.strip()):
        return None
    return say_text(f"A word in the chat does nothing: {ONLY_YOUR_CLICK}, on the card above. Cancel drops it.")


def _prepare_card(talk: Talk, action: str, name: str, asked: str) -> Steps:
    """Find the target, prepare its card and name it; the card itself says the rest."""
    view, key = ("skills", "skill_id") if action in {"deploy", "start_backtest"} else ("status", "deployment_id")
    target = "" if name else talk.scene.focus.get(key, "")
    if not target and not name and view == "skills" and talk.scene.is_authoring:
        return "A draft has to be saved first, on its preview."
    if not target:
        [found] = yield (Call(VIEWS[view].tool, {}),)
        every = found.entries(VIEWS[view].key)
        if found.error or not every:
            return talk.tell_errors([found]) or tell(view, {})
        meant = _pick_targets(every, action, name)
        if len(meant) != 1:
            return _ask_which(meant, every, action, name)
        target = exact(meant[0], key)
    [card] = yield (Call(PREPARE_ACTION.name, {"type": action, key: target, **_read_details(talk, action, asked)}),)
    if card.error:
        return f"I could not prepare that: {escape(card.error)}"
    told = "I prepared a card: **{title}**.| It is good until {expires_at}.|"
    return fill(f"{told} No word in the chat runs it: {ONLY_YOUR_CLICK}.", card.as_row)


def _pick_targets(every: list[Row], action: str, name: str) -> list[Row]:
    """Return the rows that a name means, exact or by shared words, and that fit the action."""
    known = [Known(exact(row, "name") or exact(row, "skill_name"), id=str(at)) for at, row in enumerate(every)]
    same = [one for one in known if not name or normal_form(one.text) == normal_form(name)]
    named = [every[int(one.id)] for one in same or best_matches(name, known, least=0.5)]
    statuses = _ACTIONS[action][2]
    fitting = [one for one in named if not statuses or exact(one, "status") in statuses]
    fitting = [one for one in fitting if action != "flatten" or rows(one, "positions")]
    return fitting or (named if name else [])


def _ask_which(meant: list[Row], every: list[Row], action: str, name: str) -> str:
    if not meant and not name:
        statuses = " or ".join(_ACTIONS[action][2])
        return f"There is nothing to {action}: no deployment is {statuses or 'with an open position'}."
    head = "There are several:" if meant else f"I find nothing called “{escape(name)}”."
    lines = [fill(LABEL if "status" in one else "{name}", one) for one in meant or every]
    return paragraphs(head, listing(lines), "Say it again with its name.")


def _read_details(talk: Talk, action: str, asked: str) -> dict[str, str]:
    """Return the further arguments of a card: broker, days."""
    if action == "deploy":
        return {"broker": "live"} if re.search(r"\blive\b", asked, re.IGNORECASE) else {}
    last = _LAST.search(asked) if action == "start_backtest" else None
    if last is None or talk.scene.now is None:
        return {}
    starts_at = talk.scene.now - timedelta(days=int(last["count"] or 1) * _DAYS[last["unit"].casefold()])
    return {"starts_on": f"{starts_at:%Y-%m-%d}", "ends_on": f"{talk.scene.now - timedelta(days=1):%Y-%m-%d}"}
