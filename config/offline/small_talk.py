"""Greetings, thanks, and questions about the model itself."""

import re

from config.offline.facts import Known
from config.offline.memory.questions import HELP
from config.offline.phrases import REAL_MODEL, WHAT_I_AM, find_example, what_i_can
from config.offline.talk import Reply, Talk

_WHAT_ARE_YOU = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? |really |the )*(?:ai|a\.i\.|bot|robot|human|person|real|llm|language"
    r" model|gpt|chat ?gpt|claude|gemini|model)\b|\bwhich (?:language )?model\b|\bwhat model\b|\byour name\b",
    re.IGNORECASE,
)
_BARE_REMEMBER = re.compile(r"(?:please )?remember(?: this| that| it| something)?[.!: ]*$", re.IGNORECASE)
_GREETING = re.compile(
    r"(?:hi|hello|hey|yo|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|gm)\b(?! (?:how much|what))",
    re.IGNORECASE,
)
_THANKS = re.compile(
    r"(?:(?:ok|okay|great|perfect|cool)[,.! ]+)?(?:thanks?|thank you|thx|ty|cheers|much appreciated)\b", re.IGNORECASE
)
_BYE = re.compile(r"(?:bye|goodbye|see you|good night|cya|later)\b", re.IGNORECASE)
_AGREEMENT = re.compile(
    r"(?:ok|okay|k|yes|yep|yeah|no|nope|sure|fine|great|perfect|cool|nice|good|got it|never ?mind"
    r"|forget (?:about )?it)[.! ]*$",
    re.IGNORECASE,
)
_CALLED = re.compile(r"^(?:my name is|call me|I go by)\s+(?P<name>[^\W\d_][\w'-]*)", re.IGNORECASE)


def make_small_talk(talk: Talk) -> Reply | None:
    """Answer greetings, thanks and questions about the model itself."""
    if _WHAT_ARE_YOU.search(talk.text):
        return Reply(f"{WHAT_I_AM}\n\n{what_i_can(talk.acts)}\n\n{REAL_MODEL}")
    if HELP.match(talk.text):
        return Reply(f"{what_i_can(talk.acts)}\n\n{WHAT_I_AM} {REAL_MODEL}")
    if _BARE_REMEMBER.match(talk.text):
        return Reply(f"Tell me what, in one sentence: “remember that {find_example(talk.acts)}”.")
    if talk.word_count > 6:
        return None
    if _THANKS.match(talk.text):
        return Reply("You are welcome.")
    if _BYE.match(talk.text):
        return Reply("Goodbye. What I saved stays saved.")
    if _GREETING.match(talk.text):
        name = _find_name(talk.known)
        return Reply(f"Hello{f' {name}' if name else ''}. {WHAT_I_AM}\n\n{what_i_can(talk.acts)}")
    if _AGREEMENT.match(talk.text):
        return Reply("All right.")
    return None


def _find_name(known: list[Known]) -> str:
    return next((match["name"] for fact in known if (match := _CALLED.match(fact.text))), "")
