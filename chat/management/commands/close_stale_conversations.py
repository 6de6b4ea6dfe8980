from django.utils import timezone

from chat.conversations.lifecycle import CLOSE
from chat.jobs import archive_chats
from config.lib.work.commands import KeelCommand
from config.lib.work.jobs import get_task
from config.lib.work.runs import run_rows


class Command(KeelCommand):
    help = (
        "Close the chats that were left a minute ago or abandoned an hour ago, try again to learn from those where it "
        "failed, and archive those that have been idle for 30 days. The worker does the same by the clock."
    )

    def run(self, **options: object) -> None:
        runs = list(run_rows(get_task(CLOSE), timezone.now()))
        for run in runs:
            self.say(f"{run.key}: {run.summary}", job=CLOSE, key=run.key, summary=run.summary)
        if not runs:
            self.say("no chat to close", job=CLOSE, summary="")
        summary = archive_chats(timezone.now())
        self.say(summary, job="archive_chats", summary=summary)
