from itertools import combinations

from django.db import migrations, models

AREAS = ("facts", "chats", "record", "agents")
CHOICES = [" ".join(chosen) for count in range(1, 5) for chosen in combinations(AREAS, count)]


class Migration(migrations.Migration):
    dependencies = (("trading", "0007_drop_whole_prompts"),)

    operations = (
        migrations.AddField("apitoken", "areas", models.CharField(default=" ".join(AREAS), max_length=40)),
        migrations.AddConstraint(
            "apitoken", models.CheckConstraint(condition=models.Q(areas__in=CHOICES), name="api_token_areas_known")
        ),
    )
