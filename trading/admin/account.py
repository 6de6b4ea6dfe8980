"""API tokens, which staff can revoke, and the staff log."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from config.lib.admin import Act, LookOnlyAdmin, register_rows
from trading.account.tokens import revoke_token
from trading.models import ApiToken, StaffEntry

register_rows(
    ApiToken,
    list_display=("name", "prefix", "user", "scope", "created_at", "last_used_at", "expires_at", "revoked_at"),
    list_filter=("scope", ("revoked_at", admin.EmptyFieldListFilter)),
    search_fields=("name", "prefix"),
    ordering=("-created_at", "id"),
    exclude=("digest",),
    acts=(Act("revoke", "Revoke", lambda token, now: revoke_token(token_id=token.pk, now=now)),),
)


class StaffLogAdmin(LookOnlyAdmin):
    """Every look at a user's rows and every act."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[StaffEntry]:
        return super().get_queryset(request).with_staff()  # type: ignore[no-any-return,attr-defined]


register_rows(
    StaffEntry,
    StaffLogAdmin,
    newest="created_at",
    list_display=(
        "created_at",
        admin.display(lambda entry: entry.staff_email or f"deleted account {entry.staff_id}", description="staff"),
        *("act", "subject", "user", "reason"),
    ),
    list_filter=("act",),
    search_fields=("reason", "subject", "=staff_id"),
)
