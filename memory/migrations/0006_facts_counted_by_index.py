from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("memory", "0005_subjects_in_search_terms"),)

    operations = (
        migrations.RemoveIndex("userfact", "user_facts_in_document"),
        migrations.AddIndex(
            "userfact",
            models.Index(
                fields=["user", "archived_at", "left_document_at", "topic", "valid_until"],
                name="user_facts_in_document",
            ),
        ),
    )
