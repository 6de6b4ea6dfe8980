"""Render what the socket's frames show."""

from chat.models import Message
from chat.turns import live
from chat.web.rendering import message_html, view_messages


def opening(client_id: str | None, messages: list[Message]) -> live.Frame:
    """Return what the `accepted` frame says of stored messages: their ids and their HTML."""
    views = view_messages(messages)
    ids = {view.role: str(view.pk) for view in views}
    return {
        "client_id": client_id,
        "message_id": ids.get("user"),
        "reply_id": ids.get("assistant"),
        "html": "".join(message_html(view) for view in views),
    }
