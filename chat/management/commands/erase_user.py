from django.core.management.base import CommandError, CommandParser

from chat.endings.erasure import erase_user
from config.lib.work.commands import KeelCommand, get_user_by_email


class Command(KeelCommand):
    help = "Delete a user with all chats, facts, strategies, trades and sessions. This cannot be undone."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def run(self, *, email: str, yes: bool, **options: object) -> None:
        user = get_user_by_email(email)
        if not yes and input(f"Type {email} to delete this user for good: ").strip().lower() != email.lower():
            raise CommandError("Nothing was deleted.")
        rows = erase_user(user_id=user.pk)
        self.say(f"Deleted: {sum(rows.values())} rows.", rows=rows)
