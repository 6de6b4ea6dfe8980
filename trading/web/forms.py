"""Forms that change something: profile, tokens, sign-up, skills, deployments, backtests."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any, ClassVar
from zoneinfo import available_timezones

from allauth.account.forms import SignupForm as AccountSignupForm
from allauth.core import context as allauth_context
from django import forms
from django.conf import settings
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from config.lib.edge.invitations import find_invitation
from trading.models import ExperienceTier, TokenArea, TokenScope, Trader
from trading.models.tokens import MAX_TOKEN_NAME
from trading.record.backtests import VOLUME_PCT
from trading.record.deployments import STARTING_EQUITY_USD
from trading.skills.templates import TEMPLATES
from trading.web.filters import Choices, DayField


@cache
def time_zone_choices() -> list[tuple[str, str]]:
    """Return UTC and the Area/City time zones, in order."""
    names = sorted(
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix", "right"))
    )
    return [(name, name.replace("_", " ")) for name in ["UTC", *names]]


class ProfileForm(forms.ModelForm):
    experience_tier = forms.ChoiceField(
        label="Experience",
        choices=[("", "Not said yet"), *ExperienceTier.choices],
        required=False,
        help_text="How much Keel explains. It never limits what you may do.",
    )
    time_zone = forms.ChoiceField(
        label="Time zone", choices=time_zone_choices, help_text="Times on every page are shown in this zone."
    )

    class Meta:
        model = Trader
        fields = ("experience_tier", "time_zone")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        known = {name for name, _ in time_zone_choices()}
        current = self.instance.time_zone
        if current not in known:
            # A zone kept under an older name stays what it is until its owner picks another.
            self.fields["time_zone"].choices = [(current, current), *time_zone_choices()]  # type: ignore[attr-defined]

    def clean_experience_tier(self) -> str | None:
        return self.cleaned_data["experience_tier"] or None


class TokenForm(forms.Form):
    DAYS = (("30", "30 days"), ("90", "90 days"), ("365", "A year"), ("never", "Until it is revoked"))

    name = forms.CharField(
        label="Name", max_length=MAX_TOKEN_NAME, help_text="What will use it, such as “My bot” or “Spreadsheet”."
    )
    scope = forms.ChoiceField(label="May", choices=TokenScope, initial=TokenScope.READ)
    areas = forms.MultipleChoiceField(
        label="Areas",
        choices=TokenArea,
        initial=TokenArea.values,
        widget=forms.CheckboxSelectMultiple,
        help_text="The export of everything needs all of them.",
    )
    days = forms.ChoiceField(label="Works for", choices=DAYS, initial="90")

    def expires_at(self, now: datetime) -> datetime | None:
        days = self.cleaned_data["days"]
        return None if days == "never" else now + timedelta(days=int(days))


class SignupForm(AccountSignupForm):
    """Sign-up; a script fills in the browser's time zone."""

    time_zone = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.invitation = find_invitation(allauth_context.request, timezone.now())
        if self.invitation is not None:
            self.fields["email"].initial = self.invitation.address

    def clean_email(self) -> str:
        """Refuse another address than the invited one, before anything tells whether it has an account."""
        address = self.cleaned_data["email"].lower()
        if self.invitation is not None and settings.SIGN_UP != "open" and address != self.invitation.address:
            raise forms.ValidationError(f"Your invitation is for {self.invitation.address}: use that address.")
        return str(super().clean_email())

    def clean_time_zone(self) -> str:
        """Return a known zone, else UTC, to allow any browser."""
        name: str = self.cleaned_data["time_zone"]
        return name if name in available_timezones() else "UTC"

    def save(self, request: HttpRequest) -> Trader:
        trader: Trader = super().save(request)
        trader.time_zone = self.cleaned_data["time_zone"]
        trader.save(update_fields=["time_zone"])
        return trader


def _build_equity_field(help_text: str = "") -> forms.DecimalField:
    return forms.DecimalField(
        label="Starting equity, USD",
        min_value=Decimal(10),
        max_value=Decimal(1_000_000_000),
        decimal_places=2,
        initial=STARTING_EQUITY_USD,
        help_text=help_text,
    )


class BacktestForm(forms.Form):
    """A backtest to start; days are UTC and inclusive."""

    skill = forms.ChoiceField(
        label="Skill", error_messages={"required": "Choose a skill.", "invalid_choice": "You have no such skill."}
    )
    first_day = DayField(label="First day (UTC)")
    last_day = DayField(label="Last day (UTC)")
    starting_equity_usd = _build_equity_field()
    fee_bps = forms.DecimalField(
        label="Fee, basis points",
        min_value=Decimal(-50),
        max_value=Decimal(500),
        decimal_places=3,
        initial=Decimal(4),
        help_text="Of each fill’s value: 4 is 0.04%. A rebate is negative.",
    )
    slippage_bps = forms.DecimalField(
        label="Slippage, basis points",
        min_value=Decimal(0),
        max_value=Decimal(500),
        decimal_places=3,
        initial=Decimal(2),
        help_text="How much worse than the bar’s price each order fills.",
    )
    volume_pct = forms.DecimalField(
        label="Volume limit, % of a bar",
        min_value=Decimal(0),
        max_value=Decimal(100),
        decimal_places=3,
        initial=VOLUME_PCT,
        help_text="An order fills over several bars if it is larger. 0 switches the limit off.",
    )
    reflects = forms.BooleanField(
        label="Draw lessons from its trades",
        required=False,
        initial=True,
        help_text="Lessons are drawn at the skill’s cadence, in the time of the backtest.",
    )
    by_rules = forms.BooleanField(
        label="Decide by the rules alone",
        required=False,
        help_text="The rule-based model decides by the lines that it understands: a baseline for a language model.",
    )

    def __init__(self, data: QueryDict | None = None, *, skills: Choices, initial: Mapping[str, Any] | None = None):
        super().__init__(data, initial=dict(initial or {}), auto_id="backtest-%s")
        self.fields["skill"].choices = skills  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        first, last = self.cleaned_data.get("first_day"), self.cleaned_data.get("last_day")
        if first and last and last < first:
            self.add_error("last_day", "The last day is before the first one.")
        return self.cleaned_data


class DraftActForm(forms.Form):
    """An act on a draft, and the version the page showed."""

    ACTS: ClassVar = ("save", "save_over", "keep", "close", "discard", "look")

    act = forms.ChoiceField(choices=[(act, act) for act in (*ACTS, *(f"template:{name}" for name in TEMPLATES))])
    seen = forms.CharField(required=False, max_length=64)  # the draft's fingerprint; empty: there was none

    def parse_act(self) -> tuple[str, str]:
        """Return (act, template); an invalid act keeps the draft."""
        self.is_valid()
        act, _, template = self.cleaned_data.get("act", "keep").partition(":")
        return act, template


class DeployForm(forms.Form):
    starting_equity_usd = _build_equity_field("Play money: orders are filled on paper, at the market’s prices.")

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="deploy-%s")
