"""A user's own trades: files, accounts at venues, past imports."""

from typing import Any

from rest_framework import serializers

from config.lib.rest.views import InputSerializer
from trading.api.serializers.fields import ValueSerializer
from trading.intake.formats import FIELDS
from trading.intake.values import find_zone

MAX_TEXT = 5 * 1024 * 1024


class TradeFileInput(InputSerializer):
    """A file of trades, as text."""

    name = serializers.CharField(max_length=200, default="file")
    content = serializers.CharField(max_length=MAX_TEXT, trim_whitespace=False, help_text="CSV or JSON.")
    zone = serializers.CharField(max_length=64, required=False, help_text="Where the file names none; else yours.")
    dates = serializers.ChoiceField(("ymd", "dmy", "mdy"), required=False)
    decimal = serializers.ChoiceField((".", ","), required=False)
    ledger = serializers.CharField(
        max_length=20, required=False, allow_blank=True, help_text="The account’s name, if you have several at a venue."
    )
    columns = serializers.DictField(
        child=serializers.CharField(max_length=200), default=dict, help_text=f"By field: {', '.join(FIELDS)}."
    )
    leave_out = serializers.BooleanField(default=False, help_text="Leave out the rows that cannot be read.")
    dry_run = serializers.BooleanField(default=False, help_text="Say what would be imported, and import nothing.")

    def validate_zone(self, value: str) -> str:
        try:
            find_zone(value)
        except ValueError as error:
            raise serializers.ValidationError(f"{error}.") from error
        return value

    def validate_columns(self, value: dict[str, str]) -> dict[str, str]:
        if unknown := set(value) - set(FIELDS):
            raise serializers.ValidationError(f"There is no field {sorted(unknown)[0][:40]}.")
        return value


class RowProblemSerializer(ValueSerializer):
    row = serializers.IntegerField(help_text="The line of a CSV, the place in JSON; 0: the whole file.")
    message = serializers.CharField()


class LedgerCountsSerializer(ValueSerializer):
    account = serializers.CharField()
    deployment = serializers.UUIDField(allow_null=True, help_text="Null: the import makes it.")
    new_fills = serializers.IntegerField()
    known_fills = serializers.IntegerField()
    new_funding = serializers.IntegerField()
    known_funding = serializers.IntegerField()
    batch = serializers.UUIDField(allow_null=True, help_text="Undo it with this id; null: nothing was new.")


class TradeFileSerializer(ValueSerializer):
    """What a file holds and what was imported."""

    recognised = serializers.CharField(help_text="Empty: the columns were guessed by their names.")
    columns: Any = serializers.DictField(child=serializers.CharField())
    zone = serializers.CharField()
    fills = serializers.IntegerField()
    funding = serializers.IntegerField()
    begins_at = serializers.DateTimeField(allow_null=True)
    ends_at = serializers.DateTimeField(allow_null=True)
    problems = RowProblemSerializer(many=True)
    left_out: Any = serializers.DictField(
        child=serializers.IntegerField(), help_text="Rows that are no fills, by kind."
    )
    is_imported = serializers.BooleanField()
    accounts = LedgerCountsSerializer(many=True)
