from django.db import migrations

import config.lib.fields
from config.lib.owned import system_tx


def mark_facts(apps, schema_editor):
    """Add the subjects of each fact to its search terms. Run it again when the phrases of subjects change."""
    with system_tx("subjects of facts", using=schema_editor.connection.alias):
        for fact in apps.get_model("memory", "UserFact")._default_manager.iterator(chunk_size=500):
            fact.save(update_fields=("search_terms",))


class Migration(migrations.Migration):
    dependencies = (("memory", "0004_acts_of_staff"),)

    operations = (
        migrations.AlterField(
            "userfact",
            "search_terms",
            config.lib.fields.SearchTermsField(
                default="", editable=False, sources=("content", "summary", "body"), statement="content"
            ),
        ),
        migrations.RunPython(mark_facts, migrations.RunPython.noop),
    )
