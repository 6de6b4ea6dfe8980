"""The staff log, API tokens, and the last runs of jobs and tasks, which can be run again."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from config.lib.admin import Act, ActAdmin, LookOnly, LookOnlyAdmin, register_rows
from config.lib.work.models import WorkRun
from config.lib.work.runs import MAX_TRIES, run_again
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


class StateFilter(admin.SimpleListFilter):
    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("trying", "Failed, tried again"), ("failed", "Failed for good"), ("running", "Running")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[WorkRun]) -> QuerySet[WorkRun]:
        states = {
            "trying": Q(tries__range=(1, MAX_TRIES - 1)),
            "failed": Q(tries__gte=MAX_TRIES),
            "running": Q(started_at__isnull=False, finished_at__isnull=True),
        }
        return queryset.filter(states.get(self.value() or "", Q()))


@admin.register(WorkRun)
class WorkRunAdmin(LookOnly, ActAdmin):
    list_display = ("name", "key", "started_at", "took", "summary", "tries", "next_at")
    list_filter = (StateFilter, "name")
    search_fields = ("key",)
    ordering = ("-started_at", "id")
    acts = (Act("run_now", "Run now", lambda run, now: run_again(run, now), as_system=True),)

    @admin.display(description="seconds")
    def took(self, run: WorkRun) -> str:
        if run.started_at is None or run.finished_at is None:
            return "-"
        return f"{(run.finished_at - run.started_at).total_seconds():.1f}"
