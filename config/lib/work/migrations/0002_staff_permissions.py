from typing import Any, Final

from django.contrib.auth.management import create_permissions
from django.db import migrations

_GRANTED: Final = {"operations": ("view_workrun", "change_workrun"), "auditor": ("view_workrun",)}


def grant_permissions(apps: Any, schema_editor: Any) -> None:
    """Let the staff of operations see and repeat runs, and auditors see them."""
    config = apps.get_app_config("work")
    config.models_module = True  # the state of a migration has no module
    create_permissions(config, apps=apps, verbosity=0)
    permissions = apps.get_model("auth", "Permission").objects.filter(content_type__app_label="work")
    for group in apps.get_model("auth", "Group").objects.filter(name__in=_GRANTED):
        group.permissions.add(*permissions.filter(codename__in=_GRANTED[group.name]))


class Migration(migrations.Migration):
    dependencies = [("work", "0001_work_runs"), ("chat", "0003_staff_groups")]

    operations = [migrations.RunPython(grant_permissions, migrations.RunPython.noop)]
