"""Run the commands that users gave to deployments."""

import logging
from datetime import datetime
from uuid import UUID

from django.db import OperationalError, transaction

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from trading.ledger.services import DeploymentNotFound, lock_deployment
from trading.models import CommandKind, Deployment, DeploymentCommand, Order, OrderOrigin, OrderSide, OrderState, Trade
from trading.record.deployments import apply_command, find_next_command, finish_command
from trading.runs.runner import submit_orders

logger = logging.getLogger(__name__)


def carry_out_commands(deployment_id: UUID, *, user_id: int, now: datetime) -> list[DeploymentCommand]:
    """Run a deployment's waiting commands, oldest first; one that cannot be done fails, the others go on.

    Only a database that is busy or gone leaves it to the next round.
    """
    done: list[DeploymentCommand] = []
    while True:
        with owned_tx(user_id):
            deployment = lock_deployment(deployment_id)
            command = find_next_command(deployment_id)
            if command is None:
                return done
            outcome, has_failed = _run_command(command, deployment, now)
            finish_command(command, outcome, has_failed=has_failed, now=now)
            done.append(command)


def _run_command(command: DeploymentCommand, deployment: Deployment, now: datetime) -> tuple[str, bool]:
    """Run a command atomically; return its outcome and failure."""
    try:
        with transaction.atomic():
            outcome = apply_command(command=command, now=now)
            if command.kind == CommandKind.FLATTEN:
                _close_positions(deployment, now)
    except (OperationalError, DeploymentNotFound):
        raise
    except DomainError as error:
        logger.warning("Command %s of deployment %s was refused: %s", command.pk, deployment.pk, error)
        return f"It could not be done: {error}", True
    except Exception:
        logger.exception("Command %s of deployment %s failed", command.pk, deployment.pk)
        return "It could not be done. Nothing was changed; the log of the runner says why.", True
    return outcome, False


def _close_positions(deployment: Deployment, now: datetime) -> None:
    orders = [
        Order.objects.create(
            deployment=deployment,
            tick=deployment.last_tick,
            origin=OrderOrigin.COMMAND,
            symbol=symbol,
            side=OrderSide.CLOSE,
            reason="Closed at your command.",
            state=OrderState.PENDING,
            proposed_at=now,
            updated_at=now,
        )
        for symbol in sorted(Trade.objects.open().filter(deployment=deployment).values_list("symbol", flat=True))
    ]
    submit_orders(deployment, orders, at=now)
