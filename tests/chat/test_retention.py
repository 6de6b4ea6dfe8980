"""What the settings do not keep goes, of every user; figures and what is newer stay."""

from datetime import timedelta
from decimal import Decimal

import pytest

from chat.jobs import RETENTION
from chat.models import Message, PromptText, Receipt
from config.lib.owned import owned_tx, system
from config.lib.work import retention
from config.lib.work.retention import drop_old_rows
from tests.factories.chat import ConversationFactory, MessageFactory
from tests.factories.memory import MAY
from tests.factories.record import DecisionSnapshotFactory, DeploymentFactory, EquityPointFactory
from trading.models import DecisionSnapshot, EquityPoint, StaffEntry

DAY = timedelta(days=1)
NOW = MAY + 100 * DAY


@pytest.fixture
def keeps(settings):
    settings.KEEP_DAYS = {"contexts": 50, "equity": 50, "receipts": 50, "staff_log": 0, "invitations": 50}
    return settings.KEEP_DAYS


def make_equity(deployment) -> None:
    """Write two days of hours, one old and one new, that fall in the middle of the day."""
    tick = 0
    for day in (MAY, NOW - DAY):
        for hour in range(24):
            tick += 1
            values = {
                "tick": tick,
                "at": day.replace(hour=hour),
                "equity_usd": Decimal(10_000 - 100 * (12 - abs(hour - 12))),
            }
            EquityPointFactory(deployment=deployment, **values)


def test_equity_keeps_the_ends_and_the_extremes_of_an_old_day(trader, stranger, keeps):
    for user in (trader, stranger):
        with owned_tx(user):
            make_equity(DeploymentFactory())

    assert drop_old_rows(RETENTION, NOW) == "42 equity dropped"

    for user in (trader, stranger):
        with owned_tx(user):
            old = EquityPoint.objects.filter(at__lt=NOW - 2 * DAY).order_by("at")
            assert [(one.at.hour, one.equity_usd) for one in old] == [(0, 10_000), (12, 8_800), (23, 9_900)]
            assert EquityPoint.objects.count() == 3 + 24
    assert drop_old_rows(RETENTION, NOW) == "nothing dropped"


def test_more_than_a_batch_goes_in_several_transactions(trader, keeps, monkeypatch):
    monkeypatch.setattr(retention, "BATCH", 5)
    with owned_tx(trader):
        make_equity(DeploymentFactory())

    assert drop_old_rows(RETENTION, NOW) == "21 equity dropped"


def test_contexts_receipts_and_the_staff_log_go_by_their_days(trader, keeps):
    keeps["staff_log"] = 10
    with owned_tx(trader):
        deployment = DeploymentFactory()
        for tick, at in enumerate((MAY, NOW - DAY), start=1):
            DecisionSnapshotFactory(deployment=deployment, tick=tick, tick_at=at, context=f"saw {tick}")
            StaffEntry.objects.create(staff_id=1, act="read", subject="a trade", reason="asked", created_at=at)
            reply = MessageFactory(conversation=ConversationFactory(), role="assistant", created_at=at)
            Message.objects.filter(pk=reply.pk).update(created_at=at)
            for sha256 in (f"{tick}", "both", "tools"):
                PromptText.objects.get_or_create(sha256=sha256, defaults={"text": sha256})
            segments = [{"name": "day", "sha256": f"{tick}"}, {"name": "rules", "sha256": "both"}]
            Receipt.objects.create(reply=reply, segments=segments, tools_sha256="tools", sha256="-")

    assert drop_old_rows(RETENTION, NOW) == "1 contexts, 1 receipts, 1 staff_log dropped"

    with system("test"):
        assert [one.context for one in DecisionSnapshot.objects.order_by("tick")] == ["", "saw 2"]
        assert set(PromptText.objects.values_list("sha256", flat=True)) == {"2", "both", "tools"}
        assert (Receipt.objects.count(), Message.objects.count(), StaffEntry.objects.count()) == (1, 2, 1)


def test_what_is_kept_for_ever_stays(trader, keeps):
    keeps.update(dict.fromkeys(keeps, 0))
    with owned_tx(trader):
        make_equity(DeploymentFactory())

    assert drop_old_rows(RETENTION, NOW) == "nothing dropped"
