"""Render the events of a turn as frames with HTML."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from chat.conversations.queries import list_messages
from chat.parts import Json
from chat.tools.calls import is_hidden
from chat.turns import events, frames
from chat.turns.live import LiveTurn
from chat.turns.start import TurnStart
from chat.web.markdown import close_blocks, render_markdown
from chat.web.rendering import message_html, part_html, view_messages
from config.lib.owned import owned
from config.lib.threads import run_in_accept_thread, run_in_thread
from config.lib.web import find_time_zone

logger = logging.getLogger(__name__)

_TOOL_FRAMES: Final = {events.CallStarted: frames.ToolStarted, events.CallFinished: frames.ToolFinished}


class TurnScreen:
    """A turn's HTML: each event is rendered once for its room."""

    def __init__(self, turn: LiveTurn, publish: Callable[[Json], None], *, has_ended: bool) -> None:
        self.start = turn.start
        self.seq = 0
        self._log = turn.log
        self._publish = publish
        # Of a turn that has ended, the rows have all but a title or a notice that is still to come.
        self._shown = len(turn.log.list_after(0)) if has_ended else 0
        self._has_ended = has_ended
        self._closed: dict[str, str] = {}  # element key -> safe HTML, in the order of the reply
        self._open = ""  # plain text of the block that still grows
        self._lock = asyncio.Lock()  # a socket that joins reads the log at the same time as the turn writes it

    @property
    def reply_id(self) -> str:
        return str(self.start.reply_id)

    def snapshot(self) -> frames.ReplySoFar:
        html = "".join(self._closed.values())
        return {"message_id": self.reply_id, "html": html, "tail": self._open, "status": "streaming"}

    async def show_news(self) -> None:
        async with self._lock:
            for event in self._log.list_after(self._shown):
                self._shown += 1
                try:
                    await self._show_event(event)
                except Exception:
                    # The turn goes on: its reply is saved, and the end brings all of it.
                    logger.exception("Showing %s of reply %s failed", type(event).__name__, self.reply_id)

    def show_accepted(self, frame: frames.Accepted) -> None:
        """Send the frame of the turn's first event."""
        self._shown += 1
        self._send_frame(frame)

    def _send_frame(self, frame: frames.ServerFrame) -> None:
        # A title or a summary may come after the end of the turn, when the next one counts already.
        if not self._has_ended:
            self.seq += 1
        self._publish(frame.to_json(0 if self._has_ended else self.seq))

    async def _show_event(self, event: events.TurnEvent) -> None:
        match event:
            case events.MessageAccepted():
                self._send_frame(await run_in_accept_thread(accepted_frame, event, self.start))
            case events.TextAdded(text):
                await self._show_text(text)
            case events.CallStarted(part) | events.CallFinished(part):
                await self._close_text()
                if not is_hidden(part):
                    self._show_part(_TOOL_FRAMES[type(event)], part["call_id"], part_html(part))
            case events.MemoryWritten(part):
                self._show_part(frames.Memory, part["event_id"], part_html(part))
            case events.CardDrawn(part):
                html = await run_in_thread(_render, self.start, lambda: part_html(part))
                self._show_part(frames.Card, part["card_id"], html)
            case events.Noticed(text, level, fact):
                save_url = f"{reverse('memory:facts')}?{urlencode({'add': '', 'content': fact})}#add" if fact else None
                self._send_frame(frames.Notice(None if self._has_ended else self.reply_id, level, text, save_url))
            case events.Titled(title):
                self._send_frame(frames.Title(title))
            case events.TurnDone() | events.TurnFailed():
                await self._show_end(event)

    def _show_part(self, frame: Callable[[str, str, str], frames.ServerFrame], key: str, html: str) -> None:
        self._closed[key] = html  # of a tool again, once it has finished
        self._send_frame(frame(self.reply_id, html, key))

    async def _show_text(self, text: str) -> None:
        # Kept only when it is sent, or a socket that joins in between would be shown it twice.
        grown = self._open + text
        # A block ends where the next one begins, in a new line; elsewhere there is nothing to look for.
        is_new_line = "\n" in text or self._open.endswith("\n")
        html, rest = await asyncio.to_thread(close_blocks, grown) if is_new_line else ("", grown)
        self._open = rest
        if html:
            self._closed[f"text {len(self._closed)}"] = html
            self._send_frame(frames.Text(self.reply_id, html=html, tail=rest))
        else:
            self._send_frame(frames.Text(self.reply_id, text=text))

    async def _close_text(self) -> None:
        if self._open:
            html = await asyncio.to_thread(render_markdown, self._open)
            self._closed[f"text {len(self._closed)}"] = html
            self._open = ""
            self._send_frame(frames.Text(self.reply_id, html=html, tail=""))

    async def _show_end(self, event: events.TurnDone | events.TurnFailed) -> None:
        try:
            html = await run_in_thread(_render, self.start, self._closed_html) or None
        except Exception:
            logger.exception("Reply %s could not be read to be shown", self.reply_id)
            html = None
        if isinstance(event, events.TurnFailed):
            self._send_frame(frames.Failed(self.reply_id, None, event.text, event.may_retry, html))
        elif html is not None:
            self._send_frame(frames.Done(self.reply_id, event.status, html))
        self._has_ended = True
        if isinstance(event, events.TurnDone) and html is None:
            # A page that sees that nothing runs any more fetches the messages.
            self._send_frame(frames.Snapshot(self.reply_id, None))

    def _closed_html(self) -> str:
        """Return the article of the reply; empty while it is open."""
        views = view_messages(list_messages(self.start.conversation_id, after=self.start.reply_id - 1))
        closed = [view for view in views if view.row.pk == self.start.reply_id and not view.row.is_streaming]
        return "".join(map(message_html, closed))


def accepted_frame(event: events.MessageAccepted, start: TurnStart | None = None) -> frames.Accepted:
    """Return the `accepted` frame; `start` is None if no turn begins."""
    with timezone.override(find_time_zone(start.time_zone) if start else timezone.get_current_timezone()):
        views = view_messages(event.messages)
        ids = {view.row.role: str(view.row.pk) for view in views}
        return frames.Accepted(
            client_id=event.client_id,
            message_id=ids.get("user"),
            reply_id=str(start.reply_id) if start else ids.get("assistant"),
            html="".join(message_html(view) for view in views),
            replaces=None if event.replaces is None else str(event.replaces),
            removes=[str(pk) for pk in event.removes] or None,
        )


def _render(start: TurnStart, work: Callable[[], str]) -> str:
    """Render what reads rows, for the user of a turn."""
    with owned(start.user_id), timezone.override(find_time_zone(start.time_zone)):
        return work()
