from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction

from config.lib.owned import ScopeError, owned_tx, system_tx
from tests.factories.memory import JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentCommandFactory,
    DeploymentFactory,
    EquityPointFactory,
    FillFactory,
    FundingRateFactory,
    MarketEventFactory,
    NewsItemFactory,
    OrderFactory,
    ReflectionNoteFactory,
    SkillDraftFactory,
    SkillFactory,
    SkillVersionFactory,
    TradeFactory,
)
from tests.owners import as_owner
from tests.tables import each_case
from trading.models import Deployment, Fill, ReflectionNote, Skill, SkillVersion, Trade

D = Decimal


@each_case(
    "factory, wrong, rule",
    [
        (SkillFactory, {"trading_style": "scalp"}, "skill_style_known"),
        (SkillVersionFactory, {"version": 0}, "skill_version_from_one"),
        (SkillDraftFactory, {"status": "lost"}, "skill_draft_status_known"),
        (SkillDraftFactory, {"base_version": 1}, "skill_draft_base_is_whole"),
        (DeploymentFactory, {"broker_kind": "bank"}, "deployment_broker_known"),
        (DeploymentFactory, {"starting_equity_usd": 0}, "deployment_starts_with_money"),
        (DeploymentFactory, {"halt_code": "R6_DAILY_LOSS_HALT"}, "deployment_halted_for_a_reason"),
        (DeploymentFactory, {"last_tick": 1}, "deployment_tick_has_its_time"),
        (DeploymentFactory, {"lease": uuid4()}, "deployment_lease_ends"),
        (DeploymentCommandFactory, {"status": "done"}, "command_over_has_its_time"),
        (BacktestRunFactory, {"ends_at": MAY - timedelta(days=90)}, "backtest_ends_after_start"),
        (BacktestRunFactory, {"ticks_done": 1}, "backtest_progress_is_a_share"),
        (BacktestRunFactory, {"slippage_bps": -1}, "backtest_slippage_costs"),
        (DecisionSnapshotFactory, {"verdict": "refused"}, "decision_refused_by_a_rule"),
        (OrderFactory, {"size_usd": None}, "order_has_a_size"),
        (OrderFactory, {"state": "refused"}, "order_refused_by_a_rule"),
        (OrderFactory, {"leverage": D("0.5")}, "order_leverage_from_one"),
        (FillFactory, {"quantity": 0}, "fill_moves_something"),
        (FillFactory, {"price": 0}, "fill_has_a_price"),
        (TradeFactory, {"status": "open"}, "trade_"),
        (TradeFactory, {"exit_kind": ""}, "trade_closed_has_its_exit"),
        (TradeFactory, {"exit_price": None}, "trade_closed_has_its_exit"),
        (TradeFactory, {"quantity": 1}, "trade_quantity_fits_its_side"),
        (TradeFactory, {"still_open": True, "side": "short"}, "trade_quantity_fits_its_side"),
        (TradeFactory, {"still_open": True, "exit_kind": "stop"}, "trade_closed_has_its_exit"),
        (TradeFactory, {"mfe_usd": 19}, "trade_gross_within_excursion"),
        (TradeFactory, {"mae_usd": 1}, "trade_"),
        (TradeFactory, {"entry_regime_tag": "calm"}, "trade_regime_known"),
        (TradeFactory, {"reconciled": "sure"}, "trade_reconciled_known"),
        (TradeFactory, {"entry_price": 0}, "trade_had_a_size"),
        (ReflectionNoteFactory, {"lessons_text": "x" * 2001}, "note_is_bounded"),
        (ReflectionNoteFactory, {"status": "superseded"}, "note_superseded_has_its_time"),
        (ReflectionNoteFactory, {"window_end": MAY - timedelta(days=90)}, "note_window_in_order"),
        (BarFactory, {"interval": "2m"}, "bar_interval_known"),
        (BarFactory, {"high": 99}, "bar_is_within_its_range"),
        (BarFactory, {"close": 106}, "bar_is_within_its_range"),
        (BarFactory, {"low": 0}, "bar_is_within_its_range"),
        (FundingRateFactory, {"hours": 0}, "funding_rate_within_a_day"),
        (NewsItemFactory, {"sentiment": 1.1}, "news_sentiment_in_range"),
        (MarketEventFactory, {"importance": 2}, "event_importance_in_range"),
        (MarketEventFactory, {"kind": "party"}, "event_kind_known"),
    ],
)
def test_database_refuses_rows_that_break_a_rule(factory, wrong, rule, as_trader):
    with pytest.raises(IntegrityError, match=rule), transaction.atomic():
        factory(**wrong)

    with transaction.atomic():
        factory(**{"still_open": True} if wrong.get("still_open") else {})
        transaction.set_rollback(True)


def twice(factory, **same):
    factory(**same)
    with pytest.raises(IntegrityError), transaction.atomic():
        factory(**same)


def test_database_refuses_a_second_row_of_the_same_key(as_trader):
    deployment = DeploymentFactory()

    twice(TradeFactory, deployment=deployment, still_open=True)
    twice(TradeFactory, deployment=deployment, first_fill_id="1")
    twice(FillFactory, deployment=deployment, fill_id="1")
    twice(DecisionSnapshotFactory, deployment=deployment, tick=1)
    twice(EquityPointFactory, deployment=deployment, tick=1)
    twice(DeploymentCommandFactory, deployment=deployment)
    twice(ReflectionNoteFactory, deployment=deployment)
    twice(ReflectionNoteFactory, deployment=None, skill=deployment.skill)
    twice(SkillVersionFactory, skill=SkillFactory())
    twice(SkillFactory, name="Dips")
    twice(SkillDraftFactory)
    twice(SkillDraftFactory, base_skill=deployment.skill, base_version=1)
    twice(BarFactory)
    twice(FundingRateFactory)
    twice(NewsItemFactory, key="1")
    twice(MarketEventFactory, key="1")


def test_names_of_skills_differ_by_more_than_their_case(as_trader, stranger):
    SkillFactory(name="Dips")
    SkillFactory(name="Old", archived_at=JUNE)
    SkillFactory(name="old")
    as_owner(stranger, lambda: SkillFactory(name="Dips"))

    with pytest.raises(IntegrityError), transaction.atomic():
        SkillFactory(name="DIPS")
    assert Skill.objects.count() == 3


def test_other_notes_of_a_deployment_may_be_superseded(as_trader):
    note = ReflectionNoteFactory()

    for _ in range(2):
        ReflectionNoteFactory(deployment=note.deployment, status="superseded", superseded_at=JUNE)

    assert ReflectionNote.objects.count() == 3


def test_stored_version_and_the_style_of_a_skill_never_change(as_trader):
    skill = SkillVersionFactory().skill

    for column in ({"payload": {}}, {"version": 7}):
        with pytest.raises(ScopeError):
            SkillVersion.objects.update(**column)
    with pytest.raises(ScopeError):
        Skill.objects.update(trading_style="day")
    skill.name = "Other"
    skill.save(update_fields=["name"])


def test_everything_goes_with_its_owner(trader):
    with owned_tx(trader):
        deployment = DeploymentFactory()
        snapshot = DecisionSnapshotFactory(deployment=deployment)
        order = OrderFactory(deployment=deployment, snapshot=snapshot)
        FillFactory(deployment=deployment, order=order)
        TradeFactory(deployment=deployment, entry_snapshot=snapshot, exit_snapshot=snapshot)
        ReflectionNoteFactory(deployment=deployment)
        BacktestRunFactory(deployment__version=deployment.version)
        DeploymentCommandFactory(deployment=deployment)
        SkillDraftFactory(base_skill=deployment.skill, base_version=1)

    with system_tx("test: erasure"):
        trader.delete()
        assert [model.objects.count() for model in (Skill, Deployment, Trade, Fill, ReflectionNote)] == [0] * 5


def test_numbers_come_back_as_they_went_in(as_trader):
    trade = TradeFactory(gross_pnl_usd=D("12.345678901234"), fees_usd=D("-0.000000000001"), entry_price=D("0.00001234"))

    stored = Trade.objects.get(pk=trade.pk)

    assert (stored.gross_pnl_usd, stored.fees_usd) == (D("12.345678901234"), D("-0.000000000001"))
    assert stored.entry_price == D("0.00001234")
