"""Read-only lists of where users' own trades come from; no key is shown, not even encrypted."""

from config.lib.admin import register_rows
from trading import models

register_rows(
    models.VenueAccount,
    list_display=("venue", "address", "key_hint", "user", "created_at", "due_at", "read_until", "error"),
    list_filter=("venue",),
    search_fields=("address",),
    ordering=("-created_at", "id"),
    exclude=("sealed_key",),
    heavy=("sealed_key",),
)
register_rows(
    models.TradeFile,
    list_display=("name", "user", "created_at"),
    search_fields=("name",),
    ordering=("-created_at", "id"),
    exclude=("content",),
    heavy=("content", "mapping"),
)
