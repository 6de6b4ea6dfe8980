from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("trading", "0002_owner_policies")]

    operations = [
        migrations.AddField(model_name="skill", name="is_untrusted", field=models.BooleanField(default=False)),
        migrations.AddField(model_name="skilldraft", name="is_untrusted", field=models.BooleanField(default=False)),
    ]
