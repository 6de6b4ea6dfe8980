from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from trading.models import Trader


@admin.register(Trader)
class TraderAdmin(UserAdmin):
    """Accounts; what a trader owns is looked at in its own lists."""

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
