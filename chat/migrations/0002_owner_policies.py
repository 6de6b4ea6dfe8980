from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    dependencies = [("chat", "0001_initial")]

    operations = [EnableOwnerPolicy(model) for model in ("Conversation", "MemorySnapshot", "Message")]
