import asyncio
import signal
from contextlib import aclosing
from dataclasses import asdict
from typing import Any, Final
from uuid import UUID, uuid4

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from chat.conversations.services import start_conversation
from chat.grounding.checks import list_figures, name_source
from chat.models import Message, MessageStatus
from chat.prompt.assistants import ASSISTANTS
from chat.prompt.receipts import find_receipt, show_receipt
from chat.turns import events
from chat.turns.accept import accept_message
from chat.turns.start import TurnStart
from chat.turns.turn import Control, run_turn, tidy_up
from config.lib.errors import DomainError
from config.lib.figures import format_count
from config.lib.llm import door
from config.lib.owned import owned, owned_tx
from config.lib.work.commands import KeelCommand, add_user_argument, get_user_by_email
from memory.models import WriteKind

SESSION: Final = (
    "/new begins another chat, /receipt shows what the last answer was written from, Ctrl-C stops an answer, /quit or"
    " Ctrl-D ends."
)


class Command(KeelCommand):
    help = (
        "Chat with Keel: the same turns as in the browser, streamed. With TEXT one message; without it a session, in"
        f" which {SESSION}"
    )

    _trader: Any
    _chat_id: UUID | None = None
    _reply_id: int | None = None
    _new_chat: dict[str, Any]

    def add_own_arguments(self, parser: CommandParser) -> None:
        add_user_argument(parser)
        parser.add_argument("--assistant", choices=list(ASSISTANTS), default="coach", help="for a new conversation")
        parser.add_argument("--conversation", type=UUID, metavar="ID", help="continue this conversation")
        parser.add_argument("--temporary", action="store_true", help="a new conversation that teaches Keel nothing")
        about = parser.add_mutually_exclusive_group()
        about.add_argument("--deployment", type=UUID, metavar="ID", help="a new conversation about this deployment")
        about.add_argument("--skill", metavar="ID", help="a new conversation that edits this skill, or a `new` one")
        parser.add_argument("--close", action="store_true", help="close the conversation afterwards, and learn from it")
        parser.add_argument("text", metavar="TEXT", nargs="?", help="one message; without it, a session begins")

    def run(self, *, user: str, text: str | None, close: bool, **options: Any) -> None:
        self._trader = get_user_by_email(user)
        self._chat_id = options["conversation"]
        opening = _parse_opening(options["deployment"], options["skill"])
        self._new_chat = {"assistant": options["assistant"], "is_temporary": options["temporary"], "opening": opening}
        if text is None and self.is_json:
            raise CommandError("--json needs TEXT: a session is for people.")
        if text is None:
            self._run_session()
        elif failure := self._ask(text):
            raise CommandError(failure)
        if close and self._chat_id:
            self._close_chat()

    def _ask(self, text: str) -> str:
        """Send a message and print its answer; return what went wrong."""
        control = Control()
        # Before there is an event loop, too: else Ctrl-C while the message is stored ends the session.
        signal.signal(signal.SIGINT, lambda *_: control.stop())
        try:
            return self._send(text, control)
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _send(self, text: str, control: Control) -> str:
        now = timezone.now()
        with owned_tx(self._trader):
            chat_id = self._chat_id or start_conversation(**self._new_chat, now=now).pk
            accepted = accept_message(conversation_id=chat_id, client_id=uuid4(), text=text, now=now)
        assert accepted.turn is not None, "a new message always begins a turn"
        if self._reply_id is None:
            self.say(f"conversation {chat_id}", type="conversation", conversation_id=chat_id)
        self._chat_id, self._reply_id = chat_id, accepted.turn.reply_id
        return asyncio.run(self._run_answer(accepted.turn, control))

    def _run_session(self) -> None:
        self.say(SESSION)
        while True:
            try:
                if (text := input("\nyou> ").strip()) == "/quit":
                    return
                self._obey(text)
            except EOFError:
                self.say("")
                return
            except KeyboardInterrupt:
                self.say("(Ctrl-D ends the session.)")
            except DomainError as error:
                self.say(f"({error})")

    def _obey(self, text: str) -> None:
        match text:
            case "":
                return
            case "/help":
                self.say(SESSION)
            case "/new":
                if self._chat_id:  # closed, as the page's New chat does; the next message begins another one
                    self._close_chat()
                self._chat_id = self._reply_id = None
            case "/receipt":
                self._print_receipt()
            case _ if text.startswith("/"):
                self.say(f"There is no {text.split()[0]}. {SESSION}")
            case _:
                if failure := self._ask(text):
                    self.say(f"({failure})")

    def _close_chat(self) -> None:
        email = self._trader.get_username()
        call_command("close_conversation", str(self._chat_id), user=email, json=self.is_json, stdout=self.stdout)

    def _print_receipt(self) -> None:
        if self._reply_id is None:
            self.say("There is no answer yet.")
            return
        with owned(self._trader):
            reply = Message.objects.select_related("snapshot").get(pk=self._reply_id)
            receipt = find_receipt(reply)
            shown = show_receipt(receipt, reply) if receipt else None
        if shown is None:
            self.say("No receipt of this answer was stored.")
            return
        self.say(f"Model: {reply.model or 'none answered'}; {format_count(shown.told, 'message')} of the chat")
        for title, lines in (
            ("Facts", [fact.content for fact in shown.facts]),
            ("Looked up", [tool.name for tool in shown.looked_up]),
            ("Figures", [f"{figure['text']}: {name_source(figure['source'])}" for figure in list_figures(reply.parts)]),
            ("Prompt", [f"{part.name}, {format_count(len(part.text), 'character')}" for part in shown.segments]),
        ):
            self.say(f"{title}: {'; '.join(lines) or 'none'}")

    async def _run_answer(self, start: TurnStart, control: Control) -> str:
        failure = ""
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
            self.say("", type=event.name, **asdict(event))
            return
        match event:
            case events.TextAdded(text):
                self.stdout.write(text, ending="")
                self.stdout.flush()
            case events.CallStarted(part):
                self.stdout.write(f"\n[{part['name']}] {part['arguments']}")
            case events.MemoryWritten(part):
                self.stdout.write(f"{WriteKind(part['event_kind']).label}: {part['text']}")
            case events.CardDrawn():
                self.stdout.write("\n(an action is prepared: confirm or cancel its card in the browser)")
            case events.Noticed(text):
                self.stdout.write(f"\n({text})")
            case events.TurnDone(MessageStatus.INTERRUPTED, _):
                self.stdout.write("\n(stopped)")
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
