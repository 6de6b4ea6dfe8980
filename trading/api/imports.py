"""Import a file of a user's own trades."""

from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.rest.operations import describe
from config.lib.rest.views import ApiRequest, ApiView, InputSerializer
from trading.api.fields import ValueSerializer
from trading.intake.files import PROBLEMS_SHOWN, check_reading, import_reading, read_content
from trading.intake.formats import FIELDS, SEVERAL, FillMapping
from trading.intake.ledgers import name_venue, preview_reading
from trading.intake.reading import FileReading
from trading.intake.values import find_zone
from trading.models import EntrySource
from trading.skills.patches import Json

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
        child=serializers.CharField(max_length=200),
        default=dict,
        help_text=f"By field: {', '.join(FIELDS)}; several of {' or '.join(SEVERAL[:2])} with + between them.",
    )
    contract_sizes = serializers.CharField(
        max_length=2_000, required=False, help_text="Of a contract, a point or a lot: BTC-USDT-SWAP=0.01, ES=50."
    )
    leave_out = serializers.BooleanField(default=False, help_text="Leave out the rows that cannot be read.")
    again = serializers.BooleanField(default=False, help_text="Import fills that another account has already, too.")
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
    unread: Any = serializers.ListField(child=serializers.CharField(), help_text="Columns that nothing reads.")
    notices: Any = serializers.ListField(child=serializers.CharField(), help_text="What the file does not say.")
    is_imported = serializers.BooleanField()
    accounts = LedgerCountsSerializer(many=True)


class ImportsView(ApiView):
    areas = frozenset(("record",))
    max_body_bytes: ClassVar[int] = 8 * 1024 * 1024

    @describe(
        operation_id="import_trades", request=TradeFileInput, responses=dict.fromkeys((200, 201), TradeFileSerializer)
    )
    def post(self, request: ApiRequest) -> Response:
        """Import a file of trades whole, or say what it holds; idempotent."""
        given, now = self.body(TradeFileInput), timezone.now()
        changes: Any = {
            name: given.get(name) for name in ("columns", "zone", "dates", "decimal", "ledger", "contract_sizes")
        }
        with self.door_closed():
            content, own_zone = given["content"].encode(), request.user.time_zone
            reading, mapping = read_content(content, own_zone=own_zone, now=now, **changes)
        if given["dry_run"]:
            previews = preview_reading(reading, venue=name_venue(mapping), now=now)
            counts = [_describe_ledger(one.label, one.counts) for one in previews]
            return Response(_describe(reading, mapping, counts, is_imported=False))
        check_reading(reading, leaves_out=given["leave_out"])
        with owned_tx(request.user):
            source = EntrySource.API
            done = import_reading(
                reading, mapping, source=source, name=given["name"], counts_twice=given["again"], now=now
            )
        counts = [_describe_ledger(one.label, one.record, one.deployment.pk, one.record.batch_id) for one in done]
        return Response(_describe(reading, mapping, counts, is_imported=True), status=HTTPStatus.CREATED)


def _describe_ledger(label: str, counts: Any, deployment: UUID | None = None, batch: UUID | None = None) -> Json:
    names = ("new_fills", "known_fills", "new_funding", "known_funding")
    numbers = {name: getattr(counts, name) for name in names}
    return {"account": label, "deployment": deployment, "batch": batch, **numbers}


def _describe(reading: FileReading, mapping: FillMapping, accounts: list[Json], *, is_imported: bool) -> Json:
    period = reading.period
    values = {
        "recognised": mapping.recognised,
        "columns": {name: columns[0] for name, columns in mapping.columns.items() if columns},
        "zone": mapping.zone,
        "fills": len(reading.fills),
        "funding": len(reading.funding),
        "begins_at": period[0] if period else None,
        "ends_at": period[1] if period else None,
        "problems": [problem._asdict() for problem in reading.problems[:PROBLEMS_SHOWN]],
        "left_out": dict(reading.left_out),
        "unread": reading.unread,
        "notices": reading.notices,
        "is_imported": is_imported,
        "accounts": accounts,
    }
    return dict(TradeFileSerializer(values).data)
