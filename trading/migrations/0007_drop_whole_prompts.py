from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    dependencies = (("trading", "0006_pack_prompts"),)

    operations = (
        EnableOwnerPolicy("SystemPrompt"),
        migrations.RemoveField("decisionsnapshot", "context"),
        migrations.RemoveField("decisionsnapshot", "system_prompt"),
    )
