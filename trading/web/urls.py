"""Addresses of the trading pages."""

from django.urls import path

from trading.web.views import account, asking, backtests, calendar, deployments, drafts, imports, ledger, skills

app_name = "trading"

urlpatterns = [
    path("profile/", account.edit_profile, name="profile"),
    path("profile/access/", account.show_access, name="access"),
    path("profile/tier/", account.set_tier, name="tier"),
    path("profile/tokens/", account.add_token, name="add_token"),
    path("profile/tokens/<uuid:token_id>/revoke/", account.end_token, name="revoke_token"),
    path("theme/", account.set_theme, name="theme"),
    path("trades/", ledger.show_trades, name="trades"),
    path("trades/ask/", asking.ask_record, name="ask"),
    path("trades/check/", asking.check_trade, name="check"),
    path("trades/export/", ledger.export_trades, name="export_trades"),
    path("trades/<uuid:trade_id>/", ledger.show_trade, name="trade"),
    path("trades/<uuid:trade_id>/measure/", ledger.measure_trade, name="measure_trade"),
    path("trades/import/", imports.show_imports, name="imports"),
    path("trades/import/openings/", imports.change_openings, name="change_openings"),
    path("trades/import/accounts/", imports.start_reading, name="start_reading"),
    path("trades/import/accounts/<uuid:account_id>/", imports.change_account, name="change_account"),
    path("trades/import/undo/<uuid:import_id>/", imports.undo_import, name="undo_import"),
    path("trades/import/<uuid:file_id>/", imports.show_file, name="import_file"),
    path("backtests/", backtests.show_backtests, name="backtests"),
    path("backtests/<uuid:run_id>/", backtests.show_run, name="backtest"),
    path("backtests/<uuid:run_id>/cancel/", backtests.cancel_run, name="cancel_backtest"),
    path("calendar/", calendar.show_calendar, name="calendar"),
    path("skills/", skills.show_skills, name="skills"),
    path("skills/new/", drafts.new_skill, name="new_skill"),
    path("skills/new/preview/", drafts.new_preview, name="draft_preview"),
    path("skills/<uuid:skill_id>/", skills.show_skill, name="skill"),
    path("skills/<uuid:skill_id>/edit/", drafts.edit_skill, name="edit_skill"),
    path("skills/<uuid:skill_id>/edit/preview/", drafts.edit_preview, name="edit_preview"),
    path("skills/<uuid:skill_id>/deploy/", skills.deploy, name="deploy"),
    path("skills/<uuid:skill_id>/archive/", skills.archive, name="archive_skill"),
    path("skills/<uuid:skill_id>/versions/<int:version>/", skills.show_version, name="version"),
    path("deployments/", deployments.show_deployments, name="deployments"),
    path("deployments/<uuid:deployment_id>/", deployments.show_deployment, name="deployment"),
    path("deployments/<uuid:deployment_id>/commands/", deployments.send_command, name="command"),
    path("deployments/<uuid:deployment_id>/prompt/", deployments.show_prompt, name="agent_prompt"),
    path("deployments/<uuid:deployment_id>/decisions/export/", deployments.export_decisions, name="export_decisions"),
    path("deployments/<uuid:deployment_id>/decisions/<int:tick>/", deployments.show_decision, name="decision"),
    path("deployments/<uuid:deployment_id>/notes/<uuid:note_id>/keep/", deployments.keep_note, name="keep_note"),
]
