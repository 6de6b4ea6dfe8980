"""Addresses of the trading API."""

from django.urls import path

from trading.api import account, asking, backtests, deployments, imports, pushes, rules, skills, trades

app_name = "trading"

urlpatterns = [
    path("me/", account.MeView.as_view(), name="me"),
    path("skills/", skills.SkillsView.as_view(), name="skills"),
    path("skills/<uuid:skill_id>/", skills.SkillView.as_view(), name="skill"),
    path("skills/<uuid:skill_id>/versions/", skills.VersionsView.as_view(), name="versions"),
    path("skills/<uuid:skill_id>/versions/<int:version>/", skills.VersionView.as_view(), name="version"),
    path("skills/<uuid:skill_id>/deploy/", skills.DeploySkillView.as_view(), name="deploy"),
    path("skills/<uuid:skill_id>/performance/", skills.SkillPerformanceView.as_view(), name="performance"),
    path("drafts/", skills.DraftsView.as_view(), name="drafts"),
    path("drafts/<uuid:draft_id>/", skills.DraftView.as_view(), name="draft"),
    path("drafts/<uuid:draft_id>/save/", skills.SaveDraftView.as_view(), name="save"),
    path("drafts/<uuid:draft_id>/template/", skills.TemplateView.as_view(), name="template"),
    path("deployments/", deployments.DeploymentsView.as_view(), name="deployments"),
    path("deployments/<uuid:deployment_id>/", deployments.DeploymentView.as_view(), name="deployment"),
    path("deployments/<uuid:deployment_id>/trades/", trades.DeploymentTradesView.as_view(), name="deployment_trades"),
    path("deployments/<uuid:deployment_id>/notes/", deployments.NotesView.as_view(), name="notes"),
    path("deployments/<uuid:deployment_id>/decisions/", deployments.DecisionsView.as_view(), name="decisions"),
    path("deployments/<uuid:deployment_id>/decisions/<int:tick>/", deployments.DecisionView.as_view(), name="decision"),
    path("deployments/<uuid:deployment_id>/equity/", deployments.EquityView.as_view(), name="equity"),
    path("deployments/<uuid:deployment_id>/commands/", deployments.CommandsView.as_view(), name="commands"),
    path("deployments/<uuid:deployment_id>/memory/", deployments.MemoryView.as_view(), name="memory"),
    path("deployments/<uuid:deployment_id>/prompt/", deployments.PromptView.as_view(), name="prompt"),
    path("deployments/<uuid:deployment_id>/fills/", pushes.FillsView.as_view(), name="fills"),
    path("deployments/<uuid:deployment_id>/ticks/", pushes.TicksView.as_view(), name="ticks"),
    path("trades/", trades.TradesView.as_view(), name="trades"),
    path("trades/ask/", asking.AskView.as_view(), name="ask"),
    path("trades/check/", asking.CheckView.as_view(), name="check"),
    path("trades/<uuid:trade_id>/", trades.TradeView.as_view(), name="trade"),
    path("rules/", rules.RulesView.as_view(), name="rules"),
    path("imports/", imports.ImportsView.as_view(), name="imports"),
    path("events/", trades.EventsView.as_view(), name="events"),
    path("backtests/", backtests.BacktestsView.as_view(), name="backtests"),
    path("backtests/<uuid:run_id>/", backtests.BacktestView.as_view(), name="backtest"),
    path("backtests/<uuid:run_id>/cancel/", backtests.CancelBacktestView.as_view(), name="cancel"),
]
