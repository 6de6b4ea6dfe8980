"""The input and reply of a rule, and its tool steps.

A rule of several steps is a generator: it yields the calls that it needs next, is sent their outcomes, and returns what
to say. `follow_steps` runs it on the results there are, from its beginning each time, so nothing is kept between steps.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, field

from config.offline.adapters import LOOKUPS
from config.offline.facts import Call, Known, Outcome
from config.offline.scene import Scene

Steps = Generator[tuple[Call, ...], list[Outcome], str]


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
    acts: frozenset[str]  # what the chat's tools can do
    known: list[Known]
    places: list[Known] = field(default_factory=list)
    about: Known | None = None  # the fact that the user was asked how to change
    results: list[Outcome] = field(default_factory=list)  # of the tools called for this message, if they have run
    earlier: list[Outcome] = field(default_factory=list)  # of the tools called before it
    task: str = ""  # the system text, which says so when this is no chat
    scene: Scene = field(default_factory=Scene)

    @property
    def names(self) -> dict[str, str]:
        """Return the texts of facts by their ids."""
        return {fact.id: fact.text for fact in self.known if fact.id}

    def tell_errors(self, outcomes: Iterable[Outcome]) -> str:
        """Say which lookups failed, "" when none did."""
        failed = (outcome for outcome in outcomes if outcome.error)
        return "\n\n".join(f"`{one.tool or one.name}` could not answer: {one.told_error}" for one in failed)

    def can_look(self, act: str) -> bool:
        """Tell whether this lookup is available and still unused."""
        return act in self.acts and all(outcome.name not in LOOKUPS for outcome in self.results)


def follow_steps(steps: Steps, results: Sequence[Outcome]) -> Reply:
    """Return a rule's pending calls, or its final text.

    Outcomes are taken by name alone: what stands in the record may be written otherwise than it was sent.
    """
    waiting = list(results)
    try:
        wanted = next(steps)
        while True:
            found: list[Outcome] = []
            for call in wanted:
                outcome = next((outcome for outcome in waiting if outcome.name == call.name), None)
                if outcome is None:
                    return Reply(tool_calls=wanted[len(found) :])
                waiting.remove(outcome)
                found.append(outcome)
            wanted = steps.send(found)
    except StopIteration as done:
        return Reply(str(done.value))


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
