"""Serialise the writes of one user until the transaction ends."""

from typing import Final

from django.contrib.auth import get_user_model
from django.db import connection

from config.lib.owned import owner_id

# NO KEY: rows that only point to the user, such as messages, can still be inserted. Not by the ORM: it takes as long to
# build the statement as the database takes to run it, before each message.
_LOCK: Final = "SELECT id FROM {} WHERE id = %s FOR NO KEY UPDATE"


def lock_owner() -> None:
    """Serialise this owner's writes, inside `owned_tx(user)`, before other locks. SQLite does so by itself.

    Raises ObjectDoesNotExist when the user is gone.
    """
    if connection.features.has_select_for_update:
        users = get_user_model()
        with connection.cursor() as cursor:
            cursor.execute(_LOCK.format(users._meta.db_table), [owner_id()])
            if cursor.fetchone() is None:
                raise users.DoesNotExist
