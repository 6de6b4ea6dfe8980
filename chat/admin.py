"""The admin of chats and of users, who have acts."""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from allauth.usersessions.models import UserSession
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.db.models import Model
from django.http import HttpRequest

from chat import models
from chat.conversations.lifecycle import request_close, retry_extraction
from chat.endings.erasure import count_rows, erase_user
from config.lib.admin import OPEN, Act, ActAdmin, LookOnlyAdmin, ReasonForm, register_rows
from trading.account.services import set_token_budget
from trading.models import Trader

# They hold secrets, and users manage their own.
admin.site.unregister([Authenticator, SocialAccount, SocialApp, SocialToken, UserSession])

register_rows(
    models.Conversation,
    newest="last_message_at",
    list_display=("__str__", "user", "assistant", "status", "last_message_at"),
    list_filter=("assistant", "status"),
    search_fields=("title",),
    acts=(
        Act("close", "Close", lambda chat, now: request_close(conversation_id=chat.pk, now=now)),
        Act("retry", "Retry extraction", lambda chat, now: retry_extraction(conversation_id=chat.pk, now=now)),
    ),
)
register_rows(
    models.Message,
    list_display=("__str__", "user", "role", "status", "model", "created_at"),
    list_filter=("role", "status", "model"),
    search_fields=("content",),
    date_hierarchy="created_at",
    ordering=("-pk",),
)
register_rows(
    models.MemorySnapshot, newest="created_at", list_display=("__str__", "user", "conversation", "created_at")
)
register_rows(
    models.ConversationSummary,
    newest="created_at",
    list_display=("__str__", "user", "conversation", "through", "is_untrusted", "model", "created_at"),
    list_filter=("is_untrusted", "model"),
)
register_rows(
    models.Receipt,
    list_display=("__str__", "user", "reply", "models_asked"),
    search_fields=("sha256",),
    ordering=("-pk",),
)
register_rows(
    models.ActionCard,
    newest="created_at",
    list_display=("__str__", "user", "conversation", "created_at", "decided_at"),
    list_filter=("type", "status"),
    search_fields=(),
)
register_rows(
    models.Bookmark, newest="created_at", list_display=("__str__", "user", "created_at"), search_fields=("text", "note")
)
register_rows(models.DayNote, newest="day", list_display=("__str__", "user", "updated_at"), search_fields=("text",))
# Counts, without a text of the user.
register_rows(
    models.UsageDay,
    LookOnlyAdmin,
    list_display=("day", "user", "turns", "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd"),
    search_fields=(),
    date_hierarchy="day",
    ordering=("-day", "user"),
)


class BudgetForm(ReasonForm):
    tokens = forms.IntegerField(
        min_value=0, max_value=10_000_000_000, required=False, help_text="Tokens per day; empty for the usual budget."
    )


class EraseForm(ReasonForm):
    email = forms.EmailField(label="Email address", help_text="Type the address of the user to delete.")

    def clean(self) -> dict[str, Any]:
        """Refuse more than one user, another address and one's own account."""
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if len(self.rows) != 1:
            raise forms.ValidationError("Select one user; each is deleted alone.")
        if self.rows[0].pk == self.staff.pk:
            raise forms.ValidationError("Delete your own account from your profile.")
        if cleaned.get("email", "").lower() != self.rows[0].email:
            self.add_error("email", "This is not the address of the selected user.")
        return cleaned


@admin.register(Trader)
class TraderAdmin(ActAdmin, UserAdmin):
    """Accounts; owned rows have their own lists."""

    ordering = ("email",)
    list_display = (
        "email",
        "experience_tier",
        "time_zone",
        "daily_token_budget",
        "is_staff",
        "is_active",
        "last_login",
    )
    list_filter = ("is_staff", "is_active", "experience_tier")
    search_fields = ("email", "=id")  # the key of a run has the id
    readonly_fields = ("daily_token_budget",)
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "experience_tier", "time_zone", "daily_token_budget")}),
        ("Permissions", {"fields": ("is_active", "is_staff", "is_superuser", "groups", "user_permissions")}),
        ("Dates", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"classes": ("wide",), "fields": ("email", "usable_password", "password1", "password2")}),)
    acts = (
        Act(OPEN, "Open the user’s data", lambda trader, now: None, permission="trading.add_staffentry"),
        Act(
            "budget",
            "Set the token budget",
            lambda trader, now, tokens: set_token_budget(tokens=tokens),
            permission="chat.change_usageday",
            form=BudgetForm,
        ),
        Act(
            "remove_factors",
            "Remove the second factors",
            lambda trader, now: Authenticator.objects.filter(user=trader).delete(),
            permission="trading.change_apitoken",
        ),
        Act(
            "erase",
            "Delete the user and all rows",
            lambda trader, now, email: erase_user(user_id=trader.pk),
            permission="delete",
            form=EraseForm,
            describe=lambda trader: [
                "Deleted at once and for good:",
                *(f"{number:,} {name}" for name, number in count_rows(user_id=trader.pk)),
            ],
            as_system=True,
        ),
    )

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse Django's own deletion; the act erases what it would leave."""
        return False
