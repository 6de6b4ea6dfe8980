"""Short commands on a draft: templates, caps, symbols, name, review."""

import re
from collections.abc import Callable
from typing import Any, Final

from config.offline.adapters import Call
from config.offline.drafting import patches, templates
from config.offline.figures import listing
from config.offline.reading.sentences import Pattern
from config.offline.scene import NOVICE
from config.offline.talk import Steps, Talk, say_text
from trading.market.names import symbols_in

_Run = Callable[[Talk, "re.Match[str]"], Steps | None]


def command_steps(talk: Talk, text: str) -> Steps | None:
    """Return the steps of a draft command, or None."""
    plain = patches.plain_of(text)
    for run, pattern, needs_draft in _COMMANDS if len(plain) <= 200 else ():
        match = pattern.compiled.fullmatch(plain)
        if match and (patches.is_drafting(talk) or not needs_draft):
            return run(talk, match)
    return None


def _show_templates(talk: Talk, match: re.Match[str]) -> Steps:
    return say_text(
        f"These are the templates:\n\n{templates.list_templates()}\n\nSay “use the trend breakout template”, and I "
        "write it into a draft that you can change."
    )


def _use_template(talk: Talk, match: re.Match[str]) -> Steps | None:
    name = templates.template_named(match["name"])
    return _from_template(talk, name) if name else _show_templates(talk, match)


def _from_template(talk: Talk, name: str) -> Steps:
    is_novice, symbols = talk.scene.tier == NOVICE, symbols_in(talk.text)
    calls = [
        Call(patches.STRATEGY, {"template": name}),
        Call(patches.CONTEXT, {"symbols": symbols} if symbols else {}),
        Call(patches.CAPS, dict(templates.SAFE_CAPS) if is_novice else {}),
    ]
    done = yield from patches.patch_draft(calls)
    if not is_novice:
        return patches.report_patches(done)
    return patches.report_patches(done, templates.glossary(talk.text, name), after=templates.BACKTEST_FIRST)


def _make_safer(talk: Talk, match: re.Match[str]) -> Steps:
    """Halve known caps; set the others to SAFE_CAPS."""
    caps = patches.read_draft(talk).caps()
    lower: dict[str, Any] = {}
    for name, safe in templates.SAFE_CAPS.items():
        value = max(1.0, caps[name] / 2) if caps.get(name) else float(safe)
        lower[name] = int(value) if value == int(value) else round(value, 2)
    done = yield from patches.patch_draft([Call(patches.CAPS, patches.fit_caps(lower))])
    how = (
        "I halved each cap that I know of the draft, down to 1 at the least; for the others I took what I would begin"
        " with."
        if caps.keys() & templates.SAFE_CAPS
        else "I do not see the caps it had, so I set those I would begin with."
    )
    return patches.report_patches(done, how if any(not one.error for _, one in done) else "")


def _change_symbols(talk: Talk, match: re.Match[str]) -> Steps | None:
    named, verb = symbols_in(match["symbols"]), (match["verb"] or "only").casefold()
    known = patches.read_draft(talk).listed("symbols")
    if not named:
        return None
    if verb.startswith(("only", "just")):
        symbols = named
    elif not known:
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
    return _set_one(Call(patches.BASICS, {"name": match["title"].strip(" \"“”'.")}))


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
    none = f"Nothing that keeps it from being saved. {patches.SAVE}"
    return say_text(f"Before it can be saved:\n\n{listing(problems)}" if problems else none)


def _refuse_save(talk: Talk, match: re.Match[str]) -> Steps:
    return say_text(patches.SAVE)


def _accept_defaults(talk: Talk, match: re.Match[str]) -> Steps | None:
    if templates.QUESTIONS not in talk.before:
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


_IT: Final = r"(?:it|this|that|(?:the|my) (?:draft|strategy|skill|thing))"
_COMMANDS: Final[tuple[tuple[_Run, Pattern, bool], ...]] = (  # with whether they need a draft
    (
        _show_templates,
        Pattern(
            r"""
(?:show|give|list|see)(?: me)? (?:an?|the|your|all|some)(?: \w+)? ?templates?|templates?
(?:what|which) templates? (?:are there|do you have|can i use|exist)|(?:are there|do you have)(?: any)? templates?
(?:i want|i'd like|i would like)(?: to see)? an? template
"""
        ),
        False,
    ),
    (
        _use_template,
        Pattern(
            r"(?:let's |i want to |i'd like to |can we )?(?:use|take|apply|start (?:from|with)|begin with|pick)"
            r" (?:the |your |a )?(?P<name>[\w -]{3,40}?) template(?: (?:on|for|with) [\w ,]{2,40})?"
        ),
        False,
    ),
    (
        _safer_than_last,
        Pattern(
            r"(?:i want |i'd like |i would like |give me |make (?:me )?)?something (?:safer|less risky|more careful"
            r"|calmer) than (?:my|the) (?:last|previous|other|current) (?:one|skill|strategy)"
        ),
        True,
    ),
    (
        _make_safer,
        Pattern(
            r"""
(?:make|can you make) <IT> (?:a (?:bit|little) )?(?:safer|less risky|more (?:careful|conservative))
(?:lower|reduce|cut|halve) (?:the |its )?(?:risks?|caps|risk caps|limits)
(?:safer|less risky|more conservative)(?:,? please)?
""",
            IT=_IT,
        ),
        True,
    ),
    (
        _change_symbols,
        Pattern(
            r"(?P<verb>add|trade|also (?:trade|add|include)|include|remove|drop|without|leave out|take out|only(?:"
            r" trade)?|just(?: trade)?)(?: the)?(?: symbols?)? (?P<symbols>[A-Za-z]{2,12}(?:(?:, and|,| and| &)"
            r" [A-Za-z]{2,12})*)(?: (?:too|as well|to (?:it|the symbols|the list)|only|from (?:it|the symbols"
            r"|the list)))?"
        ),
        True,
    ),
    (
        _rename_draft,
        Pattern(r"(?:call|name|rename) (?:it|this|the (?:draft|skill|strategy)|it to)(?: to)? (?P<title>\S.{1,79})"),
        True,
    ),
    (
        _review_draft,
        Pattern(
            r"""
(?:can you |could you )?(?:review|critique|check|criticise|criticize|assess|judge|pick apart)(?: <IT>)?
what (?:do you think|is wrong|would you change|are the holes|holes do you see)(?: (?:of|about|with|in) <IT>)?
(?:any|find(?: the)?) holes(?: in it)?|(?:give me )?a (?:review|critique)
""",
            IT=_IT,
        ),
        True,
    ),
    (
        _what_is_missing,
        Pattern(
            r"""
what(?:'s| is| else is)? (?:still )?(?:missing|left|open|needed|to do)(?: (?:in|from|for) <IT>)?
(?:is|are) (?:there )?anything (?:else )?missing|(?:is it|is the draft) (?:complete|ready|done|finished)
(?:can i|am i ready to) save(?: it)?(?: now)?
""",
            IT=_IT,
        ),
        True,
    ),
    (_refuse_save, Pattern(rf"(?:can you |could you )?(?:save|discard|delete) {_IT}(?: (?:now|for me))?"), True),
    (
        _accept_defaults,
        Pattern(
            r"(?:no,? )?(?:that(?:'s| is) (?:all|it|enough)|use (?:the |your )?defaults?(?: for the rest)?"
            r"|you (?:choose|decide)|no more questions|skip(?: (?:it|that|them|the rest))?)"
        ),
        True,
    ),
)
