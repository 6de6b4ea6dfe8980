from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("trading", "0012_account_names")]

    operations = [
        migrations.AddField(model_name="backtestrun", name="by_rules", field=models.BooleanField(default=False))
    ]
