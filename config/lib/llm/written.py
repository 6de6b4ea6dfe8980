"""Tool calls that a model wrote into its text, in the formats that small models were trained on.

A call is run when calls are the whole answer. Everything else that looks like a call is held back: nobody should read
raw JSON that names a tool and wonder whether it ran.
"""

import json
import re
from collections.abc import Callable, Collection
from typing import Any, Final

Call = tuple[str, str]  # name and arguments

MAX_HELD: Final = 64 * 1024  # characters; longer text is no call
_TAG, _END_TAG, _LIST_TAG = "<tool_call>", "</tool_call>", "[TOOL_CALLS]"
_FENCE: Final = "```"
_LANGUAGES: Final = ("", "json", "tool_call", "tool_code")
_OPENERS: Final = re.compile(r"[<{\[`]")
_FIRST_KEY: Final = re.compile(r'[\s\[]*\{\s*"(\w*)"?')
_KEYS: Final = frozenset({"arguments", "function", "id", "name", "parameters", "tool", "tool_name", "type"})
_NAME: Final = re.compile(r'"(?:name|tool|tool_name|function)"\s*:\s*"([\w-]*)"')
_DECODER: Final = json.JSONDecoder(strict=False)

_WAIT: Final = -1  # more text decides


class WrittenCalls:
    """Finds the calls in streamed text and holds them back."""

    __slots__ = ("_accepts", "_calls", "_held", "_is_line_start", "_names", "has_hidden", "has_shown")

    def __init__(self, names: Collection[str], accepts: Callable[[str, str], bool] | None) -> None:
        self._names = names
        self._accepts = accepts
        self._held = ""
        self._is_line_start = True
        self._calls: list[Call] = []
        self.has_shown = False  # text that is more than white space
        self.has_hidden = False  # a call that is not run

    def take(self, text: str, *, is_last: bool = False) -> str:
        """Return the text to show."""
        if not self._names or (not self._held and not _OPENERS.search(text)):
            return self._show(text)
        self._held += text
        shown = ""
        while opener := _OPENERS.search(self._held):
            shown += self._show(self._held[: opener.start()])
            self._held = self._held[opener.start() :]
            length, calls = self._read_block(self._held, is_last=is_last or len(self._held) > MAX_HELD)
            if length == _WAIT:
                return shown
            if calls is None:
                shown += self._show(self._held[:length])
            else:
                self._calls += calls
                self.has_hidden = self.has_hidden or not calls
            self._held = self._held[length:]
        rest, self._held = self._held, ""
        return shown + self._show(rest)

    def finish(self) -> list[Call]:
        """Return the calls to run: all of them, if there is nothing else and each is accepted."""
        is_run = (
            not self.has_shown
            and not self.has_hidden
            and all(call[0] in self._names and (not self._accepts or self._accepts(*call)) for call in self._calls)
        )
        self.has_hidden = self.has_hidden or bool(self._calls and not is_run)
        return self._calls if is_run else []

    def _show(self, text: str) -> str:
        if text:
            line = text.rpartition("\n")[2]
            self._is_line_start = not line.strip() and (self._is_line_start or "\n" in text)
            self.has_shown = self.has_shown or not text.isspace()
        return text

    def _read_block(self, text: str, *, is_last: bool) -> tuple[int, list[Call] | None]:
        """Read what begins here: its length, and its calls (None: text to show; empty: a broken call)."""
        for tag, end_tag in ((_TAG, _END_TAG), (_LIST_TAG, "\n\n")):
            if text.startswith(tag):
                end = text.find(end_tag)
                if end < 0 and not is_last:
                    return _WAIT, None
                inner = text[len(tag) : end if end >= 0 else len(text)]
                return (end + len(end_tag) if end >= 0 else len(text)), self._parse_calls(inner) or []
            if tag.startswith(text) and not is_last:
                return _WAIT, None
        if not self._is_line_start or text[0] == "<":
            return 1, None
        return self._read_fence(text, is_last) if text[0] == "`" else self._read_json(text, is_last)

    def _read_fence(self, text: str, is_last: bool) -> tuple[int, list[Call] | None]:
        if not text.startswith(_FENCE):
            return (_WAIT, None) if _FENCE.startswith(text) and not is_last else (1, None)
        head, line_end, inner = text.partition("\n")
        language = head[len(_FENCE) :].strip()
        if not line_end:
            is_possible = any(known.startswith(language) for known in _LANGUAGES) and not is_last
            return (_WAIT, None) if is_possible else (len(_FENCE), None)
        if language not in _LANGUAGES or not self._may_be_call(inner):
            return len(head) + 1, None
        body, fence, _ = inner.partition(_FENCE)
        if not fence and not is_last:
            return _WAIT, None
        length = len(head) + 1 + len(body) + len(fence)
        calls = self._parse_calls(body.replace(_TAG, "").replace(_END_TAG, ""))
        return length, self._judge(calls, body)

    def _read_json(self, text: str, is_last: bool) -> tuple[int, list[Call] | None]:
        if not self._may_be_call(text):
            return 1, None
        try:
            value, length = _DECODER.raw_decode(text)
        except (ValueError, RecursionError):
            return (len(text), self._judge(None, text)) if is_last else (_WAIT, None)
        return length, self._judge(_list_calls(value), text[:length])

    def _judge(self, calls: list[Call] | None, text: str) -> list[Call] | None:
        """Return calls; none for a broken call of an offered tool."""
        if calls is not None:
            return calls if all(name in self._names for name, _ in calls) or '"arguments"' in text else None
        name = _NAME.search(text)
        return [] if name and name[1] in self._names else None

    def _parse_calls(self, text: str) -> list[Call] | None:
        calls: list[Call] = []
        text = text.strip()
        while text:
            try:
                value, end = _DECODER.raw_decode(text)
            except (ValueError, RecursionError):
                return None
            listed = _list_calls(value)
            if listed is None:
                return None
            calls, text = calls + listed, text[end:].strip()
        return calls or None

    @staticmethod
    def _may_be_call(text: str) -> bool:
        """Tell whether JSON text can still become a call."""
        if _TAG.startswith(rest := text.lstrip().removeprefix(_TAG).lstrip()):
            return True
        key = _FIRST_KEY.match(rest)
        if key is None:
            return not rest.strip("[{ \n\t\r")
        return key[1] in _KEYS or (key[0].endswith(key[1]) and any(known.startswith(key[1]) for known in _KEYS))


def _list_calls(value: Any) -> list[Call] | None:
    """Return the calls of a JSON value; None if it is anything else."""
    values = value if isinstance(value, list) else [value]
    calls = [_read_call(each) for each in values]
    return [call for call in calls if call is not None] if calls and None not in calls else None


def _read_call(value: Any) -> Call | None:
    if not isinstance(value, dict) or not _KEYS.issuperset(value):
        return None
    if isinstance(value.get("function"), dict):
        return _read_call(value["function"])
    name = next((value[key] for key in ("name", "tool", "tool_name", "function") if key in value), None)
    arguments = next((value[key] for key in ("arguments", "parameters") if key in value), None)
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, str) else None
