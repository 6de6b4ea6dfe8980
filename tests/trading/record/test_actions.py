"""What a card says, from rows alone, and what is not drawn."""

from datetime import date, timedelta
from uuid import uuid4

import pytest

from chat import cards
from chat.cards import digest_of, draw_card, view_card
from chat.conversations.queries import ConversationNotFound
from chat.models import ActionCard
from tests.chat.desk import SECOND, TYPES, Desk, confirm, new_version, queued
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DeploymentCommandFactory,
    DeploymentFactory,
    SkillVersionFactory,
    TradeFactory,
)
from tests.owners import as_owner
from trading.models import BacktestRun, Skill, Trader
from trading.models.deployments import ActionType
from trading.record.actions import BACKTEST_FIRST, Action, ActionImpossible, draw_action
from trading.record.backtests import BacktestRefused
from trading.skills.services import SkillArchived


@pytest.fixture
def desk(as_trader):
    """What cards are drawn for, inside the trader's scope."""
    return Desk()


RUNNING = [["Skill", "Dips"], ["Deployment", "Paper since 2026-05-01 12:00 UTC"], ["Now", "Running, version 1"]]
LIMITS = "10% of equity in a position, 50% in all, leverage 3x, 20 orders a day, a halt at 5% lost in a day"
NEWEST = "From its next decision on the agent follows the newest version. Positions and lessons stay."
STOPPED = "The agent never decides again. Positions stay open; close them first if you want out."
PAUSED = "The agent decides nothing more until you resume it. Positions stay open."
SAYS = {
    "deploy": [
        ["Skill", "Dips, version 1"],
        ["Broker", "Paper: play money, at the market’s prices"],
        ["Starting equity", "$10,000.00"],
        ["Symbols", "BTC, ETH"],
        ["Schedule", "Every 1h"],
        ["Limits", LIMITS],
        ["Backtest", "None of this version is finished"],
        ["Note", "This skill is deployed already, 2 times. This makes one more."],
    ],
    "redeploy": [*RUNNING, ["Version", "1 → 2"], ["Risk: max leverage", "3.0 → 5.0"], ["Note", NEWEST]],
    "stop": [*RUNNING, ["Note", STOPPED]],
    "pause": [*RUNNING, ["Note", PAUSED]],
    "resume": [
        *RUNNING[:2],
        ["Now", "Paused, version 1"],
        ["Note", "The agent decides again, from its next decision on."],
    ],
    "flatten": [
        *RUNNING,
        ["BTC long", "2 at 100, now 110: +$20.00 unrealised"],
        ["Note", "Every open position is closed at the open of the next bar."],
        ["Note", "The agent goes on: it may open positions again unless you pause it."],
    ],
    "start_backtest": [
        ["Skill", "Dips, version 1"],
        ["Period", "2026-05-30 00:00 to 2026-06-01 12:00 UTC"],
        ["Bars", "1h: BTC 48, ETH 48"],
        ["Decisions", "About 60, each of which asks the agent’s model"],
        ["Lessons", "Drawn at the skill’s own cadence"],
        ["Starting equity", "$10,000.00"],
        ["Costs", "4 basis points a fill, 2 of slippage"],
        ["Volume", "Orders take at most 10 % of a bar’s"],
    ],
}
CARRIED = {
    "deploy": {"skill_id", "broker", "starting_equity_usd"},
    "start_backtest": {"skill_id", "starts_at", "ends_at", "starting_equity_usd", "fee_bps", "slippage_bps"},
}


def test_types_are_the_seven_of_the_seed_and_drawing_writes_no_row(desk):
    assert set(TYPES) == set(ActionType.values) == set(cards.TITLES)

    before = queued()

    for kind in TYPES:
        draw_action(desk.action(kind), JUNE)

    assert (queued(), ActionCard.objects.count()) == (before, 0)


@pytest.mark.parametrize("kind", TYPES)
def test_draw_action_shows_the_rows(desk, kind):
    card = desk.draw(kind)

    assert card.lines == SAYS[kind]
    assert card.payload.keys() == CARRIED.get(kind, {"deployment_id"})
    assert (card.status, card.created_at, card.expires_at) == ("pending", JUNE, JUNE + timedelta(minutes=15))
    assert card.digest == digest_of(card)
    assert queued() == (0, 2, 0)


def test_draw_action_names_a_position_without_a_price_and_a_live_record(desk):
    TradeFactory(deployment=desk.running, still_open=True, symbol="SOL", entry_tick_at=MAY + SECOND)
    live = DeploymentFactory(version=desk.running.version, broker_kind="live")

    assert ["SOL long", "2 at 100; no price is known now"] in desk.draw("flatten").lines
    card = desk.draw("stop", deployment_id=live.pk)
    assert ["Deployment", "Live since 2026-05-01 12:00 UTC"] in card.lines
    assert card.lines[-1][1].startswith("Keel takes nothing more into this record.")


def test_redeploy_lists_a_few_changes_without_long_texts_and_counts_the_rest(desk):
    payload = desk.running.version.payload
    strategy = {**payload["strategy"], "thesis": "Dips are bought, and this is a much longer thesis than it was before"}
    context = {**payload["context"], "symbols": ["BTC"]}
    new_version(desk.skill, strategy=strategy, context=context, model="house/model", max_steps=3)

    lines = dict(desk.draw("redeploy").lines)

    assert lines["Strategy: thesis"] == "The text differs"
    assert lines["Context: symbols"] == "BTC, ETH → BTC"
    assert (lines["Model"], lines["Max steps"]) == ("none → house/model", "6 → 3")

    risk = {name: value + 1 for name, value in payload["risk"].items()}
    context = {**payload["context"], "bars_lookback": 50, "news_top_k": 7, "news_lookback_hours": 30}
    values = {"risk": risk, "context": context, "max_steps": 3, "strategy": payload["strategy"], "model": None}
    new_version(desk.skill, **values)
    assert ["Also changed", "1 field more"] in desk.draw("redeploy").lines


def test_deploy_tells_of_the_last_backtest_of_the_version(desk):
    run = BacktestRunFactory(deployment__version=desk.running.version, done=True)
    TradeFactory(deployment=run.deployment)

    lines = desk.draw("deploy").lines

    assert ["Backtest", "+$19.00 net of 1 closed trade, 2026-04-01 to 2026-05-01"] in lines


def test_novice_is_offered_a_backtest_of_the_newest_version_first_and_may_still_deploy(desk):
    def draw(tier):
        Trader.objects.update(experience_tier=tier)
        view = view_card(card := desk.draw("deploy"))
        is_offered = BACKTEST_FIRST in view.notes
        assert view.backtest_skill_id == (str(desk.skill.pk) if is_offered else "")
        assert confirm(card).status == "confirmed"
        return is_offered

    assert [draw(tier) for tier in ("novice", "intermediate", "expert", None)] == [True, False, False, False]
    run = BacktestRunFactory(deployment__version=desk.running.version)
    assert draw("novice")
    BacktestRun.objects.filter(pk=run.pk).update(status="done", finished_at=MAY)
    assert not draw("novice")
    new_version(desk.skill, max_steps=3)
    assert draw("novice")


def test_backtest_covers_the_days_named_or_the_last_with_bars(desk):
    last, day = date(2026, 5, 31), date(2026, 5, 30)
    for asked, period in (
        ({}, ("2026-05-30 00:00", "2026-06-01 12:00")),
        ({"ends_on": last}, ("2026-05-30 00:00", "2026-06-01 00:00")),
        ({"starts_on": date(2026, 5, 1)}, ("2026-05-01 00:00", "2026-06-01 12:00")),
        ({"starts_on": day, "ends_on": day}, ("2026-05-30 00:00", "2026-05-31 00:00")),
    ):
        lines = dict(desk.draw("start_backtest", **asked).lines)
        assert lines["Period"] == f"{period[0]} to {period[1]} UTC"


def test_backtest_says_which_bars_are_missing_and_which_are_made(as_trader):
    action = Action("start_backtest", skill_id=SkillVersionFactory().skill_id)
    BarFactory(symbol="BTC", opened_at=JUNE - timedelta(hours=3), is_simulated=True)

    card = draw_card(conversation_id=ConversationFactory().pk, action=action, now=JUNE)

    assert ["Bars", "1h: BTC 1, ETH 0"] in card.lines
    told = ["There are no bars of ETH on these days.", "The market of these days is simulated."]
    assert view_card(card).notes == told


def test_action_that_could_only_be_refused_is_not_drawn(desk):
    waiting = DeploymentCommandFactory(kind="pause", deployment__version=desk.running.version).deployment_id
    for kind, changes, refusal in (
        ("deploy", {"broker": "live"}, ActionImpossible),
        ("pause", {"deployment_id": waiting}, ActionImpossible),
        ("start_backtest", {"starts_on": date(2026, 6, 2)}, BacktestRefused),
        ("start_backtest", {"ends_on": date(2026, 6, 2)}, BacktestRefused),
        ("start_backtest", {"ends_on": date(9999, 12, 30)}, BacktestRefused),
        ("start_backtest", {"starts_on": date(2026, 5, 31), "ends_on": date(2026, 5, 30)}, BacktestRefused),
        ("start_backtest", {"starts_on": date(2020, 1, 1)}, BacktestRefused),
        ("start_backtest", {"starts_on": date(2026, 5, 1), "ends_on": date(2026, 5, 2)}, BacktestRefused),
    ):
        with pytest.raises(refusal):
            desk.draw(kind, **changes)
    Skill.objects.update(archived_at=MAY)
    for kind in ("deploy", "start_backtest"):
        with pytest.raises(SkillArchived):
            desk.draw(kind)
    assert ActionCard.objects.count() == 0


def test_refused_action_lists_possible_commands(desk):
    with pytest.raises(ActionImpossible) as refusal:
        desk.draw("resume", deployment_id=desk.running.pk)

    assert str(refusal.value) == (
        "Not possible now. The deployment is running, on paper, at version 1, the newest, with 1 open position."
        " Possible: pause, stop, flatten."
    )


def test_card_stands_in_a_chat_of_its_owner(desk, stranger):
    theirs = as_owner(stranger, ConversationFactory)

    for conversation_id in (theirs.pk, uuid4()):
        with pytest.raises(ConversationNotFound):
            draw_card(conversation_id=conversation_id, action=desk.action("pause"), now=JUNE)


def test_backtest_that_is_drawn_is_not_refused_at_the_click(desk):
    first, last = date(2026, 5, 31), date(2026, 6, 1)
    within, beyond = date(2023, 6, 1), date(2023, 5, 31)  # of three years
    clicked = 0
    for starts_on, ends_on in ((within, None), (beyond, None), (last, last), (first, last)):
        try:
            card = desk.draw("start_backtest", starts_on=starts_on, ends_on=ends_on)
        except BacktestRefused:
            continue
        confirm(card, JUNE)
        clicked += 1
    assert BacktestRun.objects.count() == clicked > 0
