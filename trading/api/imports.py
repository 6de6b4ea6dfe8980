"""A user's own trades: import a file, undo an import, accounts at venues."""

from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.rest.views import ApiRequest, ApiView
from trading.api.serializers import imports as shapes
from trading.intake.files import PROBLEMS_SHOWN, check_reading, import_reading
from trading.intake.formats import FillMapping, propose_mapping
from trading.intake.ledgers import name_venue, preview_reading
from trading.intake.reading import Reading, read_fills
from trading.intake.tables import read_table
from trading.models import EntrySource
from trading.skills.patches import Json


class ImportsView(ApiView):
    max_body_bytes: ClassVar[int] = 8 * 1024 * 1024

    @extend_schema(
        operation_id="import_trades",
        tags=["imports"],
        request=shapes.TradeFileInput,
        responses={201: shapes.TradeFileSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Import a file of trades whole, or say what it holds; idempotent."""
        given, now = self.body(shapes.TradeFileInput), timezone.now()
        changes = {name: given.get(name) for name in ("zone", "dates", "decimal", "ledger")}
        with self.door_closed():
            table = read_table(given["content"].encode())
            mapping = propose_mapping(table, zone=request.user.time_zone).correct(given["columns"].items(), **changes)
            reading = read_fills(table, mapping, now=now)
        if given["dry_run"]:
            previews = preview_reading(reading, venue=name_venue(mapping), now=now)
            counts = [_describe_ledger(one.label, one.counts) for one in previews]
            return Response(_describe(reading, mapping, counts, is_imported=False))
        check_reading(reading, leaves_out=given["leave_out"])
        with owned_tx(request.user):
            done = import_reading(reading, mapping, source=EntrySource.API, name=given["name"], now=now)
        counts = [_describe_ledger(one.label, one.record, one.deployment.pk, one.record.batch_id) for one in done]
        return Response(_describe(reading, mapping, counts, is_imported=True), status=HTTPStatus.CREATED)


def _describe_ledger(label: str, counts: Any, deployment: UUID | None = None, batch: UUID | None = None) -> Json:
    names = ("new_fills", "known_fills", "new_funding", "known_funding")
    numbers = {name: getattr(counts, name) for name in names}
    return {"account": label, "deployment": deployment, "batch": batch, **numbers}


def _describe(reading: Reading, mapping: FillMapping, accounts: list[Json], *, is_imported: bool) -> Json:
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
        "is_imported": is_imported,
        "accounts": accounts,
    }
    return dict(shapes.TradeFileSerializer(values).data)
