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
    "ApiToken",
    "Fill",
    "Trade",
    "ReflectionNote",
    "ReflectionRun",
    "FundingPayment",
    "ImportBatch",
    "PositionCheck",
    "StaffEntry",
    "TradeFile",
    "VenueAccount",
    "TradingRule",
    "SavedFilter",
    "TradeRemark",
)


class Migration(migrations.Migration):
    # In a migration of their own: PostgreSQL checks foreign keys when a migration ends, and a policy refuses that check.
    dependencies = [("trading", "0001_tables")]

    operations = [EnableOwnerPolicy(model) for model in OWNED]
