from config.lib.work.commands import RunCommand


class Command(RunCommand):
    help = "Erase the chats and facts that have been in the trash for 30 days. A scheduled job does the same."
    names = ("empty_trash",)
