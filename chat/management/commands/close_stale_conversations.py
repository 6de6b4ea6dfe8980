from django.utils import timezone

from chat.jobs import archive_chats, close_chats
from config.lib.work.commands import KeelCommand


class Command(KeelCommand):
    help = (
        "Close the chats that were left a minute ago or abandoned an hour ago, try again to learn from those where it "
        "failed, and archive those that have been idle for 30 days. The worker does the same by the clock."
    )

    def run(self, **options: object) -> None:
        for name, sweep in (("close_chats", close_chats), ("archive_chats", archive_chats)):
            summary = sweep(timezone.now())
            self.say(summary, job=name, summary=summary)
