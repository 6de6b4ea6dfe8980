from importlib import import_module
from typing import Any

from django.db import migrations

_groups = import_module("chat.migrations.0003_staff_groups")


def _find(apps: Any) -> tuple[Any, Any]:
    permissions = _groups._list_permissions(apps)
    return apps.get_model("auth", "Group").objects.get(name="operations"), permissions["trading.add_staffentry"]


def let_operations_open_data(apps: Any, schema_editor: Any) -> None:
    """Let operations open a user's data: records of trading need a reason as chats and facts do."""
    group, permission = _find(apps)
    group.permissions.add(permission)


def close_data_to_operations(apps: Any, schema_editor: Any) -> None:
    group, permission = _find(apps)
    group.permissions.remove(permission)


class Migration(migrations.Migration):
    dependencies = (("chat", "0003_staff_groups"),)

    operations = (migrations.RunPython(let_operations_open_data, close_data_to_operations),)
