from typing import Any, Final

from django.contrib.auth.management import create_permissions
from django.db import migrations

# For each group: the models that it may see, all of an app by its name alone, and what else it may do.
_GROUPS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "support": (
        ("memory", "chat", "trading.trader"),
        (
            *("trading.add_staffentry", "chat.change_usageday", "chat.change_conversation"),
            *("memory.change_userfact", "memory.change_memoryproposal"),
        ),
    ),
    "operations": (
        ("trading", "chat.usageday"),
        (
            *("trading.change_deployment", "trading.change_backtestrun", "trading.change_reflectionrun"),
            *("trading.change_apitoken", "chat.change_usageday", "trading.delete_trader"),
            *(f"trading.{act}_{model}" for act in ("add", "change") for model in ("marketevent", "newsitem")),
        ),
    ),
    "auditor": (("memory", "chat", "trading"), ("trading.add_staffentry",)),
}


def create_groups(apps: Any, schema_editor: Any) -> None:
    """Create the groups of staff with their permissions."""
    permissions = _list_permissions(apps)
    for name, (seen, granted) in _GROUPS.items():
        group, _ = apps.get_model("auth", "Group").objects.get_or_create(name=name)
        group.permissions.set(row for key, row in permissions.items() if key in granted or _is_seen(key, seen))


def _list_permissions(apps: Any) -> dict[str, Any]:
    # Django creates permissions only after the last migration.
    for label in ("memory", "chat", "trading"):
        config = apps.get_app_config(label)
        config.models_module = True  # the state of a migration has no module
        create_permissions(config, apps=apps, verbosity=0)
    rows = apps.get_model("auth", "Permission").objects.select_related("content_type")
    return {f"{row.content_type.app_label}.{row.codename}": row for row in rows}


def _is_seen(key: str, seen: tuple[str, ...]) -> bool:
    app, codename = key.split(".")
    act, _, model = codename.partition("_")
    return act == "view" and (app in seen or f"{app}.{model}" in seen)


def remove_groups(apps: Any, schema_editor: Any) -> None:
    """Remove the groups."""
    apps.get_model("auth", "Group").objects.filter(name__in=_GROUPS).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("chat", "0002_policies"),
        ("memory", "0002_policies"),
        ("trading", "0002_policies"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(create_groups, remove_groups)]
