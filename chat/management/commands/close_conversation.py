from dataclasses import asdict
from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from chat.endings.closing import close_conversation, find_owner
from config.lib.work.commands import KeelCommand, get_user_by_email


class Command(KeelCommand):
    help = "Extract facts from the new messages of a chat and close it. Idempotent."

    def add_own_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", metavar="EMAIL", help="refuse a chat that is not theirs")
        parser.add_argument("conversation", type=UUID, metavar="ID")

    def run(self, *, user: str | None, conversation: UUID, **options: object) -> None:
        user_id = get_user_by_email(user).pk if user else find_owner(conversation)
        closed = close_conversation(conversation, user_id=user_id, clock=timezone.now)
        learned = closed.learned
        self.say(
            f"{closed.outcome.value}: {learned.saved} facts saved, {learned.updated} updated, "
            f"{learned.proposed} proposed, {learned.known} known, {learned.dropped} dropped",
            conversation_id=conversation,
            outcome=closed.outcome.value,
            **asdict(learned),
        )
