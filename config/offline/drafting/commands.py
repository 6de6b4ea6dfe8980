"""Short commands on a draft: templates, caps, symbols, name, review."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from config.offline.adapters import Call
from config.offline.drafting import patches, templates
from config.offline.drafting.replies import answers_given
from config.offline.figures import listing
from config.offline.reading.patterns import any_of
from config.offline.scene import NOVICE
from config.offline.talk import Steps, Talk, say_text
from trading.market.names import symbols_in

_SAVE: Final = "Save and Discard are on the preview of the draft, not here: I cannot save or discard it for you."


@dataclass(frozen=True, slots=True)
class _Command:
    pattern: re.Pattern[str]
    run: Callable[[Talk, "re.Match[str]"], Steps | None]
    needs_draft: bool = True


def command_steps(talk: Talk, text: str) -> Steps | None:
    """Return the steps of a draft command, or None."""
    plain = patches.plain_of(text)
    if len(plain) > 200:
        return None
    for command in _COMMANDS:
        match = command.pattern.fullmatch(plain)
        if match and (patches.is_drafting(talk) or not command.needs_draft):
            return command.run(talk, match)
    return None


def _show_templates(talk: Talk, match: re.Match[str]) -> Steps:
    return say_text(
        f"These are the templates:\n\n{templates.listed_templates()}\n\nSay “use the trend breakout template”, and I "
        "write it into a draft that you can change."
    )


def _use_template(talk: Talk, match: re.Match[str]) -> Steps | None:
    name = templates.template_named(match["name"])
    return _from_template(talk, name) if name else _show_templates(talk, match)


def _from_template(talk: Talk, name: str) -> Steps:
    caps = templates.SAFE_CAPS if talk.scene.tier == NOVICE else {}
    symbols = symbols_in(talk.text)
    calls = [
        Call(patches.STRATEGY, {"template": name}),
        Call(patches.CONTEXT, {"symbols": symbols} if symbols else {}),
        Call(patches.CAPS, dict(caps)),
    ]
    done = yield from patches.patch_draft(calls)
    if talk.scene.tier != NOVICE:
        return patches.report_patches(done)
    return patches.report_patches(done, templates.glossary(talk.text, name), after=templates.BACKTEST_FIRST)


def _make_safer(talk: Talk, match: re.Match[str]) -> Steps:
    """Halve known caps; set the others to SAFE_CAPS."""
    caps = patches.read_draft(talk).caps
    lower: dict[str, Any] = {}
    for name, safe in templates.SAFE_CAPS.items():
        known = caps.get(name)
        value = max(1.0, known / 2) if known else float(safe)
        lower[name] = int(value) if value == int(value) else round(value, 2)
    done = yield from patches.patch_draft([Call(patches.CAPS, patches.fit_caps(lower))])
    how = (
        "I halved each cap that I know of the draft, down to 1 at the least; for the others I took what I would"
        " begin with."
        if caps
        else "I do not see the caps it had, so I set those I would begin with."
    )
    return patches.report_patches(done, how if any(not one.error for _, one in done) else "")


def _change_symbols(talk: Talk, match: re.Match[str]) -> Steps | None:
    named = symbols_in(match["symbols"])
    if not named:
        return None
    verb = (match["verb"] or "only").casefold()
    known = patches.read_draft(talk).symbols
    if verb in {"only", "just"}:
        symbols = named
    elif known is None:
        return say_text(
            f"I do not see which symbols the draft has, and what I set replaces them all. Name the whole list: “only"
            f" {', '.join(named)} and …”."
        )
    elif verb.startswith(("add", "also", "include", "trade")):
        symbols = list(dict.fromkeys([*known, *named]))
    else:
        symbols = [symbol for symbol in known if symbol not in named]
        if not symbols:
            return say_text("A skill needs one symbol at least. Add another one first.")
    return _set_one(Call(patches.CONTEXT, {"symbols": symbols}))


def _rename_draft(talk: Talk, match: re.Match[str]) -> Steps:
    return _set_one(Call(patches.BASICS, {"name": match["name"].strip(" \"“”'.")}))


def _set_one(call: Call) -> Steps:
    return patches.report_patches((yield from patches.patch_draft([call])))


def _review_draft(talk: Talk, match: re.Match[str]) -> Steps | None:
    if patches.CRITIQUE not in talk.acts:
        return None
    return patches.review_draft("The review of the draft:", "Tell me what to change, or Save on the preview.")


def _what_is_missing(talk: Talk, match: re.Match[str]) -> Steps | None:
    problems = patches.read_draft(talk).problems
    if problems is None:
        return _review_draft(talk, match)
    if problems:
        return say_text(f"Before it can be saved:\n\n{listing(problems)}")
    return say_text(f"Nothing that keeps it from being saved. {_SAVE}")


def _refuse_save(talk: Talk, match: re.Match[str]) -> Steps:
    return say_text(_SAVE)


def _accept_defaults(talk: Talk, match: re.Match[str]) -> Steps | None:
    if not answers_given(talk.before):
        return None
    return say_text(
        "Then what you did not name keeps the default of the draft. Say “what is missing?” or “review it”. "
        + patches.save_note([]).partition(". ")[2]
    )


def _safer_than_last(talk: Talk, match: re.Match[str]) -> Steps:
    """Begin with small caps; what the last one had is on its page."""
    done = yield from patches.patch_draft([Call(patches.CAPS, dict(templates.SAFE_CAPS))])
    note = "I do not see the caps of your other skills with my tools; these are those I would begin with."
    of_expert = "What should it trade, and when does it enter and exit?"
    return patches.report_patches(done, note, templates.NOVICE_ASK if talk.scene.tier == NOVICE else of_expert)


_IT: Final = r"(?:it|this|that|the (?:draft|strategy|skill|thing)|my (?:draft|strategy|skill))"
_COMMANDS: Final = (
    _Command(
        any_of(
            r"(?:show|give|list|see)(?: me)? (?:an?|the|your|all|some)(?: \w+)? ?templates?",
            r"(?:what|which) templates? (?:are there|do you have|can i use|exist)",
            r"(?:are there|do you have)(?: any)? templates?",
            r"(?:i want|i'd like|i would like)(?: to see)? an? template",
            r"templates?",
        ),
        _show_templates,
        needs_draft=False,
    ),
    _Command(
        any_of(
            r"(?:let's |i want to |i'd like to |can we )?(?:use|take|apply|start (?:from|with)|begin with|pick)"
            r" (?:the |your |a )?(?P<name>[\w -]{3,40}?) template(?: (?:on|for|with) [\w ,]{2,40})?"
        ),
        _use_template,
        needs_draft=False,
    ),
    _Command(
        any_of(
            r"(?:i want |i'd like |i would like |give me |make (?:me )?)?something (?:safer|less risky|more careful"
            r"|calmer) than (?:my|the) (?:last|previous|other|current) (?:one|skill|strategy)"
        ),
        _safer_than_last,
    ),
    _Command(
        any_of(
            rf"(?:make|can you make) {_IT} (?:a (?:bit|little) )?(?:safer|less risky|more (?:careful|conservative))",
            r"(?:lower|reduce|cut|halve) (?:the |its )?(?:risks?|caps|risk caps|limits)",
            r"(?:safer|less risky|more conservative)(?:,? please)?",
        ),
        _make_safer,
    ),
    _Command(
        any_of(
            r"(?P<verb>add|trade|also (?:trade|add|include)|include|remove|drop|without|leave out|take out|only(?:"
            r" trade)?|just(?: trade)?)(?: the)?(?: symbols?)? (?P<symbols>[A-Za-z]{2,12}(?:(?:, and|,| and| &)"
            r" [A-Za-z]{2,12})*)(?: (?:too|as well|to (?:it|the symbols|the list)|only|from (?:it|the symbols"
            r"|the list)))?"
        ),
        _change_symbols,
    ),
    _Command(
        any_of(r"(?:call|name|rename) (?:it|this|the (?:draft|skill|strategy)|it to)(?: to)? (?P<name>\S.{1,79})"),
        _rename_draft,
    ),
    _Command(
        any_of(
            rf"(?:can you |could you )?(?:review|critique|check|criticise|criticize|assess|judge|pick apart)(?:"
            rf" {_IT})?",
            rf"what (?:do you think|is wrong|would you change|are the holes|holes do you see)(?: (?:of|about|with"
            rf"|in) {_IT})?",
            r"(?:any|find(?: the)?) holes(?: in it)?",
            r"(?:give me )?a (?:review|critique)",
        ),
        _review_draft,
    ),
    _Command(
        any_of(
            rf"what(?:'s| is| else is)? (?:still )?(?:missing|left|open|needed|to do)(?: (?:in|from|for) {_IT})?",
            r"(?:is|are) (?:there )?anything (?:else )?missing",
            r"(?:is it|is the draft) (?:complete|ready|done|finished)",
            r"(?:can i|am i ready to) save(?: it)?(?: now)?",
        ),
        _what_is_missing,
    ),
    _Command(any_of(rf"(?:can you |could you )?(?:save|discard|delete) {_IT}(?: (?:now|for me))?"), _refuse_save),
    _Command(
        any_of(
            r"(?:no,? )?(?:that(?:'s| is) (?:all|it|enough)|use (?:the |your )?defaults?(?: for the rest)?"
            r"|you (?:choose|decide)|no more questions|skip(?: (?:it|that|them|the rest))?)"
        ),
        _accept_defaults,
    ),
)
