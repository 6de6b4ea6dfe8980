from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    dependencies = [("chat", "0005_coach_rows")]

    operations = [
        EnableOwnerPolicy(model)
        for model in ("ConversationSummary", "PromptText", "Receipt", "ActionCard", "Bookmark", "UsageDay")
    ]
