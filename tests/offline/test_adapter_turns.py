"""The rule-based model's tool calls through real turns, in rows."""

from functools import partial
from uuid import UUID

import pytest
from django.utils import timezone

from chat.conversations.services import ask_about_fact, start_conversation
from chat.prompt.texts import about_fact
from config.lib.owned import owned_tx
from config.lib.threads import run_in_thread
from memory.models import MemoryEvent, UserFact
from offline.messages import read_opening
from tests.chat.talk import Talk
from tests.factories.memory import PlaceFactory, UserFactFactory
from tests.owners import do_as

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _offline(settings):
    settings.CHAT_AGENT_MODEL = "offline/keel"
    settings.CHAT_FALLBACK_MODELS = []


def begin(user, assistant, **given) -> Talk:
    with owned_tx(user):
        return Talk(user.pk, start_conversation(assistant=assistant, now=timezone.now(), **given).pk)


async def facts(user) -> list[str]:
    """Return what is held true, oldest first."""
    current = partial(UserFact.objects.current, timezone.now())
    return await do_as(user, lambda: list(current().order_by("created_at").values_list("content", flat=True)))


async def kinds(user) -> list[str]:
    """Return the kinds of the memory's events, oldest first."""
    return await do_as(
        user, lambda: list(MemoryEvent.objects.order_by("created_at", "pk").values_list("kind", flat=True))
    )


async def test_advisor_saves_updates_confirms_and_forgets(trader):
    talk = await run_in_thread(begin, trader, "advisor")

    saved = await talk.ask("My goal is to retire at 50. I only buy funds.")
    assert saved.tools == ["list_preferences", "save_preference", "save_preference"]
    assert "I have saved" in saved.text
    assert set(await facts(trader)) == {"My goal is to retire at 50", "I only buy funds"}

    updated = await talk.ask("Actually, my goal is to retire at 55.")
    assert "**My goal is to retire at 50** to **My goal is to retire at 55**" in updated.text
    assert set(await facts(trader)) == {"My goal is to retire at 55", "I only buy funds"}
    old = await do_as(trader, lambda: UserFact.objects.get(content="My goal is to retire at 50"))
    assert old.archived_reason == "superseded"

    confirmed = await talk.ask("Yes, still funds only")
    assert "still holds: **I only buy funds**" in confirmed.text
    funds = await do_as(trader, lambda: UserFact.objects.get(content="I only buy funds"))
    assert (funds.last_confirmed_at is not None, funds.category) == (True, "fact")

    told = await talk.ask("What do you know about me?")
    assert told.tools == ["list_preferences"]
    assert "- My goal is to retire at 55" in told.text

    forgotten = await talk.ask("forget my goal")
    assert "I have forgotten: **My goal is to retire at 55**" in forgotten.text
    assert await facts(trader) == ["I only buy funds"]
    assert sorted(await kinds(trader)) == ["confirm", "forget", "save", "save", "update"]


async def test_advisor_recalls_a_fact_that_no_prompt_holds(trader):
    await do_as(trader, lambda: UserFactFactory(content="Wears shoes of size 44", learned=True, score=0.4))
    talk = await run_in_thread(begin, trader, "advisor")

    answer = await talk.ask("What is my shoe size?")

    assert answer.tools == ["recall_preferences"]
    assert "- Wears shoes of size 44 (" in answer.text
    assert "(inferred)" in answer.text


@pytest.mark.parametrize(
    ("said", "left"),
    [("55", ["My goal is to retire at 55"]), ("Forget it", []), ("Never mind", ["My goal is to retire at 50"])],
)
async def test_a_chat_about_a_fact_changes_that_fact_as_the_user_says(trader, said, left):
    fact = await do_as(trader, lambda: UserFactFactory(content="My goal is to retire at 50", topic="goal"))
    made = await do_as(trader, lambda: ask_about_fact(fact_id=fact.pk, now=timezone.now()))

    await Talk(trader.pk, made.pk).ask(said)

    assert await facts(trader) == left


@pytest.mark.parametrize("body", ["", "More of it.\n\nIn lines]"])
def test_the_opening_of_a_chat_about_a_fact_is_read(body):
    opening = about_fact(fact_id=UUID(int=7), content="I buy [some] funds]", body=body)

    fact = read_opening(f"Current datetime: 2026-11-22T09:30:00Z\n\n{opening}")

    assert (fact.id, fact.text) == (str(UUID(int=7)), "I buy [some] funds]")


async def test_companion_saves_corrects_and_forgets_facts(trader):
    talk = await run_in_thread(begin, trader, "companion")

    await talk.ask("My name is Alex. I prefer morning workouts.")
    assert set(await facts(trader)) == {"My name is Alex", "I prefer morning workouts"}

    await talk.ask("Actually, my name is Alexa.")
    assert set(await facts(trader)) == {"My name is Alexa", "I prefer morning workouts"}

    await talk.ask("forget my workouts")
    assert await facts(trader) == ["My name is Alexa"]


async def test_companion_knows_saved_facts_in_its_next_chat(trader):
    await (await run_in_thread(begin, trader, "companion")).ask("My name is Alex.")
    await do_as(trader, lambda: PlaceFactory(name="Gym", notes="on Pike Street"))

    answer = await (await run_in_thread(begin, trader, "companion")).ask("What do you know about me?")

    assert "- My name is Alex" in answer.text
    assert "- Gym: on Pike Street" in answer.text
    assert answer.tools == []
