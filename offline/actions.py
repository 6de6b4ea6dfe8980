"""Prepare actions: find the target and have its card drawn.

It never says that anything was done: only the user's click on the card does it.
"""

from itertools import takewhile
from typing import Final
from zoneinfo import ZoneInfo

from chat.tools.actions import prepare_action
from chat.tools.deployments import get_my_deployments
from config.lib.text import normal_form
from config.lib.words.lexer import find_phrases, read_tokens, skip_phrases
from config.lib.words.markets import symbols_in
from config.lib.words.quantities import word_set
from config.lib.words.vocabulary import list_words
from offline.messages import Call, FactLine, best_matches
from offline.talk import Steps, Talk, say_text
from offline.telling import SAYS, VIEWS, Row, escape, exact, fill, listing, paragraphs, rows, tell
from trading.asking.periods import DAY, parse_period, take_period
from trading.asking.words import find_tag

ONLY_YOUR_CLICK: Final = "only your click on Confirm does it"

_IT: Final = word_set("it this that them one trading everything all")
_KINDS: Final = word_set("agent skill position")
_NOW: Final = word_set("please right now immediately")
_TAIL: Final = word_set("on in to as with a paper live the new newest latest version")  # of a deployment
_DAYS: Final = word_set("over for from since between")
# The statuses in which an action makes sense.
_STATUSES: Final = {
    "resume": ("paused",),
    "pause": ("running",),
    **dict.fromkeys(("stop", "redeploy"), ("paused", "running")),
}
_ALONE: Final = word_set("start_backtest deploy redeploy flatten")  # need no target
_LONGEST_ORDER: Final = 100  # characters; longer ones are prose


def action_steps(talk: Talk, sentence: str) -> Steps | None:
    """Return the steps that prepare a card, or None."""
    asked = skip_phrases(sentence, "POLITE", "WANT")
    start, end, meaning = next(find_phrases(asked, "ACT"), (0, 0, None))
    if prepare_action.name not in talk.acts or meaning is None or start:
        return None
    action = meaning.value
    name, is_named = _read_target(asked[end:].split(), action)
    if name is None or not (is_named or action in _ALONE or "deployment_id" in talk.scene.focus):
        return None
    return _prepare_card(talk, action, name, asked)


def _read_target(words: list[str], action: str) -> tuple[str | None, bool]:
    """Return the name of what is meant, "" for "it", and whether it is said at all; None: it is something else.

    "it", "my agent", "the funding agent", "Funding fade": a name begins with a capital or precedes its kind.
    """
    if action == "start_backtest":
        words = list(takewhile(lambda word: word.casefold() not in _DAYS, words))
    tail = _NOW | _TAIL if action in ("deploy", "redeploy") else _NOW
    while words and words[-1].casefold().strip(",") in tail:
        words.pop()
    plain = [word.casefold() for word in words]
    if not words or _IT.issuperset(plain):
        return "", bool(words)
    is_kind = find_tag(plain[-1]) in _KINDS
    words = words[plain[0] in ("my", "the") or (plain[0] in _IT and is_kind) : len(words) - is_kind]
    said = " ".join(words)
    is_name = is_kind or said[:1].isupper() or said.startswith(('"', "“"))
    return said.strip('"“”') if is_name and all(char.isalnum() or char in " '-\"“”" for char in said) else None, True


def order_steps(talk: Talk, sentence: str) -> Steps | None:
    """Refuse an order; None if the sentence asks for none."""
    asked = skip_phrases(sentence, "POLITE", "WANT")
    start, end, _ = next(find_phrases(asked, "ORDER"), (1, 0, None))
    if get_my_deployments.name not in talk.acts or start or len(asked) > _LONGEST_ORDER:
        return None
    is_order = symbols_in(asked[end:].upper()) or not {"order", "orders"}.isdisjoint(asked.casefold().split())
    return say_text(SAYS["no order"]) if is_order else None


def click_steps(talk: Talk) -> Steps | None:
    """Answer a typed yes or no after a card."""
    said = {token.text for token in read_tokens(talk.text) if token.kind not in ("mark", "end")}
    if ONLY_YOUR_CLICK not in talk.before or talk.results or not said <= list_words("YESNO"):
        return None
    return say_text(f"A word in the chat does nothing: {ONLY_YOUR_CLICK}, on the card above. Cancel drops it.")


def _prepare_card(talk: Talk, action: str, name: str, asked: str) -> Steps:
    """Find the target, prepare its card and name it; the card itself says the rest."""
    view, key = ("skills", "skill_id") if action in {"deploy", "start_backtest"} else ("status", "deployment_id")
    target = "" if name else talk.scene.focus.get(key, "")
    if not target and not name and view == "skills" and "draft" in talk.scene.focus:
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
    [card] = yield (Call(prepare_action.name, {"type": action, key: target, **_read_details(talk, action, asked)}),)
    if card.error:
        return f"I could not prepare that: {escape(card.error)}"
    told = "I prepared a card: **{title}**.| It is good until {expires_at}.|"
    return fill(f"{told} No word in the chat runs it: {ONLY_YOUR_CLICK}.", card.as_row)


def _pick_targets(every: list[Row], action: str, name: str) -> list[Row]:
    """Return the rows that a name means, exact or by shared words, and that fit the action."""
    known = [FactLine(exact(row, "name") or exact(row, "skill_name"), id=str(at)) for at, row in enumerate(every)]
    same = [one for one in known if not name or normal_form(one.text) == normal_form(name)]
    named = [every[int(one.id)] for one in same or best_matches(name, known, least=0.5)]
    statuses = _STATUSES.get(action, ())
    fitting = [one for one in named if not statuses or exact(one, "status") in statuses]
    fitting = [one for one in fitting if action != "flatten" or rows(one, "positions")]
    return fitting or (named if name else [])


def _ask_which(meant: list[Row], every: list[Row], action: str, name: str) -> str:
    if not meant and not name:
        statuses = " or ".join(_STATUSES.get(action, ()))
        return f"There is nothing to {action}: no deployment is {statuses or 'with an open position'}."
    head = "There are several:" if meant else f"I find nothing called “{escape(name)}”."
    lines = [fill(VIEWS["paper"].row if "status" in one else "{name}", one) for one in meant or every]
    return paragraphs(head, listing(lines), "Say it again with its name.")


def _read_details(talk: Talk, action: str, asked: str) -> dict[str, str]:
    """Return the further arguments of a card: broker, days up to yesterday."""
    if action == "deploy":
        return {"broker": "live"} if "live" in asked.casefold().split() else {}
    tokens = read_tokens(asked) if action == "start_backtest" and talk.scene.now else []
    said = next((found[1] for at in range(len(tokens)) if (found := take_period(asked, tokens, at))), "")
    if talk.scene.now is None or not said.startswith(("last ", "past ")):
        return {}
    period = parse_period(said.replace("last", "past"), zone=ZoneInfo("UTC"), now=talk.scene.now - DAY)
    assert period is not None, "it was read as one"
    return {"starts_on": f"{period.starts_at:%Y-%m-%d}", "ends_on": f"{talk.scene.now - DAY:%Y-%m-%d}"}
