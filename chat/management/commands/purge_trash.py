from dataclasses import asdict

from django.utils import timezone

from chat.endings.erasure import purge_trash
from config.lib.work.commands import KeelCommand


class Command(KeelCommand):
    help = "Erase the chats and facts that have been in the trash for 30 days. A scheduled job does the same."

    def run(self, **options: object) -> None:
        purged = purge_trash(now=timezone.now())
        self.say(
            f"{purged.conversations} chats and {purged.facts} facts of {purged.users} users erased", **asdict(purged)
        )
