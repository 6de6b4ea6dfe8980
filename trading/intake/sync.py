"""Read the trades of venue accounts, again and again: safe to repeat, with what is missing in words."""

import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

from config.lib.errors import DomainError, NotFound
from config.lib.owned import owned_tx, owner_id
from config.lib.postgresql.locks import lock_owner
from config.lib.proofs import Proof, require_sign_in
from config.lib.work.defer import defer
from config.lib.work.jobs import Key
from trading.intake.feeds import SOURCES, Credentials, VenueSource, check_rights, fetch_records, open_account
from trading.intake.formats import find_format
from trading.intake.guessing import propose_mapping
from trading.intake.keys import MAX_SECRET, decrypt_credentials, encrypt_credentials
from trading.intake.ledgers import add_reading, name_account
from trading.intake.reading import FileReading, read_fills
from trading.intake.tables import table_of_records
from trading.market.imports.venue import VenueRefused
from trading.models import EntrySource, VenueAccount

logger = logging.getLogger(__name__)

SYNC: Final = "sync_account"  # the task
SYNC_EVERY: Final = timedelta(minutes=5)
MAX_ACCOUNTS: Final = 10  # of a user
MAX_MARKETS: Final = 50
_OVERLAP: Final = timedelta(hours=1)  # a venue may report a trade late
_GAPS_KEPT: Final = 10
_MOST_BY_ADDRESS: Final = 10_000  # Hyperliquid gives the newest alone
_ADDRESS: Final = re.compile(r"0x[0-9a-f]{40}\Z")
_MARKET: Final = re.compile(r"[A-Z0-9]{4,30}\Z")


class AccountRefused(DomainError):
    """The account cannot be added; the message says why."""


class AccountNotFound(NotFound):
    """There is no such account."""


@dataclass(frozen=True, slots=True)
class NewAccount:
    venue: str
    name: str = ""
    address: str = ""
    credentials: Credentials | None = None
    markets: list[str] = field(default_factory=list)


def build_account(given: Mapping[str, Any], markets: Iterable[str]) -> NewAccount:
    """Return an account from a form or a request: an address, or a key with its markets."""
    venue, name = given["venue"], given["name"].strip()
    if SOURCES[venue].by_address:
        return NewAccount(venue, name, given["address"].strip().lower())
    key = Credentials(given["key"], given["secret"].strip(), given["password"])
    return NewAccount(venue, name, credentials=key, markets=[market.upper() for market in markets])


def check_account(new: NewAccount) -> None:
    """Ask the venue; refuse an account that is incomplete or whose key may do more than read. Raises DomainError."""
    source = SOURCES.get(new.venue)
    if source is None:
        raise AccountRefused(f"Keel reads accounts of {', '.join(one.label for one in SOURCES.values())}.")
    if source.by_address:
        if not _ADDRESS.match(new.address):
            raise AccountRefused("An address begins with 0x and has 40 hexadecimal digits after it.")
        return
    given = new.credentials
    if given is None or not given.key or not given.secret:
        raise AccountRefused("Enter the key and its secret.")
    if source.needs_password and not given.password:
        raise AccountRefused(f"{source.label} also gives each key a passphrase. Enter it.")
    if max(len(given.key), len(given.secret), len(given.password)) > MAX_SECRET:
        raise AccountRefused("The key is too long to be one.")
    if source.needs_markets and not new.markets:
        raise AccountRefused(
            f"{source.label} tells trades only market by market. Name yours, such as BTCUSDT, ETHUSDT."
        )
    if len(new.markets) > MAX_MARKETS or any(not _MARKET.match(market) for market in new.markets):
        raise AccountRefused(f"Name at most {MAX_MARKETS} markets as the venue writes them, such as BTCUSDT.")
    check_rights(source, open_account(source, given))


def add_account(new: NewAccount, *, proof: Proof, now: datetime) -> VenueAccount:
    """Store a checked account; needs `owned_tx(user)`. Raises AccountRefused, KeysUnavailable, SignInNeeded."""
    require_sign_in(proof, now=now)
    lock_owner()  # or two requests add what neither of them finds
    if VenueAccount.objects.count() >= MAX_ACCOUNTS:
        raise AccountRefused(f"There are {MAX_ACCOUNTS} accounts already. Remove one that is not used any more.")
    others = VenueAccount.objects.filter(venue=new.venue)
    if new.address and others.filter(address=new.address).exists():
        raise AccountRefused("This address is read already.")
    if others.filter(name=new.name).exists():
        named = f"named {new.name}" if new.name else "without a name"
        venue = SOURCES[new.venue].label
        raise AccountRefused(f"Keel reads an account {named} at {venue}. Name this one, so that its trades stay apart.")
    account_id, key = uuid4(), new.credentials
    defer(SYNC, Key(owner_id(), account_id))
    return VenueAccount.objects.create(
        id=account_id,
        venue=new.venue,
        name=new.name,
        address=new.address,
        sealed_key=encrypt_credentials(key, account_id=account_id) if key else "",
        key_hint=key.key[:4] if key else "",
        markets=new.markets,
        created_at=now,
        due_at=now,
    )


def list_accounts() -> list[VenueAccount]:
    """Return the user's venue accounts, newest first."""
    return list(VenueAccount.objects.order_by("-created_at", "id"))


def get_account(account_id: UUID) -> VenueAccount:
    """Return an account. Raises AccountNotFound."""
    return VenueAccount.objects.filter(pk=account_id).first_or(AccountNotFound("You have no such account."))


def remove_account(account_id: UUID) -> VenueAccount:
    """Delete an account with its key; its trades stay. Needs `owned_tx(user)`. Raises AccountNotFound."""
    account = get_account(account_id)
    account.delete()
    return account


def make_due(account_id: UUID, *, now: datetime) -> VenueAccount:
    """Read an account soon; needs `owned_tx(user)`. Raises AccountNotFound."""
    account = get_account(account_id)
    account.due_at = now
    account.save(update_fields=["due_at"])
    defer(SYNC, Key(account.user_id, account_id))
    return account


def list_due_accounts(now: datetime) -> list[Key]:
    """Return the accounts that are to be read, in the system's scope."""
    rows = VenueAccount.objects.filter(due_at__lte=now).order_by("due_at", "id")
    return [Key(user_id, pk) for user_id, pk in rows.values_list("user_id", "pk")]


def sync_account(account_id: UUID, *, user_id: int, now: datetime) -> Counter[str]:
    """Read an account if it is due, in own scopes; count new fills and failures."""
    counts: Counter[str] = Counter()
    with owned_tx(user_id):
        rows = VenueAccount.objects.filter(pk=account_id, due_at__lte=now)
        account = rows.first()
        if account is None or not rows.filter(due_at=account.due_at).update(due_at=now + SYNC_EVERY):
            return counts  # another process reads it
    error = ""
    try:
        counts["new fills"] += _sync_account(user_id, account, now)
    except DomainError as refusal:
        error = str(refusal)
    except Exception as failure:  # noqa: BLE001 - the log gets its kind alone: a traceback may hold the key
        error = "Reading failed. Keel tries again in a few minutes."
        logger.error("Sync of account %s failed: %s", account.pk, type(failure).__name__)
    counts["accounts failed" if error else "accounts read"] += 1
    with owned_tx(user_id):
        VenueAccount.objects.filter(pk=account.pk).update(error=error[:280])
    return counts


def _sync_account(user_id: int, account: VenueAccount, now: datetime) -> int:
    source = SOURCES[account.venue]
    key = decrypt_credentials(account.sealed_key, account_id=account.pk) if account.sealed_key else None
    client = open_account(source, key)
    if key is not None:
        check_rights(source, client)  # the user may have widened it since
    since = now - source.history
    if account.read_until:
        since = max(since, account.read_until - _OVERLAP)
    reading, gaps = _read_account(source, client, account, since, now)
    with owned_tx(user_id):
        done = add_reading(
            reading,
            venue=name_account(source.label, account.name),
            source=EntrySource.SYNC,
            name=account.address or f"{source.label} {account.key_hint}…",
            details={"since": since.isoformat(), "until": now.isoformat()},
            now=now,
        )
        if account.read_until and since > account.read_until:
            gaps.append(
                f"Nothing is known of {account.read_until:%Y-%m-%d %H:%M} to {since:%Y-%m-%d %H:%M} UTC: {source.label}"
                " does not keep trades that long. Import them as a file."
            )
        VenueAccount.objects.filter(pk=account.pk).update(
            read_from=account.read_from or since,
            read_until=now,
            gaps=list(dict.fromkeys([*gaps, *account.gaps]))[:_GAPS_KEPT],
        )
    return sum(one.record.new_fills for one in done)


def _read_account(
    source: VenueSource, client: Any, account: VenueAccount, since: datetime, now: datetime
) -> tuple[FileReading, list[str]]:
    """Return what the venue sent as one reading, with what it lacks."""
    whole, gaps = FileReading(), []
    pages = fetch_records(source, client, address=account.address, markets=account.markets, since=since, until=now)
    for records in pages:
        table = table_of_records(records)
        if not find_format(table.columns):
            raise VenueRefused(f"{source.label} sent trades in a form that Keel does not know. Nothing was imported.")
        reading = read_fills(table, propose_mapping(table, zone="UTC"), now=now)
        whole.fills += reading.fills
        whole.funding += reading.funding
        for message, count in Counter(problem.message for problem in reading.problems).items():
            gaps.append(f"{count} trades were left out: {message}.")
    whole.fills.sort(key=lambda fill: fill.at)
    if account.read_until is None and (not source.by_address or len(whole.fills) >= _MOST_BY_ADDRESS):
        first = whole.fills[0].at if source.by_address else since
        gaps.append(
            f"Trades before {first:%Y-%m-%d} are not known: {source.label} gives no older ones. Import them as a file."
        )
    return whole, gaps
