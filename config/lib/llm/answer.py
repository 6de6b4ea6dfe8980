"""The values of a model's answer, parsed from provider data.

Providers send broken things: fragments without index or id, one id twice, halves of an emoji, NUL, megabytes.
Everything here is bounded and total: whatever comes in, clean values come out and nothing is raised.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from config.lib.llm.state import Fields, StateReader
from config.lib.llm.text import HIGH_SURROGATE_AT_END, UNSAFE, clean

Message = Mapping[str, object]  # of a conversation, as providers take it
ToolSchema = Mapping[str, Any]  # a tool as providers take it

MAX_TEXT = 2 * 1024 * 1024  # characters of one answer
MAX_ARGUMENTS = 256 * 1024  # characters of all tool arguments of one answer
MAX_CALLS = 128
MAX_BLANK = 64 * 1024  # white space before the first visible character
DRAIN_SECONDS = 0.5  # for the end of a body whose answer is complete

# What providers accept when the name comes back to them in the history.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
# Some providers carry a signature of several kilobytes in the id.
_GOOD_ID = re.compile(r"[\x21-\x7e]{1,32768}")
_LONG_ID = 64  # characters; a longer id carries a signature, which only the model that made it takes


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model's tool call; `arguments` is its JSON, possibly invalid."""

    id: str  # unique in the conversation
    name: str
    arguments: str
    # Provider state, to be stored with the call and sent back as its "provider": {"model", "message", "call"}.
    state: Fields | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call. `estimated`: the provider did not count them."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0  # the part of prompt_tokens that was read from the provider's cache
    estimated: bool = False
    cache_write_tokens: int = 0  # the part of prompt_tokens that was written to the provider's cache

    @classmethod
    def of(cls, sent: object, *, estimated: bool = False) -> "Usage | None":
        """Return a provider's usage, None if missing or all zeros."""
        if not (prompt := _get_count(sent, "prompt_tokens")):
            return None
        details = _get_field(sent, "prompt_tokens_details")
        # The first name is that of OpenAI and OpenRouter; the others are DeepSeek's, Moonshot's and Anthropic's.
        read = (
            _get_count(details, "cached_tokens")
            or _get_count(sent, "prompt_cache_hit_tokens")
            or _get_count(sent, "cached_tokens")
            or _get_count(sent, "cache_read_input_tokens")
        )
        written = (
            _get_count(details, "cache_write_tokens")
            or _get_count(details, "cache_creation_tokens")
            or _get_count(sent, "cache_creation_input_tokens")
        )
        return cls(
            prompt_tokens=prompt,
            completion_tokens=_get_count(sent, "completion_tokens"),
            cached_tokens=min(read, prompt),
            estimated=estimated,
            cache_write_tokens=min(written, prompt - min(read, prompt)),
        )

    def plus(self, other: "Usage") -> "Usage":
        """Return what two calls used together."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.estimated or other.estimated,
            self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a streamed answer: text, or the last chunk."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None  # stop, tool_calls, length, content_filter; None: more will come
    usage: Usage | None = None
    model: str = ""  # on the last chunk: which of the models asked has answered


@dataclass(slots=True)
class Piece:
    """The data of one stream event, neither cleaned nor bounded."""

    content: object = None
    calls: object = ()  # fragments of tool calls
    state: Mapping[str, object] | None = None  # fields of the message that its model wants back
    finish_reason: str | None = None  # that the provider gave; None: more will come
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    text: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str
    usage: Usage
    model: str


class StreamedAnswer:
    """An answer while it arrives; `full`: stop at a limit."""

    __slots__ = ("_argument_length", "_calls", "_current", "_held", "_state", "full", "length", "visible")

    def __init__(self) -> None:
        self.length = 0  # characters of text let through
        self.visible = False  # a character that is not white space has come
        self.full = False
        self._held = ""  # white space before the first visible character, or half an emoji
        self._calls: list[_Call] = []
        self._current: dict[int, _Call] = {}  # the call that fragments of an index go to
        self._argument_length = 0
        self._state = StateReader()

    def take_piece(self, piece: Piece) -> str:
        """Add a piece; return the text to pass on."""
        if piece.calls:
            self.take_calls(piece.calls)
        if piece.state:
            self._state.take(piece.state)
        return self.take_text(piece.content) if piece.content else ""

    def take_text(self, content: object) -> str:
        """Return the clean text to pass on, within the limit, without leading white space."""
        if not isinstance(content, str):  # blocks, whose texts count
            blocks = content if isinstance(content, list) else []
            texts = [block if isinstance(block, str) else _get_field(block, "text") for block in blocks]
            content = "".join(text for text in texts if isinstance(text, str))
        text = self._held + content
        self._held = ""
        if UNSAFE.search(text):
            text = text.replace("\x00", "")
            if half := HIGH_SURROGATE_AT_END.search(text):
                self._held, text = half[0], text[:-1]
            text = clean(text)
        if not self.visible:
            if not text or text.isspace():
                self._held = text + self._held
                self.full = self.full or len(self._held) > MAX_BLANK
                return ""
            self.visible = True
        if self.length + len(text) > MAX_TEXT:
            text = text[: MAX_TEXT - self.length]
            self.full = True
        self.length += len(text)
        return text

    def take_calls(self, fragments: object) -> None:
        """Add fragments of tool calls, LiteLLM's or dicts, as they arrive."""
        if not isinstance(fragments, Iterable) or isinstance(fragments, str):
            return
        for fragment in fragments:
            function = _get_field(fragment, "function")
            if function is not None and not self.full:
                self._take_call(fragment, function)

    def add_call(self, name: str, arguments: str) -> None:
        """Add a call that stood in the text."""
        self._take_call({"index": len(self._calls)}, {"name": name, "arguments": arguments})

    def tool_calls(self, taken_ids: Collection[str] = (), *, model: str = "") -> tuple[ToolCall, ...]:
        """Return the calls, each with an id unique among `taken_ids` and its provider state."""
        used = set(taken_ids)
        calls: list[ToolCall] = []
        for call in self._calls:
            is_good = _GOOD_ID.fullmatch(call.id) and call.id not in used
            id_ = call.id if is_good and len(call.id) <= _LONG_ID else f"call_{uuid4().hex[:24]}"
            used |= {id_, call.id}
            name = _NOT_IN_NAMES.sub("_", call.name)[:64] or "unnamed"
            state = {
                "message": {} if calls else self._state.read(),
                "call": call.state.read() | ({"id": call.id} if is_good and id_ != call.id else {}),
            }
            state = {key: fields for key, fields in state.items() if fields}
            # A tool without arguments is often called with nothing at all, which means an empty object.
            arguments = clean("".join(call.arguments)).strip() or "{}"
            calls.append(ToolCall(id_, name, arguments, {"model": model, **state} if state else None))
        return tuple(calls)

    def finish(self, reason: str) -> str:
        """Return the finish reason that agrees with the answer."""
        if self.full:
            return "length"
        if reason in {"stop", "tool_calls", "function_call"}:
            return "tool_calls" if self._calls else "stop"
        return reason

    @property
    def written(self) -> int:
        """Return the number of characters written, arguments included."""
        return self.length + self._argument_length

    @property
    def is_empty(self) -> bool:
        return not self.visible and not self._calls

    def _take_call(self, fragment: object, function: object) -> None:
        index = _get_field(fragment, "index")
        index = index if isinstance(index, int) else 0
        id_, name = _clean_string(_get_field(fragment, "id")), _clean_string(_get_field(function, "name"))
        written = _get_field(function, "arguments")
        arguments = written if isinstance(written, str) else "" if written is None else json.dumps(written)
        call = self._current.get(index)
        if call is None or call.is_followed_by(id_, name):
            if len(self._calls) == MAX_CALLS:
                self.full = True
                return
            call = self._current[index] = _Call()
            self._calls.append(call)
        call.id = call.id or id_
        if isinstance(extra := _get_field(fragment, "extra_content"), dict):
            call.state.take({"extra_content": extra})
        call.name = call.name if call.name == name else call.name + name
        room = MAX_ARGUMENTS - self._argument_length
        self.full = self.full or len(arguments) > room
        call.arguments.append(arguments[:room])
        self._argument_length += len(arguments[:room])


class _Call:
    """A tool call while its fragments come in."""

    __slots__ = ("arguments", "id", "name", "state")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.state = StateReader()

    def is_followed_by(self, id_: str, name: str) -> bool:
        """Tell whether a fragment begins another call despite its index."""
        if not name or not self.name:
            return False
        if id_ and self.id:
            return id_ != self.id
        if name != self.name:
            return any(self.arguments)
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True  # they are complete


def _get_field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _get_count(holder: object, name: str) -> int:
    value = _get_field(holder, name)
    return max(0, value) if isinstance(value, int) else 0


def _clean_string(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""
