"""The site's addresses."""

from allauth.account.decorators import secure_admin_login
from django.contrib import admin
from django.urls import include, path

from chat import views as chat_views
from config.lib.health import healthz

# Staff sign in by the same door, with the same limits.
admin.site.login = secure_admin_login(admin.site.login)  # type: ignore[method-assign]

urlpatterns = [
    path("", chat_views.home, name="home"),
    path("healthz/", healthz, name="healthz"),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
    path("", include("trading.urls")),
    path("", include("memory.urls")),
    path("", include("chat.urls")),
]
