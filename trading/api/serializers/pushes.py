"""Fills and ticks that another program pushes."""

from decimal import Decimal
from typing import Any, Final

from rest_framework import serializers

from config.lib.rest.views import InputSerializer
from trading.api.serializers.fields import (
    AmountField,
    BySymbolField,
    LineField,
    PastField,
    SymbolField,
    ValueSerializer,
    price_field,
    quantity_field,
    usd_field,
)
from trading.models import OrderOrigin
from trading.skills.schemas import MAX_REASON

MAX_FILLS: Final = 500
MAX_FUNDING: Final = 500
MAX_TICK: Final = 2**31 - 1
# Not the prefixes by which the ledger names what no fill explains.
FILL_ID: Final = r"^(?!gap:|estimate:)[!-~]{1,120}\Z"


class FillIdField(serializers.RegexField):
    """The venue's id of a fill."""

    default_error_messages = {"invalid": "An id has 1 to 120 printable characters of ASCII without spaces."}  # noqa: RUF012

    def __init__(self, **options: Any) -> None:
        super().__init__(FILL_ID, trim_whitespace=False, **options)


class FillInput(InputSerializer):
    """An execution of the venue; strings keep every digit."""

    fill_id = FillIdField(help_text="The venue's: once of a symbol, whatever else it says.")
    symbol = SymbolField(max_length=32)
    at = PastField()
    quantity = quantity_field(help_text="Bought above zero, sold below.")
    price = price_field()
    fee_usd = usd_field(required=False, help_text="Paid; a rebate is negative.")
    is_liquidation = serializers.BooleanField(required=False)
    start_quantity = quantity_field(
        required=False, allow_null=True, help_text="The position before it, where the venue says so."
    )

    def validate_quantity(self, value: Decimal) -> Decimal:
        """Refuse a fill that moves nothing."""
        if not value:
            raise serializers.ValidationError("This may not be zero.")
        return value


class FillsInput(InputSerializer):
    """Fills that another program made, in any order."""

    fills = serializers.ListField(child=FillInput(), max_length=MAX_FILLS)


class PushedSerializer(ValueSerializer):
    """What a push of fills did, and what there is now."""

    new_fills = serializers.IntegerField()
    known_fills = serializers.IntegerField(help_text="Of those pushed; they change nothing.")
    trades = serializers.IntegerField()
    open_trades = serializers.IntegerField()
    gaps = serializers.IntegerField(help_text="Trades whose history has holes.")


class FundingInput(InputSerializer):
    """One funding payment."""

    symbol = SymbolField(max_length=32)
    at = PastField()
    amount_usd = usd_field(help_text="Received above zero, paid below.")


class ReasonInput(InputSerializer):
    """The reason of a fill or, by symbol, of a position change."""

    fill_id = FillIdField(required=False)
    symbol = SymbolField(required=False, max_length=32)
    reason = LineField(max_length=MAX_REASON)
    leverage = AmountField(
        required=False, allow_null=True, min_value=1, max_value=1_000, help_text="Kept with the trade that begins."
    )
    origin = serializers.ChoiceField(OrderOrigin.choices, default=OrderOrigin.AGENT, help_text="Who wanted it.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """See that it names one thing."""
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
    at = PastField(help_text="Later than the tick before.")
    fills = serializers.ListField(child=FillInput(), default=list, max_length=MAX_FILLS)
    positions = BySymbolField(
        child=quantity_field(), default=None, allow_null=True, help_text="Signed, as they are at `at`. Null: not known."
    )
    is_complete = serializers.BooleanField(
        default=True, help_text="The positions are all there are: what they do not name is flat."
    )
    marks = BySymbolField(child=price_field(), default=dict, help_text="The price of each symbol at `at`.")
    funding = serializers.ListField(child=FundingInput(), default=list, max_length=MAX_FUNDING)
    equity_usd = usd_field(default=None, allow_null=True, help_text="The account's worth at `at`.")
    reasons = serializers.ListField(child=ReasonInput(), default=list, max_length=MAX_FILLS)


class TickedSerializer(ValueSerializer):
    """What a tick did."""

    number = serializers.IntegerField()
    applied = serializers.BooleanField(help_text="False: it had been applied before, and nothing changed.")
    opened = serializers.IntegerField()
    closed = serializers.IntegerField()
    fills = serializers.IntegerField(help_text="New ones.")
