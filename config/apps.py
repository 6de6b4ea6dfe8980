from django.contrib.admin.apps import SimpleAdminConfig


class KeelAdminConfig(SimpleAdminConfig):
    """The admin with our site, under the system's scope.

    The site imports the admin modules of the apps when it is used. They import half of Keel, for which commands that
    show no page would wait.
    """

    default_site = "config.lib.web.OwnedAdminSite"
