from django.db import migrations

from config.lib.rls import RunPythonOnOwnedRows
from config.lib.search.index import AddSearchIndex, fill_search_terms


class Migration(migrations.Migration):
    dependencies = [("memory", "0003_memory_whole")]

    operations = [
        AddSearchIndex("UserFact", unless="archived_at"),
        RunPythonOnOwnedRows(fill_search_terms("memory", "UserFact"), migrations.RunPython.noop),
    ]
