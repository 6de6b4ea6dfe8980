from datetime import UTC, datetime

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict

from memory.claims.validity import Validity
from memory.facts.queries import FactFilter
from memory.transfer.arrival import MAX_ARCHIVE
from memory.web.forms import EditFactForm, FactFilterForm, FactForm, ImportForm
from tests.factories.memory import JULY, UserFactFactory


def filters(query: str = "", topics: tuple[str, ...] = ("risk",)) -> FactFilterForm:
    return FactFilterForm(QueryDict(query), topics=topics)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", FactFilter(grouped=True), id="nothing asked"),
        pytest.param("group=none", FactFilter(), id="without groups"),
        pytest.param(
            "q=btc&source=chat&confidence=inferred&topic=risk&category=fact&sort=newest&page=2",
            FactFilter("btc", "chat", "inferred", "fact", "risk", grouped=True, order="newest"),
            id="everything asked",
        ),
        pytest.param("show=archived", FactFilter(shelf="archived", order="archived"), id="archived, last first"),
        pytest.param("show=archived&sort=referenced", FactFilter(shelf="archived"), id="archived in another order"),
        pytest.param("show=trash", FactFilter(shelf="trash", order="trashed"), id="the trash, the last one first"),
        pytest.param("topic=-", FactFilter(topic="", grouped=True), id="without a topic"),
        pytest.param("topic=gone", FactFilter(topic="gone", grouped=True), id="a topic in use no more"),
        pytest.param("source=zzz&sort=archived&page=x&show=all", FactFilter(grouped=True), id="unknown values"),
        pytest.param("q=%00", FactFilter(grouped=True), id="an unprintable search"),
    ],
)
def test_build_filter_reads_the_address(query, expected):
    assert filters(query).build_filter() == expected


def test_filter_form_reports_unknown_value():
    form = filters("source=zzz&q=btc")

    assert form.build_filter().words == "btc"
    assert list(form.errors) == ["source"]


def test_a_fact_may_be_pasted_whole_and_is_refused_by_the_service():
    assert FactForm({"content": "x" * 4_000}).is_valid()
    assert "maxlength" not in str(FactForm()["content"])


def test_a_fact_far_too_long_is_refused():
    assert not FactForm({"content": "x" * 6_000}).is_valid()


@pytest.mark.limit("memory.transfer.arrival.MAX_ARCHIVE")
def test_a_file_far_too_large_is_refused_unread():
    file = SimpleUploadedFile("facts.txt", b"Trades BTC only\n".ljust(MAX_ARCHIVE + 1))

    form = ImportForm(QueryDict("kind=list"), MultiValueDict({"file": [file]}))

    assert form.errors["file"] == ["This file is too large to be one."]


def test_the_form_to_edit_shows_the_fact_and_keeps_what_was_typed(as_trader):
    fact = UserFactFactory(content="max 5x", topic="risk", category="profile", summary="5x", body="since 2022")
    typed = QueryDict("content=x&topic=goal&category=fact&summary=y&detail=z")

    fresh, sent = EditFactForm(fact), EditFactForm(fact, typed)

    names = ("content", "topic", "category", "summary", "detail")
    assert [fresh[name].value() for name in names] == ["max 5x", "risk", "profile", "5x", "since 2022"]
    assert [sent[name].value() for name in names] == ["x", "goal", "fact", "y", "z"]


@pytest.mark.parametrize(
    ("typed", "validity"),
    [
        ("valid_from=&valid_until=2026-07-01", None),
        ("valid_from=&valid_until=", Validity(None, None)),
        ("valid_from=&valid_until=2026-08-01", Validity(None, datetime(2026, 8, 1, tzinfo=UTC))),
        ("valid_from=2026-06-01&valid_until=2026-07-01", Validity(datetime(2026, 6, 1, tzinfo=UTC), JULY)),
        ("valid_from=&summary=x", None),
    ],
    ids=["as shown", "emptied", "moved", "begins; the end stays to the minute", "not in the form"],
)
def test_the_form_to_edit_shows_the_end_and_gives_the_dates_as_changed(as_trader, typed, validity):
    form = EditFactForm(UserFactFactory(valid_until=JULY), QueryDict(f"content=Half+size&category=fact&{typed}"))

    assert form["valid_until"].initial.isoformat() == "2026-07-01"
    assert form.is_valid()
    assert form.cleaned_data["validity"] == validity


def test_the_form_refuses_an_end_before_the_beginning():
    form = FactForm({"content": "Half size", "valid_from": "2026-07-02", "valid_until": "2026-07-01"})

    assert "valid_until" in form.errors


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("", (None, None), id="not in the form, so kept with the words"),
        pytest.param("summary=&detail=", ("", ""), id="emptied"),
        pytest.param("summary=+5x++max&detail=since%0D%0A2022", ("5x max", "since\n2022"), id="as stored"),
    ],
)
def test_the_form_to_edit_gives_the_shorter_line_and_the_detail(as_trader, query, expected):
    form = EditFactForm(UserFactFactory(summary="5x"), QueryDict(f"content=max+5x&category=fact&{query}"))

    assert form.is_valid()
    assert (form.cleaned_data["summary"], form.cleaned_data["detail"]) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [("summary", "x" * 201), ("detail", "x" * 4_001), ("summary", "pin 1234"), ("detail", "My password is hunter2")],
    ids=["a summary too long", "a detail too long", "a secret in the summary", "a secret in the detail"],
)
def test_the_form_to_edit_refuses_beside_the_field(as_trader, name, text):
    data = QueryDict(mutable=True)
    data.update({"content": "max 5x", "category": "fact", name: text})
    form = EditFactForm(UserFactFactory(), data)

    assert list(form.errors) == [name]
    assert form.has_more
