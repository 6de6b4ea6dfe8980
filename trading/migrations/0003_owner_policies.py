from django.db import migrations

from config.lib.rls import EnableOwnerPolicy


class Migration(migrations.Migration):
    # Apart from the table: its foreign key is checked when the migration ends, which a policy would refuse.
    dependencies = [("trading", "0002_api_tokens")]

    operations = [EnableOwnerPolicy("ApiToken")]
