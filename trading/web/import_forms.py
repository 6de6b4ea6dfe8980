"""Forms of a user's own trades: the file, its mapping, accounts at venues."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict

from trading.intake.feeds import SOURCES
from trading.intake.formats import ACCOUNT, FIELDS, FORMATS, FUTURES, MAIN_FIELDS, MARGIN, SPOT, FillMapping
from trading.intake.guessing import list_stops
from trading.intake.keys import MAX_SECRET
from trading.intake.sync import NewAccount, build_account
from trading.intake.tables import MAX_BYTES, FileTable
from trading.ledger.executions import QUANTITY_GRAIN
from trading.models import Deployment
from trading.skills.schemas import symbol_name
from trading.web.forms import time_zone_choices

ACCOUNT_HELP = "If you have several at the venue: each name has a record of its own."


class TradeFileForm(forms.Form):
    file = forms.FileField(
        label="File",
        allow_empty_file=True,
        help_text="CSV or JSON, also packed as .gz. Choose it, or drop it on this field.",
        error_messages={"required": "Choose a file first."},
    )

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > MAX_BYTES:
            raise forms.ValidationError(f"The file is larger than {MAX_BYTES // 2**20} MB. Export shorter periods.")
        return file


class MappingForm(forms.Form):
    """What was recognised, to be corrected."""

    DATES: ClassVar = (
        ("", "Choose"),
        ("ymd", "Year, month, day: 2025-03-31"),
        ("dmy", "Day, month, year: 31.03.2025"),
        ("mdy", "Month, day, year: 3/31/2025"),
    )
    zone = forms.ChoiceField(label="Time zone of the file")
    dates = forms.ChoiceField(label="Order of dates", choices=DATES, required=False)
    decimal = forms.ChoiceField(label="Decimal sign", choices=((".", "Point: 1,234.5"), (",", "Comma: 1.234,5")))
    fee_sign = forms.TypedChoiceField(
        label="Fees", coerce=int, choices=((1, "Paid fees are above zero"), (-1, "Paid fees are below zero"))
    )
    market = forms.ChoiceField(
        label="Kind of trades",
        required=False,
        choices=(
            ("", "As each row says"),
            (SPOT, "Spot"),
            (MARGIN, "Spot, traded on margin"),
            (FUTURES, "Futures and perpetuals of coins"),
            (ACCOUNT, "Shares, futures and currencies of a broker"),
        ),
    )
    ledger = forms.CharField(label="Name of the account", required=False, max_length=20, help_text=ACCOUNT_HELP)
    contract_sizes = forms.CharField(
        label="Coins per contract, value of a point, units per lot",
        required=False,
        max_length=2_000,
        help_text="Such as BTC-USDT-SWAP=0.01, ES=50, EURUSD=100000.",
    )

    def __init__(self, data: QueryDict | None = None, *, table: FileTable, mapping: FillMapping) -> None:
        first = {name: columns[0] for name, columns in mapping.columns.items() if columns}
        initial = {f"column_{name}": column for name, column in first.items()}
        initial |= {name: getattr(mapping, name) for name in self.base_fields}
        super().__init__(data, initial=initial, auto_id="mapping-%s")
        zones = time_zone_choices()
        known = [] if mapping.zone in dict(zones) else [(mapping.zone, f"As the file says: {mapping.zone}")]
        self.fields["zone"].choices = [*known, *zones]  # type: ignore[attr-defined]
        if mapping.format and not mapping.contract_sizes and FORMATS[mapping.format].scope == "crypto":
            del self.fields["contract_sizes"]
        choices = [("", "None"), *((name, table.titles.get(name, name)) for name in table.columns)]
        for name in dict.fromkeys((*MAIN_FIELDS, *first)):
            if name in ("more_fees", "ignored"):
                continue
            field = forms.ChoiceField(label=FIELDS[name], choices=choices, required=name in ("time", "symbol"))
            self.fields[f"column_{name}"] = field
        more = forms.MultipleChoiceField(label=FIELDS["more_fees"], choices=choices[1:], required=False)
        self.fields["column_more_fees"], self.initial["column_more_fees"] = more, mapping.columns.get("more_fees", ())
        self._mapping, self._ticked = mapping, data.getlist("ignored") if data else []
        # What would stop the import stands beside the reason, not among the columns.
        ignored = mapping.columns.get("ignored", ())
        self.left_out = [(name, table.titles.get(name, name), True) for name in ignored if name in table.columns]
        self.left_out += [(name, table.titles.get(name, name), False) for name in list_stops(table, mapping)]

    def get_changes(self) -> dict[str, Any]:
        """Return the corrections; a column that stays the same keeps its alternatives."""
        given: Mapping[str, Any] = self.cleaned_data
        known = [name for name, _, _ in self.left_out]
        columns = {**self._mapping.columns, "more_fees": tuple(given["column_more_fees"])}
        columns["ignored"] = tuple(name for name in self._ticked if name in known)
        for key, column in given.items():
            name = key.removeprefix("column_")
            if key in ("column_more_fees", "column_ignored") or not key.startswith("column_"):
                continue
            if columns.get(name, ("",))[:1] != ((column,) if column else ("",)):
                columns[name] = (column,) if column else ()
        kept = {key: value for key, value in given.items() if not key.startswith("column_")}
        return {**kept, "columns": {name: chosen for name, chosen in columns.items() if chosen}}


class PositionForm(forms.Form):
    """A position from before an account's first fill."""

    account = forms.ChoiceField(label="Account")
    symbol = forms.CharField(label="Symbol", max_length=32)
    at = forms.DateTimeField(label="Held at", help_text="Before the first fill, in your time zone: 2025-03-31 14:00.")
    quantity = forms.DecimalField(
        label="Quantity", max_digits=30, decimal_places=12, help_text="Below zero if short; 0 if nothing was held."
    )
    price = forms.DecimalField(label="Average entry price", max_digits=30, decimal_places=12, min_value=QUANTITY_GRAIN)

    def __init__(self, data: QueryDict | None = None, *, ledgers: Iterable[Deployment]) -> None:
        super().__init__(data, auto_id="opening-%s")
        self.fields["account"].choices = [(str(ledger.pk), ledger.label) for ledger in ledgers]  # type: ignore[attr-defined]

    def clean_symbol(self) -> str:
        try:
            return symbol_name(self.cleaned_data["symbol"])
        except ValueError as error:
            raise forms.ValidationError(f"{error}.") from error


class BalanceForm(forms.Form):
    """What an account was worth at a date."""

    account = forms.ChoiceField(label="Account")
    at = forms.DateTimeField(label="At", help_text="In your time zone: 2025-03-31 14:00.")
    equity_usd = forms.DecimalField(
        label="Worth in dollars", max_digits=30, decimal_places=12, min_value=QUANTITY_GRAIN
    )

    def __init__(self, data: QueryDict | None = None, *, ledgers: Iterable[Deployment]) -> None:
        super().__init__(data, auto_id="balance-%s")
        self.fields["account"].choices = [(str(ledger.pk), ledger.label) for ledger in ledgers]  # type: ignore[attr-defined]


class _Unshown:
    """A widget that shows nothing of what was typed: a page that refuses a key must not hold it."""

    def format_value(self, value: object) -> None:
        return None


class SecretInput(_Unshown, forms.TextInput):
    """One line."""


class SecretText(_Unshown, forms.Textarea):
    """Several lines, as keys in PEM have."""


class AccountForm(forms.Form):
    venue = forms.ChoiceField(label="Venue", choices=[(key, source.label) for key, source in SOURCES.items()])
    name = forms.CharField(label="Name of the account", required=False, max_length=20, help_text=ACCOUNT_HELP)
    address = forms.CharField(
        label="Address", required=False, max_length=64, help_text="Hyperliquid alone: the public one, 0x and 40 digits."
    )
    key = forms.CharField(
        label="API key", required=False, max_length=MAX_SECRET, widget=SecretInput(attrs={"autocomplete": "off"})
    )
    secret = forms.CharField(
        label="Secret",
        required=False,
        max_length=MAX_SECRET,
        widget=SecretText(attrs={"rows": 2, "autocomplete": "off", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label="Passphrase",
        required=False,
        max_length=200,
        help_text="OKX and Bitget alone.",
        widget=SecretInput(attrs={"autocomplete": "off"}),
    )
    markets = forms.CharField(
        label="Markets", required=False, max_length=1500, help_text="Binance alone, such as BTCUSDT, ETHUSDT."
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="account-%s")

    def build_account(self) -> NewAccount:
        return build_account(self.cleaned_data, self.cleaned_data["markets"].replace(",", " ").split())
