"""The last runs of jobs and tasks, which can be run again."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from config.lib.admin import Act, ActAdmin, LookOnly
from config.lib.work.models import WorkRun
from config.lib.work.runs import MAX_TRIES, run_again


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
