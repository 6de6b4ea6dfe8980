"""Confirm cards: one click of the owner, only for the shown action."""

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from operator import attrgetter

import pytest
from django.db import connection

from chat.cards import (
    LIFETIME,
    CardDecided,
    CardExpired,
    CardOutdated,
    cancel_card,
    confirm_card,
    draw_card,
    expire_cards,
    view_card,
)
from chat.jobs import sweep_cards
from chat.models import ActionCard
from config.lib.owned import owned_tx
from config.lib.proofs import OPERATOR, Door, Proof, SecondFactorNeeded
from tests.chat.desk import SECOND, TYPES, confirm, new_version, queued, status_of
from tests.factories.chat import ActionCardFactory, ConversationFactory
from tests.factories.memory import JUNE, MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DeploymentCommandFactory,
    DeploymentFactory,
    TradeFactory,
)
from trading.ledger.services import DeploymentNotFound
from trading.models import BacktestRun, Deployment, DeploymentCommand, Skill, Trade
from trading.record import actions
from trading.record.deployments import CommandRefused


def tamper(card: ActionCard, column: str, value: object) -> None:
    """Write a column behind the back of the model, which would refuse it."""
    stored = value if isinstance(value, str) and column != "payload" else json.dumps(value)
    with connection.cursor() as cursor:
        cast = "%s::jsonb" if connection.vendor == "postgresql" and column in ("payload", "lines") else "%s"
        cursor.execute(f"UPDATE action_cards SET {column} = {cast} WHERE id = %s", [stored, _key(card.pk)])  # noqa: S608
        assert cursor.rowcount == 1


def _key(pk):
    return ActionCard._meta.pk.get_db_prep_value(pk, connection)


# --- What is drawn twice ---


def test_newer_card_for_the_same_thing_replaces_the_older(desk):
    older, newer = desk.draw("pause"), desk.draw("pause", JUNE + SECOND)

    older.refresh_from_db()
    assert (older.status, older.decided_at) == ("cancelled", JUNE + SECOND)
    assert older.outcome == {"replaced_by": str(newer.pk)}
    assert view_card(older).said == "Replaced by a newer one. Nothing was done."
    with pytest.raises(CardDecided):
        confirm(older, JUNE + 2 * SECOND)
    assert confirm(newer, JUNE + 2 * SECOND).status == "confirmed"


def test_card_for_another_thing_replaces_nothing(desk):
    pause = desk.draw("pause")
    desk.draw("stop")
    desk.draw("deploy")
    desk.draw("stop", deployment_id=desk.paused.pk)
    draw_card(conversation_id=ConversationFactory().pk, action=desk.action("pause"), now=JUNE)

    assert set(ActionCard.objects.values_list("status", flat=True)) == {"pending"}
    assert confirm(pause).status == "confirmed"


def test_card_that_was_decided_is_not_replaced(desk):
    card = confirm(desk.draw("deploy"))
    desk.draw("deploy", JUNE + 2 * SECOND)

    assert status_of(card) == "confirmed"


# --- What a click does ---


@pytest.mark.parametrize("kind", ["redeploy", "stop", "pause", "resume", "flatten"])
def test_confirmed_command_waits_for_the_runner(desk, kind):
    card = confirm(desk.draw(kind))

    command = DeploymentCommand.objects.get()
    deployment = desk.paused if kind == "resume" else desk.running
    assert (command.kind, command.status, command.deployment_id) == (kind, "pending", deployment.pk)
    assert card.outcome == {"command_id": str(command.pk), "deployment_id": str(deployment.pk)}
    assert (card.status, card.decided_at) == ("confirmed", JUNE + SECOND)
    assert queued() == (1, 2, 0)
    assert Trade.objects.open().count() == 1


def test_confirmed_deploy_runs_the_version_that_was_shown(desk):
    card = confirm(desk.draw("deploy", starting_equity_usd=Decimal("2500.50")))

    made = Deployment.objects.get(pk=card.outcome["deployment_id"])
    assert (made.skill_id, made.version.version, made.broker_kind, made.status) == (
        desk.skill.pk,
        1,
        "paper",
        "running",
    )
    assert made.starting_equity_usd == Decimal("2500.50")
    assert queued() == (0, 3, 0)


def test_confirmed_backtest_waits_for_its_runner(desk):
    card = confirm(desk.draw("start_backtest", starting_equity_usd=Decimal(500)))

    run = BacktestRun.objects.get(pk=card.outcome["run_id"])
    assert (run.status, run.starts_at, run.ends_at) == ("pending", datetime(2026, 5, 30, tzinfo=UTC), JUNE)
    assert (run.fee_bps, run.slippage_bps, run.reflects) == (4, 2, True)
    assert (run.deployment.skill_id, run.deployment.starting_equity_usd) == (desk.skill.pk, 500)
    assert queued() == (0, 3, 1)


def test_second_click_does_nothing(desk):
    card = desk.draw("deploy")
    confirm(card)

    with pytest.raises(CardDecided, match="confirmed before"):
        confirm(card, JUNE + 2 * SECOND)
    with pytest.raises(CardDecided, match="confirmed before"):
        cancel_card(card_id=card.pk, now=JUNE + 2 * SECOND)
    assert queued() == (0, 3, 0)


def test_cancelled_card_does_nothing(desk):
    card = desk.draw("stop")

    cancelled = cancel_card(card_id=card.pk, now=JUNE + SECOND)

    assert (cancelled.status, cancelled.decided_at, cancelled.outcome) == ("cancelled", JUNE + SECOND, {})
    assert view_card(cancelled).said == "Cancelled. Nothing was done."
    with pytest.raises(CardDecided, match="cancelled before"):
        confirm(card, JUNE + 2 * SECOND)
    assert queued() == (0, 2, 0)


def test_card_is_good_for_a_quarter_of_an_hour_and_not_a_moment_more(desk):
    first, second = desk.draw("pause"), desk.draw("stop")

    assert confirm(first, JUNE + LIFETIME - timedelta(microseconds=1)).status == "confirmed"
    for act in (confirm, lambda card, now: cancel_card(card_id=card.pk, now=now)):
        with pytest.raises(CardExpired):
            act(second, JUNE + timedelta(minutes=15))
    assert status_of(second) == "pending"
    assert queued() == (1, 2, 0)


def test_sweep_closes_what_has_expired_of_everybody(desk, trader, stranger):
    mine = desk.draw("pause")
    decided = cancel_card(card_id=desk.draw("stop").pk, now=JUNE)
    younger = desk.draw("deploy", JUNE + SECOND)

    assert expire_cards(now=JUNE + LIFETIME - SECOND) == 0
    assert expire_cards(now=JUNE + LIFETIME) == 1
    assert [status_of(card) for card in (mine, decided, younger)] == ["expired", "cancelled", "pending"]
    with pytest.raises(CardExpired):
        confirm(mine, JUNE + LIFETIME)
    mine.refresh_from_db()
    assert mine.decided_at == JUNE + LIFETIME
    assert view_card(mine).said.startswith("Expired. Nothing was done.")


def test_job_of_the_sweep_says_how_many(trader, stranger):
    for user in (trader, stranger):
        with owned_tx(user):
            ActionCardFactory()

    assert sweep_cards(MAY + timedelta(minutes=14)) == "0 cards expired"
    assert sweep_cards(MAY + timedelta(minutes=15)) == "2 cards expired"


# --- What was seen is what runs ---


@pytest.mark.parametrize("digest", ["", "0" * 64, "ü", "\ud800", "x" * 10_000])
def test_click_on_something_else_is_refused(desk, digest):
    card = desk.draw("stop")

    with pytest.raises(CardOutdated, match="not the one you saw"):
        confirm_card(card_id=card.pk, digest=digest, proof=OPERATOR, now=JUNE)
    assert (status_of(card), queued()) == ("pending", (0, 2, 0))


@pytest.mark.parametrize("column", ["payload", "lines", "fingerprint", "digest", "type"])
def test_row_that_was_tampered_with_is_refused(desk, column):
    card = desk.draw("pause")
    values = {
        "payload": {"deployment_id": str(DeploymentFactory().pk)},
        "lines": [["Skill", "Something harmless"]],
        "fingerprint": "f" * 64,
        "digest": "f" * 64,
        "type": "stop",
    }
    before = queued()
    tamper(card, column, values[column])

    for digest in (card.digest, ActionCard.objects.get(pk=card.pk).digest):
        with pytest.raises(CardOutdated):
            confirm_card(card_id=card.pk, digest=digest, proof=OPERATOR, now=JUNE)
    assert (status_of(card), queued()) == ("pending", before)


def test_what_runs_cannot_be_changed_through_the_model(desk):
    card = desk.draw("pause")

    for column in ("type", "payload", "lines", "fingerprint", "digest"):
        with pytest.raises(RuntimeError, match="never changes"):
            ActionCard.objects.filter(pk=card.pk).update(**{column: getattr(card, column)})


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("deploy", lambda desk: new_version(desk.skill)),
        ("deploy", lambda desk: Skill.objects.update(archived_at=JUNE)),
        ("deploy", lambda desk: DeploymentFactory(version=desk.running.version)),
        ("deploy", lambda desk: Deployment.objects.update(status="stopped", stopped_at=JUNE)),
        ("start_backtest", lambda desk: new_version(desk.skill)),
        ("start_backtest", lambda desk: Skill.objects.update(archived_at=JUNE)),
        ("redeploy", lambda desk: new_version(desk.skill)),
        ("pause", lambda desk: Deployment.objects.update(status="paused")),
        ("pause", lambda desk: Deployment.objects.update(version=new_version(desk.skill))),
        ("pause", lambda desk: DeploymentCommandFactory(deployment=desk.running, kind="pause")),
        ("resume", lambda desk: Deployment.objects.update(status="running")),
        ("stop", lambda desk: Deployment.objects.update(status="stopped", stopped_at=JUNE)),
        ("flatten", lambda desk: Trade.objects.filter(pk=desk.trade.pk).update(quantity=Decimal(1))),
        ("flatten", lambda desk: Trade.objects.filter(pk=desk.trade.pk).delete()),
        ("flatten", lambda desk: TradeFactory(deployment=desk.running, still_open=True, symbol="ETH")),
    ],
)
def test_change_between_drawing_and_click_refuses_the_card(desk, kind, change):
    card = desk.draw(kind)
    change(desk)
    before = queued()

    with pytest.raises(CardOutdated, match="changed since this card was drawn"):
        confirm(card)
    assert (status_of(card), queued()) == ("pending", before)


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("pause", lambda desk: DeploymentCommandFactory(deployment=desk.running, kind="flatten")),
        ("pause", lambda desk: DeploymentCommandFactory(deployment=desk.paused, kind="pause")),
        ("pause", lambda desk: new_version(desk.skill)),
        ("stop", lambda desk: Trade.objects.filter(pk=desk.trade.pk).delete()),
        ("flatten", lambda desk: BarFactory(symbol="BTC", opened_at=JUNE, close=Decimal(115), high=Decimal(115))),
        ("deploy", lambda desk: BacktestRunFactory(deployment__version=desk.running.version)),
    ],
)
def test_change_that_a_card_does_not_depend_on_lets_it_be(desk, kind, change):
    card = desk.draw(kind)
    change(desk)

    assert confirm(card).status == "confirmed"


@pytest.mark.parametrize("kind", TYPES)
def test_session_without_the_second_factor_leaves_the_card_waiting_where_the_site_asks_for_it(desk, settings, kind):
    settings.CONFIRM_NEEDS_SECOND_FACTOR = True
    card = desk.draw(kind)
    before = queued()

    with pytest.raises(SecondFactorNeeded):
        confirm_card(card_id=card.pk, digest=card.digest, proof=Proof(Door.SESSION), now=JUNE)
    assert (status_of(card), queued()) == ("pending", before)


@pytest.mark.parametrize(
    ("kind", "service"),
    [("pause", "request_command"), ("deploy", "deploy_skill"), ("start_backtest", "backtests.start_backtest")],
)
def test_refusal_of_trading_leaves_the_card_waiting_and_nothing_queued(desk, monkeypatch, kind, service):
    card, honest = desk.draw(kind), attrgetter(service)(actions)

    def refuse_late(**values):
        honest(**values)
        raise CommandRefused("The deployment is in no state for that.")

    monkeypatch.setattr(f"trading.record.actions.{service}", refuse_late)
    with pytest.raises(CommandRefused):
        confirm(card)

    card.refresh_from_db()
    assert (card.status, card.decided_at, card.outcome, queued()) == ("pending", None, {}, (0, 2, 0))


def test_row_that_is_gone_refuses_the_card(desk):
    other = DeploymentFactory()
    card = desk.draw("pause", deployment_id=other.pk)
    other.delete()

    with pytest.raises(DeploymentNotFound):
        confirm(card)
    assert status_of(card) == "pending"
