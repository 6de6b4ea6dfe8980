"""Market data: prices, funding, news and events; no owner."""

from datetime import datetime
from typing import Any

from django.db import models
from django.db.models import F, Q

from config.lib.words.markets import EVENT_LABELS, CalendarKind
from trading.models.choices import INTERVALS
from trading.models.columns import amount_column, one_of_rule


class Bar(models.Model):
    """One bar of a perpetual, named by its beginning."""

    symbol = models.CharField(max_length=32)
    interval = models.CharField(max_length=3)  # a key of schemas.INTERVALS
    opened_at = models.DateTimeField()
    open = amount_column()
    high = amount_column()
    low = amount_column()
    close = amount_column()
    volume = amount_column(default=0)
    mark = amount_column(null=True, blank=True)  # the venue's mark at the close
    index = amount_column(null=True, blank=True)  # the spot index at the close
    source = models.CharField(max_length=80)
    is_simulated = models.BooleanField(default=False)

    class Meta:
        db_table = "bars"
        constraints = (
            models.UniqueConstraint(fields=("symbol", "interval", "opened_at"), name="bar_once"),
            one_of_rule("interval", list(INTERVALS), "bar_interval_known"),
            models.CheckConstraint(
                condition=Q(low__gt=0, high__gte=F("low"), volume__gte=0)
                & Q(open__gte=F("low"), open__lte=F("high"), close__gte=F("low"), close__lte=F("high")),
                name="bar_is_within_its_range",
            ),
        )

    def __str__(self) -> str:
        return f"{self.symbol} {self.interval} {self.opened_at:%Y-%m-%d %H:%M}"

    @property
    def closed_at(self) -> datetime:
        return self.opened_at + INTERVALS[self.interval]


class FundingRate(models.Model):
    symbol = models.CharField(max_length=32)
    at = models.DateTimeField()
    rate = models.DecimalField(max_digits=20, decimal_places=12)  # fraction of notional; above zero longs pay
    hours = models.PositiveSmallIntegerField(default=8)  # between two payments
    source = models.CharField(max_length=80)
    is_simulated = models.BooleanField(default=False)

    class Meta:
        db_table = "funding_rates"
        constraints = (
            models.UniqueConstraint(fields=("symbol", "at"), name="funding_rate_once"),
            models.CheckConstraint(condition=Q(hours__gte=1, hours__lte=24), name="funding_rate_within_a_day"),
        )

    def __str__(self) -> str:
        return f"{self.symbol} {self.at:%Y-%m-%d %H:%M}"


class NewsItem(models.Model):
    """A headline. Untrusted text: data wherever it goes."""

    key = models.CharField(max_length=64, unique=True, editable=False)  # sha256 of source, headline and instant
    headline = models.CharField(max_length=300)  # one line
    source = models.CharField(max_length=80)
    published_at = models.DateTimeField()
    symbols: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # empty: the whole market
    sentiment = models.FloatField(null=True, blank=True)  # -1..1; None: not rated
    is_simulated = models.BooleanField(default=False)

    class Meta:
        db_table = "news_items"
        indexes = (models.Index(fields=("-published_at",), name="news_by_time"),)
        constraints = (
            models.CheckConstraint(
                condition=Q(sentiment__isnull=True) | Q(sentiment__gte=-1, sentiment__lte=1),
                name="news_sentiment_in_range",
            ),
        )

    def __str__(self) -> str:
        return self.headline


class MarketEvent(models.Model):
    """Something scheduled that may move prices."""

    key = models.CharField(
        max_length=64, unique=True, editable=False
    )  # sha256 of kind and day; of some kinds also of the title
    kind = models.CharField(max_length=14, choices=[(kind.value, label) for kind, label in EVENT_LABELS.items()])
    title = models.CharField(max_length=160)
    starts_at = models.DateTimeField()
    importance = models.FloatField()  # 0..1
    symbols: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # empty: all
    source = models.CharField(max_length=160)
    is_simulated = models.BooleanField(default=False)

    class Meta:
        db_table = "market_events"
        indexes = (models.Index(fields=("starts_at",), name="events_by_time"),)
        constraints = (
            one_of_rule("kind", [kind.value for kind in CalendarKind], "event_kind_known"),
            models.CheckConstraint(condition=Q(importance__gte=0, importance__lte=1), name="event_importance_in_range"),
        )

    def __str__(self) -> str:
        return f"{self.title}, {self.starts_at:%Y-%m-%d %H:%M}"
