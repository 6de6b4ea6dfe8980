"""Fields of the trading API: exact numbers, instants, symbols, payloads."""

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, ClassVar, Final

from django.db import models
from django.utils import timezone
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from config.lib.figures import format_exact
from config.lib.rest import views
from config.lib.text import one_line
from trading.ledger.executions import CLOCK_SKEW, EARLIEST
from trading.skills.patches import Json
from trading.skills.schemas import SkillPayload, symbol_name

MAX_QUANTITY: Final = Decimal("1e12")
MAX_PRICE: Final = Decimal("1e9")
MAX_USD: Final = Decimal("1e15")


class AmountField(serializers.DecimalField):
    """A decimal as a string without trailing zeros; input may be a number."""

    def __init__(self, max_digits: int | None = 36, decimal_places: int | None = 12, **options: Any) -> None:
        super().__init__(max_digits, decimal_places, **options)

    def to_representation(self, value: Decimal | float | str) -> str:
        return format_exact(value if isinstance(value, Decimal) else Decimal(str(value)))


def quantity_field(**options: Any) -> AmountField:
    """Return a field for a signed quantity."""
    return AmountField(min_value=-MAX_QUANTITY, max_value=MAX_QUANTITY, **options)


def price_field(**options: Any) -> AmountField:
    """Return a field for a price."""
    return AmountField(min_value=Decimal("1e-12"), max_value=MAX_PRICE, **options)


def usd_field(**options: Any) -> AmountField:
    """Return a field for money of either sign."""
    return AmountField(**{"min_value": -MAX_USD, "max_value": MAX_USD, **options})


class ValueSerializer(serializers.Serializer[Any]):
    """Values that are no row."""


class ExactRowSerializer(views.ReadOnlySerializer):
    """A read-only row; money and quantities lose no digit."""

    serializer_field_mapping: ClassVar = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.DecimalField: AmountField,
    }

    def get_field_names(self, declared_fields: Mapping[str, Any], info: Any) -> list[str]:
        """Return the columns that `Meta.fields` names, then the declared fields that it does not."""
        return list(dict.fromkeys([*self.Meta.fields, *declared_fields]))


class PastField(serializers.DateTimeField):
    """A past instant in ISO 8601, by default UTC."""

    default_error_messages: ClassVar = {"early": "This lies before the year 2009.", "ahead": "This lies in the future."}

    def to_internal_value(self, value: Any) -> datetime:
        at = super().to_internal_value(value)
        if at < EARLIEST:
            self.fail("early")
        if at > timezone.now() + CLOCK_SKEW:
            self.fail("ahead")
        return at.astimezone(UTC)


class SymbolField(serializers.CharField):
    """A symbol, such as BTC; lower case is taken for upper."""

    def to_internal_value(self, data: Any) -> str:
        return _parse_symbol(super().to_internal_value(data))


class LineField(serializers.CharField):
    """Text on one line; its length is checked after cleaning."""

    def to_internal_value(self, data: Any) -> str:
        return one_line(super().to_internal_value(data))


class BySymbolField(serializers.DictField):
    """Numbers by their symbols."""

    default_error_messages: ClassVar = {"long": "There may be {limit} symbols at most."}
    limit: ClassVar[int] = 200

    def to_internal_value(self, data: Any) -> dict[str, Decimal]:
        if isinstance(data, Mapping) and len(data) > self.limit:
            self.fail("long", limit=self.limit)
        return {_parse_symbol(str(name)): number for name, number in super().to_internal_value(data).items()}


def _parse_symbol(text: str) -> str:
    try:
        return symbol_name(text)
    except ValueError as error:
        raise serializers.ValidationError(f"{text[:40]!r}: {error}.") from error


def skill_schema(*, is_patch: bool = False) -> Json:
    """Return the payload's JSON schema inlined; of a patch, nothing required."""
    schema = SkillPayload.model_json_schema(by_alias=False, mode="serialization")
    definitions = schema.pop("$defs")
    dropped = {"required", "default"} if is_patch else set()

    def inline(part: Any) -> Any:
        match part:
            case {"$ref": str(name), **rest}:
                return {**inline(definitions[name.rpartition("/")[2]]), **inline(rest)}
            case dict():
                return {key: inline(value) for key, value in part.items() if key not in dropped}
            case list():
                return [inline(value) for value in part]
        return part

    return {key: inline(value) for key, value in schema.items() if key not in dropped}


@extend_schema_field(skill_schema())
class PayloadField(serializers.JSONField):
    """What a version of a skill says."""


@extend_schema_field({"type": "array", "items": {"type": "string"}, "readOnly": True})
class SymbolsField(serializers.JSONField):
    """A list of symbols; empty: all."""
