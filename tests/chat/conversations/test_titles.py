import asyncio
from functools import partial

import pytest
from django.utils import timezone

from chat.conversations.services import rename_conversation
from chat.conversations.titles import clean_title, write_title
from chat.models import Conversation, UsageDay
from chat.prompt.texts import TITLE_TASK
from config.lib.threads import run_in_thread
from config.lib.work.models import SiteDay
from tests.chat.tabs import open_tab, signed_in
from tests.chat.talk import until
from tests.fakes import Gate

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _title_model(settings):
    settings.TITLE_MODELS = ["scripted/title"]


async def titled(talk):
    found = await talk.look(partial(Conversation.objects.get, pk=talk.conversation_id))
    return found.title, found.is_title_chosen


async def write(talk):
    return await write_title(talk.conversation_id, user_id=talk.user_id, clock=timezone.now)


async def test_first_exchange_gives_the_chat_a_title(model, talk):
    model.say("Half a percent.")
    await talk.ask("How large should a BTC position of mine be, with 10,000 dollars?")
    model.say("BTC position size")

    assert await write(talk) == "BTC position size"

    assert await titled(talk) == ("BTC position size", True)
    task, exchange = (message["content"] for message in model.requests[-1]["messages"])
    assert task == TITLE_TASK
    assert exchange == (
        "Person: How large should a BTC position of mine be, with 10,000 dollars?\nKeel: Half a percent."
    )


async def test_title_is_written_once_and_counts_towards_usage(model, talk):
    model.say("One.")
    await talk.ask("first")
    before = (await talk.look(UsageDay.objects.get)).prompt_tokens
    model.say("The first question")
    await write(talk)

    assert await write(talk) is None
    assert len(model.requests) == 2
    assert (await talk.look(UsageDay.objects.get)).prompt_tokens == before + 10


async def test_title_waits_for_the_tokens_of_the_next_day(model, talk, settings):
    model.say("Half a percent.")
    await talk.ask("How large should a BTC position of mine be?")
    settings.SITE_DAILY_TOKEN_BUDGET = 1
    await talk.look(partial(SiteDay.objects.update_or_create, day=timezone.now().date(), defaults={"tokens": 1}))

    assert await write(talk) is None
    assert not (await titled(talk))[1]

    settings.SITE_DAILY_TOKEN_BUDGET = 0
    model.say("BTC position size")
    assert await write(talk) == "BTC position size"


async def test_title_by_the_user_wins_over_the_written_one(model, talk):
    model.say("One.")
    await talk.ask("first")
    gate = Gate()
    model.say(gate, "Too late")

    writing = asyncio.create_task(write(talk))
    await until(gate.reached.is_set)
    await talk.look(lambda: rename_conversation(conversation_id=talk.conversation_id, title="Mine"))
    gate.open()

    assert await writing is None
    assert await titled(talk) == ("Mine", True)


NO_TITLE = "I cannot write a title for this chat because I was not given enough of it to work with."


@pytest.mark.parametrize(("said", "for_good"), [(RuntimeError("down"), False), (NO_TITLE, True)])
async def test_model_that_gives_no_title_leaves_the_first_words(model, talk, said, for_good):
    model.say("One.")
    await talk.ask("first question")
    model.say(said)

    assert await write(talk) is None
    assert await titled(talk) == ("First question", for_good)


async def test_chat_without_an_answer_has_nothing_to_name(model, talk):
    assert await write(talk) is None
    assert model.requests == []


async def test_open_page_hears_of_the_title(model, trader, talk):
    model.say("One.")
    model.say("A better title")
    async with open_tab(await run_in_thread(signed_in, trader), talk.conversation_id) as tab:
        await tab.say("What is a good size for a trade of mine in BTC?")
        assert (await tab.until("title"))["title"] == "What is a good size for a trade of mine…"

        assert (await tab.until("title"))["title"] == "A better title"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("BTC position size", "BTC position size"),
        ('"BTC position size."', "BTC position size"),
        ("Title: **BTC position size**", "BTC position size"),
        ("BTC position size\n\nI chose this because", "BTC position size"),
        ("  Größe   einer Position ", "Größe einer Position"),
        ("", ""),
        ("...", ""),
        ("one two three four five six seven eight nine ten eleven", ""),
        ("x" * 61, ""),
        ("a\x00b\u202ec", "abc"),
    ],
)
@pytest.mark.django_db(transaction=False)
def test_clean_title_returns_one_short_line(written, title):
    assert clean_title(written) == title
