"""What Keel knew when it wrote a reply."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.vary import vary_on_headers

from chat.conversations.queries import list_answers
from chat.grounding.checks import list_figures, name_source
from chat.models import Message, Role
from chat.parts import Json
from chat.prompt.receipts import find_receipt, show_receipt
from chat.tools import find_tool
from chat.web.figures import find_page
from chat.web.markdown import render_markdown
from config.lib.web import AuthedRequest, owned_page
from trading.record.trade_queries import find_trades

_TITLES = {
    "persona": "Who Keel is",
    "tier": "How much you have traded",
    "memory": "What Keel knows about you",
    "mode": "Where the chat was opened",
    "trust": "The rules",
    "day": "The day",
    "clock": "The time",
    "focus": "What was in focus",
    "fact": "The fact that you asked to change",
    "recall": "What Keel recalled for your message",
}


@owned_page
def receipt(request: AuthedRequest, message_id: int) -> HttpResponse:
    """Show the prompt of a reply and its tools' rows."""
    rows = Message.objects.filter(pk=message_id, role=Role.ASSISTANT)
    reply = rows.select_related("snapshot", "conversation").first()
    if reply is None:
        raise Http404
    kept = find_receipt(reply)
    # Each with its source in words and the source's page, if it has one.
    figures = [(one["text"], name_source(one["source"]), find_page(one["source"])) for one in list_figures(reply.parts)]
    context: Json = {"reply": reply, "receipt": None, "figures": figures}
    if kept is not None:
        shown = show_receipt(kept, reply)
        context |= {
            "receipt": shown,
            "segments": [(_TITLES.get(one.name, one.name), one.text) for one in shown.segments],
            "looked_up": [
                (tool.label if tool else one.name, one)
                for one in shown.looked_up
                if (tool := find_tool(one.name)) is None or not tool.acts
            ],
            "trades": find_trades(UUID(pk) for tool in shown.looked_up for pk in tool.trade_ids),
        }
    return TemplateResponse(request, "chat/receipt.html", context)


@owned_page
@vary_on_headers("HX-Request")
def answers(request: AuthedRequest, message_id: int) -> HttpResponse:
    """Show a reply beside the answers that its retries replaced."""
    rows = list_answers(message_id)
    if not rows:
        raise Http404
    template = "chat/_answers.html" if request.headers.get("HX-Request") else "chat/answers.html"
    shown = [(row, render_markdown(row.content)) for row in rows]
    return TemplateResponse(request, template, {"answers": shown, "reply_id": message_id})
