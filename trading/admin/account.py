"""Accounts and API tokens."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from config.lib.admin import LookOnlyAdmin
from trading.account.tokens import revoke_token
from trading.models import ApiToken, Trader


@admin.register(Trader)
class TraderAdmin(UserAdmin):
    """Accounts; owned rows have their own lists."""

    ordering = ("email",)
    list_display = ("email", "experience_tier", "time_zone", "is_staff", "is_active", "last_login")
    list_filter = ("is_staff", "is_active", "experience_tier")
    search_fields = ("email",)
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "experience_tier", "time_zone")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"classes": ("wide",), "fields": ("email", "usable_password", "password1", "password2")}),)


@admin.register(ApiToken)
class ApiTokenAdmin(LookOnlyAdmin):
    """Tokens of all users; staff may look and revoke."""

    list_display = ("name", "prefix", "user", "scope", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_filter = ("scope", ("revoked_at", admin.EmptyFieldListFilter))
    search_fields = ("name", "prefix", "user__email")
    ordering = ("-created_at", "id")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description="Revoke the selected tokens", permissions=["revoke"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """End the selected tokens."""
        for token in queryset:
            revoke_token(token_id=token.pk, now=timezone.now())
        self.message_user(request, "Revoked.")

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Allow revoking to staff who may change tokens."""
        return request.user.has_perm("trading.change_apitoken")
