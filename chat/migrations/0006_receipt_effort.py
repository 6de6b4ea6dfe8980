from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0005_staff_groups")]

    operations = [migrations.AddField("receipt", "effort", models.CharField(blank=True, default="", max_length=10))]
