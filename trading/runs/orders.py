"""Orders and the paper broker that takes them: restore it, send orders, settle what became of them."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Final

from trading import models
from trading.ledger.rows import Intent
from trading.record.backtests import VOLUME_PCT
from trading.runs.paper import Costs, OrderRequest, PaperBroker, Report

ON_PAPER: Final = Costs(volume_share=VOLUME_PCT / 100)
NOTHING_LEFT: Final = "There was nothing left to trade."
EXPIRED: Final = "It expired: no bar began in time."
REST_EXPIRED: Final = "Part of it filled. The rest expired: the bars had too little volume."
STOPPED: Final = "The stop price was reached."


def restore_broker(deployment: models.Deployment, costs: Costs) -> PaperBroker:
    """Return the broker of a deployment's account as it was saved."""
    return PaperBroker.restored(deployment.account, starting_equity_usd=deployment.starting_equity_usd, costs=costs)


def submit_orders(deployment: models.Deployment, orders: list[models.Order], *, at: datetime) -> None:
    """Send orders to a deployment's broker and save its state."""
    broker = restore_broker(deployment, ON_PAPER)  # sending costs nothing
    send_orders(broker, orders, at)
    save_account(deployment, broker)


def send_orders(broker: PaperBroker, orders: list[models.Order], at: datetime) -> None:
    """Queue orders at a broker, whose account is to be saved."""
    for order in orders:
        values = {name: getattr(order, name) for name in ("symbol", "side", "size_usd", "leverage", "stop_price")}
        broker.submit(OrderRequest(order_id=str(order.pk), at=at, **values))


def save_account(deployment: models.Deployment, broker: PaperBroker) -> None:
    """Save a broker's state."""
    deployment.account = broker.state()
    deployment.save(update_fields=["account"])


def settle_orders(report: Report, gone: Collection[str], at: datetime) -> dict[str, Intent]:
    """Save filled and ended orders; return intents by fill id."""
    filled = set(report.order_ids.values())
    wanted = {*gone, *filled, *filter(None, report.stopped.values())}
    orders = {str(order.pk): order for order in models.Order.objects.filter(pk__in=wanted)} if wanted else {}
    for order_id, order in orders.items():
        if order_id not in gone and order_id not in filled:
            continue
        is_filled = order_id in filled or order.state == models.OrderState.PARTLY_FILLED
        has_expired = order_id in report.expired
        order.state = models.OrderState.FILLED if is_filled and not has_expired else models.OrderState.CANCELLED
        if order_id not in gone:
            order.state = models.OrderState.PARTLY_FILLED
        elif order.state == models.OrderState.CANCELLED:
            order.error = REST_EXPIRED if is_filled else EXPIRED if has_expired else NOTHING_LEFT
        order.updated_at = at
        order.save(update_fields=["state", "error", "updated_at"])
    intents = {fill_id: _make_intent(orders[order_id]) for fill_id, order_id in report.order_ids.items()}
    for fill_id, order_id in report.stopped.items():
        stop = Intent(models.OrderOrigin.STOP, STOPPED)
        if setter := orders.get(order_id):  # the decision of a stop is the one that set it
            stop = replace(stop, snapshot_id=setter.snapshot_id, decided_at=setter.proposed_at)
        intents[fill_id] = stop
    return intents


def _make_intent(order: models.Order) -> Intent:
    origin, decided_at = models.OrderOrigin(order.origin), order.proposed_at
    return Intent(origin, order.reason, order.snapshot_id, order.pk, order.leverage, decided_at)
