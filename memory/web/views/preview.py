"""The preview of each assistant's memory block."""

from typing import Final

from django import forms
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone

from config.lib.lists import ListForm
from config.lib.llm.tokens import count_tokens
from config.lib.web import PageRequest, owned_page
from memory.facts.queries import get_block, get_next_block, read_block_facts
from memory.models import UserFact
from memory.recall.blocks import explain_facts
from memory.web.views.responses import show_page

SEEN_SHOWN: Final = 50  # facts per table
ABOUT: Final = {
    "coach": "The ten facts it used last, whatever their category. Inferred ones are marked as such.",
    "advisor": "By category, as many as each one’s budget of tokens holds: what you said first, then the newest.",
    "companion": "Every fact, with the day Keel learned it, and your places.",
}


class PreviewForm(ListForm):
    assistant = forms.ChoiceField(choices=[(name, name) for name in ABOUT], required=False)


@owned_page
def show_preview(request: PageRequest) -> HttpResponse:
    """Show the block of an assistant's next chat, its facts, and a page of those it omits with the reason."""
    now, filters = timezone.now(), PreviewForm(request.GET, home=reverse("memory:preview"))
    assistant = filters.known.get("assistant", "coach")
    block, chosen = get_next_block(assistant=assistant, now=now), frozenset(get_block(assistant, now).fact_ids)
    current = UserFact.objects.current(now).by_reference()
    used = current.filter(pk__in=chosen)[:SEEN_SHOWN]
    left_out = Paginator(current.exclude(pk__in=chosen), SEEN_SHOWN).get_page(filters.number)
    explained = [
        explain_facts(read_block_facts(facts), chosen=chosen, assistant=assistant, now=now)
        for facts in (used, left_out)
    ]
    preview = {
        "text": block.text,
        "tokens": count_tokens(block.text) if block.text else 0,
        "used": explained[0],
        "used_total": len(chosen),
        "left_out": explained[1],
        "page": left_out,
    }
    context = {
        "preview": preview,
        "filters": filters,
        "assistant": assistant,
        "assistants": [(name, name.capitalize()) for name in ABOUT],
        "about": ABOUT[assistant],
    }
    return show_page(request, "preview", context)
