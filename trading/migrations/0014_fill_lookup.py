from django.db import migrations, models

from config.lib.rls import RunPythonOnOwnedRows


class Migration(migrations.Migration):
    dependencies = [("trading", "0013_by_rules")]

    operations = [
        RunPythonOnOwnedRows(migrations.RunPython.noop, migrations.RunPython.noop),
        migrations.RemoveIndex(model_name="trade", name="trades_that_may_change"),
        migrations.AddIndex(
            model_name="trade",
            index=models.Index(fields=["user", "deployment", "status", "reconciled"], name="trades_by_status"),
        ),
        migrations.RemoveConstraint(model_name="fill", name="fill_once"),
        migrations.AddConstraint(
            model_name="fill",
            constraint=models.UniqueConstraint(fields=("user", "deployment", "symbol", "fill_id"), name="fill_once"),
        ),
    ]
