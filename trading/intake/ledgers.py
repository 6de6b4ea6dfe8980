"""A user's own trades: the skill "My trades" with a deployment for the spot and for the futures of each account."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from config.lib.postgresql.locks import lock_owner
from config.lib.words.quantities import join_words
from trading.intake.formats import FORMATS, FUTURES, FillMapping
from trading.intake.reading import FileReading
from trading.intake.rows import ReadFill
from trading.ledger.arrivals import add_entries, preview_entries
from trading.ledger.entries import Entries, IntakePreview, IntakeRecord, SymbolStart
from trading.ledger.executions import DOLLARS, Execution
from trading.ledger.positions import Funding
from trading.models import BrokerKind, Deployment, EntrySource, Fill
from trading.skills.queries import get_version
from trading.skills.schemas import parse_payload
from trading.skills.services import SkillNameTaken, create_skill

MY_TRADES: Final = "My trades"
_NAMES: Final = (MY_TRADES, "My own trades", "My imported trades")
_NUMBERED: Final = "row:"  # begins the id of a fill that has none of the venue's
_NAMED: Final = 8  # symbols in a sentence
_SYMBOLS: Final = 20  # of a skill
_SHARED: Final = (
    *("fill_id", "symbol", "at", "quantity", "price", "is_liquidation", "start_quantity", "is_reducing", "pnl_usd"),
)


@dataclass(frozen=True, slots=True)
class LedgerPreview:
    label: str
    market: str
    counts: IntakePreview

    @property
    def silent(self) -> list[SymbolStart]:
        """The symbols whose fills do not tell of a position before, and do not rule one out."""
        return [one for one in self.counts.starts if one.opening and not one.opening.quantity]

    @property
    def silent_names(self) -> str:
        names = [one.symbol for one in self.silent]
        return join_words([*names[:_NAMED], *([f"{len(names) - _NAMED} more"] if len(names) > _NAMED else [])], "and")


@dataclass(frozen=True, slots=True)
class LedgerImport:
    label: str
    deployment: Deployment
    record: IntakeRecord


def name_venue(mapping: FillMapping, venue: str = "") -> str:
    """Return the venue of a mapping, for the accounts it goes into; `venue` is that of a format that is not known."""
    return name_account(FORMATS[mapping.format].venue if mapping.format else venue or "Imported", mapping.ledger)


def name_account(venue: str, name: str) -> str:
    """Return the words that begin the labels of an account's records."""
    return f"{venue} {name}".strip()


def preview_reading(reading: FileReading, *, venue: str, now: datetime) -> list[LedgerPreview]:
    """Return what an import would do, account by account."""
    previews = []
    for market in _list_markets(reading):
        ledger: Deployment | None = Deployment.objects.filter(label=_label(venue, market)).first()
        entries = _build_entries(reading, market, ledger)
        counts = preview_entries(deployment_id=ledger.pk if ledger else None, entries=entries, now=now)
        previews.append(LedgerPreview(_label(venue, market), market, counts))
    return previews


def add_reading(
    reading: FileReading,
    *,
    venue: str,
    source: EntrySource,
    name: str,
    details: Mapping[str, Any],
    begins: Collection[str] = (),
    now: datetime,
) -> list[LedgerImport]:
    """Add what was read to the accounts of a venue, creating them; idempotent. Needs `owned_tx(user)`.

    `begins`: the symbols, as `market:symbol`, whose proposed opening is accepted.
    """
    lock_owner()  # or two first imports make two skills
    done = []
    for market in _list_markets(reading):
        label = _label(venue, market)
        symbols = [fill.symbol for fill in reading.fills if fill.market == market]
        ledger = Deployment.objects.filter(label=label).first() or _create_ledger(label, symbols, now)
        entries = _build_entries(reading, market, ledger)
        if begins:
            starts = preview_entries(deployment_id=ledger.pk, entries=entries, now=now).starts
            openings = [one.opening for one in starts if one.opening and f"{market}:{one.symbol}" in begins]
            entries = replace(entries, openings=openings)
        record = add_entries(
            deployment_id=ledger.pk, entries=entries, source=source, name=name, details=details, now=now
        )
        done.append(LedgerImport(label, ledger, record))
    return done


def add_reading_to(
    deployment: Deployment, reading: FileReading, *, name: str, details: Mapping[str, Any], now: datetime
) -> IntakeRecord:
    """Add what was read to one deployment, spot and futures alike; needs `owned_tx(user)`. Raises EntriesRefused."""
    entries = _build_entries(reading, "", deployment)
    source = EntrySource.FILE
    return add_entries(deployment_id=deployment.pk, entries=entries, source=source, name=name, details=details, now=now)


def find_twin(reading: FileReading, *, venue: str) -> tuple[str, int] | None:
    """Return another account that has most of these fills already, with how many; needs the owner's scope."""
    own = [_label(venue, market) for market in _list_markets(reading)]
    wanted = Counter((fill.symbol, fill.at.replace(microsecond=0), fill.quantity, fill.price) for fill in reading.fills)
    if not reading.fills:
        return None
    period = (reading.fills[0].at.replace(microsecond=0), reading.fills[-1].at)
    others = {ledger.pk: ledger.label for ledger in list_ledgers() if ledger.label not in own}
    found: Counter[str] = Counter()
    known = Fill.objects.filter(deployment__in=list(others), at__range=period)
    for ledger, symbol, at, quantity, price in known.values_list("deployment_id", "symbol", "at", "quantity", "price"):
        found[others[ledger]] += (symbol, at.replace(microsecond=0), quantity, price) in wanted
    label, count = max(found.items(), key=lambda item: item[1], default=("", 0))
    return (label, count) if 2 * count > len(reading.fills) else None


def list_ledgers() -> list[Deployment]:
    """Return the accounts of the user's own trades."""
    return list(Deployment.objects.exclude(label="").select_related("skill").order_by("label"))


def _list_markets(reading: FileReading) -> list[str]:
    return sorted({fill.market for fill in reading.fills} | ({FUTURES} if reading.funding else set()))


def _label(venue: str, market: str) -> str:
    return f"{venue} {market}"  # of spot, of futures, or an account of both sides


def _create_ledger(label: str, symbols: Iterable[str], now: datetime) -> Deployment:
    first = Deployment.objects.exclude(label="").first()
    version = get_version(first.skill_id) if first else _create_skill(symbols, now)
    return Deployment.objects.create(
        skill_id=version.skill_id,
        version=version,
        broker_kind=BrokerKind.LIVE,
        label=label,
        starting_equity_usd=None,
        created_at=now,
    )


def _create_skill(symbols: Iterable[str], now: datetime) -> Any:
    traded = [symbol for symbol, _ in Counter(symbols).most_common(_SYMBOLS)] or ["BTC"]
    for name in _NAMES:
        payload = {
            "name": name,
            "description": "Your own trades, imported from files and accounts. Nothing runs here.",
            "trading_style": "swing",
            "strategy": {"thesis": "Trades that I made myself."},
            "context": {"symbols": traded},
        }
        try:
            return create_skill(parse_payload(payload), now)
        except SkillNameTaken:
            continue
    raise SkillNameTaken(f"You have skills named {', '.join(_NAMES)} already. Rename one of them and import again.")


def _build_entries(reading: FileReading, market: str, ledger: Deployment | None) -> Entries:
    fills = [fill for fill in reading.fills if market in ("", fill.market)]
    if ledger is not None:
        fills = _drop_twins(fills, ledger)
    funding: dict[tuple[str, datetime], Decimal] = {}
    for paid in reading.funding if market in ("", FUTURES) else ():  # two positions of a symbol are paid at one instant
        funding[paid.symbol, paid.at] = funding.get((paid.symbol, paid.at), Decimal(0)) + paid.amount_usd
    executions = []
    for place, fill in enumerate(fills, start=1):
        is_usd = not fill.fee_coin or fill.fee_coin in DOLLARS
        fee: dict[str, Any] = {"fee_usd": fill.fee}
        if not is_usd:
            fee = {"fee_coin": fill.fee_coin, "fee_in_coin": fill.fee}
        executions.append(Execution(**{name: getattr(fill, name) for name in _SHARED}, **fee, source_order=place))
    return Entries(executions, [Funding(symbol, at, amount) for (symbol, at), amount in funding.items()])


def _drop_twins(fills: Sequence[ReadFill], ledger: Deployment) -> list[ReadFill]:
    """Return the fills that no other source brought; without the venue's id, equal numbers are the same fill."""
    if not fills:
        return []
    period = (fills[0].at.replace(microsecond=0), fills[-1].at)
    known = Fill.objects.filter(deployment=ledger, at__range=period).values_list(
        "fill_id", "symbol", "at", "quantity", "price"
    )
    stored: Counter[tuple[object, ...]] = Counter()
    for fill_id, symbol, at, quantity, price in known:
        stored[fill_id.startswith(_NUMBERED), symbol, at.replace(microsecond=0), quantity, price] += 1
    kept = []
    for fill in fills:
        has_no_id = fill.fill_id.startswith(_NUMBERED)
        key = (not has_no_id, fill.symbol, fill.at.replace(microsecond=0), fill.quantity, fill.price)
        if stored[key] > 0:
            stored[key] -= 1
        else:
            kept.append(fill)
    return kept
