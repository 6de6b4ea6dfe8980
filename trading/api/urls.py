from django.urls import path
from rest_framework.routers import SimpleRouter

from trading.api import account, backtests, deployments, events, imports, pushes, rules, skills, trades

app_name = "trading"

router = SimpleRouter(use_regex_path=False)
router.register("skills", skills.SkillViewSet, "skills")
router.register("drafts", skills.DraftViewSet, "drafts")
router.register("deployments", deployments.DeploymentViewSet, "deployments")
router.register("deployments", pushes.PushViewSet, "pushes")
router.register("trades", trades.TradeViewSet, "trades")
router.register("backtests", backtests.BacktestViewSet, "backtests")
urlpatterns = [
    *router.urls,
    path("me/", account.MeView.as_view(), name="me"),
    path("rules/", rules.RulesView.as_view(), name="rules"),
    path("trades/import/", imports.ImportsView.as_view(), name="imports"),
    path("events/", events.EventsView.as_view(), name="events"),
]
