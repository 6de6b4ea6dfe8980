from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("trading", "0003_own_trades_without_simulated_bars"),)

    operations = (
        migrations.AddField("deploymentcommand", "is_by_staff", models.BooleanField(default=False)),
        migrations.AddField("trader", "staff_log_seen_at", models.DateTimeField(blank=True, null=True)),
    )
