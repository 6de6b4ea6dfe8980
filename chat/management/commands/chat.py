import asyncio
import signal
from contextlib import aclosing
from dataclasses import asdict
from uuid import UUID, uuid4

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from chat.conversations.services import start_conversation
from chat.prompt.assistants import ASSISTANTS
from chat.turns import events
from chat.turns.accept import accept_message
from chat.turns.start import TurnStart
from chat.turns.turn import Control, run_turn, tidy_up
from config.lib.llm import door
from config.lib.owned import owned_tx
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from memory.models import EventKind


class Command(KeelCommand):
    help = "Send one message to Keel and stream its answer: the same turn as in the browser. Ctrl-C stops the answer."

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--assistant", choices=list(ASSISTANTS), default="coach", help="for a new conversation")
        parser.add_argument("--conversation", type=UUID, metavar="ID", help="continue this conversation")
        parser.add_argument("--temporary", action="store_true", help="a new conversation that teaches Keel nothing")
        about = parser.add_mutually_exclusive_group()
        about.add_argument("--deployment", type=UUID, metavar="ID", help="a new conversation about this deployment")
        about.add_argument("--skill", metavar="ID", help="a new conversation that edits this skill, or a `new` one")
        parser.add_argument("--close", action="store_true", help="close the conversation afterwards, and learn from it")
        parser.add_argument("text", metavar="TEXT")

    def run(
        self,
        *,
        user: str,
        assistant: str,
        conversation: UUID | None,
        temporary: bool,
        deployment: UUID | None,
        skill: str | None,
        close: bool,
        text: str,
        **options: object,
    ) -> None:
        trader = get_user_by_email(user)
        now = timezone.now()
        opening = _parse_opening(deployment, skill)
        with owned_tx(trader):
            chat_id = (
                conversation
                or start_conversation(assistant=assistant, is_temporary=temporary, opening=opening, now=now).pk
            )
            accepted = accept_message(conversation_id=chat_id, client_id=uuid4(), text=text, now=now)
        assert accepted.turn is not None, "a new message always begins a turn"
        self.say(f"conversation {chat_id}", type="conversation", conversation_id=chat_id)
        failure = asyncio.run(self._run_answer(accepted.turn))
        if failure:
            raise CommandError(failure)
        if close:
            call_command("close_conversation", str(chat_id), user=user, json=self.is_json, stdout=self.stdout)

    async def _run_answer(self, start: TurnStart) -> str:
        control, failure = Control(), ""
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, control.stop)
        async with aclosing(run_turn(start, control)) as source:
            async for event in source:
                self._print_event(event)
                if isinstance(event, events.TurnFailed):
                    failure = event.text
        await tidy_up(start, control)
        await door.close()
        return failure

    def _print_event(self, event: events.TurnEvent) -> None:
        if self.is_json:
            self.say("", type=events.EVENT_NAMES[type(event)], **asdict(event))
            return
        match event:
            case events.TextAdded(text):
                self.stdout.write(text, ending="")
                self.stdout.flush()
            case events.ToolStarted(part):
                self.stdout.write(f"\n[{part['name']}] {part['arguments']}")
            case events.MemoryWritten(part):
                self.stdout.write(f"{EventKind(part['event_kind']).label}: {part['text']}")
            case events.CardDrawn():
                self.stdout.write("\n(an action is prepared: confirm or cancel its card in the browser)")
            case events.Noticed(text, _):
                self.stdout.write(f"\n({text})")
            case _:
                self.stdout.write("")


def _parse_opening(deployment: UUID | None, skill: str | None) -> dict[str, str]:
    if deployment is not None:
        return {"mode": "coach", "deployment_id": str(deployment)}
    if skill is None:
        return {"mode": "ops"}
    if skill == "new":
        return {"mode": "authoring"}
    try:
        return {"mode": "authoring", "skill_id": str(UUID(skill))}
    except ValueError:
        raise CommandError("--skill takes the id of a skill, or the word new.") from None
