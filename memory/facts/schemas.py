"""The pydantic models of the memory document (seed 004)."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

SCHEMA_VERSION: Final = "1.0"
MAX_DOCUMENT: Final = 8 * 1024 * 1024  # characters
MAX_ITEMS: Final = 20_000  # facts and places each: more than the highest token limit lets in

Text = Annotated[str, Field(max_length=64, pattern=r"^[^\p{Cc}\p{Cf}]*$")]  # an id or a time
PlaceMentions = dict[Text, list[tuple[Text, Text]]]  # conversation id -> (message id, time)


class _Exact(BaseModel):
    """An object of the document: its own keys and no others."""

    model_config = ConfigDict(extra="forbid")


class DocumentFact(_Exact):
    """One version of a fact; times are ISO 8601 in UTC."""

    id: Text
    content: str = Field(min_length=1, max_length=500)
    added_at: Text
    source_conversation_id: Text | None = None
    source_message_id: Text | None = None
    is_active: bool = True
    valid_from: Text | None = None  # only where it differs from added_at
    valid_until: Text | None = None

    @model_serializer(mode="wrap")
    def _without_missing_dates(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # The seed's keys and no others, unless a fact has a date of its own.
        fields: dict[str, Any] = write(self)
        return {name: value for name, value in fields.items() if value is not None or not name.startswith("valid_")}


class DocumentPlace(_Exact):
    """A place of interest and its mentions."""

    place_id: str = Field(min_length=1, max_length=100)
    place_name: str = Field(min_length=1, max_length=120)
    notes: str | None = Field(None, max_length=500)
    mentioned_in: PlaceMentions = Field(default_factory=dict)
    added_at: Text


class DocumentMetadata(_Exact):
    """Counts and version of the document; `token_count` excludes itself."""

    last_updated: Text
    total_facts: int
    total_active_facts: int
    total_pois: int
    token_count: int
    schema_version: str = SCHEMA_VERSION


class MemoryDocument(_Exact):
    """The whole document."""

    facts: list[DocumentFact] = Field(default_factory=list, max_length=MAX_ITEMS)
    placer_user_datapoints: list[DocumentPlace] = Field(default_factory=list, max_length=MAX_ITEMS)
    metadata: DocumentMetadata
