from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.lib.rls import RunPythonOnOwnedRows
from config.lib.search.index import KeepSearchIndex
from memory.claims.subjects import read_subject

SEARCHED = KeepSearchIndex("UserFact", unless="archived_at")
REASONS = (
    ("superseded", "Replaced by a newer version"),
    ("user_archived", "Archived by you"),
    ("staff_archived", "Archived by staff"),
    ("user_deleted", "Deleted by you"),
    ("user_corrected", "Corrected by you"),
    ("agent_forget", "Forgotten in a chat"),
    ("undone", "Undone"),
    ("evicted", "Left out for space"),
    ("merged", "Merged into another fact"),
)


def refresh_subjects(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Read the subjects again: words that date a fact do not count any more."""
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT id, content, subject FROM user_facts")
        changed = [(key, pk) for pk, text, old in cursor.fetchall() if (key := read_subject(text).key) != old]
        if changed:
            cursor.executemany("UPDATE user_facts SET subject = %s WHERE id = %s", changed)


def name_the_user(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Give what staff archived the reason that older versions know."""
    with editor.connection.cursor() as cursor:
        cursor.execute(
            "UPDATE user_facts SET archived_reason = 'user_archived' WHERE archived_reason = 'staff_archived'"
        )


class Migration(migrations.Migration):
    dependencies = [("memory", "0005_fact_subjects")]

    operations = [
        SEARCHED,
        migrations.RemoveConstraint("userfact", "user_fact_archived_for_a_reason"),
        RunPythonOnOwnedRows(refresh_subjects, name_the_user),
        migrations.AlterField(
            "userfact", "archived_reason", models.CharField(blank=True, choices=REASONS, max_length=16)
        ),
        migrations.AddConstraint(
            "userfact",
            models.CheckConstraint(
                condition=models.Q(
                    models.Q(("archived_at__isnull", True), ("archived_reason", "")),
                    models.Q(
                        ("archived_at__isnull", False), ("archived_reason__in", [reason for reason, _ in REASONS])
                    ),
                    _connector="OR",
                ),
                name="user_fact_archived_for_a_reason",
            ),
        ),
        SEARCHED,
    ]
