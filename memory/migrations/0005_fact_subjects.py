from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from config.lib.rls import RunPythonOnOwnedRows
from config.lib.search.index import KeepSearchIndex
from memory.claims.subjects import read_subject

SEARCHED = KeepSearchIndex("UserFact", unless="archived_at")


def fill_subjects(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Read the subjects of the facts that exist."""
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT id, content FROM user_facts")
        subjects = [(read_subject(content).key, pk) for pk, content in cursor.fetchall()]
        if subjects:
            cursor.executemany("UPDATE user_facts SET subject = %s WHERE id = %s", subjects)


class Migration(migrations.Migration):
    dependencies = [("memory", "0004_switches_name")]

    operations = [
        SEARCHED,
        migrations.AddField(
            "userfact",
            "subject",
            models.CharField(blank=True, default="", editable=False, max_length=64),
            preserve_default=False,
        ),
        RunPythonOnOwnedRows(fill_subjects, migrations.RunPython.noop),
        migrations.AddIndex(
            "userfact",
            models.Index(
                condition=models.Q(("archived_at__isnull", True)),
                fields=["user", "subject"],
                name="user_facts_by_subject",
            ),
        ),
        SEARCHED,
    ]
