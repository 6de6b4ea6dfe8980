from config.lib.work.commands import RunCommand
from trading.intake.sync import SYNC


class Command(RunCommand):
    help = "Read the trades of all venue accounts that are due, as the worker does every minute."
    names = (SYNC,)
