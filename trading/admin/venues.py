"""Read-only lists of where users' own trades come from; no key is shown, not even encrypted."""

from django.contrib import admin

from config.lib.admin import LookOnlyAdmin
from trading import models


@admin.register(models.VenueAccount)
class VenueAccountAdmin(LookOnlyAdmin):
    list_display = ("venue", "address", "key_hint", "user", "created_at", "due_at", "read_until", "error")
    list_filter = ("venue",)
    search_fields = ("address", "user__email")
    ordering = ("-created_at", "id")
    exclude = ("sealed_key",)
    heavy = ("sealed_key",)


@admin.register(models.TradeFile)
class TradeFileAdmin(LookOnlyAdmin):
    """Files that wait for their import."""

    list_display = ("name", "user", "created_at")
    search_fields = ("name", "user__email")
    ordering = ("-created_at", "id")
    exclude = ("content",)
    heavy = ("content", "mapping")
