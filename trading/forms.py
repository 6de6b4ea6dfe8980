from datetime import datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import available_timezones

from allauth.account.forms import SignupForm as AccountSignupForm
from django import forms
from django.http import HttpRequest

from trading.models import ExperienceTier, TokenScope, Trader
from trading.models.tokens import MAX_TOKEN_NAME


@cache
def time_zone_choices() -> list[tuple[str, str]]:
    """Return the zones a person would look for: Area/City names and UTC, in order."""
    names = sorted(
        name for name in available_timezones() if "/" in name and not name.startswith(("Etc/", "posix", "right"))
    )
    return [(name, name.replace("_", " ")) for name in ["UTC", *names]]


class ProfileForm(forms.ModelForm):
    """What a trader may change about themselves."""

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
        """Return None for "not said yet"."""
        return self.cleaned_data["experience_tier"] or None


class TokenForm(forms.Form):
    """What a new token is for, what it opens and for how long."""

    DAYS = (("30", "30 days"), ("90", "90 days"), ("365", "A year"), ("never", "Until it is revoked"))

    name = forms.CharField(
        label="Name", max_length=MAX_TOKEN_NAME, help_text="What will use it, such as “My bot” or “Spreadsheet”."
    )
    scope = forms.ChoiceField(label="May", choices=TokenScope, initial=TokenScope.READ)
    days = forms.ChoiceField(label="Works for", choices=DAYS, initial="90")

    def expires_at(self, now: datetime) -> datetime | None:
        """Return when the token ends; None for never."""
        days = self.cleaned_data["days"]
        return None if days == "never" else now + timedelta(days=int(days))


class SignupForm(AccountSignupForm):
    """Sign-up, with the browser's time zone in a hidden field that a script fills."""

    time_zone = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def clean_time_zone(self) -> str:
        """Return the zone if it is one; a browser with an odd clock must not keep anybody out."""
        name: str = self.cleaned_data["time_zone"]
        return name if name in available_timezones() else "UTC"

    def save(self, request: HttpRequest) -> Trader:
        """Make the trader with their zone."""
        trader: Trader = super().save(request)
        trader.time_zone = self.cleaned_data["time_zone"]
        trader.save(update_fields=["time_zone"])
        return trader
