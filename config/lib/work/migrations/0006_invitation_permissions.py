from typing import Any, Final

from django.contrib.auth.management import create_permissions
from django.db import migrations

_GRANTED: Final = {
    "operations": ("view_invitation", "add_invitation", "change_invitation"),
    "auditor": ("view_invitation",),
}


def grant_permissions(apps: Any, schema_editor: Any) -> None:
    """Let the staff of operations invite people, and auditors see it."""
    config = apps.get_app_config("work")
    config.models_module = True  # the state of a migration has no module
    create_permissions(config, apps=apps, verbosity=0)
    permissions = apps.get_model("auth", "Permission").objects.filter(content_type__app_label="work")
    for group in apps.get_model("auth", "Group").objects.filter(name__in=_GRANTED):
        group.permissions.add(*permissions.filter(codename__in=_GRANTED[group.name]))


class Migration(migrations.Migration):
    dependencies = [("work", "0005_invitations")]

    operations = [migrations.RunPython(grant_permissions, migrations.RunPython.noop)]
