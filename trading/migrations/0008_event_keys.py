from hashlib import sha256

from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

DAILY_KINDS = ("fomc", "cpi", "nfp", "ppi", "gdp", "options_expiry")


def leave_title_out_of_keys(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Key events of a kind that has one a day without their title; keep the first of a day."""
    events = apps.get_model("trading", "MarketEvent")._base_manager.using(editor.connection.alias)
    seen: set[str] = set()
    for event in events.filter(kind__in=DAILY_KINDS).order_by("id"):
        text = f"{event.kind}||{event.starts_at:%Y-%m-%d}|{' '.join(event.symbols)}"
        key = sha256(text.encode()).hexdigest()
        if key in seen:
            event.delete()
        else:
            seen.add(key)
            events.filter(pk=event.pk).update(key=key)


class Migration(migrations.Migration):
    dependencies = [("trading", "0007_own_trades")]

    operations = [migrations.RunPython(leave_title_out_of_keys, migrations.RunPython.noop)]
