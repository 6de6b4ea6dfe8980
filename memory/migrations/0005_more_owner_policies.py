from django.db import migrations

from config.lib.rls import EnableOwnerPolicy

_MODELS = ("FactLink", "MemoryProposal", "MemorySwitches", "Place", "PlaceMention", "Tombstone")


class Migration(migrations.Migration):
    dependencies = [("memory", "0004_search")]

    operations = [EnableOwnerPolicy(model) for model in _MODELS]
