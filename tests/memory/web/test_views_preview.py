import html
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from config.lib.llm.tokens import count_tokens
from memory.facts.places import add_place
from memory.facts.queries import get_next_block
from memory.facts.services import set_switches
from memory.web.views.preview import SEEN_SHOWN
from tests.factories.memory import UserFactFactory
from tests.memory.browsing import FACTS, text_of
from tests.owners import as_owner

PREVIEW = f"{FACTS}preview/"


def block_of(response) -> str:
    """Return the block as the page shows it, character by character."""
    return html.unescape(re.search(r"<pre[^>]*>(.*?)</pre>", response.content.decode(), re.DOTALL)[1])


@pytest.mark.parametrize("assistant", ["coach", "advisor", "companion"])
def test_preview_is_what_a_chat_that_begins_now_would_get(client, trader, know, assistant):
    know("risks <1%> & no more", topic="risk", confidence="asserted")
    know("seems to like mornings")
    as_owner(trader, lambda: add_place(place_id="gym", name="Ironworks", now=timezone.now()))

    response = client.get(PREVIEW, {"assistant": assistant})

    block = as_owner(trader, lambda: get_next_block(assistant=assistant, now=timezone.now()))
    assert block_of(response) == block.text
    assert f"{count_tokens(block.text)} tokens, 2 facts" in text_of(response)


def test_preview_says_why_a_fact_is_left_out(client, trader):
    as_owner(trader, lambda: UserFactFactory.create_batch(10))
    as_owner(trader, lambda: UserFactFactory(content="not used for long", last_referenced_at="2020-01-01T00:00Z"))
    as_owner(trader, lambda: UserFactFactory(content="is not sure", learned=True, score=0.4))

    words = text_of(client.get(PREVIEW))

    left_out = words.partition("Left out 2")[2]
    assert "not used for long Rank: beyond your rules and the facts used last, 10 in all" in left_out
    assert "is not sure Score: below 0.7, now 0.3" in left_out


def test_preview_turns_the_pages_of_what_is_left_out(client, trader):
    as_owner(trader, lambda: UserFactFactory.create_batch(10 + SEEN_SHOWN + 1))

    first, second = client.get(PREVIEW), client.get(PREVIEW, {"page": 2})

    assert first.content.decode().count("Rank: beyond") == SEEN_SHOWN
    assert second.content.decode().count("Rank: beyond") == 1
    assert "Page 2 of 2" in text_of(second)


def test_preview_lists_the_first_facts_of_a_long_block_and_shows_all_of_it(client, trader):
    as_owner(trader, lambda: UserFactFactory.create_batch(SEEN_SHOWN + 1))

    response = client.get(PREVIEW, {"assistant": "companion"})

    assert block_of(response).count("- [") == SEEN_SHOWN + 1
    assert len(re.findall(r"<tr>\s*<td>", response.content.decode())) == SEEN_SHOWN
    assert f"The first {SEEN_SHOWN} of {SEEN_SHOWN + 1}" in text_of(response)


def test_preview_without_facts_gives_the_reason(client, trader, know):
    nothing = text_of(client.get(PREVIEW))
    know()
    as_owner(trader, lambda: set_switches(uses_facts=False))
    paused = client.get(PREVIEW)

    assert "no fact that it could start a chat with" in nothing
    assert "Nothing, while it is paused." in text_of(paused)
    assert "<pre" not in paused.content.decode()


def test_preview_takes_as_many_queries_for_many_facts_as_for_few(client, trader):
    counts = []
    for number in (20, 90):  # more than the block takes
        as_owner(trader, lambda number=number: UserFactFactory.create_batch(number))
        with CaptureQueriesContext(connection) as queries:
            client.get(PREVIEW)
        counts.append(len(queries))

    assert counts[0] == counts[1] <= 18  # two of them open the owner's scope on PostgreSQL
