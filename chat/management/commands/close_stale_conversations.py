from chat.conversations.lifecycle import CLOSE
from config.lib.work.commands import RunCommand


class Command(RunCommand):
    help = (
        "Close the chats that were left a minute ago or abandoned an hour ago, try again to learn from those where it "
        "failed, and archive those that have been idle for 30 days. The worker does the same by the clock."
    )
    names = (CLOSE, "archive_chats")
