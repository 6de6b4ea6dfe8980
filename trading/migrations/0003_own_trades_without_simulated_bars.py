from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.db import migrations
from django.db.models import Case, Exists, F, OuterRef, Value, When
from django.db.models.functions import Coalesce, Now

from config.lib.rls import RunPythonOnOwnedRows

DAY = timedelta(days=1)
OF_PATH = ("mfe_usd", "mae_usd", "path_minutes")


def forget_simulated(apps: Any, editor: Any) -> None:
    """Call unknown what simulated bars told of own trades: their path, and their regime at the entry.

    Trades without a path are measured again by the next import of bars, or by the button on their page.
    """
    of_symbol = {"symbol": OuterRef("symbol"), "is_simulated": True}
    made = apps.get_model("trading", "Bar").objects.using(editor.connection.alias).filter(**of_symbol)
    trades = apps.get_model("trading", "Trade").objects.using(editor.connection.alias)
    own = trades.filter(deployment__broker_kind="live")

    while_held = {"opened_at__gt": OuterRef("entry_at") - DAY, "opened_at__lt": Coalesce(OuterRef("exit_at"), Now())}
    measured = own.filter(Exists(made.filter(**while_held)), path_minutes__isnull=False)
    for trade in measured.filter(status="open"):
        trade.state = {name: value for name, value in trade.state.items() if name not in OF_PATH}
        trade.save(update_fields=["state"])
    gross, zero = F("gross_pnl_usd"), Value(Decimal(0))
    best, worst = When(gross_pnl_usd__gt=0, then=gross), When(gross_pnl_usd__lt=0, then=gross)
    measured.update(mfe_usd=Case(best, default=zero), mae_usd=Case(worst, default=zero), path_minutes=None)
    before = {"opened_at__range": (OuterRef("entry_at") - DAY, OuterRef("entry_at"))}
    own.filter(Exists(made.filter(**before))).update(entry_regime_tag="unknown")


class Migration(migrations.Migration):
    dependencies = (("trading", "0002_policies"),)

    operations = (RunPythonOnOwnedRows(forget_simulated, migrations.RunPython.noop),)
