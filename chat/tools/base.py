"""What a tool is: a factory of the turn's context, an arguments model, one call of a query or a service.

The law: a tool sees the rows of its turn's user and no others, its arguments are checked before it runs, and whatever
goes wrong in it comes back as `{"error": ...}`, with nothing half written.
"""

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from config.lib.errors import DomainError
from config.lib.owned import owned_tx

logger = logging.getLogger(__name__)

MAX_ARGUMENTS: Final = 64 * 1024  # characters of JSON
MAX_RESULT: Final = 64 * 1024  # characters of JSON; more would drown the conversation
TOOL_FAILED: Final = "This tool failed. Tell the user; do not try it again."

A = TypeVar("A", bound=BaseModel)


class ResultTooLong(DomainError):
    """A tool found more than a conversation can hold; what it wrote is taken back."""


@dataclass(slots=True)
class Window:
    """What the model has in view; the turn keeps it up to date while it runs."""

    is_untrusted: bool = False  # text that the user did not type: news, trade reasons, imports


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What every tool may know of the turn it serves."""

    user_id: int
    now: datetime  # aware UTC, fixed for the turn
    conversation_id: UUID | None = None
    message_id: int | None = None  # the user's message that the turn answers
    is_temporary: bool = False  # nothing of this conversation is kept
    opening: Mapping[str, Any] = field(default_factory=dict)  # Conversation.opening_context
    window: Window = field(default_factory=Window)


@dataclass(frozen=True, slots=True)
class Tool(Generic[A]):
    """One function the model may call."""

    name: str
    description: str
    args: type[A]
    run: Callable[[A], dict[str, Any]]
    context: ToolContext
    reads_untrusted: bool = False  # its results hold text that the user did not type
    asks_model: bool = False  # it opens its own doors, since no model is called inside a transaction

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as a model is told of it."""
        function = {"name": self.name, "description": self.description, "parameters": _parameters(self.args)}
        return {"type": "function", "function": function}

    def call(self, arguments: str) -> dict[str, Any]:
        """Run the tool on the model's JSON text, as its user and, unless it asks a model, in one transaction.

        What the model got wrong, what the data refuse and what broke come back as `error`; then nothing is kept.
        """
        if len(arguments) > MAX_ARGUMENTS:
            return {"error": f"The arguments are too long; at most {MAX_ARGUMENTS} characters."}
        try:
            args = self.args.model_validate_json(arguments or "{}")
        except ValidationError as error:
            return {"error": _problems(error)}
        try:
            if self.asks_model:
                return _bounded(self.run(args))
            with owned_tx(self.context.user_id):
                return _bounded(self.run(args))
        except DomainError as error:
            return {"error": str(error)}
        except Exception:
            logger.exception("Tool %s failed", self.name)
            return {"error": TOOL_FAILED}


@cache
def _parameters(args: type[BaseModel]) -> dict[str, Any]:
    schema = args.model_json_schema()
    # Titles repeat the names, and the docstring is ours: neither helps a model.
    for described in (schema, *schema.get("properties", {}).values()):
        described.pop("title", None)
    schema.pop("description", None)
    return schema


def _problems(error: ValidationError) -> list[dict[str, str]]:
    return [
        {"argument": ".".join(str(step) for step in problem["loc"]) or "(all)", "problem": problem["msg"]}
        for problem in error.errors(include_url=False, include_context=False, include_input=False)
    ][:20]


def _bounded(result: dict[str, Any]) -> dict[str, Any]:
    # NaN is no JSON: providers and databases refuse it, and no reader knows what it means.
    if len(json.dumps(result, allow_nan=False, ensure_ascii=False)) > MAX_RESULT:
        raise ResultTooLong("The result is too long. Ask for less.")
    return result
