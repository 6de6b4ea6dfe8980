from django.urls import path

from trading.web.views import account, backtests, calendar, deployments, drafts, ledger, skills

app_name = "trading"

urlpatterns = [
    path("profile/", account.profile, name="profile"),
    path("profile/tier/", account.tier, name="tier"),
    path("profile/tokens/", account.add_token, name="add_token"),
    path("profile/tokens/<uuid:token_id>/revoke/", account.revoke, name="revoke_token"),
    path("theme/", account.theme, name="theme"),
    path("trades/", ledger.trades, name="trades"),
    path("trades/export/", ledger.export_trades, name="export_trades"),
    path("trades/<uuid:trade_id>/", ledger.trade, name="trade"),
    path("backtests/", backtests.backtests, name="backtests"),
    path("backtests/<uuid:run_id>/", backtests.backtest, name="backtest"),
    path("backtests/<uuid:run_id>/cancel/", backtests.cancel, name="cancel_backtest"),
    path("calendar/", calendar.calendar, name="calendar"),
    path("skills/", skills.skills, name="skills"),
    path("skills/new/", drafts.new_skill, name="new_skill"),
    path("skills/new/preview/", drafts.new_preview, name="draft_preview"),
    path("skills/<uuid:skill_id>/", skills.skill, name="skill"),
    path("skills/<uuid:skill_id>/edit/", drafts.edit_skill, name="edit_skill"),
    path("skills/<uuid:skill_id>/edit/preview/", drafts.edit_preview, name="edit_preview"),
    path("skills/<uuid:skill_id>/deploy/", skills.deploy, name="deploy"),
    path("skills/<uuid:skill_id>/archive/", skills.archive, name="archive_skill"),
    path("skills/<uuid:skill_id>/versions/<int:version>/", skills.version, name="version"),
    path("deployments/", deployments.deployments, name="deployments"),
    path("deployments/<uuid:deployment_id>/", deployments.deployment, name="deployment"),
    path("deployments/<uuid:deployment_id>/commands/", deployments.command, name="command"),
    path("deployments/<uuid:deployment_id>/prompt/", deployments.agent_prompt, name="agent_prompt"),
    path("deployments/<uuid:deployment_id>/decisions/export/", deployments.export_decisions, name="export_decisions"),
    path("deployments/<uuid:deployment_id>/decisions/<int:tick>/", deployments.decision, name="decision"),
    path("deployments/<uuid:deployment_id>/notes/<uuid:note_id>/keep/", deployments.keep_note, name="keep_note"),
]
