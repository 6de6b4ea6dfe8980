from django.apps import AppConfig
from django.core.checks import Tags, register

from config.lib.operations.health import check_databases


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        """Register the system check of the database."""
        register(check_databases, Tags.database)
