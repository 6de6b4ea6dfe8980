import json
from uuid import UUID

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from chat.conversations.queries import get_conversation
from chat.prompt.assistants import ASSISTANTS
from chat.tools import TOOLS, tools_by_name
from chat.tools.base import ToolContext
from config.lib.owned import owned
from config.lib.work.commands import KeelCommand, add_user_argument, check_json_object, get_user_by_email


class Command(KeelCommand):
    help = "Run one tool as a user, with the arguments a model would give, and print its result as JSON."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--assistant", choices=list(ASSISTANTS), default="coach")
        parser.add_argument("--conversation", type=UUID, metavar="ID", help="the chat that the call belongs to")
        catalogue = (f"{face}: {', '.join(tool.name for tool in tools)}" for face, tools in TOOLS.items())
        parser.add_argument("name", metavar="NAME", help="; ".join(catalogue))
        parser.add_argument("arguments", metavar="JSON", type=check_json_object, help="the arguments as a JSON object")

    def run(
        self, *, user: str, assistant: str, conversation: UUID | None, name: str, arguments: str, **options: object
    ) -> None:
        trader = get_user_by_email(user)
        if conversation is not None:
            with owned(trader):
                get_conversation(conversation)
        context = ToolContext(user_id=trader.pk, now=timezone.now(), conversation_id=conversation)
        tools = tools_by_name(assistant)
        if name not in tools:
            raise CommandError(f"The {assistant} has no tool {name}. It has: {', '.join(tools)}.")
        result = tools[name].call(context, arguments)
        self.stdout.write(json.dumps(result, indent=None if self.is_json else 2, ensure_ascii=False))
