from django.contrib import admin
from django.http import HttpRequest

from chat.models import (
    ActionCard,
    Bookmark,
    Conversation,
    ConversationSummary,
    MemorySnapshot,
    Message,
    Receipt,
    UsageDay,
)


class LookOnlyAdmin(admin.ModelAdmin):
    """A read-only admin."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Refuse: rows come from turns."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        """Refuse: deletion is the owner's, or erasure's."""
        return False


@admin.register(Conversation)
class ConversationAdmin(LookOnlyAdmin):
    """Conversations by recency."""

    list_display = ("__str__", "user", "assistant", "status", "last_message_at")
    list_filter = ("assistant", "status")
    list_select_related = ("user",)
    search_fields = ("title", "user__email")
    date_hierarchy = "last_message_at"
    ordering = ("-last_message_at",)


@admin.register(Message)
class MessageAdmin(LookOnlyAdmin):
    """Messages and replies with their parts."""

    list_display = ("__str__", "user", "role", "status", "model", "created_at")
    list_filter = ("role", "status", "model")
    list_select_related = ("user",)
    search_fields = ("content", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-pk",)


@admin.register(MemorySnapshot)
class MemorySnapshotAdmin(LookOnlyAdmin):
    """The memory blocks that prompts carried."""

    list_display = ("__str__", "user", "conversation", "created_at")
    list_select_related = ("user", "conversation")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(ConversationSummary)
class ConversationSummaryAdmin(LookOnlyAdmin):
    """Summaries of long chats."""

    list_display = ("__str__", "user", "conversation", "through", "is_untrusted", "model", "created_at")
    list_filter = ("is_untrusted", "model")
    list_select_related = ("user", "conversation")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(Receipt)
class ReceiptAdmin(LookOnlyAdmin):
    """Receipts of the prompts of replies."""

    list_display = ("__str__", "user", "reply", "models_asked")
    list_select_related = ("user", "reply")
    search_fields = ("sha256", "user__email")
    ordering = ("-pk",)


@admin.register(ActionCard)
class ActionCardAdmin(LookOnlyAdmin):
    """Prepared actions and their state."""

    list_display = ("__str__", "user", "conversation", "created_at", "decided_at")
    list_filter = ("type", "status")
    list_select_related = ("user", "conversation")
    search_fields = ("user__email",)
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(Bookmark)
class BookmarkAdmin(LookOnlyAdmin):
    """Replies that users keep."""

    list_display = ("__str__", "user", "created_at")
    list_select_related = ("user",)
    search_fields = ("text", "note", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(UsageDay)
class UsageDayAdmin(LookOnlyAdmin):
    """Model usage by user and day."""

    list_display = ("day", "user", "turns", "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
    list_select_related = ("user",)
    search_fields = ("user__email",)
    date_hierarchy = "day"
    ordering = ("-day", "user")
