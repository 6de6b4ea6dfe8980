"""Columns and rules that several tables share."""

from typing import Any

from django.db import models
from django.db.models import Q


def amount_column(**options: Any) -> "models.DecimalField[Any, Any]":
    """Return an amount column: 12 places, 15 digits in SQLite."""
    return models.DecimalField(max_digits=36, decimal_places=12, **options)


def one_of_rule(field: str, values: list[str], name: str) -> models.CheckConstraint:
    """Return the constraint that a column holds a known value."""
    return models.CheckConstraint(condition=Q(**{f"{field}__in": values}), name=name)


def together_rule(name: str, *fields: str) -> models.CheckConstraint:
    """Return the constraint that all of the columns are null, or none."""
    nulls, values = (Q(**{f"{field}__isnull": is_null for field in fields}) for is_null in (True, False))
    return models.CheckConstraint(condition=nulls | values, name=name)


def over_rule(name: str) -> models.CheckConstraint:
    """Return the constraint that work has an end once it is over, and not before."""
    running = Q(status__in=["pending", "running"], finished_at__isnull=True)
    over = Q(status__in=["done", "failed", "cancelled"], finished_at__isnull=False)
    return models.CheckConstraint(condition=running | over, name=name)


def refused_rule(field: str, name: str) -> models.CheckConstraint:
    """Return the constraint that a refusal, and nothing else, has the code of its rule."""
    refused, no_code = Q(**{field: "refused"}), Q(verdict_code="")
    return models.CheckConstraint(condition=(refused & ~no_code) | (~refused & no_code), name=name)
