from django.db import migrations

from config.lib.rls import EnableOwnerPolicy

OWNED = (
    "UserFact",
    "Place",
    "PlaceMention",
    "MemoryEvent",
    "FactLink",
    "Tombstone",
    "MemoryProposal",
    "MemorySwitches",
)


class Migration(migrations.Migration):
    # In a migration of their own: PostgreSQL checks foreign keys when a migration ends, and a policy refuses that check.
    dependencies = [("memory", "0001_tables")]

    operations = [EnableOwnerPolicy(model) for model in OWNED]
