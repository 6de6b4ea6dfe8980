"""The form that asks the record; its values are words of `asking.query`."""

from collections.abc import Iterable, Mapping
from typing import Final

from django import forms

from trading.asking.query import GROUPS, MEASURES, QUESTION, RECORDS
from trading.asking.sizing import NUMBERS
from trading.models import TradeSide

_ANY: Final = [("", "Any")]
_CHOICES: Final[Mapping[str, Iterable[tuple[str, str]]]] = {
    "measure": [(name, measure.label) for name, measure in MEASURES.items()],
    "group": [("", "Nothing"), *((name, group.label) for name, group in GROUPS.items())],
    **{name: [*_ANY, *group.choices.items()] for name, group in GROUPS.items() if group.choices},
    "record": [("", "Own and agents'"), *RECORDS.items()],
}
_LABELS: Final = {
    **{name: group.label for name, group in GROUPS.items()},
    **{"measure": "Measure", "group": "Group by", "period": "Closed in"},
}
_EXAMPLES: Final = {"period": "last month", "symbol": "BTC, ETH", "hour": "9-17", "version": "2"}


class QuestionForm(forms.Form):
    """A question in its fields; `asking.query` checks it."""

    def __init__(self, words: Mapping[str, str], skills: Iterable[tuple[str, str]]) -> None:
        """Offer choices, and what the address asks for beside them."""
        super().__init__(dict(words), auto_id="ask-%s")
        choices = {**_CHOICES, "skill": [*_ANY, *skills]}
        for name in QUESTION:
            given = words.get(name, "")
            widget: forms.Widget = forms.TextInput(attrs={"placeholder": _EXAMPLES.get(name, "")})
            if name in choices:
                offered = list(choices[name])
                offered += [(given, given)] if given and given not in dict(offered) else []
                widget = forms.Select(choices=offered)
            elif name == "deployment":
                widget = forms.HiddenInput()
            self.fields[name] = forms.CharField(label=_LABELS[name], required=False, widget=widget)


class PlanForm(forms.Form):
    """A planned trade in its fields; `asking.sizing` checks it."""

    def __init__(self, words: Mapping[str, str]) -> None:
        """Offer the fields of a plan."""
        super().__init__(dict(words), auto_id="plan-%s")
        self.fields["symbol"] = forms.CharField(label="Symbol", widget=forms.TextInput(attrs={"placeholder": "BTC"}))
        self.fields["side"] = forms.ChoiceField(label="Side", choices=TradeSide.choices)
        for name, label in NUMBERS.items():
            widget = forms.TextInput(attrs={"inputmode": "decimal"})
            self.fields[name] = forms.CharField(label=label, required=False, widget=widget)
        self.fields["deployment"] = forms.CharField(required=False, widget=forms.HiddenInput())
