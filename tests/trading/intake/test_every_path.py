"""What no path may take in silently: one table of fills over a file, pushed fills, pushed ticks and a sync."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from tests.factories.record import DeploymentFactory
from tests.owners import as_owner
from tests.trading.data import FILLS, needs_fills
from tests.trading.intake.test_sync import add, server, sync_due_accounts
from tests.trading.ledger.test_rebuild import read_real_fills, rows
from trading.intake.files import ImportRefused, check_reading, import_file, keep_file, open_file, read_file, read_upload
from trading.ledger.arrivals import add_entries
from trading.ledger.entries import Entries
from trading.models import Deployment, Fill, ImportBatch, Trade, VenueAccount

__all__ = ["server"]

pytestmark = pytest.mark.django_db
NOW = datetime(2025, 3, 2, tzinfo=UTC)
PATHS = ("file", "fills", "ticks", "sync")


def fill(tid: int, minute: float, quantity: str, price: str = "100", start: str | None = None) -> dict:
    """Return a fill of the hour before now."""
    return {"tid": tid, "at": NOW + timedelta(minutes=minute - 60), "quantity": quantity, "px": price, "start": start}


def as_hyperliquid(one: dict) -> dict:
    size = one["quantity"].lstrip("-")
    row = {"coin": "BTC", "px": one["px"], "sz": size, "side": "A" if size != one["quantity"] else "B"}
    row |= {"time": int(one["at"].timestamp() * 1000), "hash": "0x0", "oid": 1, "tid": one["tid"]}
    row |= {"fee": "0.1", "feeToken": "USDC"}
    return row | ({} if one["start"] is None else {"startPosition": one["start"]})


def as_pushed(one: dict) -> dict:
    row = {"fill_id": str(one["tid"]), "symbol": "BTC", "at": one["at"].isoformat(), "price": one["px"]}
    return row | {"fee_coin": "USDC", "quantity": one["quantity"], "start_quantity": one["start"], "fee_in_coin": "0.1"}


def bring_file(trader, content: bytes, now, **choices) -> list:
    """Upload a file, read it and import it, as the pages do."""
    new = read_upload(content, zone="UTC")
    file = as_owner(trader, lambda: keep_file(new, name="fills.json", now=now))
    reading = read_file(opened := open_file(file), now=now)
    check_reading(reading, leaves_out=False)
    return as_owner(trader, lambda: import_file(opened, reading, **choices, now=now))


@dataclass
class Path:
    """One way into a record; `said` is what the user reads of the last delivery."""

    name: str
    trader: object
    api: object
    server: object
    said: str = ""
    deployment: object = None
    fills: list[dict] = field(default_factory=list)
    turns: int = 0

    def bring(self, *fills: dict) -> None:
        self.turns += 1
        getattr(self, f"_by_{self.name}")(list(fills))

    def _by_file(self, fills: list[dict]) -> None:
        content = json.dumps([as_hyperliquid(one) for one in fills]).encode()
        try:
            [done] = bring_file(self.trader, content, NOW)
            self.said = " ".join(conflict.text for conflict in done.record.conflicts)
        except ImportRefused as refusal:
            self.said = str(refusal)

    def _by_fills(self, fills: list[dict]) -> None:
        self._push("fills", fills)

    def _by_ticks(self, fills: list[dict]) -> None:
        self._push("ticks", fills, at=(NOW + timedelta(seconds=self.turns)).isoformat())

    def _push(self, door: str, fills: list[dict], **more) -> None:
        self.deployment = self.deployment or DeploymentFactory(broker_kind="live")
        body = {"fills": [as_pushed(one) for one in fills], **more}
        is_good = all(one["at"] <= NOW and len(one["quantity"]) < 10 for one in fills)
        status = 422 if not is_good else 201 if door == "ticks" else 200
        answer = self.api("post", f"deployments/{self.deployment.pk}/{door}/", body, status=status)
        self.said = json.dumps(answer.get("errors") or answer["conflicts"])

    def _by_sync(self, fills: list[dict]) -> None:
        answers = {"userFillsByTime": [as_hyperliquid(one) for one in fills], "userFunding": []}
        self.server.answers["/info"] = lambda question: answers[question["type"]]
        if self.turns == 1:
            add(self.trader)
        sync_due_accounts(self.trader, now=NOW + timedelta(hours=self.turns - 1))
        conflicts = [one["text"] for batch in ImportBatch.objects.all() for one in batch.conflicts]
        self.said = " ".join([*VenueAccount.objects.get().gaps, *conflicts])


@pytest.fixture(params=PATHS)
def path(request, trader, api, server):
    with time_machine.travel(NOW + timedelta(minutes=1), tick=False):
        yield Path(request.param, trader, api, server)


def stored() -> list[tuple]:
    return list(Fill.objects.order_by("at").values_list("quantity", "price"))


def test_known_fill_with_other_numbers_is_kept_and_reported(path, trader):
    path.bring(fill(1, 1, "2"), fill(2, 2, "-1"))

    path.bring(fill(1, 1, "2", price="101"))

    assert stored() == [(2, 100), (-1, 100)]
    assert "price: 100 is kept, 101 came" in path.said


def test_one_id_with_two_numbers_in_one_delivery_is_reported(path, trader):
    path.bring(fill(1, 1, "2"), fill(1, 1, "2", price="101"))

    words = {"file": "Item 2: it has the id of row 1", "sync": "it has the id of row 1"}
    assert words.get(path.name, "price: 100 is kept, 101 came") in path.said
    assert stored() == ([] if path.name == "file" else [(2, 100)])


BAD = {"a time of the future": (fill(2, 60 * 30, "1"), "future"), "too fine": (fill(2, 2, "0.0000000000001"), "")}


@pytest.mark.parametrize("case", BAD)
def test_fill_that_cannot_be_is_refused_with_its_row(path, trader, case):
    one, words = BAD[case]

    path.bring(fill(1, 1, "2"), one)

    assert words in path.said
    row = {"file": "Item 2:", "fills": "#/fills/1/", "ticks": "#/fills/1/", "sync": "1 trades were left out"}
    assert row[path.name] in path.said
    # A sync cannot be corrected by hand: it brings the rest and says what is missing.
    assert stored() == ([(2, 100)] if path.name == "sync" else [])


@pytest.mark.parametrize("start", ["3", None])
def test_history_that_begins_inside_a_position_is_marked(path, trader, start):
    path.bring(fill(1, 1, "-1", start=start), fill(2, 2, "-2", start=start and "2"))

    [trade] = Trade.objects.all()
    assert trade.reconciled == ("gap" if start else "unconfirmed")


LATER = datetime(2026, 1, 1, tzinfo=UTC)


def push_real(trader, api, server) -> None:
    names = ("fill_id", "symbol", "quantity", "price", "fee_usd", "start_quantity", "is_liquidation", "is_reducing")
    fills = [
        {name: str(value) for name in names if (value := getattr(one, name)) is not None} | {"at": one.at.isoformat()}
        for one in read_real_fills()
    ]
    ledger = DeploymentFactory(broker_kind="live")
    for begin in range(0, len(fills), 100):
        api("post", f"deployments/{ledger.pk}/fills/", {"fills": fills[begin : begin + 100]})


def import_real(trader, api, server) -> None:
    bring_file(trader, FILLS.read_bytes(), LATER)


def sync_real(trader, api, server) -> None:
    found = json.loads(FILLS.read_bytes())

    def answer(question):
        since, until = int(question["startTime"]), int(question["endTime"])
        return [one for one in found if since <= one["time"] <= until] if question["type"] == "userFillsByTime" else []

    server.answers["/info"] = answer
    add(trader)
    sync_due_accounts(trader, now=LATER)


@needs_fills
@pytest.mark.parametrize("bring", [push_real, import_real, sync_real])
def test_real_fills_give_one_ledger(bring, trader, api, server):
    with time_machine.travel(LATER, tick=False):
        bring(trader, api, server)
    [ledger] = Deployment.objects.filter(broker_kind="live")
    whole = DeploymentFactory(broker_kind="live")
    add_entries(deployment_id=whole.pk, entries=Entries(read_real_fills()), source="api", now=LATER)
    but = ("skill_version", "exit_skill_version")
    assert len(rows(whole)) == 32
    assert rows(ledger, but=but) == rows(whole, but=but)
