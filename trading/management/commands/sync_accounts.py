from django.utils import timezone

from config.lib.work.commands import KeelCommand
from config.lib.work.jobs import get_task
from config.lib.work.runs import run_rows
from trading.intake.sync import SYNC


class Command(KeelCommand):
    help = "Read the trades of all venue accounts that are due, as the worker does every minute."

    def run(self, **options: object) -> None:
        runs = list(run_rows(get_task(SYNC), timezone.now()))
        for run in runs:
            self.say(f"{run.key}: {run.summary}", account=run.key, result=run.summary)
        if not runs:
            self.say("No venue account is due.", result="")
