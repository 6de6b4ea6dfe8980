"""What the record is made from: fills, funding, checked positions."""

from typing import Any
from uuid import uuid4

from django.db import models
from django.db.models import Q

from config.lib.owned import OwnedModel
from trading.models.columns import amount_column, one_of_rule
from trading.models.deployments import Deployment, Order


class EntrySource(models.TextChoices):
    FILE = "file", "File"
    API = "api", "API"
    SYNC = "sync", "Sync"
    HAND = "hand", "Entered by hand"


class ImportBatch(OwnedModel):
    """What one file, push or sync added; it can be undone."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="imports", db_index=False)
    source = models.CharField(max_length=4, choices=EntrySource)
    name = models.CharField(max_length=200, blank=True)  # of the file or account
    created_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)
    new_fills = models.PositiveIntegerField(default=0)
    known_fills = models.PositiveIntegerField(default=0)
    new_funding = models.PositiveIntegerField(default=0)
    known_funding = models.PositiveIntegerField(default=0)
    openings = models.PositiveIntegerField(default=0)
    conflicts: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # `ledger.Conflict`
    repeats: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # ids of known rows, by table
    details: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # what the reader recognised

    class Meta(OwnedModel.Meta):
        db_table = "import_batches"
        verbose_name_plural = "import batches"
        indexes = (models.Index(fields=("user", "deployment", "-created_at"), name="imports_by_deployment"),)
        constraints = (one_of_rule("source", EntrySource.values, "import_source_known"),)

    def __str__(self) -> str:
        return f"{self.get_source_display()} {self.name}".strip()


class Fill(OwnedModel):
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="fills", db_index=False)
    order = models.ForeignKey(Order, on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False)
    fill_id = models.CharField(max_length=120)
    symbol = models.CharField(max_length=32)
    at = models.DateTimeField()
    quantity = amount_column()  # bought above zero, sold below
    price = amount_column()
    fee_usd = amount_column(default=0, null=True, blank=True)  # a rebate is negative; None: a coin without a price
    fee_coin = models.CharField(max_length=16, blank=True)  # empty: the fee was in dollars
    fee_in_coin = amount_column(null=True, blank=True)
    is_liquidation = models.BooleanField(default=False)
    start_quantity = amount_column(null=True, blank=True)  # the position before it, where the venue says so
    is_reducing = models.BooleanField(null=True, blank=True)  # whether it closes a position, where the venue says so
    pnl_usd = amount_column(null=True, blank=True)  # what it realised before fees, where the venue says so
    source_order = models.PositiveIntegerField(default=0)  # its place among the source's fills of one instant
    settled_at = models.DateTimeField(null=True, blank=True)  # the tick that brought it; None: imported
    tick = models.PositiveIntegerField(default=0)  # the tick of its arrival; 0: imported
    intent: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # why there was it
    batch = models.ForeignKey(ImportBatch, models.SET_NULL, related_name="fills", null=True, blank=True, db_index=False)

    class Meta(OwnedModel.Meta):
        db_table = "fills"
        indexes = (
            models.Index(fields=("user", "deployment", "symbol", "at"), name="fills_by_symbol"),
            models.Index(
                fields=("user", "deployment"), name="fills_without_a_fee_price", condition=Q(fee_usd__isnull=True)
            ),
        )
        constraints = (
            models.UniqueConstraint(fields=("user", "deployment", "symbol", "fill_id"), name="fill_once"),
            models.CheckConstraint(condition=~Q(quantity=0), name="fill_moves_something"),
            models.CheckConstraint(condition=Q(price__gt=0), name="fill_has_a_price"),
            models.CheckConstraint(
                condition=Q(fee_usd__isnull=False) | (~Q(fee_coin="") & Q(fee_in_coin__isnull=False)),
                name="fill_fee_is_known_in_its_coin",
            ),
        )

    def __str__(self) -> str:
        return f"{self.quantity:f} {self.symbol} at {self.price:f}"


class FundingPayment(OwnedModel):
    deployment = models.ForeignKey(Deployment, models.CASCADE, related_name="funding_payments", db_index=False)
    symbol = models.CharField(max_length=32)
    at = models.DateTimeField()
    amount_usd = amount_column()  # received above zero
    batch = models.ForeignKey(
        ImportBatch, on_delete=models.SET_NULL, related_name="funding", null=True, blank=True, db_index=False
    )

    class Meta(OwnedModel.Meta):
        db_table = "funding_payments"
        indexes = (models.Index(fields=("user", "deployment", "symbol", "at"), name="funding_by_symbol"),)
        constraints = (models.UniqueConstraint(fields=("deployment", "symbol", "at"), name="funding_paid_once"),)

    def __str__(self) -> str:
        return f"{self.amount_usd:f} of {self.symbol}"


class PositionCheck(OwnedModel):
    """A position at an instant: by hand, or a snapshot that fills did not explain."""

    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="checks", db_index=False)
    symbol = models.CharField(max_length=32)
    at = models.DateTimeField()
    quantity = amount_column()  # signed
    price = amount_column()  # the mark; of an opening position the entry price
    is_opening = models.BooleanField(default=False)  # by hand; it precedes the fills of its instant
    intent: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # why the position changed
    batch = models.ForeignKey(
        ImportBatch, on_delete=models.SET_NULL, related_name="checks", null=True, blank=True, db_index=False
    )

    class Meta(OwnedModel.Meta):
        db_table = "position_checks"
        indexes = (models.Index(fields=("user", "deployment", "symbol", "at"), name="checks_by_symbol"),)
        constraints = (
            models.UniqueConstraint(fields=("deployment", "symbol", "at", "is_opening"), name="check_once_per_instant"),
            models.CheckConstraint(condition=Q(price__gt=0), name="check_has_a_price"),
        )

    def __str__(self) -> str:
        return f"{self.quantity:f} {self.symbol}"
