from django.apps import AppConfig


class WorkConfig(AppConfig):
    """The table of background work."""

    name = "config.lib.work"
    verbose_name = "Background work"
