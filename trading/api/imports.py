"""A user's own trades: import a file, undo an import, accounts at venues."""

from http import HTTPStatus
from typing import Any, ClassVar
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from config.lib.owned import owned_tx
from config.lib.rest.operations import make_act_view, read_pages, write
from config.lib.rest.views import ApiRequest, ApiView
from trading.api.serializers import imports as shapes
from trading.intake.files import PROBLEMS_SHOWN, check_reading, import_reading
from trading.intake.formats import FillMapping, propose_mapping
from trading.intake.ledgers import list_ledgers, name_venue, preview_reading
from trading.intake.reading import Reading, read_fills
from trading.intake.sync import add_account, build_account, check_account, make_due, remove_account
from trading.intake.tables import read_table
from trading.models import EntrySource, ImportBatch, VenueAccount
from trading.record.intake.services import undo_batch
from trading.skills.patches import Json


class ImportsView(ApiView):
    max_body_bytes: ClassVar[int] = 8 * 1024 * 1024

    @read_pages("list_imports", "imports", shapes.ImportBatchSerializer)
    def get(self) -> QuerySet[ImportBatch]:
        """List the imports of your own trades, the newest first."""
        return ImportBatch.objects.filter(deployment__in=[ledger.pk for ledger in list_ledgers()])

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


UndoImportView = make_act_view(
    "undo_import",
    "imports",
    lambda import_id, now: undo_batch(batch_id=import_id, now=now),
    shapes.ImportBatchSerializer,
    "Take an import out of the record; idempotent.",
)


class VenueAccountsView(ApiView):
    @read_pages("list_accounts", "imports", shapes.VenueAccountSerializer)
    def get(self) -> QuerySet[VenueAccount]:
        """List the venue accounts that Keel reads, the newest first."""
        return VenueAccount.objects.all()

    @extend_schema(
        operation_id="add_account",
        tags=["imports"],
        request=shapes.VenueAccountInput,
        responses={201: shapes.VenueAccountSerializer},
    )
    def post(self, request: ApiRequest) -> Response:
        """Add an account; a key that may do more than read is refused."""
        given = self.body(shapes.VenueAccountInput)
        new = build_account(given, given["markets"])
        check_account(new)
        with owned_tx(request.user):
            account = add_account(new, now=timezone.now())
        return Response(shapes.VenueAccountSerializer(account).data, status=HTTPStatus.CREATED)


class VenueAccountView(ApiView):
    @write("remove_account", "imports", None, status=HTTPStatus.NO_CONTENT)
    def delete(self, account_id: UUID) -> None:
        """Remove an account with its key; its trades stay."""
        remove_account(account_id)


SyncAccountView = make_act_view(
    "sync_account",
    "imports",
    lambda account_id, now: make_due(account_id, now=now),
    shapes.VenueAccountSerializer,
    "Let the job worker read an account at once.",
)


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
