from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    dependencies = [("trading", "0006_reflection_runs")]

    operations = [EnableOwnerPolicy("ReflectionRun")]
