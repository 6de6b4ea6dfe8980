from django.db import migrations

from config.lib.rls import EnableOwnerPolicy

OWNED = (
    "Conversation",
    "MemorySnapshot",
    "Message",
    "ConversationSummary",
    "PromptText",
    "Receipt",
    "ActionCard",
    "Bookmark",
    "UsageDay",
    "DayNote",
)


class Migration(migrations.Migration):
    # In a migration of their own: PostgreSQL checks foreign keys when a migration ends, and a policy refuses that check.
    dependencies = [("chat", "0001_tables")]

    operations = [EnableOwnerPolicy(model) for model in OWNED]
