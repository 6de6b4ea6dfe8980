"""Rules of a trader, read from facts and confirmed by their owner."""

from typing import Any, Self
from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet
from trading.models.columns import one_of_rule


class RuleState(models.TextChoices):
    WAITING = "waiting", "To confirm"
    CONFIRMED = "confirmed", "In use"
    DISMISSED = "dismissed", "Not a rule"


class TradingRuleQuerySet(OwnedQuerySet["TradingRule"]):
    def confirmed(self) -> Self:
        return self.filter(state=RuleState.CONFIRMED)


class TradingRule(OwnedModel):
    """A fact read as a rule; trades of its validity are judged by it once it is confirmed."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    fact_id = models.UUIDField()  # a plain id: trading may not point to memory
    lineage = models.UUIDField()  # of the fact: its versions with the same reading stay confirmed
    words = models.CharField(max_length=500)  # of the fact
    payload: "models.JSONField[Any, Any]" = models.JSONField()  # `rules.grammar.Rule`
    state = models.CharField(max_length=9, choices=RuleState, default=RuleState.WAITING)
    valid_from = models.DateTimeField()
    valid_until = models.DateTimeField(null=True, blank=True)  # exclusive; None: still
    created_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)  # when the owner confirmed or dismissed it

    objects = OwnedManager.from_queryset(TradingRuleQuerySet)()  # type: ignore[misc]  # a manager with verbs of its own

    class Meta(OwnedModel.Meta):
        db_table = "trading_rules"
        indexes = (models.Index(fields=("user", "state", "valid_from"), name="trading_rules_by_state"),)
        constraints = (
            models.UniqueConstraint(fields=("user", "fact_id"), name="trading_rule_once_per_fact"),
            one_of_rule("state", RuleState.values, "trading_rule_state_known"),
            models.CheckConstraint(
                condition=Q(valid_until__isnull=True) | Q(valid_until__gt=F("valid_from")),
                name="trading_rule_ends_after_start",
            ),
            models.CheckConstraint(
                condition=Q(state="waiting", decided_at__isnull=True)
                | Q(state__in=["confirmed", "dismissed"], decided_at__isnull=False),
                name="trading_rule_decided_at_an_instant",
            ),
        )

    def __str__(self) -> str:
        return self.words
