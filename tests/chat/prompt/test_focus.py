"""What a chat is about: the row that its user looks at, in a line for the model and in words for the user."""

import pytest

from chat.conversations.services import refocus_conversation, start_conversation
from chat.prompt.focus import build_focus, can_refocus, check_opening, is_focus_untrusted, subject_of
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.factories.record import BacktestRunFactory, DeploymentFactory, MarketEventFactory, TradeFactory

pytestmark = pytest.mark.django_db


def about_trade():
    trade = TradeFactory(symbol="SOL", entry_at=MAY, exit_reason="Momentum faded")
    told = "SOL long, closed, entered 2026-05-01T12:00 UTC at 100, left 2026-05-01T14:00 UTC at 110, net +$19.00"
    return {"trade_id": str(trade.pk)}, "About a trade: SOL long", [f"trade: {told}", f"trade_id: {trade.pk}"]


def about_backtest():
    run = BacktestRunFactory(deployment__version__skill__name="Dip buyer")
    return {"backtest_id": str(run.pk)}, "About a backtest of Dip buyer", ["backtest: Dip buyer version 1, "]


def about_event():
    event = MarketEventFactory(title="Rate decision", kind="fomc", starts_at=JUNE)
    return {"event_id": str(event.pk)}, "About Rate decision", ["event: fomc, Rate decision, 2026-06-01T12:00 UTC"]


def about_version():
    version = DeploymentFactory(version__skill__name="Dip buyer").version
    opening = {"skill_id": str(version.skill_id), "version": str(version.version)}
    return opening, f"About Dip buyer, version {version.version}", ["skill: Dip buyer", "version: 1"]


def about_fact():
    fact = UserFactFactory(content="Trades BTC only")
    return {"about_fact_id": str(fact.pk)}, "About “Trades BTC only”", [f"fact_id: {fact.pk}"]


KINDS = [about_trade, about_backtest, about_event, about_version, about_fact]


@pytest.mark.parametrize("make", KINDS)
def test_focus_names_its_row_for_the_model_and_the_user(as_trader, make):
    opening, subject, lines = make()

    part = build_focus({"mode": "ops", **opening})

    assert part["text"].startswith("## In focus\n- ")
    assert [line for line in lines if f"- {line}" not in part["text"]] == []
    assert subject_of({"mode": "ops", **opening}) == subject
    check_opening(opening)


def test_focus_keeps_the_words_of_a_fact_apart_so_that_they_can_be_erased(as_trader):
    fact = UserFactFactory(content="Trades BTC only")

    part = build_focus({"mode": "ops", "about_fact_id": str(fact.pk)})

    assert part["facts"] == [{"id": str(fact.pk), "text": "- fact: Trades BTC only"}]
    assert "BTC" not in part["text"]


def test_focus_has_no_reason_of_the_agent(as_trader):
    opening, _, _ = about_trade()

    assert "Momentum" not in build_focus(opening)["text"]
    assert not is_focus_untrusted(opening)


def test_focus_on_an_event_is_untrusted(as_trader):
    assert is_focus_untrusted(about_event()[0])


@pytest.mark.parametrize(
    ("current", "wanted", "can"),
    [
        ({"mode": "ops"}, {"mode": "ops", "trade_id": "1"}, True),
        ({"mode": "ops", "trade_id": "1"}, {"mode": "ops", "trade_id": "2"}, True),
        ({"mode": "ops", "trade_id": "1"}, {"mode": "coach", "deployment_id": "2"}, True),
        ({"mode": "ops", "trade_id": "1"}, {"mode": "ops", "trade_id": "1"}, False),
        ({"mode": "coach", "deployment_id": "1"}, {"mode": "ops", "deployment_id": "1"}, False),
        ({"mode": "authoring"}, {"mode": "ops", "trade_id": "2"}, False),
        ({"mode": "ops"}, {"mode": "authoring"}, False),
        ({"mode": "ops", "fact_id": "1"}, {"mode": "ops", "trade_id": "2"}, False),
    ],
)
def test_chat_turns_to_another_subject_unless_it_is_bound(current, wanted, can):
    assert can_refocus(current, wanted) is can


def test_refocus_keeps_the_mode_that_the_prompt_was_sent_with(as_trader):
    opening, _, _ = about_trade()
    chat = start_conversation(now=JUNE)

    refocus_conversation(conversation_id=chat.pk, opening={"mode": "coach", "deployment_id": _deployment_id()})
    chat.refresh_from_db()
    first = chat.opening_context
    refocus_conversation(conversation_id=chat.pk, opening={"mode": "ops", **opening})
    chat.refresh_from_db()

    assert (first["mode"], chat.opening_context) == ("ops", {"mode": "ops", **opening})


def _deployment_id() -> str:
    return str(DeploymentFactory().pk)
