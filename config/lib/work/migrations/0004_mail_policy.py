from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    dependencies = [("work", "0003_mails")]

    operations = [EnableOwnerPolicy("Mail")]
