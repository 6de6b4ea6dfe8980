import re
from datetime import timedelta
from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from memory.facts.queries import PAGE_SIZE
from memory.facts.services import confirm_fact, remember_fact, supersede_fact
from memory.facts.undo import undo_event
from memory.facts.versions import Origin
from memory.models import MemoryEvent, UserFact
from tests.factories.memory import MAY, UserFactFactory
from tests.memory.browsing import FACTS, SECRET, act, into, is_page, open_menu, slot, text_of
from tests.owners import as_owner


def test_facts_shows_each_fact_with_what_is_known_of_it(client, know):
    conversation_id = uuid4()
    fact = know("trades <b>BTC</b> only", topic="symbols", origin=Origin(conversation_id, 1))

    response = client.get(FACTS)

    body = response.content.decode()
    assert response.status_code == 200
    assert "trades &lt;b&gt;BTC&lt;/b&gt; only" in body
    assert f'id="fact-{fact.pk}"' in body
    menu = open_menu(client, fact)
    assert reverse("chat:conversation", args=[conversation_id]) in menu.content.decode()
    for words in ("symbols", "Inferred", "In use 1"):
        assert words in text_of(response)
    for words in ("In the next chat, ", "tokens", "Source: Chat", "Last used", "Learned"):
        assert words in text_of(menu)
    assert not is_page(menu)


def test_facts_shows_times_in_the_readers_zone_and_utc_on_pointing(client, trader, as_trader):
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    at = timezone.now().replace(month=6, day=1, hour=20, minute=30)
    fact = UserFactFactory(last_referenced_at=at)

    body = open_menu(client, fact).content.decode()

    assert f'datetime="{at.year}-06-02T08:30' in body
    assert re.search(rf'title="{at.year}-06-01 20:30 UTC"\s*>2 Jun {at.year}</time>', body)
    assert "Pacific/Auckland" in client.get(FACTS).content.decode()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({}, "Keel knows nothing about you yet"),
        ({"q": "zebra"}, "No fact fits"),
        ({"show": "archived"}, "Nothing is archived"),
        ({"show": "archived", "q": "zebra"}, "No archived fact fits"),
        ({"show": "trash"}, "The trash is empty"),
        ({"show": "trash", "q": "zebra"}, "No fact in the trash fits"),
    ],
)
def test_facts_says_why_it_is_empty(client, query, words):
    assert words in text_of(client.get(FACTS, query))


@pytest.mark.parametrize(
    "query",
    [
        *("source=zzz", "page=x", "page=-1", "page=99999999999999999999", "sort=id", "q=%00", "q=%ED%A0%80"),
        *("event=1", "batch=x", "as_of=x", "as_of=9999-12-31", "as_of=0001-01-01", "as_of=2026-02-30"),
    ],
)
def test_facts_bears_any_address(client, know, query):
    know()

    assert client.get(f"{FACTS}?{query}").status_code == 200


def test_facts_answers_the_end_of_the_list_with_its_next_piece(client, trader):
    def make() -> None:
        for topic, number in (("risk", PAGE_SIZE // 2), ("style", PAGE_SIZE)):
            category = {"risk": "profile", "style": "response_style"}[topic]
            UserFactFactory.create_batch(number, topic=topic, category=category)

    as_owner(trader, make)
    piece = client.get(FACTS, {"page": 2}, headers=into("more"))

    assert not is_page(piece)
    assert piece.content.decode().count("<article") == PAGE_SIZE // 2
    assert "Response style" not in text_of(piece)  # its heading stands above the first half
    assert "HX-Push-Url" not in piece
    assert 'id="more"' not in piece.content.decode()


def test_facts_as_of_a_day_are_those_that_were_true_then(client, know, trader):
    fact = know("trades BTC only", days_ago=9)
    as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="trades ETH too", now=timezone.now()))
    know("wants short answers")
    day = f"{timezone.now() - timedelta(days=5):%Y-%m-%d}"

    then = client.get(FACTS, {"as_of": day})

    assert "trades BTC only" in text_of(then)
    assert "as Keel knew it then" in text_of(then)
    assert "trades ETH too" not in text_of(then)
    assert "short answers" not in text_of(then)
    assert "Archive" not in text_of(then).partition("as Keel knew it then")[2].partition("What these words mean")[0]
    assert "by what Keel knows today" in text_of(client.get(FACTS, {"as_of": day, "by": "now"}))


def test_facts_that_may_exclude_each_other_come_first(client, trader, know):
    know("Max leverage is 5x", days_ago=3)
    as_owner(trader, lambda: UserFactFactory(content="Max leverage is 3x"))
    know("wants short answers")

    text = text_of(client.get(FACTS))

    assert "Look at these first" in text
    assert "short answers" not in text.partition("Look at these first")[2].partition("The selected")[0]
    assert "Look at these first" not in text_of(client.get(FACTS, {"q": "leverage"}))


def test_changes_list_every_write_with_its_difference(client, trader, know):
    fact = know("trades BTC only", days_ago=2)
    as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="trades ETH only", now=timezone.now()))

    text = text_of(client.get(reverse("memory:changes")))

    assert text.index("Memory updated") < text.index("removed: BTC added: ETH") < text.index("Memory saved")


def test_facts_of_a_large_memory_take_as_many_queries_as_one_and_come_in_pieces_of_at_most_150_kb(
    client, trader, django_assert_max_num_queries
):
    as_owner(trader, lambda: UserFact.objects.bulk_create(UserFactFactory.build_batch(2 * PAGE_SIZE, topic="risk")))

    # Thirteen, those of the session and its user, and the four by which PostgreSQL enters and leaves the scope.
    with django_assert_max_num_queries(21):
        page = client.get(FACTS)
    assert len(page.content) < 150_000


def test_facts_asks_about_a_fact_not_used_for_long(client, trader, know):
    fact = know(days_ago=61)

    before = text_of(client.get(FACTS))
    as_owner(trader, lambda: confirm_fact(fact_id=fact.pk, now=timezone.now()))

    assert "Is it still true?" in before
    assert "Is it still true?" not in text_of(client.get(FACTS))
    assert "You confirmed it since" in text_of(open_menu(client, fact))


def test_facts_answers_htmx_with_the_list_alone_and_the_address_it_has(client, know):
    know("trades BTC only")
    know("wants short answers")

    response = client.get(FACTS, {"q": "btc", "source": "", "sort": ""}, headers=into("results"))

    assert not is_page(response)
    assert response["HX-Push-Url"] == f"{FACTS}?q=btc"
    assert "1 fact found." in text_of(response)
    assert "short answers" not in text_of(response)


@pytest.mark.parametrize(
    ("shown", "asked", "header"),
    [
        ("", {"q": "b"}, "HX-Push-Url"),
        ("?q=b", {"q": "bt"}, "HX-Replace-Url"),
        ("?q=bt", {"q": "bt", "source": "chat"}, "HX-Push-Url"),
        ("?q=bt", {"q": ""}, "HX-Push-Url"),
    ],
    ids=["first letter", "next letter", "another filter", "emptied"],
)
def test_facts_keeps_what_is_typed_in_one_entry_of_the_history(client, shown, asked, header):
    response = client.get(FACTS, asked, headers=into("results", at=f"{FACTS}{shown}"))

    assert header in response


def test_facts_gives_back_a_whole_page_and_keeps_no_copy(client):
    back = client.get(FACTS, headers={"HX-Request": "true", "HX-History-Restore-Request": "true"})

    assert is_page(back)
    assert "HX-Request" in back["Vary"]
    assert "no-store" in back["Cache-Control"]


def test_add_saves_what_its_owner_said_and_comes_back_with_undo(client, as_trader):
    response = client.post(
        FACTS, {"content": " Risk  1% ", "topic": "Risk!", "next": f"{FACTS}?sort=text"}, follow=True
    )

    fact = UserFact.objects.get()
    assert (fact.content, fact.topic, fact.category) == ("Risk 1%", "risk", "profile")
    assert (fact.source, fact.confidence, fact.score) == ("profile", "asserted", None)
    assert response.redirect_chain == [(f"{FACTS}?sort=text&event={MemoryEvent.objects.get().pk}#done", 302)]
    assert "Memory saved" in text_of(response)
    assert act("undo", MemoryEvent.objects.get()) in response.content.decode()


def test_changes_lead_to_older_ones(client, as_trader, monkeypatch):
    monkeypatch.setattr("memory.facts.history.CHANGES_SHOWN", 1)
    for content in ("Risk 1%", "Trades gold only"):
        client.post(FACTS, {"content": content})

    first, second = (client.get("/profile/facts/changes/", {"page": number}).content.decode() for number in (1, 2))

    assert 'href="?page=2"' in first
    assert 'rel="prev"' in second


@pytest.mark.parametrize(
    ("content", "words"),
    [("abc", "needs 4 to 500 characters"), ("", "Write the fact first."), (SECRET, "Keel never keeps those")],
)
def test_add_refuses_and_keeps_what_was_typed(client, as_trader, content, words):
    data = {"content": content, "topic": "risk", "category": "profile"}

    page = client.post(FACTS, data)
    piece = client.post(FACTS, data, headers=into("add"))

    assert (page.status_code, piece.status_code) == (422, 422)
    assert (is_page(page), is_page(piece)) == (True, False)
    for response in (page, piece):
        assert words in text_of(response)
        assert f"{content}</textarea>" in response.content.decode()
        assert '<option value="profile" selected>' in response.content.decode()
    assert not UserFact.objects.exists()


def test_add_answers_htmx_with_an_empty_form_and_the_list_with_the_fact(client, know):
    know("wants short answers")

    response = client.post(FACTS, {"content": "trades BTC only"}, headers=into("add"))

    body = response.content.decode()
    assert not is_page(response)
    assert re.search(r"<textarea[^>]*autofocus[^>]*>\s*</textarea>", body)
    assert 'id="results"' in body
    assert 'hx-swap-oob="true"' in body
    assert "In use 2" in text_of(response)
    assert "Undo" in text_of(response)


def test_add_says_what_is_known_already(client, know):
    fact = know("trades BTC only", confidence="asserted")

    page = client.post(FACTS, {"content": "Trades BTC only."}, follow=True)
    piece = client.post(FACTS, {"content": "Trades BTC only."}, headers=into("add"))

    assert "Keel knows this already" in text_of(page)
    assert "Keel knows this already" in text_of(piece)
    assert page.redirect_chain == [(reverse("memory:fact", args=[fact.pk]), 302)]


def test_the_form_opens_and_closes_and_is_filled_by_its_address(client):
    opened = client.get(f"{FACTS}?add", headers=into("add"))
    closed = client.get(FACTS, headers=into("add"))
    filled = client.get(FACTS, {"add": "", "content": "I never trade <b>alts</b>"})

    assert "<textarea" in opened.content.decode()
    assert "<textarea" not in closed.content.decode()
    assert ">\nI never trade &lt;b&gt;alts&lt;/b&gt;</textarea>" in filled.content.decode()


def test_fact_shows_its_history(client, trader, know):
    fact = know("max 5x on BTC", days_ago=3)
    now = timezone.now() - timedelta(days=2)
    written = as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="max 3x on BTC", now=now))
    as_owner(trader, lambda: undo_event(event_id=written.event.pk, now=now + timedelta(days=1)))

    response = client.get(act("fact", fact), follow=True)

    words = text_of(response)
    assert words.index("Memory saved") < words.index("Memory updated") < words.index("Brought back by an undo")
    assert '<del><span class="visually-hidden">removed: </span>5x</del>' in response.content.decode()
    assert '<ins><span class="visually-hidden">added: </span>3x</ins>' in response.content.decode()
    assert "Undone" in words


def test_fact_leads_from_an_older_version_to_the_last(client, trader, know):
    fact = know()
    new = as_owner(trader, lambda: supersede_fact(fact_id=fact.pk, content="trades ETH", now=timezone.now())).fact

    response = client.get(act("fact", fact), {"event": "x"})

    assert response["Location"] == f"{act('fact', new)}?event=x"


@pytest.mark.parametrize(("query", "has_form"), [("?edit", True), ("", False)])
def test_fact_answers_htmx_in_the_list_with_the_fact_or_its_form(client, know, query, has_form):
    fact = know()

    response = client.get(act("fact", fact) + query, headers=into(slot(fact)))

    assert not is_page(response)
    assert ("<textarea" in response.content.decode()) is has_form
    assert "autofocus" in response.content.decode()


def test_a_fact_leads_to_the_message_it_came_from(client, know):
    conversation_id = uuid4()
    quote = {"message_id": 7, "start": 0, "end": 16}
    quoted = know("trades BTC only", origin=Origin(conversation_id, 9, quotes=(quote,)))
    told = know("wants short answers", origin=Origin(conversation_id, 9))
    chat = reverse("chat:conversation", args=[conversation_id])

    assert f'href="{chat}#message-7"' in open_menu(client, quoted).content.decode()
    assert f'href="{chat}#message-7"' in client.get(act("fact", quoted)).content.decode()
    assert f'href="{chat}#message-9"' in client.get(act("fact", told)).content.decode()


def test_facts_says_that_the_document_is_full_and_marks_what_is_outside(client, trader, settings):
    settings.MEMORY_TOKEN_LIMIT = 200

    def fill():
        for number in range(4):
            remember_fact(content=f"Fact {number} {'gold and silver ' * 4}", now=MAY)

    as_owner(trader, fill)

    page = client.get(FACTS).content.decode()

    assert "The memory document is full" in page
    assert "Outside the memory document since" in page
