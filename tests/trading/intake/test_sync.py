import json
import logging
from collections import Counter
from contextvars import Context
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest
from cryptography.fernet import Fernet

from config.lib.owned import owned_tx, system_tx
from config.lib.proofs import OPERATOR
from tests.factories.trading import TraderFactory
from tests.owners import as_owner
from tests.trading.intake.samples import SAMPLES
from tests.trading.intake.test_feeds import RIGHTS, SECRET, kraken_rights, open_once
from tests.trading.intake.venue_server import VenueServer
from trading.intake import feeds
from trading.intake.feeds import Credentials
from trading.intake.keys import MAX_SECRET, KeysUnavailable, decrypt_credentials, encrypt_credentials
from trading.intake.sync import (
    MAX_ACCOUNTS,
    MAX_MARKETS,
    SYNC_EVERY,
    AccountRefused,
    NewAccount,
    add_account,
    check_account,
    list_due_accounts,
    remove_account,
    sync_account,
)
from trading.market.imports.venue import VenueRefused
from trading.models import Deployment, Fill, FundingPayment, ImportBatch, Trade, VenueAccount

pytestmark = pytest.mark.django_db
NOW = datetime(2025, 3, 2, tzinfo=UTC)
ADDRESS = "0x" + "ab" * 20
KEY = "key-of-the-test-account"
ADDRESS_IDS = (uuid4(), uuid4())


@pytest.fixture
def owner(as_trader):
    """The trader, in whose scope the test is."""
    return as_trader


@pytest.fixture
def server(monkeypatch):
    with VenueServer().running() as running:
        monkeypatch.setattr(feeds, "open_venue", lambda name, *given: running.redirect(open_once(name, *given)))
        yield running


def answer_hyperliquid(question):
    samples = {"userFillsByTime": "hyperliquid, API", "userFunding": "hyperliquid, funding of the API"}
    rows = json.loads(SAMPLES[samples[question["type"]]].content)
    return [row for row in rows if int(question["startTime"]) <= row["time"] <= int(question["endTime"])]


def add(trader, **values) -> VenueAccount:
    new = NewAccount(**({"venue": "hyperliquid", "address": ADDRESS} | values))
    Context().run(check_account, new)
    return as_owner(trader, lambda: add_account(new, proof=OPERATOR, now=NOW))


def sync_due_accounts(trader, *, now) -> Counter:
    """Read the due accounts of a user, outside the scope of the test; count what came of them."""

    def sync():
        with system_tx("test"):
            due = [key for key in list_due_accounts(now) if key.user_id == trader.pk]
        return sum((sync_account(key.row_id, user_id=key.user_id, now=now) for key in due), Counter())

    return Context().run(sync)


def add_kraken(trader, server) -> VenueAccount:
    path, answer = RIGHTS["kraken"]
    server.answers[path] = answer
    return add(trader, venue="kraken", address="", credentials=Credentials(KEY, SECRET))


def test_sync_of_an_address_brings_its_trades_once(owner, server):
    server.answers["/info"] = answer_hyperliquid
    add(owner)

    for turn in range(3):
        sync_due_accounts(owner, now=NOW + turn * SYNC_EVERY)

    assert (Fill.objects.count(), FundingPayment.objects.count(), ImportBatch.objects.count()) == (2, 1, 1)
    [trade], [account] = Trade.objects.all(), VenueAccount.objects.all()
    assert (trade.symbol, trade.status) == ("BTC", "closed")
    assert (account.read_until, account.error, account.gaps) == (NOW + 2 * SYNC_EVERY, "", [])


def test_sync_after_a_pause_longer_than_the_venue_keeps_shows_the_gap(owner, server):
    account = add_kraken(owner, server)
    server.answers["private/TradesHistory"] = {"error": [], "result": {"count": 0, "trades": {}}}
    VenueAccount.objects.filter(pk=account.pk).update(read_until=NOW - timedelta(days=3000))

    sync_due_accounts(owner, now=NOW)

    [gap] = VenueAccount.objects.get().gaps
    assert "Nothing is known of" in gap


def test_sync_of_a_venue_that_does_not_answer_keeps_the_account_and_says_so(owner, server):
    add(owner)
    server.status = 503
    server.answers["/info"] = {"msg": "down"}

    counts = sync_due_accounts(owner, now=NOW)

    account = VenueAccount.objects.get()
    assert counts["accounts failed"] == 1
    assert "did not answer" in account.error
    assert account.read_until is None


def test_sync_refuses_a_key_that_was_widened_since(owner, server):
    add_kraken(owner, server)
    server.answers[RIGHTS["kraken"][0]] = kraken_rights("query-funds", "modify-trades")

    sync_due_accounts(owner, now=NOW)

    assert "modify-trades" in VenueAccount.objects.get().error
    assert not Fill.objects.exists()


def test_list_due_accounts_names_those_of_all_users(server, trader):
    other = TraderFactory()
    mine, theirs = add(trader), add(other)

    with system_tx("test"):
        assert set(list_due_accounts(NOW)) == {(trader.pk, mine.pk), (other.pk, theirs.pk)}
        assert list_due_accounts(NOW - timedelta(seconds=1)) == []


def test_an_account_is_refused_before_it_is_stored(owner, server):
    keys = {"address": "", "credentials": Credentials(KEY, SECRET)}
    for values, words in (
        ({"address": "0x12"}, "40 hexadecimal"),
        ({"venue": "kraken", "address": ""}, "key and its secret"),
        ({"venue": "okx", **keys}, "passphrase"),
        ({"venue": "binance", **keys}, "BTCUSDT"),
    ):
        with pytest.raises(AccountRefused, match=words):
            add(owner, **values)
    server.answers[RIGHTS["kraken"][0]] = kraken_rights("modify-trades")
    with pytest.raises(VenueRefused, match="modify-trades"):
        add(owner, venue="kraken", **keys)
    assert not VenueAccount.objects.exists()

    add(owner)
    with pytest.raises(AccountRefused, match="already"):
        add(owner)


@pytest.mark.limit("trading.intake.keys.MAX_SECRET")
def test_keys_that_are_too_long_to_be_keys_are_refused(owner, server):
    server.answers[RIGHTS["kraken"][0]] = RIGHTS["kraken"][1]
    long = "k" * (MAX_SECRET + 1)
    for given in (Credentials(long, SECRET), Credentials(KEY, long), Credentials(KEY, SECRET, long)):
        with pytest.raises(AccountRefused, match="too long to be one"):
            add(owner, venue="kraken", address="", credentials=given)


@pytest.mark.limit("trading.intake.sync.MAX_MARKETS")
def test_account_names_so_many_markets(owner, server):
    markets = tuple(f"C{number}USDT" for number in range(MAX_MARKETS + 1))

    with pytest.raises(AccountRefused, match=f"at most {MAX_MARKETS} markets"):
        add(owner, venue="binance", address="", credentials=Credentials(KEY, SECRET), markets=markets)


@pytest.mark.limit("trading.intake.sync.MAX_ACCOUNTS")
def test_user_has_so_many_accounts(owner, server):
    for number in range(MAX_ACCOUNTS):
        add(owner, address=f"0x{number:040x}", name=f"desk {number}")

    with pytest.raises(AccountRefused, match=f"{MAX_ACCOUNTS} accounts already"):
        add(owner, address=ADDRESS, name="one more")


def test_accounts_of_one_venue_keep_records_apart_by_their_names(owner, server):
    server.answers["/info"] = answer_hyperliquid
    add(owner)
    other = "0x" + "ef" * 20
    with pytest.raises(AccountRefused, match="without a name at Hyperliquid"):
        add(owner, address=other)
    second = add(owner, address=other, name="desk")

    sync_due_accounts(owner, now=NOW)

    ledgers = {ledger.label: ledger.fills.count() for ledger in Deployment.objects.all()}
    assert ledgers == {"Hyperliquid futures": 2, "Hyperliquid desk futures": 2}
    second.delete()
    with pytest.raises(AccountRefused, match="without a name"):
        add(owner, address=other)
    add(owner, address=other, name="desk")
    sync_due_accounts(owner, now=NOW)
    assert Deployment.objects.count() == 2  # a new key under the old name goes on with its record


def test_a_key_is_stored_encrypted_and_deleted_with_the_account_or_the_user(trader, server, caplog):
    caplog.set_level(logging.DEBUG)
    account = add_kraken(trader, server)
    server.answers["private/TradesHistory"] = json.loads(SAMPLES["kraken, API"].content)
    sync_due_accounts(trader, now=NOW)

    with system_tx("the whole row"):
        row = str(VenueAccount.objects.filter(pk=account.pk).values().get())
    assert SECRET not in row
    assert KEY not in row
    assert SECRET not in caplog.text
    assert KEY not in caplog.text
    with owned_tx(trader):
        remove_account(account.pk)
        assert Fill.objects.count() == 2
    add_kraken(trader, server)
    with system_tx("the user leaves"):
        trader.delete()
        assert not VenueAccount.objects.exists()


def test_a_key_opens_only_for_its_account_and_with_the_sites_key(settings):
    first, second = ADDRESS_IDS
    sealed = encrypt_credentials(Credentials(KEY, SECRET, "word"), account_id=first)

    assert decrypt_credentials(sealed, account_id=first) == Credentials(KEY, SECRET, "word")
    with pytest.raises(KeysUnavailable):
        decrypt_credentials(sealed, account_id=second)
    settings.VENUE_KEYS = [Fernet.generate_key().decode(), *settings.VENUE_KEYS]
    assert decrypt_credentials(sealed, account_id=first).secret == SECRET
    settings.VENUE_KEYS = [Fernet.generate_key().decode()]
    with pytest.raises(KeysUnavailable):
        decrypt_credentials(sealed, account_id=first)
    settings.VENUE_KEYS = []
    with pytest.raises(KeysUnavailable, match="VENUE_KEYS"):
        encrypt_credentials(Credentials(KEY, SECRET), account_id=first)
