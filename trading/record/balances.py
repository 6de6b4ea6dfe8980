"""Balances of the user's own accounts at a date, entered by hand: what percents of equity are percents of.

They are points of equity like those of a tick, and no curve: what was paid in between two of them is no profit.
"""

from datetime import datetime
from decimal import Decimal
from uuid import UUID

from config.lib.errors import DomainError, NotFound
from trading.ledger.services import lock_deployment
from trading.models import Deployment, EquityPoint


class BalanceNotFound(NotFound):
    """There is no such balance of an own account."""


class BalanceRefused(DomainError):
    """A balance cannot be of that time."""


def enter_balance(*, deployment_id: UUID, at: datetime, equity_usd: Decimal, now: datetime) -> EquityPoint:
    """Store what an own account was worth at an instant, in place of another of that instant; needs `owned_tx(user)`.

    Raises BalanceNotFound, BalanceRefused.
    """
    deployment = lock_deployment(deployment_id)
    if not deployment.label:
        raise BalanceNotFound("That is no account of your own trades.")
    if at > now:
        raise BalanceRefused("The time lies in the future.")
    points = EquityPoint.objects.filter(deployment=deployment)
    points.filter(at=at).delete()
    last = points.order_by("-tick").first()
    return points.create(deployment=deployment, tick=last.tick + 1 if last else 0, at=at, equity_usd=equity_usd)


def list_balances() -> list[EquityPoint]:
    """Return the balances of the user's own accounts, newest first, with their accounts."""
    own = list(Deployment.objects.exclude(label=""))
    return list(EquityPoint.objects.filter(deployment__in=own).select_related("deployment").order_by("-at", "id"))


def remove_balance(balance_id: int) -> None:
    """Remove a balance; needs `owned_tx(user)`. Raises BalanceNotFound."""
    if balance_id not in [point.pk for point in list_balances()]:
        raise BalanceNotFound("You have no such balance.")
    EquityPoint.objects.filter(pk=balance_id).delete()
