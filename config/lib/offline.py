"""Keel's offline model: rules instead of a language model, so that the product works without any provider.

It is honest and useful: it says what it is, calls the same tools through the same loop, answers from their
results and from the facts in its prompt, and says plainly when it has no rule. Pure: the same messages and
tools give the same reply.

To teach it something: write a rule (a function from Talk to Reply or None) and name it in RULES.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from config.lib.offline_facts import Known, Outcome, best_matches, content_text, known_facts, outcomes
from config.lib.offline_memory import Request, memory_requests
from config.lib.offline_statements import is_question, passing_states, sentences, strip_lead_in, topic_of

FACTS_PAGE = "[facts page](/profile/facts/)"
WHICH_ONE = "Which one should I forget?"

WHAT_I_AM = (
    "I am Keel's offline model: I work by rules, not with a language model, so I understand only what a rule was"
    " written for."
)
WHAT_I_CAN = f"""\
Here is what I can do:

- **remember** lasting things you tell me: “I never trade alts”, “my max leverage is 5x”, “remember that …”
- **correct and forget** them: “actually my max leverage is 3x”, “forget my goal”
- **say what I know**: “what do you know about me?”, “what is my max leverage?”

You see and edit all of it on your {FACTS_PAGE}."""
REAL_MODEL = (
    "For a real conversation, whoever runs this site sets `CHAT_AGENT_MODEL` (for example"
    " `openrouter/anthropic/claude-sonnet-4.6`) and the provider's key (`OPENROUTER_API_KEY`), and restarts Keel."
)
KNOWS_NOTHING = (
    "I know nothing about you yet. Tell me something lasting, such as “I never trade alts” or “my max leverage is 5x”,"
    f" or add it on your {FACTS_PAGE}, and I will remember it."
)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call the model wants made."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model answers: text in Markdown, tool calls, or both."""

    text: str = ""
    tool_calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """What the rules look at."""

    text: str  # the user's last message
    before: str  # the model's text before it
    tools: frozenset[str]
    known: list[Known]
    results: list[Outcome] = field(default_factory=list)  # of the tools called for this message, if they have run
    earlier: list[Outcome] = field(default_factory=list)  # of the tools called before it

    @property
    def word_count(self) -> int:
        """Return how many words the user's message has."""
        return len(self.text.split())


def decide(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Reply:
    """Answer a conversation (OpenAI's message and tool format) by the first rule that applies."""
    talk = _read(messages, tools)
    for rule in RULES:
        reply = rule(talk)
        if reply is not None:
            return reply
    return Reply(f"{WHAT_I_AM} I have no rule for what you just wrote.\n\n{WHAT_I_CAN}\n\n{REAL_MODEL}")


def _read(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Talk:
    at = max((i for i, message in enumerate(messages) if message.get("role") == "user"), default=-1)
    before = [content_text(message) for message in messages[: max(at, 0)] if message.get("role") == "assistant"]
    return Talk(
        text=content_text(messages[at]).strip() if at >= 0 else "",
        before=next((text for text in reversed(before) if text), ""),
        tools=frozenset(str(tool.get("function", {}).get("name")) for tool in tools),
        known=known_facts(messages),
        results=outcomes(messages[at + 1 :]),
        earlier=outcomes(messages[: at + 1]),
    )


def report_results(talk: Talk) -> Reply | None:
    """After tools have run: say what was saved, forgotten, found or refused, then answer what was asked besides."""
    if not talk.results:
        return None
    parts = [
        _listing("I have forgotten", [o for o in talk.results if o.name == "forget" and not o.error]),
        _listing("I have saved", [o for o in talk.results if _is_saved(o) and not _was_known(o)]),
        _listing("I knew this already", [o for o in talk.results if _is_saved(o) and _was_known(o)]),
    ]
    if any(parts):
        parts.append(f"You can change or undo this on your {FACTS_PAGE}.")
    parts += [_failure(outcome) for outcome in talk.results if outcome.error]
    parts += [_plainly(o) for o in talk.results if not o.error and o.name not in {"remember", "forget"}]
    parts.append(_passing_note(talk))
    asked = answer_about_user(talk)
    parts.append(asked.text if asked else "")
    return Reply("\n\n".join(part for part in parts if part))


def forget_chosen(talk: Talk) -> Reply | None:
    """After "Which one should I forget?": forget what the user points at."""
    if WHICH_ONE not in talk.before or "forget" not in talk.tools:
        return None
    shown = [line[2:].strip() for line in talk.before.splitlines() if line.startswith("- ")]
    if re.match(r"(?:no(?:ne|thing)?|neither|cancel|never ?mind|stop|leave (?:it|them))\b", talk.text, re.IGNORECASE):
        return Reply("All right, I have forgotten nothing.")
    chosen = _pointed_at(talk.text, shown)
    ids = {
        candidate.get("fact"): candidate.get("fact_id")
        for outcome in talk.earlier
        if isinstance(outcome.result, dict)
        for candidate in outcome.result.get("candidates") or ()
        if isinstance(candidate, dict)
    }
    calls = [Call("forget", {"fact_id": str(ids.get(text) or text)}) for text in chosen]
    return Reply(tool_calls=tuple(calls)) if calls else None


def change_memory(talk: Talk) -> Reply | None:
    """Remember, correct and forget what the message asks for or states."""
    requests = memory_requests(talk.text, talk.known, talk.before, talk.earlier)
    calls = [Call(request.tool, request.arguments) for request in requests if request.tool in talk.tools]
    if calls:
        return Reply(tool_calls=tuple(calls))
    for request in requests:
        if request.tool:
            return Reply(_no_tool(request))
    choices = [request for request in requests if request.choices]
    if choices:
        lines = "\n".join(f"- {known.text}" for known in choices[0].choices)
        return Reply(f"More than one thing I know could be meant:\n\n{lines}\n\n{WHICH_ONE}")
    if requests:
        return Reply("I see nothing to forget: I know nothing about you in this chat yet.")
    note = _passing_note(talk)
    return Reply(note) if note else None


def answer_about_user(talk: Talk) -> Reply | None:
    """Answer questions about the user from the facts in the prompt, quoting their lines."""
    for sentence in sentences(talk.text):
        plain = strip_lead_in(sentence)
        if _ASKS_FOR_ALL.search(plain):
            return Reply(_all_known(talk, plain))
        if is_question(sentence) and _ASKS_ABOUT_USER.match(plain) and _FIRST_PERSON.search(plain):
            matches = _answering(plain, talk.known)
            if matches:
                return Reply(f"You told me:\n\n{_lines(matches)}{_no_judgement(plain)}")
            if _ASKS_FOR_FACT.match(plain) and talk.known:
                return Reply(
                    "That is not among what I know about you. Tell me, as a plain sentence, and I will remember it."
                )
            if _ASKS_FOR_FACT.match(plain):
                return Reply(KNOWS_NOTHING)
    return None


def make_small_talk(talk: Talk) -> Reply | None:
    """Answer greetings, thanks and questions about the model itself."""
    if _WHAT_ARE_YOU.search(talk.text):
        return Reply(f"{WHAT_I_AM}\n\n{WHAT_I_CAN}\n\n{REAL_MODEL}")
    if _HELP.match(talk.text):
        return Reply(f"{WHAT_I_CAN}\n\n{WHAT_I_AM} {REAL_MODEL}")
    if _BARE_REMEMBER.match(talk.text):
        return Reply("Tell me what, in one sentence: “remember that I never trade alts”.")
    if talk.word_count > 6:
        return None
    if _THANKS.match(talk.text):
        return Reply("You are welcome.")
    if _BYE.match(talk.text):
        return Reply("Goodbye. What I saved stays saved.")
    if _GREETING.match(talk.text):
        name = _name(talk.known)
        return Reply(f"Hello{f' {name}' if name else ''}. {WHAT_I_AM}\n\n{WHAT_I_CAN}")
    if _AGREEMENT.match(talk.text):
        return Reply("All right.")
    return None


RULES: tuple[Callable[[Talk], Reply | None], ...] = (
    report_results,
    forget_chosen,
    change_memory,
    answer_about_user,
    make_small_talk,
)

_FIRST_PERSON = re.compile(r"\b(?:I|my|me|mine)\b", re.IGNORECASE)
_ASKS_FOR_ALL = re.compile(
    r"\bwhat (?:do|did|can|else do) you (?:know|remember|have|recall)\b.*\b(?:me|my|mine|i)\b"
    r"|\bwhat (?:have i|did i) (?:told|tell) you\b|\bwhat have you (?:learned|learnt|saved|remembered|stored)\b"
    r"|\bwho am i\b|\bdo you (?:know|remember|recall) (?:me|anything|who i am)\b|\btell me what you know\b"
    r"|\b(?:list|show)(?: me)?(?: all)?(?: of)? (?:my|your|the|what you know)\b.*\b(?:facts|memor(?:y|ies)|know)\b"
    r"|\bwhat(?:'s|’s| is) in your memory\b|^my facts\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"\babout (?:my|me and) (?P<what>[^?.!]+)", re.IGNORECASE)
_ASKS_FOR_FACT = re.compile(
    r"(?:what|which|who|where|when|how (?:much|many|old|long|high|big))\b.{0,40}\b(?:am I|my|do I|did I|I)\b",
    re.IGNORECASE,
)
_ASKS_ABOUT_USER = re.compile(
    r"(?:what|which|who|where|when|how|why|do|did|am|have|should|shall|can|could|may|would|is|are|remind me)\b",
    re.IGNORECASE,
)
_ASKS_ADVICE = re.compile(r"(?:should|shall|can|could|may|would|is|are|do you think)\b", re.IGNORECASE)
_WHAT_ARE_YOU = re.compile(
    r"\b(?:who|what) are you\b|\bare you (?:an? |really |the )*(?:ai|a\.i\.|bot|robot|human|person|real|llm"
    r"|language model|gpt"
    r"|chat ?gpt|claude|gemini|model)\b|\bwhich (?:language )?model\b|\bwhat model\b|\byour name\b",
    re.IGNORECASE,
)
_HELP = re.compile(
    r"(?:/?help|what can (?:you|i) (?:do|ask|say)|how (?:do|does) (?:you|this|it) work)\b", re.IGNORECASE
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


def _is_saved(outcome: Outcome) -> bool:
    return outcome.name == "remember" and not outcome.error


def _was_known(outcome: Outcome) -> bool:
    return isinstance(outcome.result, dict) and "known already" in str(outcome.result.get("note"))


def _listing(title: str, done: list[Outcome]) -> str:
    texts = [outcome.changed_text() for outcome in done]
    if len(texts) == 1:
        return f"{title}: **{texts[0]}**"
    return f"{title}:\n\n" + "\n".join(f"- **{text}**" for text in texts) if texts else ""


def _failure(outcome: Outcome) -> str:
    candidates = outcome.result.get("candidates") or ()
    if candidates and outcome.name == "forget":
        texts = [str(c.get("fact") if isinstance(c, dict) else c) for c in candidates]
        lines = "\n".join(f"- {text}" for text in texts)
        return f"Several facts hold “{outcome.arguments.get('fact_id')}”:\n\n{lines}\n\n{WHICH_ONE}"
    if outcome.name == "remember":
        return f"I could not save that: {outcome.error}"  # not repeated: it may have been refused as a secret
    if outcome.name == "forget":
        return f"I could not forget “{outcome.arguments.get('fact_id')}”: {outcome.error}"
    return f"`{outcome.name}` could not answer: {outcome.error}"


def _plainly(outcome: Outcome) -> str:
    """Show the result of a tool no rule knows: its plain values, one a line."""
    if not isinstance(outcome.result, dict):
        return f"`{outcome.name}` answered: {str(outcome.result)[:500]}"
    values = {k: v for k, v in outcome.result.items() if isinstance(v, str | int | float | bool)}
    lines = "\n".join(f"- {key}: {str(value)[:200]}" for key, value in list(values.items())[:12])
    return (
        f"`{outcome.name}` answered:\n\n{lines}"
        if lines
        else f"`{outcome.name}` has run; I have no rule to read its answer."
    )


def _pointed_at(text: str, shown: list[str]) -> list[str]:
    if re.search(r"\b(?:both|all|everything|each|them)\b", text, re.IGNORECASE):
        return shown
    ordinals = ("first|1|one", "second|2|two", "third|3|three", "fourth|4|four", "fifth|5|five")
    if len(text.split()) <= 4:
        for line, words in zip(shown, ordinals, strict=False):
            if re.fullmatch(rf"(?:(?:the|number|no\.?|#)\s*)*(?:{words})(?:\s+one)?[.!]*", text, re.IGNORECASE):
                return [line]
        if re.fullmatch(r"(?:the )?last(?: one)?[.!]*", text, re.IGNORECASE):
            return shown[-1:]
    matches = best_matches(text, [Known(line) for line in shown], least=0.5)
    return [matches[0].text] if len(matches) == 1 else []


def _no_tool(request: Request) -> str:
    if request.tool == "remember":
        return (
            f"I cannot save “{request.arguments['fact']}” here: this chat has no tool for it. You can add it on your"
            f" {FACTS_PAGE}."
        )
    return f"I cannot forget anything here: this chat has no tool for it. You can do it on your {FACTS_PAGE}."


def _passing_note(talk: Talk) -> str:
    passing = passing_states(talk.text)
    if not passing:
        return ""
    return f"I keep only what lasts, so I did not save “{passing[0]}”: it is the state of a moment."


def _all_known(talk: Talk, question: str) -> str:
    if not talk.known:
        return KNOWS_NOTHING
    about = _ABOUT.search(question)
    matches = _answering(about["what"], talk.known) if about else []
    if about and not matches:
        return (
            f"I know nothing about your {about['what'].strip()} yet. I know {len(talk.known)} other things about you."
        )
    if matches:
        return f"This is what I know about that:\n\n{_lines(matches)}"
    return (
        f"This is what I know about you:\n\n{_lines(talk.known)}\n\nThere may be more on your {FACTS_PAGE}, where"
        f" you can"
        " change all of it."
    )


def _answering(question: str, known: list[Known]) -> list[Known]:
    topic = next((topic for topic, pattern in _TOPIC_QUESTIONS if pattern.search(question)), topic_of(question))
    matches = best_matches(question, known, topic=topic)
    return matches or [fact for fact in known if topic and fact.topic == topic]


_TOPIC_QUESTIONS = (
    ("session", re.compile(r"^when\b|\bwhat (?:time|hours)\b", re.IGNORECASE)),
    ("symbols", re.compile(r"^what do I trade\b|\b(?:which|what) (?:symbols|coins|markets|pairs)\b", re.IGNORECASE)),
)


def _lines(facts: list[Known]) -> str:
    return "\n".join(fact.line for fact in facts)


def _no_judgement(question: str) -> str:
    if not _ASKS_ADVICE.match(question):
        return ""
    return "\n\nI work by rules and cannot judge beyond that."


def _name(known: list[Known]) -> str:
    return next((match["name"] for fact in known if (match := _CALLED.match(fact.text))), "")
