from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("work", "0006_invitation_permissions")]

    operations = [
        migrations.CreateModel(
            name="SiteDay",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
                ("tokens", models.BigIntegerField(default=0)),
            ],
            options={"db_table": "site_days"},
        )
    ]
