"""The record of a deployment that another program runs, pushed over REST."""

from dataclasses import asdict
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.utils import timezone
from rest_framework import serializers

from config.lib.rest.operations import NEW_OR_KNOWN, action, write
from config.lib.rest.views import ApiViewSet, InputSerializer
from trading.api import fields
from trading.ledger.arrivals import add_entries, price_fees
from trading.ledger.entries import Entries
from trading.ledger.executions import Execution
from trading.ledger.positions import Check, Funding, Tick
from trading.ledger.rows import Intent
from trading.ledger.services import lock_deployment, record_tick
from trading.ledger.trips import PathBar
from trading.market.queries import get_regime
from trading.market.tape import REAL
from trading.models import EntrySource, OrderOrigin
from trading.record.deployments import get_pushed_deployment
from trading.skills.schemas import MAX_REASON

MAX_FILLS: Final = 500
MAX_FUNDING: Final = 500
MAX_TICK: Final = 2**31 - 1
# Not the prefixes by which the ledger names what no fill explains.
FILL_ID: Final = r"^(?!gap:|estimate:|opening:)[!-~]{1,120}\Z"


class FillIdField(serializers.RegexField):
    """The venue's id of a fill."""

    default_error_messages = {"invalid": "An id has 1 to 120 printable characters of ASCII without spaces."}  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        super().__init__(FILL_ID, trim_whitespace=False, **options)


class FillInput(InputSerializer):
    """An execution of the venue; strings keep every digit."""

    fill_id = FillIdField(help_text="The venue's: once of a symbol, whatever else it says.")
    symbol = fields.SymbolField(max_length=32)
    at = fields.PastField()
    quantity = fields.quantity_field(help_text="Bought above zero, sold below.")
    price = fields.price_field()
    fee_usd = fields.usd_field(required=False, help_text="Paid; a rebate is negative.")
    fee_coin = serializers.CharField(
        required=False, max_length=16, help_text="The coin of a fee that was not paid in dollars; then `fee_in_coin`."
    )
    fee_in_coin = fields.usd_field(required=False, help_text="Converted at the bar of the fill.")
    is_liquidation = serializers.BooleanField(required=False)
    start_quantity = fields.quantity_field(
        required=False, allow_null=True, help_text="The position before it, where the venue says so."
    )

    is_reducing = serializers.BooleanField(
        required=False, allow_null=True, help_text="Whether it closes (part of) a position, where the venue says so."
    )

    def validate_quantity(self, value: Decimal) -> Decimal:
        if not value:
            raise serializers.ValidationError("This may not be zero.")
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("fee_coin" in attrs) != ("fee_in_coin" in attrs):
            raise serializers.ValidationError("A fee in a coin takes both fee_coin and fee_in_coin.")
        return attrs


class FundingInput(InputSerializer):
    """One funding payment."""

    symbol = fields.SymbolField(max_length=32)
    at = fields.PastField()
    amount_usd = fields.usd_field(help_text="Received above zero, paid below.")


class OpeningPositionInput(InputSerializer):
    """A position from before the first fill; zero: there was none."""

    symbol = fields.SymbolField(max_length=32)
    at = fields.PastField(help_text="It precedes the fills of its instant.")
    quantity = fields.quantity_field(help_text="Signed.")
    price = fields.price_field(help_text="The average entry price.")


class FillsInput(InputSerializer):
    """What another program's account did, in any order."""

    fills = serializers.ListField(child=FillInput(), default=list, max_length=MAX_FILLS)
    funding = serializers.ListField(child=FundingInput(), default=list, max_length=MAX_FUNDING)
    openings = serializers.ListField(child=OpeningPositionInput(), default=list, max_length=MAX_FUNDING)


class ConflictSerializer(fields.ValueSerializer):
    """A known entry that came with other numbers; the stored one is kept."""

    kind = serializers.CharField()
    place = serializers.IntegerField(help_text="In its list, from 0.")
    symbol = serializers.CharField()
    key = serializers.CharField(help_text="The fill's id, or the instant of the funding.")
    text = serializers.CharField()


class PushedSerializer(fields.ValueSerializer):
    """What a push of entries did."""

    batch_id = serializers.UUIDField(allow_null=True, help_text="Of the import; null: nothing was new.")
    new_fills = serializers.IntegerField()
    known_fills = serializers.IntegerField(help_text="Of those pushed; they change nothing.")
    new_funding = serializers.IntegerField()
    known_funding = serializers.IntegerField()
    openings = serializers.IntegerField(help_text="New ones.")
    opened = serializers.IntegerField(help_text="Trades.")
    closed = serializers.IntegerField()
    gaps = serializers.IntegerField(help_text="Trades that were built again and have holes in their history.")
    unpriced_fees = serializers.IntegerField(help_text="New fills whose fee is in a coin without a price then.")
    conflicts = ConflictSerializer(many=True)


class ReasonInput(InputSerializer):
    """The reason of a fill or, by symbol, of a position change."""

    fill_id = FillIdField(required=False)
    symbol = fields.SymbolField(required=False, max_length=32)
    reason = fields.LineField(max_length=MAX_REASON)
    leverage = fields.AmountField(
        required=False, allow_null=True, min_value=1, max_value=1_000, help_text="Kept with the trade that begins."
    )
    origin = serializers.ChoiceField(OrderOrigin.choices, default=OrderOrigin.AGENT, help_text="Who wanted it.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("fill_id" in attrs) == ("symbol" in attrs):
            raise serializers.ValidationError("Name either a fill_id or a symbol.")
        return attrs


class TickInput(InputSerializer):
    """What became known since the tick before."""

    number = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=1,
        max_value=MAX_TICK,
        help_text="One more than the deployment's `last_tick`; without it, that. With it, sending twice is safe.",
    )
    at = fields.PastField(help_text="Later than the tick before.")
    fills = serializers.ListField(child=FillInput(), default=list, max_length=MAX_FILLS)
    positions = fields.BySymbolField(
        child=fields.quantity_field(),
        default=None,
        allow_null=True,
        help_text="Signed, as they are at `at`. Null: not known.",
    )
    is_complete = serializers.BooleanField(
        default=True, help_text="The positions are all there are: what they do not name is flat."
    )
    marks = fields.BySymbolField(
        child=fields.price_field(), default=dict, help_text="The price of each symbol at `at`."
    )
    funding = serializers.ListField(child=FundingInput(), default=list, max_length=MAX_FUNDING)
    equity_usd = fields.usd_field(default=None, allow_null=True, help_text="The account's worth at `at`.")
    reasons = serializers.ListField(child=ReasonInput(), default=list, max_length=MAX_FILLS)


class TickedSerializer(fields.ValueSerializer):
    """What a tick did."""

    number = serializers.IntegerField()
    applied = serializers.BooleanField(help_text="False: it had been applied before, and nothing changed.")
    opened = serializers.IntegerField()
    closed = serializers.IntegerField()
    fills = serializers.IntegerField(help_text="New ones.")
    conflicts = ConflictSerializer(many=True)


class PushViewSet(ApiViewSet):
    """What another program's deployment did."""

    areas = frozenset(("record",))
    lookup_url_kwarg = "deployment_id"

    @write("push_fills", PushedSerializer, FillsInput)
    @action(detail=True, methods=["post"], url_path="fills", max_body_bytes=256 * 1024)
    def push_fills(self, deployment_id: UUID, fills: list[Any], funding: list[Any], openings: list[Any]) -> Any:
        """Add fills, funding and opening positions of any age and rebuild the trades; idempotent."""
        entries = Entries(
            _build_fills(fills),
            [Funding(**payment) for payment in funding],
            [Check(**opening, is_opening=True) for opening in openings],
        )
        deployment = get_pushed_deployment(deployment_id)
        return asdict(
            add_entries(deployment_id=deployment.pk, entries=entries, source=EntrySource.API, now=timezone.now())
        )

    @write("push_tick", TickedSerializer, TickInput, status=NEW_OR_KNOWN)
    @action(detail=True, methods=["post"], url_path="ticks", max_body_bytes=1024 * 1024)
    def push_tick(self, deployment_id: UUID, **fields: Any) -> Any:
        """Write the next tick; 200, without change, if applied before."""
        deployment = get_pushed_deployment(deployment_id)
        before = lock_deployment(deployment.pk)
        number = fields.get("number") or before.last_tick + 1
        tick = _build_tick(fields)
        held = {symbol for symbol, quantity in (tick.positions or {}).items() if quantity}
        beginning = {fill.symbol for fill in tick.fills} | held  # symbols in which a trade may begin
        record = record_tick(
            deployment_id=deployment.pk,
            number=number,
            tick=tick,
            skill_version=deployment.version.version,
            intents={one["fill_id"]: _build_intent(one) for one in fields["reasons"] if "fill_id" in one},
            symbol_intents={one["symbol"]: _build_intent(one) for one in fields["reasons"] if "symbol" in one},
            regimes={symbol: get_regime(symbol, tick.at, REAL) for symbol in beginning},
            equity_usd=fields["equity_usd"],
            now=timezone.now(),
        )
        done = {
            "number": number,
            "applied": record.is_applied,
            **{name: getattr(record, name) for name in ("opened", "closed", "fills")},
            "conflicts": [asdict(conflict) for conflict in record.conflicts],
        }
        return done, record.is_applied


def _build_fills(given: list[dict[str, Any]]) -> list[Execution]:
    """Return the fills, numbered in the order of the request."""
    return [Execution(**fill, source_order=place) for place, fill in enumerate(given, start=1)]


def _build_tick(fields: dict[str, Any]) -> Tick:
    at, marks = fields["at"], fields["marks"]
    return Tick(
        at=at,
        fills=price_fees(_build_fills(fields["fills"])),
        funding=[Funding(**payment) for payment in fields["funding"]],
        # A mark is a point of the price's path; no bar has the prices between two ticks.
        bars={symbol: [PathBar(at, at, mark, mark, mark)] for symbol, mark in marks.items()},
        marks=marks,
        positions=fields["positions"],
        is_complete=fields["is_complete"],
    )


def _build_intent(given: dict[str, Any]) -> Intent:
    return Intent(OrderOrigin(given["origin"]), given["reason"], leverage=given.get("leverage"))
