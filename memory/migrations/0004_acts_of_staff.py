from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("memory", "0003_facts_by_subject"),)

    operations = (
        migrations.AddField("memoryevent", "is_by_staff", models.BooleanField(default=False)),
        migrations.AddField("memoryproposal", "is_decided_by_staff", models.BooleanField(default=False)),
    )
