"""The tokens of the site: counted at the door for all who ask models, kept in a row, limited by a budget."""

from datetime import timedelta

import pytest
from django.db import OperationalError

from config.lib.llm import door
from config.lib.observe.meter import read_tokens
from config.lib.work import spending
from config.lib.work.models import SiteDay
from config.lib.work.spending import count_site_tokens, find_next_day, is_used_up, write_site_tokens
from tests.factories.memory import JUNE
from tests.fakes import ScriptedModel

MODEL = "scripted/model"
ASKED = [{"role": "user", "content": "What is BTC?"}]
DAY = timedelta(days=1)

pytestmark = pytest.mark.django_db


@pytest.fixture
def model():
    """A provider's model that says what the test wrote."""
    scripted = ScriptedModel()
    door.register_provider("scripted", lambda: scripted)
    return scripted


async def read_first(**options):
    async for _ in door.stream(ASKED, models=[MODEL], **options):
        return


async def read_all():
    return [chunk async for chunk in door.stream(ASKED, models=[MODEL])]


def test_door_counts_whole_answers_and_streams(model):
    model.say("One")
    model.say("Two")

    told = door.run(door.complete(ASKED, models=[MODEL])).usage
    last = door.run(read_all())[-1].usage

    assert read_tokens() == sum(one.prompt_tokens + one.completion_tokens for one in (told, last)) > 0


@pytest.mark.parametrize("end", ["stopped", "broke off"])
def test_door_counts_an_answer_that_was_not_finished(model, end):
    model.say("A long answer ", "of many words", *([RuntimeError("gone")] if end == "broke off" else ["."]))

    if end == "stopped":
        door.run(read_first())
    else:
        with pytest.raises(door.LLMUnavailable):
            door.run(read_all())

    assert read_tokens() > 0


def test_model_of_this_process_and_a_call_without_an_answer_count_nothing(model):
    model.say(RuntimeError("gone"))

    door.run(door.complete(ASKED, models=["offline/keel"]))
    with pytest.raises(door.LLMUnavailable):
        door.run(door.complete(ASKED, models=[MODEL]))

    assert read_tokens() == 0


@pytest.mark.limit("config.settings.SITE_DAILY_TOKEN_BUDGET")
def test_tokens_are_written_down_once_and_a_day_begins_anew(model, settings):
    settings.SITE_DAILY_TOKEN_BUDGET = 100
    SiteDay.objects.create(day=JUNE.date(), tokens=90)
    assert not is_used_up([MODEL], tokens=10, now=JUNE)
    assert is_used_up([MODEL], tokens=11, now=JUNE)
    model.say("One")
    door.run(door.complete(ASKED, models=[MODEL]))
    spent = read_tokens()

    assert count_site_tokens(JUNE.date()) == 90 + spent  # before it is written, too
    for _ in range(2):
        write_site_tokens(JUNE.date())
    write_site_tokens((JUNE + DAY).date())

    assert dict(SiteDay.objects.values_list("day", "tokens")) == {JUNE.date(): 90 + spent}
    SiteDay.objects.update(tokens=100)
    assert is_used_up([MODEL], now=JUNE)
    assert not is_used_up(["offline/keel"], now=JUNE)
    assert not is_used_up([MODEL], now=find_next_day(JUNE))
    settings.SITE_DAILY_TOKEN_BUDGET = 0
    assert not is_used_up([MODEL], now=JUNE)


def test_tokens_that_cannot_be_written_down_wait(model, monkeypatch):
    def refuse(**values):
        raise OperationalError

    model.say("One")
    door.run(door.complete(ASKED, models=[MODEL]))
    spent = read_tokens()
    with monkeypatch.context() as patch:
        patch.setattr(spending.SiteDay.objects, "get_or_create", refuse)
        write_site_tokens(JUNE.date())
    assert (read_tokens(), SiteDay.objects.count()) == (spent, 0)

    write_site_tokens(JUNE.date())

    assert SiteDay.objects.get().tokens == spent
