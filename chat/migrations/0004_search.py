from django.db import migrations

import config.lib.fields
from config.lib.rls import RunPythonOnOwnedRows
from config.lib.search.index import AddSearchIndex, fill_search_terms


class Migration(migrations.Migration):
    dependencies = [("chat", "0003_lifecycle")]

    operations = [
        migrations.AddField(
            model_name="message",
            name="search_terms",
            field=config.lib.fields.SearchTermsField(default="", editable=False, sources=("content",)),
        ),
        AddSearchIndex("Message", unless="replaced_at"),
        RunPythonOnOwnedRows(fill_search_terms("chat", "Message"), migrations.RunPython.noop),
    ]
