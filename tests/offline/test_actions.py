"""Actions: the target, the requested card, no claim of execution."""

import pytest

from offline.actions import ONLY_YOUR_CLICK
from tests.offline.chat import (
    ADVISOR,
    DEPLOYMENT,
    FOCUS,
    NEW_DRAFT,
    OTHER,
    SKILL,
    SKILL_2,
    Chat,
    carded,
    deployed,
    first_calls,
    skill,
)
from tests.offline.sets import SETS

TREND = deployed(deployment_id=OTHER, skill_name="Trend breakout", status="paused", positions=[])
SKILLS = {"skills": [skill(), skill(skill_id=SKILL_2, name="Trend breakout")], "open_drafts": []}


def chat_of(*deployments, **given):
    return Chat({"get_my_deployments": {"deployments": list(deployments)}, "list_my_skills": SKILLS}, **given)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("stop it", "stop"),
        ("Please stop the agent now", "stop"),
        ("can you shut it down", None),
        ("pause it", "pause"),
        ("resume", "resume"),
        ("restart it", "resume"),
        ("flatten", "flatten"),
        ("close everything", "flatten"),
        ("Close my positions please", "flatten"),
        ("get me out", "flatten"),
        ("close it", "flatten"),
        ("redeploy it", "redeploy"),
        ("redeploy it with the newest version", "redeploy"),
    ],
)
def test_a_wish_about_the_deployment_in_focus_becomes_a_card(text, action):
    expected = [] if action is None else [("prepare_action", {"type": action, "deployment_id": DEPLOYMENT})]

    assert first_calls(text, focus=FOCUS) == expected


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ("backtest it", {}),
        ("Backtest it over the last month", {"starts_on": "2026-10-22", "ends_on": "2026-11-21"}),
        ("backtest it over last month", {"starts_on": "2026-10-22", "ends_on": "2026-11-21"}),
        ("run a backtest over the past 2 weeks", {"starts_on": "2026-11-08", "ends_on": "2026-11-21"}),
        ("backtest it over the last 90 days", {"starts_on": "2026-08-24", "ends_on": "2026-11-21"}),
    ],
)
def test_a_backtest_takes_its_days_from_the_words(text, details):
    expected = {"type": "start_backtest", "skill_id": SKILL, **details}

    assert first_calls(text, focus=FOCUS) == [("prepare_action", expected)]


@pytest.mark.parametrize("text", ["backtest it from 2026-02-31 to 2026-13-01", "backtest it since March"])
def test_other_days_are_left_to_the_card(text):
    assert first_calls(text, focus=FOCUS) == [("prepare_action", {"type": "start_backtest", "skill_id": SKILL})]


def test_a_card_is_named_and_nothing_claimed():
    told = chat_of(focus=FOCUS).say("stop it")

    assert told.startswith("I prepared a card: **Stop Funding fade**.")
    assert f"It is good until 2026-11-22 09:45 UTC. No word in the chat runs it: {ONLY_YOUR_CLICK}." in told
    assert "Open positions" not in told, "the card says it"


@pytest.mark.parametrize("text", ["yes", "Yes please", "ok, do it", "go ahead", "yes, confirm it", "no, cancel"])
def test_a_yes_or_no_in_words_does_nothing(text):
    chat = chat_of(focus=FOCUS)
    chat.say("stop it")

    told = chat.say(text)

    assert ONLY_YOUR_CLICK in told
    assert len(chat.calls) == 1


def test_a_yes_without_a_card_is_small_talk():
    assert chat_of().say("yes") == "All right."


@pytest.mark.parametrize(
    ("text", "kind", "deployment_id"),
    [
        ("pause it", "pause", DEPLOYMENT),  # the only one that runs
        ("Stop Trend breakout", "stop", OTHER),
        ("stop the trend breakout agent", "stop", OTHER),
        ("Stop Funding fade", "stop", DEPLOYMENT),
    ],
)
def test_the_deployment_that_is_named_or_runs_alone_is_meant(text, kind, deployment_id):
    chat = chat_of(deployed(), TREND)

    chat.say(text)

    assert chat.calls[-1] == ("prepare_action", {"type": kind, "deployment_id": deployment_id})


def test_between_several_it_lists_them_and_prepares_nothing():
    chat = chat_of(deployed(), TREND | {"status": "running"})

    asked = chat.say("stop it")

    assert "- Funding fade v2 (paper, running)\n- Trend breakout v2 (paper, running)" in asked
    assert "Say it again with its name." in asked
    assert [name for name, _ in chat.calls] == ["get_my_deployments"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("resume it", "There is nothing to resume: no deployment is paused."),
        ("flatten", "There is nothing to flatten: no deployment is with an open position."),
    ],
)
def test_nothing_that_fits_is_said(text, said):
    assert chat_of(deployed(positions=[])).say(text) == said


def test_without_a_deployment_there_is_nothing_to_stop():
    assert chat_of().say("stop it").startswith("Nothing is deployed")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("deploy Trend breakout", {"type": "deploy", "skill_id": SKILL_2}),
        ("deploy Trend breakout on paper", {"type": "deploy", "skill_id": SKILL_2}),
        ("Deploy Trend breakout live", {"type": "deploy", "skill_id": SKILL_2, "broker": "live"}),
    ],
)
def test_a_skill_is_deployed_by_its_name(text, arguments):
    chat = chat_of()

    chat.say(text)

    assert chat.calls[-1] == ("prepare_action", arguments)


def test_a_draft_is_saved_before_it_is_deployed():
    chat = chat_of(focus=NEW_DRAFT)
    chat.say("use the range fade template")

    told = chat.say("deploy it")

    assert told == "A draft has to be saved first, on its preview."
    assert "prepare_action" not in [name for name, _ in chat.calls]


def test_a_refused_card_is_explained():
    results = {"prepare_action": {"error": "That deployment is stopped already."}}

    told = Chat(results, focus=FOCUS).say("stop it")

    assert told == "I could not prepare that: That deployment is stopped already."


def test_the_words_of_a_card_draw_nothing():
    card = carded({"type": "stop"}) | {"title": "Stop [x](http://evil)", "lines": [["A", "*b*"], "no line", ["c"]]}

    told = Chat({"prepare_action": card}, focus=FOCUS).say("stop it")

    assert "**Stop \\[x\\](http://evil)**" in told


@pytest.mark.parametrize("text", ["stop it", "flatten", "deploy it", "backtest it over the last month"])
def test_the_advisor_prepares_nothing(text):
    assert "prepare_action" not in [name for name, _ in first_calls(text, tools=ADVISOR)]


def test_orders_are_refused_plainly():
    told = {text: Chat({}).say(text) for text in SETS["coach: orders"]}

    assert [text for text, said in told.items() if not said.startswith("I cannot place an order")] == []
    assert all("close everything" in said for said in told.values())


def test_what_is_no_action_prepares_none():
    chats = {text: chat_of(deployed()) for text in SETS["coach: no action"]}
    for text, chat in chats.items():
        chat.say(text)

    assert [text for text, chat in chats.items() if "prepare_action" in dict(chat.calls)] == []
