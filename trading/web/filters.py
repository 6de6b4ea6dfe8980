"""What a page shows, from its address."""

from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import Any, ClassVar, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.http import QueryDict
from django.urls import reverse

from config.lib.lists import ListForm
from config.lib.text import parse_uuid
from trading.asking.periods import PeriodRefused, parse_period
from trading.models import ExitKind, MarketEvent, ReconcileState, RegimeTag, TradeSide, TradeStatus, Verdict
from trading.models.choices import WEEKDAYS
from trading.record.trade_queries import ORDERS, TradeFilter
from trading.rules.services import find_trades_by_verdict
from trading.skills.schemas import symbol_name
from trading.web.columns import COLUMNS, USUAL_COLUMNS
from trading.web.trades import list_trade_choices

Choices = list[tuple[str, str]]

DAY: Final = timedelta(days=1)
# The fields of `TradeFilter` that an address names otherwise.
_FIELDS: Final = {
    **{"q": "words", "exit": "exit_kind", "sort": "order"},
    **{name: f"{name}_id" for name in ("note", "skill", "deployment")},
}


class DayField(forms.DateField):
    """A day between 2000 and 2100, safe for date arithmetic."""

    default_validators: ClassVar[list[Any]] = [  # type: ignore[misc]
        MinValueValidator(date(2000, 1, 1)),
        MaxValueValidator(date(2100, 1, 1)),
    ]
    widget = forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d")


class DecisionFilterForm(ListForm):
    NARROWING: ClassVar = ("verdict",)

    verdict = forms.ChoiceField(label="Verdict", required=False, choices=[("", "Any"), *Verdict.choices])


def _choose(label: str, choices: Iterable[tuple[str, str]] = (), otherwise: str = "Any") -> forms.ChoiceField:
    return forms.ChoiceField(label=label, required=False, choices=[("", otherwise), *choices])


class TradeFilterForm(ListForm):
    WITH_BACKTESTS: ClassVar = "with"
    NARROWING: ClassVar = (
        *("q", "deployment", "skill", "symbol", "side", "status", "exit", "regime", "hour", "weekday", "tag"),
        *("reconciled", "period", "since", "until", "backtests", "note", "verdict", "rule"),
    )
    CHIPS: ClassVar = {"note": "Trades that lessons rest on", "rule": "One of your rules", "q": "Reasons with"}
    SHOWS: ClassVar = {"": "Result", "days": "Calendar", "groups": "Breakdown", "paths": "Excursions and R"}
    note = forms.UUIDField(required=False, widget=forms.HiddenInput)  # lessons, whose trades to list
    rule = forms.UUIDField(required=False, widget=forms.HiddenInput)  # whose verdict counts; else that of all rules
    q = forms.CharField(
        label="Search the reasons",
        required=False,
        max_length=200,
        widget=forms.SearchInput(attrs={"autocomplete": "off"}),
    )
    skill, deployment, symbol = _choose("Skill"), _choose("Deployment"), _choose("Symbol")  # the owner's choices
    side = _choose("Side", TradeSide.choices)
    status = _choose("Status", TradeStatus.choices)
    exit = _choose("Closed by", ExitKind.choices, otherwise="Anything")
    regime = _choose("Regime at entry", RegimeTag.choices)
    reconciled = _choose("Fills", ReconcileState.choices)
    verdict = _choose("Your rules", [("broken", "Broken"), ("unknown", "Cannot tell"), ("kept", "Kept")])
    hour = _choose("Hour of the entry", [(f"{hour:02}", f"{hour:02}:00") for hour in range(24)])
    weekday = _choose("Weekday of the entry", [(name, name.title()) for name in WEEKDAYS])
    tag = _choose("Tag")
    period = forms.CharField(
        label="Closed in",
        required=False,
        max_length=60,
        widget=forms.TextInput(attrs={"placeholder": "last month, 2026-03-05"}),
    )
    since = DayField(label="Entered from (UTC)", required=False)
    until = DayField(label="Entered until (UTC)", required=False)
    backtests = forms.ChoiceField(label="Backtests", required=False)
    sort = forms.ChoiceField(
        label="Order",
        required=False,
        choices=[("" if name == "newest" else name, label) for name, (label, _) in ORDERS.items()],
    )
    columns = forms.MultipleChoiceField(
        label="Columns",
        required=False,
        choices=[(name, column.label) for name, column in COLUMNS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    show = forms.ChoiceField(required=False, choices=list(SHOWS.items()), widget=forms.HiddenInput)

    def __init__(self, data: QueryDict, *, zone: ZoneInfo, now: datetime) -> None:
        """Offer the choices of the owner in scope."""
        super().__init__(data, home=reverse("trading:trades"), auto_id="filter-%s")
        self.zone, self.now = zone, now
        choices = list_trade_choices(run_id=parse_uuid(data.get("backtests", "")))
        self.runs = choices.runs
        if not choices.has_rules:
            del self.fields["verdict"], self.fields["rule"]
        asked = data.get("symbol", "")
        # A link to a symbol that was never traded finds nothing, which is an answer too.
        names = sorted({*choices.symbols, *([asked] if _is_symbol(asked) else [])})
        runs = [(run, label) for run, (label, _) in self.runs.items()]
        given: dict[str, Choices] = {
            "skill": [("", "Any"), *choices.skills],
            "deployment": [("", "Any"), *choices.deployments],
            "symbol": [("", "Any"), *((name, name) for name in names)],
            "tag": [("", "Any"), *((name, name) for name in choices.tags)],
            "backtests": [("", "Left out"), (self.WITH_BACKTESTS, "With all"), *runs],
        }
        for name, offered in given.items():
            field = self.fields[name]
            field.choices = offered  # type: ignore[attr-defined]
            field.error_messages["invalid_choice"] = f"You have no such {name.removesuffix('s')}."

    def clean(self) -> dict[str, Any]:
        since, until = self.cleaned_data.get("since"), self.cleaned_data.get("until")
        if since and until and until < since:
            self.add_error("until", "The last day is before the first one.")
        return self.cleaned_data

    def clean_period(self) -> str:
        """Check the words. Raises ValidationError."""
        words: str = self.cleaned_data["period"]
        try:
            parse_period(words, zone=self.zone, now=self.now)
        except PeriodRefused as error:
            raise forms.ValidationError(str(error)) from error
        return words

    def clean_columns(self) -> list[str]:
        """Return the columns that are not the usual ones."""
        chosen: list[str] = self.cleaned_data["columns"]
        return [] if set(chosen) == set(USUAL_COLUMNS) else chosen

    def to_trade_filter(self) -> TradeFilter:
        """Return which trades to list, those of a verdict by their ids."""
        known = self.known
        backtests, verdict, rule = (known.pop(name, None) for name in ("backtests", "verdict", "rule"))
        for name in ("page", "show", "columns"):
            known.pop(name, None)
        if backtests in self.runs:
            known["deployment"] = str(self.runs[backtests][1])
        period = parse_period(known.pop("period", ""), zone=self.zone, now=self.now)
        spans = {"closed_from": period.starts_at, "closed_before": period.ends_at} if period else {}
        values = {_FIELDS.get(name, name): value for name, value in known.items()}
        ids = {name: UUID(values[name]) for name in ("deployment_id", "skill_id") if name in values}
        of_verdict = find_trades_by_verdict(verdict, rule) if verdict else None
        return TradeFilter(**values | ids | spans, zone=self.zone, with_backtests=bool(backtests), trade_ids=of_verdict)

    @property
    def shown(self) -> str:
        """Which charts to show, a key of SHOWS."""
        return str(self.known.get("show", ""))

    @property
    def chosen_columns(self) -> list[str]:
        """The columns to show, in their order."""
        return [name for name in COLUMNS if name in self.known.get("columns", USUAL_COLUMNS)]


def _is_symbol(text: str) -> bool:
    try:
        return symbol_name(text) == text
    except ValueError:
        return False


class CompareForm(forms.Form):
    """Which two versions to compare, from the address: `2..3`."""

    compare = forms.RegexField(
        r"^\d{1,6}\.\.\d{1,6}$",
        required=False,
        error_messages={"invalid": "Two versions are compared as in ?compare=2..3."},
    )

    def parse_pair(self) -> tuple[int, int] | None:
        self.is_valid()
        text = self.cleaned_data.get("compare") or ""
        old, _, new = text.partition("..")
        return (int(old), int(new)) if text else None


class RunPairForm(forms.Form):
    """Which two finished backtests to compare."""

    first = forms.ChoiceField(label="First")
    second = forms.ChoiceField(label="Second")

    def __init__(self, data: QueryDict, *, runs: Choices) -> None:
        super().__init__(data, auto_id="pair-%s")
        for name in ("first", "second"):
            given = parse_uuid(data.get(name, ""))
            older = [(str(given), "An older one")] if given and str(given) not in dict(runs) else []
            self.fields[name].choices = [("", "Choose a backtest"), *runs, *older]  # type: ignore[attr-defined]


class BacktestRangeForm(forms.Form):
    """The range whose bars are counted while typing."""

    skill = forms.UUIDField(required=False)
    first_day = DayField(required=False)
    last_day = DayField(required=False)


class CalendarForm(ListForm):
    page = None  # type: ignore[assignment]  # a range of days is shown whole
    IMPORTANCE: ClassVar = (("", "Any"), ("0.4", "Medium and high"), ("0.7", "High"))
    MAX_DAYS: ClassVar = 92

    view = forms.ChoiceField(required=False, choices=[("month", "Month")], widget=forms.HiddenInput)
    first_day = DayField(label="From", required=False)
    last_day = DayField(label="To", required=False)
    importance = forms.ChoiceField(label="Importance", required=False, choices=IMPORTANCE)
    symbols = forms.CharField(
        label="Symbols",
        required=False,
        max_length=200,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "characters", "placeholder": "BTC, ETH"}
        ),
    )
    kind = forms.MultipleChoiceField(
        label="Kinds",
        required=False,
        choices=MarketEvent._meta.get_field("kind").flatchoices,
        widget=forms.CheckboxSelectMultiple,
    )

    def __init__(self, data: QueryDict, *, today: date) -> None:
        """Default to four weeks from `today` in the reader's zone."""
        super().__init__(data, home=reverse("trading:calendar"), auto_id="filter-%s")
        self.today = today

    def clean_symbols(self) -> str:
        try:
            names = [symbol_name(text) for text in self.cleaned_data["symbols"].replace(",", " ").split()]
        except ValueError as error:
            raise forms.ValidationError(f"That is no symbol: {error}.") from error
        return " ".join(dict.fromkeys(names))

    def clean(self) -> dict[str, Any]:
        first, last = self.get_days(self.cleaned_data)
        if last < first:
            self.add_error("last_day", "The last day is before the first one.")
        elif last - first >= timedelta(days=self.MAX_DAYS):
            self.add_error("last_day", f"The calendar shows {self.MAX_DAYS} days at most.")
        return self.cleaned_data

    def get_days(self, known: Mapping[str, Any]) -> tuple[date, date]:
        """Return the first and last day: of the month, or by default of four weeks."""
        first, last = known.get("first_day"), known.get("last_day")
        if known.get("view"):
            first = (first or self.today).replace(day=1)
            return first, (first + 31 * DAY).replace(day=1) - DAY
        four_weeks = 27 * DAY  # the shipped calendar has something in nearly every four
        if first is None:
            first = self.today if last is None or last >= self.today else last - four_weeks
        return first, last or first + four_weeks
