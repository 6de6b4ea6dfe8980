"""The input and reply of a rule, its tool steps, and the focus, tier and clock of a prompt.

A rule of several steps is a generator: it yields the calls that it needs next, is sent their outcomes, and returns what
to say. `follow_steps` runs it on the results there are, from its beginning each time, so nothing is kept between steps.
"""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from chat.parts import split_preamble
from chat.prompt.focus import HEADING
from chat.prompt.texts import DEFAULT_TIER, TIER_ADDENDA
from offline.messages import Call, CallResult, FactLine, acts_of, content_text, read_acts, read_memory, read_opening
from offline.telling import Row, parse_instant

Steps = Generator[tuple[Call, ...], list[CallResult], str]
NOVICE: Final = "novice"
EXPERT: Final = "expert"

_CLOCK = re.compile(r"^Current datetime: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z$", re.MULTILINE)
_LINE = re.compile(r"^- (?P<label>[a-z_ ,()]{2,40}): (?P<text>.*)$")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a chat takes place."""

    tier: str = DEFAULT_TIER
    now: datetime | None = None  # UTC
    # The lines below the heading, by their labels; a chat that was opened to write a strategy has a draft.
    focus: Mapping[str, str] = field(default_factory=dict)


def read_scene(prompts: Iterable[str], preambles: Iterable[str] = ()) -> Scene:
    """Read the texts of system messages and the preambles of user messages, oldest first."""
    prompt, told = "\n" + "\n".join(prompts), "\n".join(preambles)
    tiers = (tier for tier, text in TIER_ADDENDA.items() if f"\n{text.partition('.')[0]}." in prompt)
    _, _, rest = f"\n{told}\n".rpartition(f"\n{HEADING}\n")
    focus: dict[str, str] = {}
    for line in rest.split("\n"):
        match = _LINE.match(line)
        if match is None:
            break
        focus.setdefault(match["label"], match["text"].strip())
    clocks = _CLOCK.findall(told)
    return Scene(next(tiers, DEFAULT_TIER), parse_instant(clocks[-1]) if clocks else None, focus)


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What the model answers: text in Markdown, tool calls, or both."""

    text: str = ""
    tool_calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """What the rules look at."""

    text: str  # the user's last message
    before: str  # the model's text before it
    acts: frozenset[str]  # what the chat's tools can do
    known: list[FactLine]
    about: FactLine | None = None  # the fact that the user was asked how to change
    results: list[CallResult] = field(default_factory=list)  # of the tools called for this message, if they have run
    earlier: list[CallResult] = field(default_factory=list)  # of the tools called before it
    task: str = ""  # the system text, which says so when this is no chat
    scene: Scene = field(default_factory=Scene)

    @property
    def names(self) -> dict[str, str]:
        """Return the texts of facts by their ids."""
        return {fact.id: fact.text for fact in self.known if fact.id}

    def tell_errors(self, outcomes: Iterable[CallResult]) -> str:
        """Say which lookups failed, "" when none did."""
        failed = (outcome for outcome in outcomes if outcome.error)
        return "\n\n".join(f"`{one.tool}` could not answer: {one.told_error}" for one in failed)


def read_talk(messages: Sequence[Row], tools: Sequence[str]) -> Talk:
    """Read the messages of a chat, oldest first."""
    users = [i for i, message in enumerate(messages) if message.get("role") == "user"]
    split = {i: split_preamble(content_text(messages[i])) for i in users}
    preambles = [preamble for preamble, _ in split.values()]
    at = users[-1] if users else -1
    said = [content_text(message) for message in messages[: max(at, 0)] if message.get("role") == "assistant"]
    before = next((text for text in reversed(said) if text), "")
    systems = [content_text(message) for message in messages if message.get("role") == "system"]
    return Talk(
        text=split[at][1].strip() if users else "",
        before=before,
        acts=acts_of(tools),
        known=read_memory(messages),
        about=read_opening(preambles[-1]) if preambles else None,
        results=read_acts(messages[at + 1 :]),
        earlier=read_acts(messages[: at + 1]),
        task=systems[0] if systems and messages[0].get("role") == "system" else "",
        scene=read_scene(systems, preambles),
    )


def follow_steps(steps: Steps, results: Sequence[CallResult]) -> ModelReply:
    """Return a rule's pending calls, or its final text.

    Outcomes are taken by name alone: what stands in the record may be written otherwise than it was sent.
    """
    waiting = list(results)
    try:
        wanted = next(steps)
        while True:
            found: list[CallResult] = []
            for call in wanted:
                outcome = next((outcome for outcome in waiting if outcome.name == call.name), None)
                if outcome is None:
                    return ModelReply(tool_calls=wanted[len(found) :])
                waiting.remove(outcome)
                found.append(outcome)
            wanted = steps.send(found)
    except StopIteration as done:
        return ModelReply(str(done.value))


def one_after_another(rules: Iterable[Steps]) -> Steps:
    """Return what several rules say, as paragraphs."""
    said: list[str] = []
    for steps in rules:
        said.append((yield from steps))
    return "\n\n".join(text for text in dict.fromkeys(said) if text)


def say_text(text: str) -> Steps:
    """Return a text, without any step."""
    yield from ()
    return text
