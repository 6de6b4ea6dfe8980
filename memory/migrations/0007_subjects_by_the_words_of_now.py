from django.db import migrations

from config.lib.owned import system_tx
from memory.claims.subjects import read_subject


def read_facts_again(apps, schema_editor):
    """Give each fact the subjects that its words have now: the column that finds rivals, and those among its terms."""
    with system_tx("subjects of facts", using=schema_editor.connection.alias):
        for fact in apps.get_model("memory", "UserFact")._default_manager.iterator(chunk_size=500):
            fact.subject = read_subject(fact.content).key
            fact.save(update_fields=("subject", "search_terms"))


class Migration(migrations.Migration):
    dependencies = (("memory", "0006_facts_counted_by_index"),)

    operations = (migrations.RunPython(read_facts_again, migrations.RunPython.noop),)
