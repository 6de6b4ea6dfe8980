from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlencode

from django import forms
from django.core.validators import MaxLengthValidator
from django.http import QueryDict

from memory.models import Confidence, FactCategory, FactSource, UserFact
from memory.queries import FactFilter
from memory.wording import MAX_CONTENT, MAX_TOPIC, MIN_CONTENT

SUGGESTED_TOPICS: Final = ("account", "goal", "risk", "session", "style", "symbols", "tax")
NO_TOPIC: Final = "-"  # in the address of a filter; no topic is called that


class FactForm(forms.Form):
    """A fact as its owner types it; whether the words can be one is for the service to say."""

    content = forms.CharField(
        label="Fact",
        help_text=f"One short line, {MIN_CONTENT} to {MAX_CONTENT} characters, as you would say it to Keel.",
        error_messages={"required": "Write the fact first."},
        # A validator and not `max_length`, by which a browser would cut off what is pasted, without a word.
        validators=[MaxLengthValidator(10 * MAX_CONTENT, "This is far too long for one fact.")],
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
    topic = forms.CharField(
        label="Topic",
        required=False,
        max_length=MAX_TOPIC,
        help_text="A short tag, such as risk or goal.",
        widget=forms.TextInput(attrs={"list": "topics", "autocomplete": "off", "autocapitalize": "none"}),
    )
    category = forms.ChoiceField(
        label="Category", required=False, choices=[("", "As the topic suggests"), *FactCategory.choices]
    )

    def begin_here(self) -> None:
        """Give the keyboard to the first field when the form appears."""
        self.fields["content"].widget.attrs["autofocus"] = True


class EditFactForm(FactForm):
    """A fact that is there already, being corrected."""

    category = forms.ChoiceField(label="Category", choices=FactCategory.choices)

    def __init__(self, fact: UserFact, data: QueryDict | None = None) -> None:
        """Show the values of `fact`, or what was typed over them."""
        initial = {"content": fact.content, "topic": fact.topic, "category": fact.category}
        # Several may be open on one page, so the ids name their fact.
        super().__init__(data, initial=initial, auto_id=f"edit-{fact.pk}-%s")
        self.fact = fact


class FactFilterForm(forms.Form):
    """What to list, from the address of the page. A value it does not know is said to be wrong and filters nothing."""

    show = forms.ChoiceField(required=False, choices=[("archived", "Archived")], widget=forms.HiddenInput)
    q = forms.CharField(
        label="Search", required=False, max_length=200, widget=forms.SearchInput(attrs={"autocomplete": "off"})
    )
    source = forms.ChoiceField(label="Source", required=False, choices=[("", "Any"), *FactSource.choices])
    confidence = forms.ChoiceField(label="Confidence", required=False, choices=[("", "Any"), *Confidence.choices])
    topic = forms.ChoiceField(label="Topic", required=False)
    category = forms.ChoiceField(label="Category", required=False, choices=[("", "Any"), *FactCategory.choices])
    sort = forms.ChoiceField(label="Order", required=False)
    page = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, data: QueryDict, *, topics: Iterable[str], **kwargs: Any) -> None:
        super().__init__(data, auto_id="filter-%s", **kwargs)
        asked = data.get("topic", "")
        # A link to a topic that is in use no more finds nothing, which is an answer too.
        names = sorted({*topics, asked} - {"", NO_TOPIC})
        self.fields["topic"].choices = [("", "Any"), *((name, name) for name in names), (NO_TOPIC, "None")]  # type: ignore[attr-defined]
        self.fields["sort"].choices = self._orders(data.get("show") == "archived")  # type: ignore[attr-defined]

    @staticmethod
    def _orders(archived: bool) -> list[tuple[str, str]]:
        first = ("", "Last archived") if archived else ("", "Last used")
        rest = [("newest", "Newest"), ("oldest", "Oldest"), ("topic", "Topic"), ("text", "Text")]
        return [first, ("referenced", "Last used"), *rest] if archived else [first, *rest]

    @property
    def known(self) -> dict[str, Any]:
        """The values that were given and make sense."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}

    def wanted(self) -> FactFilter:
        """Return what to list."""
        known = self.known
        archived = known.get("show") == "archived"
        topic = known.get("topic")
        return FactFilter(
            words=known.get("q", ""),
            source=known.get("source", ""),
            confidence=known.get("confidence", ""),
            category=known.get("category", ""),
            topic="" if topic == NO_TOPIC else topic,
            archived=archived,
            order=known.get("sort") or ("archived" if archived else "referenced"),
        )

    def is_narrowed(self) -> bool:
        """Tell whether anything but the order, the page and the shelf was asked for."""
        return not self.known.keys() <= {"show", "sort", "page"}

    def query(self, **changes: Any) -> str:
        """Return the shortest query string of this list, with some values changed (None: left out)."""
        values = {name: value for name, value in {**self.known, **changes}.items() if value}
        return f"?{urlencode(values)}" if values else ""
