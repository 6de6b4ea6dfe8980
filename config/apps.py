from django.contrib.admin.apps import AdminConfig


class KeelAdminConfig(AdminConfig):
    """The admin with our site, under the system's scope."""

    default_site = "config.lib.web.OwnedAdminSite"
