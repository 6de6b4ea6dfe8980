"""Fields of the chat's API: texts, titles, openings, parts of replies."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from chat.models import MAX_TITLE, CardStatus
from chat.parts import Json
from chat.prompt.focus import fits_mode
from chat.turns.accept import MAX_MESSAGE_BYTES
from config.lib.rest.views import InputSerializer
from config.lib.text import clean_text, one_line
from memory.models import WriteKind
from trading.models.deployments import ActionType

MODES: Final = ("ops", "coach", "authoring")

_MISFIT: Final = (
    "Coach takes a deployment_id, authoring a skill_id or nothing, ops at most one of trade_id, backtest_id, event_id,"
    " about_fact_id, or skill_id with version."
)
_TEXT: Final = {"type": "string"}
_ID: Final = {"type": "string", "format": "uuid"}
_STATUSES: Final = ["running", "done", "error"]


def checked_text(text: str) -> str:
    """Return a user's text as stored. Raises ValidationError (empty, too long)."""
    said = clean_text(text).strip()
    if not one_line(said):  # invisible characters alone are an empty text
        raise serializers.ValidationError("There is nothing to send.", code="blank")
    if len(said.encode()) > MAX_MESSAGE_BYTES:
        raise serializers.ValidationError(
            f"A message may have {MAX_MESSAGE_BYTES // 1024} KiB at most. Send it in parts.", code="too_long"
        )
    return said


class TitleField(serializers.CharField):
    default_error_messages = {"length": f"A title needs 1 to {MAX_TITLE} characters."}  # noqa: RUF012  as the base has it

    def to_internal_value(self, data: Any) -> str:
        line = one_line(super().to_internal_value(data))
        if not 0 < len(line) <= MAX_TITLE:
            self.fail("length")
        return line


class OpeningInput(InputSerializer):
    """The subject of a chat: `coach` a deployment, `authoring` a skill or none, `ops` one of the others or none."""

    mode = serializers.ChoiceField(MODES)
    deployment_id = serializers.UUIDField(required=False)
    skill_id = serializers.UUIDField(required=False, help_text="In mode ops with its `version`.")
    version = serializers.IntegerField(required=False, min_value=1, max_value=1_000_000)
    trade_id = serializers.UUIDField(required=False)
    backtest_id = serializers.UUIDField(required=False)
    event_id = serializers.IntegerField(required=False, min_value=1, max_value=2**31)
    about_fact_id = serializers.UUIDField(required=False)

    def validate(self, attrs: Json) -> dict[str, str]:
        """Check that the subject fits the mode; return its stored form."""
        if not fits_mode(attrs["mode"], attrs.keys() - {"mode"}):
            raise serializers.ValidationError({"mode": [_MISFIT]})
        return {name: str(value) for name, value in attrs.items()}


def _describe_object(named: str, /, *, required: tuple[str, ...] = (), **properties: Json) -> Json:
    properties = {"part": {"type": "string", "enum": [named]}, **properties}
    return {"type": "object", "properties": properties, "required": ["part", *(required or list(properties)[1:])]}


_FIGURE: Final = {
    "type": "object",
    "properties": {
        "start": {"type": "integer"},
        "end": {"type": "integer"},
        "text": _TEXT,
        "source": {
            "type": ["object", "null"],
            "description": "What states it: `{kind, id}` of a row, `{kind, call_id}` of a tool call; null if nothing"
            " known to the turn does.",
        },
    },
    "required": ["start", "end", "text", "source"],
}

_PARTS: Final = {
    "oneOf": [
        _describe_object(
            "text",
            text={**_TEXT, "description": "Markdown."},
            figures={
                "type": "array",
                "items": _FIGURE,
                "description": "The figures of the text, once the reply has ended.",
            },
        ),
        _describe_object(
            "tool",
            call_id=_TEXT,
            name=_TEXT,
            status={"type": "string", "enum": _STATUSES},
            summary=_TEXT,
            arguments={**_TEXT, "description": "As the model wrote them, JSON if it wrote that."},
        ),
        _describe_object(
            "memory",
            kind={"type": "string", "enum": list(WriteKind.values)},
            text=_TEXT,
            event_id={**_ID, "description": "Undone by `POST memory/events/{event_id}/undo/`."},
            fact_id={"type": ["string", "null"], "format": "uuid"},
            is_undone={"type": "boolean"},
        ),
        _describe_object(
            "card",
            required=("card_id",),  # one that is gone has nothing else
            card_id=_ID,
            type={"type": "string", "enum": list(ActionType.values)},
            lines={"type": "array", "items": {"type": "array", "items": _TEXT}, "description": "Pairs: label, text."},
            status={"type": "string", "enum": list(CardStatus.values)},
            expires_at={"type": "string", "format": "date-time"},
            url={**_TEXT, "description": "The page on which its owner confirms it. There is no other way to."},
        ),
    ]
}


@extend_schema_field({"type": "array", "items": _PARTS, "readOnly": True})
class PartsField(serializers.ListField):
    """What a reply is made of, in order."""
