from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.lib.rls import RunPythonOnOwnedRows


def name_accounts(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Name the second and later accounts of a user at a venue."""
    rows = apps.get_model("trading", "VenueAccount")._base_manager.using(editor.connection.alias)
    seen = set()
    for account in rows.order_by("created_at", "id"):
        if (account.user_id, account.venue) in seen:
            rows.filter(pk=account.pk).update(name=account.pk.hex[:20])
        seen.add((account.user_id, account.venue))


class Migration(migrations.Migration):
    dependencies = [("trading", "0011_rules")]

    operations = [
        migrations.AddField(model_name="venueaccount", name="name", field=models.CharField(blank=True, max_length=20)),
        RunPythonOnOwnedRows(name_accounts, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="venueaccount",
            constraint=models.UniqueConstraint(fields=("user", "venue", "name"), name="venue_account_has_its_record"),
        ),
    ]
