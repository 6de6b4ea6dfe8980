# ruff: noqa: RUF001 - characters that look like others are what these tests are about

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.fields import AmongRows, content_key
from config.lib.owned import ScopeError, owned_tx
from config.lib.text import normal_form
from memory.models import UserFact
from tests.factories.memory import UserFactFactory
from tests.factories.record import FillFactory
from tests.factories.trading import TraderFactory
from trading.models import Fill

CONTENT = "  Größe:  höchstens ５０ € ! "
DERIVED = [UserFact._meta.get_field(name) for name in ("normalised", "content_key")]


@pytest.fixture
def in_scope(db):
    with owned_tx(TraderFactory()):
        yield


def derived(row: UserFact) -> tuple[str, str]:
    return row.normalised, row.content_key


def expected(content: str) -> tuple[str, str]:
    return normal_form(content), content_key(content)


@given(st.text())
def test_content_key_is_short_and_of_the_normal_form_alone(text):
    assert len(content_key(text)) == 64
    assert content_key(text) == content_key(normal_form(text))


def test_content_key_never_changes():
    # It is stored: another digest would make every known fact a new one.
    assert content_key("Trades BTC") == "eb31985a8b877c6d251eba64b4ca1eac27c0b70e3a3f9a1e167c855c859cfc86"


def save_again(row):
    row.content, content = "Trades BTC", row.content
    row.save()
    row.content = content
    row.save()


@pytest.mark.parametrize(
    "save",
    [
        lambda row: row.save(),
        save_again,
        lambda row: UserFact.objects.bulk_create([row]),
        lambda row: UserFactFactory(id=row.id, content=row.content, normalised="planted", content_key="planted"),
    ],
    ids=["save", "save again", "bulk_create", "given"],
)
def test_derived_columns_are_filled_when_a_row_is_written(save, in_scope):
    row = UserFactFactory.build(content=CONTENT)

    save(row)

    assert derived(UserFact.objects.get(pk=row.pk)) == expected(CONTENT)
    assert derived(UserFactFactory(content=f"{CONTENT} x")) == expected(f"{CONTENT} x")  # on the row itself, too


@pytest.mark.parametrize("column", ["content", "normalised", "content_key"])
def test_content_is_never_updated_past_its_derived_columns(column, in_scope):
    row = UserFactFactory(content="Trades BTC")

    with pytest.raises(ScopeError):
        UserFact.objects.update(**{column: CONTENT})
    with pytest.raises(ScopeError):
        UserFact.objects.bulk_update([row], [column])


def test_equal_texts_have_equal_keys_on_this_database(in_scope):
    fact = UserFactFactory(content="Größe höchstens 50 €")

    assert UserFact.objects.get(content_key=content_key("GRÖSSE  höchstens ５０ €.")) == fact


@pytest.mark.parametrize("field", DERIVED, ids=lambda field: field.name)
def test_field_is_made_again_from_its_migration(field):
    _, path, args, kwargs = field.deconstruct()
    again = type(field)(*args, **kwargs)

    assert path == f"config.lib.fields.{type(field).__name__}"
    assert (again.source, again.max_length, again.editable) == ("content", field.max_length, False)
    assert again.deconstruct()[1:] == (path, args, kwargs)


QUOTED = 'it\'s "1" % \\ \N{SNOWMAN}'


@pytest.mark.usefixtures("in_scope")
@pytest.mark.parametrize("count", [1, 3_000])
def test_among_rows_finds_pairs_and_nothing_across_them(count):
    wanted = [FillFactory(symbol="A", fill_id="1"), FillFactory(symbol="B", fill_id=QUOTED)]
    FillFactory(symbol="A", fill_id=QUOTED)
    rows = [("A", "1"), ("B", QUOTED), *(("C", str(number)) for number in range(count))]

    assert set(Fill.objects.filter(AmongRows("symbol", "fill_id", rows=rows))) == set(wanted)
    assert Fill.objects.filter(AmongRows("symbol", rows=[["A"]])).count() == 2
    assert not Fill.objects.filter(AmongRows("symbol", "fill_id", rows=[])).exists()
