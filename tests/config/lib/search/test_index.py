import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection, models, transaction

from chat.models import Message
from config.lib.fields import SearchTermsField
from config.lib.owned import ScopeError, owned_tx, system_tx
from config.lib.search.index import ContainsAny, count_holders, find_any
from config.lib.search.terms import build_index_text, build_tokens, list_query_terms
from memory.models import UserFact
from tests.factories.chat import MessageFactory
from tests.factories.memory import MAY, UserFactFactory
from tests.factories.trading import TraderFactory
from tests.owners import as_owner, as_trader, stranger, trader

__all__ = ["as_trader", "stranger", "trader"]

SEARCHED = [UserFact, Message]
WORD = "lighthouse"


def holders(user, query: str) -> list[str]:
    wanted = build_tokens(list_query_terms(query), user.pk)
    return sorted(UserFact.objects.filter(ContainsAny(wanted)).values_list("content", flat=True))


def entries(user, *words: str) -> int:
    """Return how many rows the index itself holds for any of some words."""
    return count_holders(UserFact, build_tokens(words, user.pk))[0]


def test_index_follows_each_way_of_writing(as_trader):
    one = UserFactFactory(content="Saw a lighthouse", summary="", body="")
    UserFact.objects.bulk_create([UserFactFactory.build(content="Lighthouse two", user=as_trader)])
    assert entries(as_trader, "lighthous") == 2

    one.content = "Saw a harbour"
    one.save()
    assert (entries(as_trader, "lighthous"), entries(as_trader, "harbour")) == (1, 1)

    UserFact.objects.filter(pk=one.pk).update(archived_at=MAY, archived_reason="user_archived")
    assert entries(as_trader, "harbour") == 0

    UserFact.objects.filter(pk=one.pk).update(archived_at=None, archived_reason="")
    assert entries(as_trader, "harbour") == 1

    UserFact.objects.all().delete()
    assert entries(as_trader, "harbour", "lighthous", "saw", "two") == 0


def test_index_keeps_no_trace_of_a_write_that_was_undone(as_trader):
    with transaction.atomic():
        UserFactFactory(content="Saw a lighthouse")
        transaction.set_rollback(True)

    assert entries(as_trader, "lighthous") == 0


def index_tables() -> list[str]:
    return [name for name in connection.introspection.table_names() if "_search" in name]


def dump_index() -> str:
    """Return all that the tables of the index hold, those that FTS5 keeps for itself, too."""
    cells = []
    with connection.cursor() as cursor:
        for table in index_tables():
            cursor.execute(f'SELECT * FROM "{table}"')  # noqa: S608
            cells += [cell for row in cursor.fetchall() for cell in row]
    return "\n".join(cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell) for cell in cells)


def test_tables_of_the_index_never_hold_a_word(as_trader):
    fact = UserFactFactory(content=f"Saw a {WORD} at 比特币", body="Größe")
    MessageFactory(content=f"Saw a {WORD}")
    texts = [WORD, "lighthous", "比特", "gros", "saw"]

    before = dump_index()
    fact.delete()

    assert build_tokens(["lighthous"], as_trader.pk)[0] in before
    assert [text for text in texts if text in before or text in dump_index()] == []


def test_searched_models_are_those_with_the_column():

    found = [m for m in apps.get_models() if any(isinstance(f, SearchTermsField) for f in m._meta.concrete_fields)]

    assert {*found} == {*SEARCHED}


def test_a_foreign_row_is_not_found_by_its_own_words(as_trader, stranger):
    UserFactFactory(content=f"My {WORD}")
    as_owner(stranger, lambda: UserFactFactory(content=f"Foreign {WORD}"))

    assert holders(as_trader, WORD) == [f"My {WORD}"]
    assert holders(stranger, WORD) == []  # the stranger's tokens, in the trader's scope
    assert entries(as_trader, "foreign") == 0


def test_search_without_a_scope_is_refused(db):
    with pytest.raises(ScopeError):
        list(UserFact.objects.filter(ContainsAny(["x" * 12])))


def test_system_may_look_for_the_tokens_of_any_owner(trader):
    as_owner(trader, lambda: UserFactFactory(content=f"My {WORD}"))

    with system_tx("test"):
        assert holders(trader, WORD) == [f"My {WORD}"]


def test_no_tokens_are_held_by_no_row(as_trader):
    UserFactFactory()

    assert not UserFact.objects.filter(ContainsAny([])).exists()
    assert UserFact.objects.filter(~ContainsAny([])).exists()
    assert find_any(UserFact.objects.all(), [], held=1, most=4).rows == []


def test_search_conditions_combine_with_or_and_not(as_trader):
    UserFactFactory(content="Saw a lighthouse")
    UserFactFactory(content="Saw a harbour")
    light, harbour = build_tokens(["lighthous", "harbour"], as_trader.pk)

    assert UserFact.objects.filter(ContainsAny([light]) | ContainsAny([harbour])).count() == 2
    assert UserFact.objects.filter(~ContainsAny([light])).get().content == "Saw a harbour"
    assert UserFact.objects.filter(ContainsAny([light, harbour], newest=1)).get().content == "Saw a harbour"


def test_find_any_takes_all_that_hold_a_rare_word_and_the_newest_of_the_others(as_trader):
    UserFactFactory(content="gold rare")
    for number in range(6):
        UserFactFactory(content=f"gold common n{number}")
    wanted = build_tokens(["gold", "rare", "n0"], as_trader.pk)

    found = find_any(UserFact.objects.all(), wanted, held=7, most=4)

    assert {row.content for row in found.rows} == {"gold rare", "gold common n0", "gold common n5", "gold common n4"}
    assert (found.total, found.frequencies[wanted[0]]) == (7, 7)


@pytest.mark.parametrize("most", [6, 7, 20])
def test_find_any_counts_matching_rows(as_trader, most):
    for number in range(6):
        UserFactFactory(content=f"gold n{number}")
    UserFactFactory(content="silver")

    found = find_any(UserFact.objects.all(), build_tokens(["gold"], as_trader.pk), held=7, most=most)

    assert (len(found.rows), found.total, found.frequencies) == (6, 6, {})


@pytest.mark.postgres
def test_newest_rows_are_found_without_reading_rows_of_all_users(as_trader):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")  # what seems dear of many rows

    plan = UserFact.objects.filter(ContainsAny(build_tokens(["gold"], as_trader.pk), newest=5)).explain()

    assert "user_facts_search_tokens" in plan
    assert "Backward" not in plan


def test_column_is_made_of_all_its_sources_and_the_subjects_of_its_statement(as_trader):
    fact = UserFactFactory(content="Trades BTC", summary="Bitcoin", body="since 2019")

    fact.refresh_from_db()

    marks = {"BTC", "symbols", "trade"}
    assert fact.search_terms == build_index_text("Trades BTC\nBitcoin\nsince 2019", as_trader.pk, marks=marks)


def test_column_is_made_again_from_its_migration():
    field = UserFact._meta.get_field("search_terms")
    _, path, args, kwargs = field.deconstruct()
    again = type(field)(*args, **kwargs)

    assert path == "config.lib.fields.SearchTermsField"
    assert (again.sources, again.editable, again.default) == (("content", "summary", "body"), False, "")
    assert isinstance(again, models.TextField)


@pytest.mark.django_db(transaction=True)
def test_index_is_empty_when_the_tables_were_emptied():

    user = TraderFactory()
    with owned_tx(user):
        UserFactFactory(content=f"My {WORD}")

    call_command("flush", interactive=False, verbosity=0)

    assert count_holders(UserFact, build_tokens(["lighthous"], user.pk)) == [0]
