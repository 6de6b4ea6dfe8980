"""`Tool`, a function for the model, and `ToolContext`.

A tool sees the rows of its turn's user only. Its arguments are validated before it runs. A failure comes back as
`{"error": ...}`, with nothing half written.
"""

import json
import logging
from collections.abc import Callable, Mapping, Set
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, ValidationError

from chat.parts import Json
from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from memory.facts.versions import FactAmbiguous

logger = logging.getLogger(__name__)

MAX_ARGUMENTS: Final = 64 * 1024  # characters of JSON
MAX_RESULT: Final = 64 * 1024  # characters of JSON; more would drown the conversation
TOOL_FAILED: Final = "This tool failed. A second try would fail, too."

A = TypeVar("A", bound=BaseModel)
Result = Json  # JSON
Run = Callable[["ToolContext", A], Result]


class Args(BaseModel):
    """Arguments of a tool: those declared and no others."""

    model_config = ConfigDict(extra="forbid")


class ResultTooLong(DomainError):
    """The result is too long; nothing is written."""


@dataclass(slots=True)
class ModelWindow:
    """Whether the model has text in view that the user did not type, and what brought it: news, trade reasons."""

    is_untrusted: bool = False
    sources: set[str] = field(default_factory=set)

    def note(self, source: str, *, is_untrusted: bool = True) -> None:
        """Note that something which came into view holds such text."""
        if is_untrusted:
            self.is_untrusted = True
            self.sources.add(source)


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The turn that a tool serves."""

    user_id: int
    now: datetime  # aware UTC, fixed for the turn
    conversation_id: UUID | None = None
    message_id: int | None = None  # the user's message that the turn answers
    is_temporary: bool = False  # nothing of this conversation is kept
    opening: Mapping[str, Any] = field(default_factory=dict)  # Conversation.opening_context
    window: ModelWindow = field(default_factory=ModelWindow)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    name: str
    label: str  # heads the call in the chat
    description: str
    args: type[A]
    run: Run[A]
    summarise: Callable[[Result], str] | None = None  # one line of the call's card; None: a general one
    acts: Set[str] = frozenset()  # on the memory: remember, forget, update, confirm, link; empty: writes none
    id_name: str = ""  # of a fact, in its arguments and results
    untrusted: tuple[str, ...] = ()  # keys of its result under which text stands that the user did not type
    asks_model: bool = False  # it opens its own doors, since no model is called inside a transaction

    @property
    def schema(self) -> Json:
        function = {"name": self.name, "description": self.description, "parameters": _describe_parameters(self.args)}
        return {"type": "function", "function": function}

    def brings_untrusted(self, result: Result) -> bool:
        """Tell whether a result holds text that the user did not type; an empty or refused call brings none."""
        return any(result.get(key) for key in self.untrusted)

    def accepts(self, arguments: str) -> bool:
        """Tell whether JSON text is valid as the arguments."""
        try:
            self.args.model_validate_json(arguments)
        except ValidationError:
            return False
        return len(arguments) <= MAX_ARGUMENTS

    def call(self, context: ToolContext, arguments: str) -> Result:
        """Run the tool on JSON text, as the turn's user, in one transaction unless it asks a model.

        Invalid arguments, refusals and failures come back as `error`; then nothing is kept.
        """
        if len(arguments) > MAX_ARGUMENTS:
            return {"error": f"The arguments are too long; at most {MAX_ARGUMENTS} characters."}
        try:
            args = self.args.model_validate_json(arguments or "{}")
        except ValidationError as error:
            return {"error": _list_problems(error)}
        try:
            with nullcontext() if self.asks_model else owned_tx(context.user_id):
                result = self.run(context, args)
                # NaN is no JSON: providers and databases refuse it, and no reader knows what it means.
                if len(json.dumps(result, allow_nan=False, ensure_ascii=False)) > MAX_RESULT:
                    raise ResultTooLong("The result is too long. A narrower question fits.")
                if self.acts:
                    from chat.rules import follow_writes  # noqa: PLC0415 - takes 0.05 s; most turns write no memory

                    follow_writes(conversation_id=context.conversation_id, now=context.now)
                return result
        except FactAmbiguous as error:
            candidates = [{self.id_name: str(fact.pk), "fact": fact.content} for fact in error.candidates]
            return {"error": str(error), "candidates": candidates}
        except DomainError as error:
            return {"error": str(error)}
        except Exception:
            logger.exception("Tool %s failed", self.name)
            return {"error": TOOL_FAILED}


def tool(label: str, description: str, **options: Any) -> Callable[[Run[A]], Tool[A]]:
    """Return what makes a function a tool of its name, whose arguments have the type of its `args`."""

    def make_tool(run: Run[A]) -> Tool[A]:
        function: Any = run
        return Tool(function.__name__, label, description, function.__annotations__["args"], run, **options)

    return make_tool


@cache
def _describe_parameters(args: type[BaseModel]) -> Json:
    schema: Json = _shorten_schema(args.model_json_schema())
    schema.pop("description", None)  # our docstring
    return schema


def _shorten_schema(schema: Any) -> Any:
    """Return a schema without titles, empty defaults and other keys that only cost tokens."""
    match schema:
        case {"anyOf": [dict(value), {"type": "null"}], "default": None, **rest}:
            return _shorten_schema({**value, **rest})
        case {"properties": dict(properties), **rest}:
            kept = {name: _shorten_schema(field) for name, field in properties.items()}
            return {**_shorten_schema(rest), "properties": kept}
        case dict():
            idle = {"title": True, "default": schema.get("default") in ("", [], {})}
            idle["additionalProperties"] = not schema.get("additionalProperties")
            return {key: _shorten_schema(value) for key, value in schema.items() if not idle.get(key)}
        case list():
            return [_shorten_schema(value) for value in schema]
        case float() if schema.is_integer():
            return int(schema)
    return schema


def _list_problems(error: ValidationError) -> list[dict[str, str]]:
    return [
        {"argument": ".".join(str(step) for step in problem["loc"]) or "(all)", "problem": problem["msg"]}
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ][:20]
