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
