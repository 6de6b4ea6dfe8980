from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial")]

    operations = [EnableOwnerPolicy(model) for model in ("UserFact", "MemoryEvent")]
