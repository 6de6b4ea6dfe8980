from django.db import migrations, models

from config.lib.search.index import KeepSearchIndex

SEARCHED = KeepSearchIndex("UserFact", unless="archived_at")


class Migration(migrations.Migration):
    dependencies = [("memory", "0002_owner_policies")]

    operations = [
        SEARCHED,
        migrations.AddField("userfact", "left_document_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddIndex(
            "userfact", models.Index(fields=["user", "archived_at", "left_document_at"], name="user_facts_in_document")
        ),
        SEARCHED,
    ]
