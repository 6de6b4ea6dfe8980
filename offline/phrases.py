"""Texts in which the model describes itself, small talk, and the terms it explains."""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from config.lib.words.clauses import load_forms
from offline.messages import content_words
from offline.talk import Reply, Talk
from offline.telling import TEXTS, listing, paragraphs

FACTS_PAGE: Final = "[facts page](/profile/facts/)"

WHAT_I_AM: Final = "I am Keel's offline model: I work by rules, not with a language model."
REAL_MODEL: Final = (
    "For a real conversation, whoever runs this site sets `CHAT_AGENT_MODEL` (for example"
    " `openrouter/anthropic/claude-sonnet-4.6`) and the provider's key (`OPENROUTER_API_KEY`), and restarts Keel."
)
NO_RULE: Final = "I have no rule for what you just wrote: I work by rules, not with a language model."
_ABLE: Final = {
    act: (what, said.split(" / "))
    for act, what, said in (row.split(": ") for row in re.sub(r"\n +", " ", TEXTS["abilities"].strip()).split("\n"))
}
_STATEMENTS: Final = frozenset({"remember", "forget", "confirm", "prepare_action"})
TERMS: Final = {
    name.casefold(): f"**{names.partition('|')[0]}**: {told}."
    for names, told in (row.split(": ", 1) for row in TEXTS["terms"].strip().splitlines())
    for name in names.split("|")
}

_FORMS: Final = load_forms(Path(__file__).with_name("tables.forms"))
_ABOUT_KEEL, _SHORT_TALK = _FORMS["about Keel"], _FORMS["small talk"]


def asks_for_help(text: str) -> bool:
    """Tell whether a text asks what Keel can do."""
    return "help" in _ABOUT_KEEL.read(text)


def make_small_talk(talk: Talk) -> Reply | None:
    """Answer greetings, thanks and questions about the model itself."""
    said, brief = _ABOUT_KEEL.read(talk.text), _SHORT_TALK.read(talk.text)
    if "what" in said or "help" in said:
        return Reply(paragraphs(_list_abilities(talk.acts), f"{WHAT_I_AM} {REAL_MODEL}"))
    if len(talk.text.split()) > 6:
        return None
    if "greeting" in said:
        return Reply(f"Hello. {WHAT_I_AM} {suggest('', talk.acts)}")
    return next((Reply(answer) for answer in _SHORT_TALK.rows if answer in brief), None)


def suggest(text: str, acts: Collection[str]) -> str:
    """Offer three questions that can be answered, the ones nearest to a text."""
    open_to = {"any", *acts} - _STATEMENTS
    able = [question for act, (_, questions) in _ABLE.items() if act in open_to for question in questions]
    wanted = content_words(text)
    first, *others = sorted(able, key=lambda question: -len(wanted & content_words(question)))[:3]
    return f"Try {', '.join(f'“{one}”' for one in [first, *others[:-1]])} or “{others[-1]}”."


def _list_abilities(acts: Collection[str]) -> str:
    """List the model's abilities, with examples for this assistant."""
    told = [
        f"**{what}**: {', '.join(f'“{one}”' for one in questions[:2])}"
        for act, (what, questions) in _ABLE.items()
        if act in {"any", *acts}
    ]
    told += [] if acts else ["I can **save nothing** here: this chat has no tool for it"]
    page = f"You see and edit all that I know of you on your {FACTS_PAGE}."
    return paragraphs("Here is what I can do:", listing(told), page)


def knows_nothing(acts: Collection[str]) -> str:
    """Say that nothing is known of the user, and how that changes."""
    if "remember" not in acts:
        return f"I know nothing about you in this chat. What you want known you can add on your {FACTS_PAGE}."
    how = f"Tell me something lasting, such as “I never trade alts”, or add it on your {FACTS_PAGE}"
    return f"I know nothing about you yet. {how}, and I will remember it."
