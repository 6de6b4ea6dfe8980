"""Serialise the writes of one user until the transaction ends."""

from django.contrib.auth import get_user_model
from django.db import connection

from config.lib.owned import owner_id


def lock_owner() -> None:
    """Serialise this owner's writes, inside `owned_tx(user)`, before other locks. SQLite does so by itself."""
    if connection.features.has_select_for_update:
        # NO KEY: rows that only point to the user, such as messages, can still be inserted.
        users = get_user_model()._default_manager.select_for_update(no_key=True)
        users.only("pk").get(pk=owner_id())
