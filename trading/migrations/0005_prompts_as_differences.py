"""Columns for contexts as differences, and a table of system prompts (decision 58)."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from config.lib.rls import RunPythonOnOwnedRows


class Migration(migrations.Migration):
    dependencies = (migrations.swappable_dependency(settings.AUTH_USER_MODEL), ("trading", "0004_acts_of_staff"))

    operations = (
        # PostgreSQL checks the new foreign keys when the migration ends, by the policies of the tables they point to.
        RunPythonOnOwnedRows(migrations.RunPython.noop, migrations.RunPython.noop),
        migrations.CreateModel(
            "SystemPrompt",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("sha256", models.CharField(max_length=64)),
                ("text", models.TextField()),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="trading.deployment",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "db_table": "system_prompts",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "deployment", "sha256"), name="system_prompt_kept_once")
                ],
            },
        ),
        migrations.AddField("decisionsnapshot", "account", models.JSONField(blank=True, null=True)),
        migrations.AddField("decisionsnapshot", "packed", models.BinaryField(blank=True, null=True)),
        migrations.AddField("decisionsnapshot", "prompt_sha256", models.CharField(blank=True, max_length=64)),
        migrations.AddField(
            "decisionsnapshot",
            "packed_with",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="trading.decisionsnapshot",
            ),
        ),
        migrations.AddField(
            "decisionsnapshot",
            "system",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="trading.systemprompt",
            ),
        ),
    )
