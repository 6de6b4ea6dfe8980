from datetime import datetime
from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef, Q

from config.lib.rls import RunPythonOnOwnedRows


def call_unproven_starts_unconfirmed(apps: Any, editor: Any) -> None:
    """Call unconfirmed what was called exact because the symbol had been flat, which proves nothing.

    A checked position, a fill with the position before it, or a snapshot of all positions proves a start.
    """
    rows = {name: apps.get_model("trading", name).objects.using(editor.connection.alias) for name in MODELS}
    for deployment in rows["Deployment"].filter(broker_kind="live"):
        unproven = rows["Trade"].filter(deployment=deployment, reconciled="exact")
        for proofs in (rows["PositionCheck"], rows["Fill"].filter(start_quantity__isnull=False)):
            of_symbol = proofs.filter(deployment=deployment, symbol=OuterRef("symbol"))
            unproven = unproven.exclude(
                Exists(of_symbol.filter(at__lte=OuterRef("exit_at"))) | (Q(exit_at=None) & Exists(of_symbol))
            )
        if since := deployment.account.get("complete_since"):
            unproven = unproven.exclude(entry_at__gt=datetime.fromisoformat(since))
        for trade in unproven.filter(status="open"):
            trade.state["is_unconfirmed"] = True
            trade.save(update_fields=["state"])
        unproven.update(reconciled="unconfirmed")


MODELS = ("Deployment", "Trade", "PositionCheck", "Fill")


class Migration(migrations.Migration):
    dependencies = (("trading", "0009_profits_of_fills"),)

    operations = (RunPythonOnOwnedRows(call_unproven_starts_unconfirmed, migrations.RunPython.noop),)
