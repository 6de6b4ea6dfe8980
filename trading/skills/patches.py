"""Patches and drafts of a payload; fields may be missing."""

from collections.abc import Iterator, Mapping
from copy import copy
from functools import cache
from typing import Any, Final

from pydantic import BaseModel, create_model
from pydantic.fields import FieldInfo

from trading.skills.schemas import PayloadBlock, SkillPayload, parse_block

Json = dict[str, Any]  # a payload, or a schema, as JSON


def find_block(field: FieldInfo) -> type[PayloadBlock] | None:
    """Return a field's block; None for a plain value."""
    annotation = field.annotation
    return annotation if isinstance(annotation, type) and issubclass(annotation, PayloadBlock) else None


# The parts by which tools patch a draft: the fields at the top of the payload, or one block.
BASICS_PART: Final = "basics"
BLOCKS: Final = {name: block for name, field in SkillPayload.model_fields.items() if (block := find_block(field))}
BASICS: Final = tuple(name for name in SkillPayload.model_fields if name not in BLOCKS)


def parse_partial(payload: Mapping[str, object]) -> Json:
    """Validate each field of a draft, without cross-field rules. Raises PayloadInvalid."""
    return _dump_valid(_partial_of(SkillPayload), payload)


def merge_patch(payload: Mapping[str, object], patch: Mapping[str, object]) -> Json:
    """Return the payload with blocks merged, values and lists replaced. Raises PayloadInvalid."""
    return _merge_blocks(payload, parse_partial(patch))


def parse_part(part: str, values: Mapping[str, object]) -> Json:
    """Return a patch of "basics" or a block. Raises PayloadInvalid."""
    if part == BASICS_PART:
        return _dump_valid(_partial_of_part(part), values)
    return {part: _dump_valid(_partial_of_part(part), values, within=part)}


def part_schema(part: str) -> Json:
    """Return a part's JSON schema for a model, without references."""
    schema = _partial_of_part(part).model_json_schema()
    return _trim_schema(schema, schema.get("$defs", {}))


def default_payload() -> Json:
    """Return a new draft's payload: all defaults."""
    return _collect_defaults(SkillPayload)


def list_changes(old: Mapping[str, object], new: Mapping[str, object]) -> list[tuple[str, object, object]]:
    """Return (path, before, after) per changed field; None if absent."""
    before, after = dict(iter_leaves(old)), dict(iter_leaves(new))
    paths = dict.fromkeys([*before, *after])
    return [(path, before.get(path), after.get(path)) for path in paths if before.get(path) != after.get(path)]


def iter_leaves(payload: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each field's (path, value), such as ("risk.max_leverage", 3.0)."""
    for name, value in payload.items():
        if isinstance(value, Mapping):
            yield from iter_leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _dump_valid(model: type[BaseModel], values: Mapping[str, object], *, within: str = "") -> Json:
    return parse_block(model, values, within=within).model_dump(mode="json", exclude_unset=True)


def _merge_blocks(payload: Mapping[str, Any], patch: Mapping[str, Any]) -> Json:
    merged = dict(payload)
    for name, value in patch.items():
        old = merged.get(name)
        merged[name] = _merge_blocks(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged


def _collect_defaults(model: type[PayloadBlock]) -> Json:
    defaults: Json = {}
    for name, field in model.model_fields.items():
        if block := find_block(field):
            defaults[name] = _collect_defaults(block)
        elif not field.is_required():
            defaults[name] = field.get_default(call_default_factory=True)
    return _dump_valid(_partial_of(model), defaults)


@cache
def _partial_of(model: type[PayloadBlock]) -> type[BaseModel]:
    """Return the model with all fields optional, without cross-field rules."""
    return _make_optional(f"Partial{model.__name__}", model.model_fields)


@cache
def _partial_of_part(part: str) -> type[BaseModel]:
    if part != BASICS_PART:
        return _partial_of(BLOCKS[part])
    return _make_optional("PartialBasics", {name: SkillPayload.model_fields[name] for name in BASICS})


def _make_optional(name: str, fields: Mapping[str, FieldInfo]) -> type[BaseModel]:
    optional_fields: dict[str, Any] = {}
    for field_name, field in fields.items():
        block = find_block(field)
        optional = copy(field)
        optional.default, optional.default_factory = None, None
        optional_fields[field_name] = (_partial_of(block) if block else field.annotation, optional)
    return create_model(name, __config__=PayloadBlock.model_config, **optional_fields)


def _trim_schema(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Json:
    """Return a schema without titles, docstrings, defaults and references."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        inner = {key: value for key, value in definitions[name].items() if key != "description"}
        return _trim_schema({**inner, **{key: value for key, value in schema.items() if key != "$ref"}}, definitions)
    trimmed: Json = {}
    for key, value in schema.items():
        match key:
            case "title" | "description" | "default" | "$defs":
                pass
            case "properties":
                trimmed[key] = {name: _trim_schema(field, definitions) for name, field in value.items()}
            case "items":
                trimmed[key] = _trim_schema(value, definitions)
            case "anyOf" if {option.get("type") for option in value} == {"number", "string"}:
                # Exact in Python, a number to a model.
                trimmed |= next(option for option in value if option["type"] == "number")
            case _:
                trimmed[key] = value
    return trimmed
