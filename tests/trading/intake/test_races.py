import json
from functools import partial

import pytest

from config.lib.owned import owned
from tests.trading.intake.samples import SAMPLES
from tests.trading.intake.test_sync import NOW, SYNC_EVERY, add, answer_hyperliquid, server
from tests.trading.ledger.test_races import race, race_freely
from trading.intake.guessing import propose_mapping
from trading.intake.ledgers import add_reading
from trading.intake.reading import read_fills
from trading.intake.sync import sync_account
from trading.intake.tables import read_table
from trading.models import Deployment, EntrySource, Fill, ImportBatch, Skill, Trade

__all__ = ["server"]

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]


def test_first_imports_that_race_make_one_skill_and_count_each_fill_once(trader):
    table = read_table(SAMPLES["okx"].content)
    reading = read_fills(table, propose_mapping(table, zone="UTC"), now=NOW)
    work = partial(add_reading, reading, venue="OKX", source=EntrySource.FILE, name="okx.csv", details={}, now=NOW)

    race(trader, *[work] * 6)

    with owned(trader):
        assert (Skill.objects.count(), Deployment.objects.count()) == (1, 2)
        assert (Fill.objects.count(), Trade.objects.count(), ImportBatch.objects.count()) == (4, 2, 2)


def test_syncs_of_one_account_that_race_read_it_once(trader, server):
    server.answers["/info"] = answer_hyperliquid
    account = add(trader)

    done = race_freely(*[partial(sync_account, account.pk, user_id=trader.pk, now=NOW + SYNC_EVERY)] * 6)

    assert sum(counts["accounts read"] for counts in done) == 1
    assert json.dumps(server.asked).count("userFillsByTime") == 1
    with owned(trader):
        assert Fill.objects.count() == 2
