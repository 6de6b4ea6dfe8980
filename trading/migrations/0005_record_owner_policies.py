from django.db import migrations

from config.lib.rls import EnableOwnerPolicy

OWNED = (
    "Skill",
    "SkillVersion",
    "SkillDraft",
    "Deployment",
    "DeploymentCommand",
    "BacktestRun",
    "DecisionSnapshot",
    "Order",
    "EquityPoint",
    "Fill",
    "Trade",
    "ReflectionNote",
)


class Migration(migrations.Migration):
    dependencies = [("trading", "0004_record")]

    operations = [EnableOwnerPolicy(model) for model in OWNED]
