"""Read-only lists for staff."""

from typing import ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest


class LookOnly:
    """Read-only admin: services and the runner change rows, attributably."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    has_change_permission = has_delete_permission = has_add_permission


class LookOnlyAdmin(LookOnly, admin.ModelAdmin):
    """A read-only list of owned rows."""

    list_select_related: ClassVar[tuple[str, ...] | bool] = ("user",)
    heavy: ClassVar[tuple[str, ...]] = ()  # columns that a list does not load, as they are large

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        """Return the list that leaves the large columns out."""
        return LeanChangeList


class LeanChangeList(ChangeList):
    """A list that does not load large columns."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Model]:
        """Return the rows without their large columns."""
        rows: QuerySet[Model] = super().get_queryset(request, exclude_parameters)
        return rows.defer(*self.model_admin.heavy)  # type: ignore[attr-defined]
