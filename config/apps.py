from django.conf import settings
from django.contrib.admin.apps import SimpleAdminConfig


class KeelAdminConfig(SimpleAdminConfig):
    """The admin with our site, under the system's scope; it imports the apps' admin modules only when used."""

    default_site = "config.lib.web.OwnedAdminSite"

    def ready(self) -> None:
        """Report errors where the settings say so, from each command too."""
        super().ready()
        if settings.SENTRY_DSN:
            from config.lib.observe.reports import start_reports  # noqa: PLC0415 - most sites report nothing

            start_reports(settings.SENTRY_DSN)
