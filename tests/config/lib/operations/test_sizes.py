import pytest

from config.lib.operations.sizes import measure_database, measure_tables


@pytest.mark.django_db
def test_sizes_are_those_of_all_tables():
    tables = measure_tables()

    assert {"user_facts", "decision_snapshots", "django_migrations"} <= set(tables)
    assert list(tables.values()) == sorted(tables.values(), reverse=True)
    assert tables["django_migrations"] > 0
    assert sum(tables.values()) <= measure_database() * 1.1
