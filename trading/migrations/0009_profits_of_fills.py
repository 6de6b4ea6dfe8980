from django.db import migrations

from trading.models.columns import amount_column


class Migration(migrations.Migration):
    dependencies = (("trading", "0008_areas_of_tokens"),)

    operations = (migrations.AddField("fill", "pnl_usd", amount_column(null=True, blank=True)),)
