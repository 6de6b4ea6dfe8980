"""The site's addresses."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path, re_path

from chat.web.views import account, home, metrics, shell
from config.lib.edge.invitations import open_invitation
from config.lib.operations.health import healthz, readyz
from config.lib.rest.docs import SchemaView, docs
from config.lib.rest.views import NowhereView

# Staff sign in by the same door, with the same limits.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

handler404 = "config.lib.edge.responses.answer_not_found"
handler500 = "config.lib.edge.responses.answer_error"

api_patterns: list[URLPattern | URLResolver] = [
    path("schema/", SchemaView.as_view(), name="schema"),
    path("docs/", docs, name="docs"),
    path("", include("trading.api.urls")),
    path("", include("memory.api.urls")),
    path("", include("chat.api.urls")),
    re_path("", NowhereView.as_view(), name="nowhere"),
]

urlpatterns = [
    path("", home.home, name="home"),
    path("app.webmanifest", shell.manifest, name="manifest"),
    path("worker.js", shell.service_worker, name="service_worker"),
    path("offline/", shell.offline, name="offline"),
    path("healthz/", healthz, name="healthz"),
    path("readyz/", readyz, name="readyz"),
    path("metrics", metrics.show_metrics, name="metrics"),
    path("accounts/invitations/<str:token>/", open_invitation, name="account_invitation"),
    path("accounts/", include("allauth.account.urls")),
    path("accounts/2fa/", include("allauth.mfa.urls")),
    path("accounts/connections/", include("allauth.socialaccount.urls")),
    path("accounts/", include("allauth.socialaccount.providers.openid_connect.urls")),
    path("accounts/sessions/", account.SessionsView.as_view(), name="usersessions_list"),
    path("admin/", admin.site.urls),
    path("api/", include((api_patterns, "api"))),
    path("", include("trading.web.urls")),
    path("", include("memory.web.urls")),
    path("", include("chat.web.urls")),
]
