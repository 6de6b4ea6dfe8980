"""The forms of memory's pages."""

from collections.abc import Callable, Iterable
from datetime import date, datetime, time
from typing import Any, ClassVar, Final, Self

from django import forms
from django.core.validators import MaxLengthValidator
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.datastructures import MultiValueDict

from config.lib.errors import DomainError
from config.lib.lists import ListForm
from memory import wording
from memory.claims.validity import Validity
from memory.facts.periods import ENDS_TOO_EARLY
from memory.facts.queries import FactFilter
from memory.models import Confidence, FactCategory, FactSource, Place, UserFact
from memory.transfer.arrival import MAX_ARCHIVE, DocumentRefused
from memory.transfer.uploads import read_upload
from memory.wording import MAX_BODY, MAX_CONTENT, MAX_SUMMARY, MIN_CONTENT, parse_detail, parse_summary

SUGGESTED_TOPICS: Final = tuple(sorted(wording.CATEGORY_BY_TOPIC))
NO_TOPIC: Final = "-"  # in the address of a filter; no topic has this name

_LAST_USED: Final = ("referenced", "Last used")
# The orders of each shelf with their labels, its default first.
_ORDERS: Final = {
    "": (_LAST_USED,),
    "archived": (("archived", "Last archived"), _LAST_USED),
    "trash": (("trashed", "Last deleted"), _LAST_USED),
}
_OTHER_ORDERS: Final = (("newest", "Newest"), ("oldest", "Oldest"), ("topic", "Topic"), ("text", "Text"))


class _DateInput(forms.DateInput):
    input_type = "date"

    def __init__(self) -> None:
        super().__init__(format="%Y-%m-%d")  # the only format that browsers read


class FactForm(forms.Form):
    """A new fact; the service validates its text."""

    content = forms.CharField(
        label="Fact",
        help_text=f"One short line, {MIN_CONTENT} to {MAX_CONTENT} characters, as you would say it to Keel.",
        error_messages={"required": "Write the fact first."},
        # With `max_length` a browser would cut pasted text silently, so use a validator.
        validators=[MaxLengthValidator(10 * MAX_CONTENT, "This is far too long for one fact.")],
        widget=forms.Textarea(attrs={"rows": 2, "dir": "auto"}),
    )
    topic = forms.CharField(
        label="Topic",
        required=False,
        max_length=wording.MAX_TOPIC,
        help_text="A short tag, such as risk or goal.",
        widget=forms.TextInput(attrs={"list": "topics", "autocomplete": "off", "autocapitalize": "none"}),
    )
    category = forms.ChoiceField(
        label="Category", required=False, choices=[("", "As the topic suggests"), *FactCategory.choices]
    )
    valid_from = forms.DateField(
        label="True from",
        required=False,
        help_text="Without dates your words decide: “from Monday”, “until March”.",
        widget=_DateInput,
    )
    valid_until = forms.DateField(
        label="True until",
        required=False,
        help_text="From this day on it is no longer true, and no chat starts with it.",
        widget=_DateInput,
    )

    def clean(self) -> dict[str, Any]:
        """Replace the dates by `validity`: as changed, or None if the words decide."""
        begins, ends = (self._read_date(name) for name in ("valid_from", "valid_until"))
        if begins is not None and ends is not None and ends <= begins:
            self.add_error("valid_until", ENDS_TOO_EARLY)
        is_changed = not {"valid_from", "valid_until"}.isdisjoint(self.changed_data) and "valid_until" in self.data
        fields = {name: value for name, value in self.cleaned_data.items() if not name.startswith("valid_")}
        return {**fields, "validity": Validity(begins, ends) if is_changed else None}

    def _read_date(self, name: str) -> datetime | None:
        """Return the start of a typed day in the reader's zone."""
        day = self.cleaned_data.get(name)
        return None if day is None else timezone.make_aware(datetime.combine(day, time.min))

    def focus_first_field(self) -> None:
        self.fields["content"].widget.attrs["autofocus"] = True


class EditFactForm(FactForm):
    category = forms.ChoiceField(label="Category", choices=FactCategory.choices)
    summary = forms.CharField(
        label="Shorter line",
        required=False,
        help_text=f"At most {MAX_SUMMARY} characters. If there is one, chats start with it instead of the fact.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    detail = forms.CharField(
        label="Detail",
        required=False,
        help_text=f"At most {MAX_BODY:,} characters. Keel finds it when it looks things up; no chat starts with it.",
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto"}),
    )

    def __init__(self, fact: UserFact, data: QueryDict | None = None) -> None:
        initial = {name: getattr(fact, name) for name in ("content", "topic", "category", "summary")}
        # A beginning shows if it was set: by default a version begins when it is written.
        has_beginning = fact.valid_from not in (fact.created_at, fact.learned_at)
        initial["valid_from"] = timezone.localdate(fact.valid_from) if has_beginning else None
        initial["valid_until"] = timezone.localdate(fact.valid_until) if fact.valid_until else None
        # Several forms may be open on one page, so the ids contain the fact's id.
        super().__init__(data, initial={**initial, "detail": fact.body}, auto_id=f"edit-{fact.pk}-%s")
        self.fact = fact

    def _read_date(self, name: str) -> datetime | None:
        # An unchanged day stays the exact instant; a beginning that does not show stays open.
        is_kept = name not in self.changed_data and self.initial[name] is not None
        kept: datetime | None = getattr(self.fact, name)
        return kept if is_kept else super()._read_date(name)

    def clean_summary(self) -> str | None:
        """Return the shorter line; None, when not sent, keeps it."""
        return self._parse_text("summary", parse_summary)

    def clean_detail(self) -> str | None:
        """Return the detail; None, when not sent, keeps it."""
        return self._parse_text("detail", parse_detail)

    def _parse_text(self, name: str, as_stored: Callable[[str], str]) -> str | None:
        if name not in self.data:
            return None
        try:
            return as_stored(self.cleaned_data[name])
        except DomainError as error:
            raise forms.ValidationError(str(error)) from error

    @property
    def has_more(self) -> bool:
        """Whether to show the shorter line, the detail and the dates at once."""
        names = ("summary", "detail", "valid_from", "valid_until")
        return any(self[name].value() or self[name].errors for name in names)


class LinkForm(forms.Form):
    """A link to another fact, named by its words."""

    relation = forms.CharField(
        label="How they relate",
        max_length=wording.MAX_RELATION,
        initial="relates_to",
        error_messages={"required": "Say how they relate, such as relates_to or contradicts."},
        widget=forms.TextInput(attrs={"list": "relations", "autocomplete": "off", "autocapitalize": "none"}),
    )
    to = forms.CharField(
        label="The other fact",
        help_text="Some of its words, or its id.",
        max_length=MAX_CONTENT,
        error_messages={"required": "Name the other fact by some of its words."},
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )

    def __init__(self, data: QueryDict | None = None) -> None:
        super().__init__(data, auto_id="link-%s")
        self.candidates: list[UserFact] = []  # facts that match the words


class PlaceForm(forms.Form):
    name = forms.CharField(
        label="Name",
        max_length=wording.MAX_PLACE_NAME,
        error_messages={"required": "Name the place first."},
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    notes = forms.CharField(
        label="Notes",
        required=False,
        max_length=wording.MAX_PLACE_NOTES,
        help_text="What Keel should know of it, on one line.",
        widget=forms.TextInput(attrs={"dir": "auto", "autocomplete": "off"}),
    )
    place: Place | None = None  # the place to correct

    @classmethod
    def for_place(cls, place: Place, data: QueryDict | None = None) -> Self:
        """Return the form that corrects a place."""
        form = cls(data, initial={"name": place.name, "notes": place.notes}, auto_id=f"edit-{place.pk}-%s")
        form.place = place
        form.fields["name"].widget.attrs["autofocus"] = True
        return form


class SwitchForm(forms.Form):
    switch = forms.ChoiceField(choices=[("uses_facts", "Uses facts"), ("learns", "Learns")])
    to = forms.ChoiceField(choices=[("on", "On"), ("off", "Off")])


class ImportForm(forms.Form):
    kind = forms.ChoiceField(
        label="What it is",
        choices=[
            ("document", "What Keel exported: the zip, memory.json or a document"),
            ("list", "A list, or the memory of ChatGPT, Claude, Gemini, mem0, Zep or Letta (text, table, JSON, zip)"),
        ],
    )
    file = forms.FileField(label="File", required=False, max_length=255)
    text = forms.CharField(
        label="Or its text",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto", "spellcheck": "false"}),
    )

    def __init__(self, data: QueryDict | None = None, files: MultiValueDict[str, Any] | None = None) -> None:
        super().__init__(data, files, auto_id="import-%s")

    def clean(self) -> dict[str, Any]:
        """Add `brought`, the file's or else the typed text."""
        file, text = self.cleaned_data.get("file"), self.cleaned_data.get("text", "")
        if file is None and not text.strip() and not self.errors:
            self.add_error("text", "Choose a file, or paste its text here.")
        if file is not None and file.size > MAX_ARCHIVE:
            self.add_error("file", "This file is too large to be one.")
        elif file is not None:
            try:
                text = read_upload(file.read())
            except DocumentRefused as error:
                self.add_error("file", str(error))
        return {**self.cleaned_data, "brought": text}


class FactFilterForm(ListForm):
    """The list's filters; an unknown value is reported and ignored."""

    NARROWING: ClassVar = ("q", "source", "confidence", "topic", "category", "as_of", "by")

    show = forms.ChoiceField(
        required=False, choices=[("archived", "Archived"), ("trash", "Trash")], widget=forms.HiddenInput
    )
    q = forms.CharField(
        label="Search", required=False, max_length=200, widget=forms.SearchInput(attrs={"autocomplete": "off"})
    )
    source = forms.ChoiceField(label="Source", required=False, choices=[("", "Any"), *FactSource.choices])
    confidence = forms.ChoiceField(label="Confidence", required=False, choices=[("", "Any"), *Confidence.choices])
    topic = forms.ChoiceField(label="Topic", required=False)
    category = forms.ChoiceField(label="Category", required=False, choices=[("", "Any"), *FactCategory.choices])
    as_of = forms.DateField(
        label="As of", required=False, widget=_DateInput, error_messages={"invalid": "Pick a day of the calendar."}
    )
    by = forms.ChoiceField(
        label="By what Keel knew", required=False, choices=[("", "On that day"), ("now", "Until today")]
    )
    group = forms.ChoiceField(label="Groups", required=False, choices=[("", "By category"), ("none", "None")])
    sort = forms.ChoiceField(label="Order", required=False)

    def __init__(self, data: QueryDict, *, topics: Iterable[str], **kwargs: Any) -> None:
        super().__init__(data, home=reverse("memory:facts"), auto_id="filter-%s", **kwargs)
        asked = data.get("topic", "")
        # Accept a topic that is no longer in use; its list is empty.
        names = sorted({*topics, asked} - {"", NO_TOPIC})
        self.fields["topic"].choices = [("", "Any"), *((name, name) for name in names), (NO_TOPIC, "None")]  # type: ignore[attr-defined]
        shelf = data.get("show", "")
        (_, first), *others = (*_ORDERS.get(shelf, _ORDERS[""]), *_OTHER_ORDERS)
        self.fields["sort"].choices = [("", first), *others]  # type: ignore[attr-defined]
        if shelf in ("archived", "trash"):
            # Ended facts are sorted by time, so groups do not apply, and a day has its own list.
            del self.fields["group"], self.fields["as_of"], self.fields["by"]
        elif not data.get("as_of"):
            del self.fields["by"]

    def build_filter(self) -> FactFilter:
        """Return the filter of the list."""
        known, day = self.known, self.known.get("as_of")
        # The end of the chosen day in the reader's zone.
        moment = timezone.make_aware(datetime.combine(day, time.max)) if day and day < date.max else None
        shelf, topic = known.get("show", ""), known.get("topic")
        return FactFilter(
            **{name: known[name] for name in ("source", "confidence", "category") if name in known},
            words=known.get("q", ""),
            topic="" if topic == NO_TOPIC else topic,
            shelf=shelf or "believed",
            valid_at=moment,
            known_at=None if known.get("by") == "now" else moment,
            grouped=not shelf and known.get("group") != "none",
            order=known.get("sort") or _ORDERS[shelf][0][0],
        )
