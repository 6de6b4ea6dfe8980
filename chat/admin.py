from django.contrib import admin

from chat import models
from config.lib.admin import LookOnlyAdmin


@admin.register(models.Conversation)
class ConversationAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "assistant", "status", "last_message_at")
    list_filter = ("assistant", "status")
    search_fields = ("title", "user__email")
    date_hierarchy = "last_message_at"
    ordering = ("-last_message_at",)


@admin.register(models.Message)
class MessageAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "role", "status", "model", "created_at")
    list_filter = ("role", "status", "model")
    search_fields = ("content", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-pk",)


@admin.register(models.MemorySnapshot)
class MemorySnapshotAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "conversation", "created_at")
    list_select_related = ("user", "conversation")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(models.ConversationSummary)
class ConversationSummaryAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "conversation", "through", "is_untrusted", "model", "created_at")
    list_filter = ("is_untrusted", "model")
    list_select_related = ("user", "conversation")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(models.Receipt)
class ReceiptAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "reply", "models_asked")
    list_select_related = ("user", "reply")
    search_fields = ("sha256", "user__email")
    ordering = ("-pk",)


@admin.register(models.ActionCard)
class ActionCardAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "conversation", "created_at", "decided_at")
    list_filter = ("type", "status")
    list_select_related = ("user", "conversation")
    search_fields = ("user__email",)
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(models.Bookmark)
class BookmarkAdmin(LookOnlyAdmin):
    list_display = ("__str__", "user", "created_at")
    search_fields = ("text", "note", "user__email")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)


@admin.register(models.UsageDay)
class UsageDayAdmin(LookOnlyAdmin):
    list_display = ("day", "user", "turns", "prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd")
    search_fields = ("user__email",)
    date_hierarchy = "day"
    ordering = ("-day", "user")
