from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("memory", "0002_policies"),)

    operations = (
        migrations.RemoveIndex("userfact", "user_facts_by_subject"),
        migrations.AddIndex(
            "userfact",
            models.Index(
                fields=["user", "subject", "-created_at", "id"],
                name="user_facts_by_subject",
                condition=models.Q(archived_at__isnull=True),
            ),
        ),
    )
