from django.utils import timezone

from config.lib.work.commands import KeelCommand
from trading.jobs import sync_accounts


class Command(KeelCommand):
    help = "Read the trades of all venue accounts that are due, as the job of the same name does every minute."

    def run(self, **options: object) -> None:
        said = sync_accounts(timezone.now())
        self.say(said, result=said)
