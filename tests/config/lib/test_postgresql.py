import pytest
from django.db import connection, transaction

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_connection_that_was_given_back_inside_a_transaction_serves_the_next():
    connection.ensure_connection()  # opens the pool
    connection.close()
    pool = connection.pool
    taken = [pool.getconn() for _ in range(pool.get_stats()["pool_available"] or 1)]
    for given in taken:
        given.autocommit = False
        pool.putconn(given)

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    connection.close()
