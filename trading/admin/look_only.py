"""Read-only lists for staff."""

from typing import ClassVar

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest


class LookOnlyAdmin(admin.ModelAdmin):
    """Read-only: only services and the runner change a record."""

    heavy: ClassVar[tuple[str, ...]] = ()  # columns that a list does not load, as they are large

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        """Return the list that leaves the large columns out."""
        return LeanChangeList


class LeanChangeList(ChangeList):
    """A list that does not load large columns."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Model]:
        """Return the rows without their large columns."""
        rows: QuerySet[Model] = super().get_queryset(request, exclude_parameters)
        return rows.defer(*self.model_admin.heavy)  # type: ignore[attr-defined]
