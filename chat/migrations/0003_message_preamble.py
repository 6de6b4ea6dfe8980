from django.db import migrations, models

from config.lib.search.index import KeepSearchIndex

SEARCHED = KeepSearchIndex("Message", unless="replaced_at")


class Migration(migrations.Migration):
    dependencies = [("chat", "0002_owner_policies")]

    operations = [
        SEARCHED,
        migrations.AddField("message", "preamble", models.JSONField(blank=True, default=list)),
        SEARCHED,
    ]
