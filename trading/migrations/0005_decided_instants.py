from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.models import OuterRef, Subquery

from config.lib.rls import RunPythonOnOwnedRows


def copy_decided_instants(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Copy the instant of each trade's decisions from their snapshots."""
    trades = apps.get_model("trading", "Trade")._base_manager.using(editor.connection.alias)
    snapshots = apps.get_model("trading", "DecisionSnapshot")._base_manager.using(editor.connection.alias)
    for end in ("entry", "exit"):
        decided = snapshots.filter(pk=OuterRef(f"{end}_snapshot_id")).values("tick_at")[:1]
        trades.filter(**{f"{end}_snapshot__isnull": False}).update(**{f"{end}_decided_at": Subquery(decided)})


class Migration(migrations.Migration):
    dependencies = [("trading", "0004_entries")]

    operations = [RunPythonOnOwnedRows(copy_decided_instants, migrations.RunPython.noop)]
