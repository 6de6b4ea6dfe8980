from uuid import UUID

from django.core.management.base import CommandParser
from django.utils import timezone

from chat.conversations.queries import get_conversation
from chat.prompt.assistants import ASSISTANTS, default_assistant, preview_prompt, sent_prompt
from config.lib.owned import owned
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email


class Command(KeelCommand):
    help = (
        "Print the system prompt byte for byte: that of a conversation's latest turn, or the one that a new chat would "
        "send now. Reading it changes nothing."
    )

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--assistant", choices=list(ASSISTANTS), default=default_assistant().name)
        parser.add_argument("--conversation", type=UUID, metavar="ID")

    def run(self, *, user: str, assistant: str, conversation: UUID | None, **options: object) -> None:
        trader = get_user_by_email(user)
        with owned(trader):
            if conversation is None:
                prompt = preview_prompt(assistant=assistant, now=timezone.now())
            else:
                prompt = sent_prompt(get_conversation(conversation), now=timezone.now())
        self.say(prompt, prompt=prompt)
