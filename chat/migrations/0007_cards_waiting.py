from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chat", "0006_coach_owner_policies")]

    operations = [
        migrations.AddIndex(
            model_name="actioncard",
            index=models.Index(condition=models.Q(("status", "pending")), fields=["expires_at"], name="cards_waiting"),
        ),
    ]
