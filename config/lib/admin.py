"""The admin: lists that show, acts of staff with a reason, rows that need an open look.

Each act runs a service as the owner of the row and writes one row of the staff log, which that owner can read. The
rows of a user appear only while the staff member has opened them with a reason.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any, ClassVar, Final

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.utils import timezone

from config.lib.errors import DomainError
from config.lib.owned import owned_tx
from config.lib.proofs import Door, Proof
from config.lib.text import one_line

OPEN_FOR: Final = timedelta(minutes=30)  # how long one reason opens a user's rows
MAX_ROWS: Final = 100  # of one act
MAX_REASON: Final = 280  # as the column of the log
OPEN, READ = "open", "read"
_NOT_OPEN: Final = (
    "Nothing is open to you. Choose a user in the list of traders, then “Open the user’s data”; "
    "the user can read your reason."
)

_OF_STAFF: Final = "Nothing was done: on members of the staff and what is theirs only a superuser acts."


class ReasonForm(forms.Form):
    """The reason of an act on `rows` by `staff`."""

    rows: list[Any]
    staff: Any

    reason = forms.CharField(
        min_length=4, max_length=MAX_REASON, help_text="The user can read it. Name no other person."
    )

    def clean_reason(self) -> str:
        """Return the reason as one line."""
        return one_line(self.cleaned_data["reason"])


@dataclass(frozen=True, slots=True)
class Act:
    """Something that staff may do to a row, through a service."""

    name: str
    label: str
    run: Callable[..., object]  # takes the row, `now` and the form's other values
    permission: str = "change"  # of the model, or "app.codename"
    form: type[ReasonForm] = ReasonForm
    describe: Callable[[Any], Iterable[str]] | None = None  # lines about the consequences for a row
    proves: bool = False  # the service takes a proof: the reason
    as_system: bool = False  # the service opens its own scope and may remove the row's owner
    tells: bool = False  # the service returns a line that the staff member sees once


def log_act(*, staff: Any, user_id: int, act: str, subject: str, reason: str, now: datetime) -> None:
    """Write a row of the staff log, in the system's scope."""
    _get_entries().objects.create(
        user_id=user_id, staff_id=staff.pk, act=act, subject=subject[:200], reason=reason, created_at=now
    )


def list_open_looks(staff: Any, now: datetime) -> dict[int, str]:
    """Return the users whose rows are open to a staff member, with the reason."""
    rows = _get_entries().objects.filter(staff_id=staff.pk, act=OPEN, created_at__gt=now - OPEN_FOR)
    return dict(rows.order_by("created_at").values_list("user_id", "reason"))


def name_row(row: Model) -> str:
    """Return the kind and id of a row, never its text."""
    return f"{row._meta.verbose_name} {row.pk}"


def _get_entries() -> Any:
    return apps.get_model("trading", "StaffEntry")


class LookOnly:
    """Read-only admin: services and the runner change rows, attributably."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Refuse."""
        return False

    has_change_permission = has_delete_permission = has_add_permission


class ActAdmin(admin.ModelAdmin):
    """A list whose actions ask for a reason and are logged."""

    acts: ClassVar[tuple[Act, ...]] = ()
    change_form_template = "admin/change_form_with_acts.html"

    def may_run(self, request: HttpRequest, act: Act, rows: Iterable[Any] = ()) -> bool:
        """Tell whether the staff member has the permission of an act, also on these rows.

        Accounts of staff and superusers, and what is theirs, are subjects of superusers alone.
        """
        name = f"{self.opts.app_label}.{act.permission}_{self.opts.model_name}"
        staff: Any = request.user
        if not staff.has_perm(act.permission if "." in act.permission else name):
            return False
        users = get_user_model()._default_manager.filter(pk__in={_find_subject(row) for row in rows})
        return bool(staff.is_superuser) or not users.filter(Q(is_staff=True) | Q(is_superuser=True)).exists()

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {
            act.name: (partial(_run_action, act), act.name, act.label)
            for act in self.acts
            if self.may_run(request, act)
        }

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Refuse an act without its permission; show the list."""
        names = {act.name: act for act in self.acts}
        act = names.get(request.POST.get("action", ""))
        if act is not None and not self.may_run(request, act):
            raise PermissionDenied
        return super().changelist_view(request, extra_context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> Any:
        acts = [act for act in self.acts if self.may_run(request, act)]
        extra = {"acts": acts, "row_id": object_id, **(extra_context or {})}
        return super().change_view(request, object_id, form_url, extra)


class LookOnlyAdmin(LookOnly, ActAdmin):
    """A read-only list of owned rows."""

    list_select_related: ClassVar[tuple[str, ...] | bool] = ("user",)
    heavy: ClassVar[tuple[str, ...]] = ()  # columns that a list does not load, as they are large

    def get_changelist(self, request: HttpRequest, **kwargs: object) -> type[ChangeList]:
        return LeanChangeList


class PrivateAdmin(LookOnlyAdmin):
    """Rows of users: shown for users whose rows are open, and each look is logged."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Keep the rows of users whose rows are open to this staff member."""
        return super().get_queryset(request).filter(user__in=self._list_looks(request))

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Log how many rows of each open user a list, or the question for a reason, shows; say how to open one."""
        if request.method == "GET" and not self._list_looks(request):
            self.message_user(request, _NOT_OPEN, messages.INFO)
        response = super().changelist_view(request, extra_context)
        shown = getattr(response, "context_data", None) or {}
        if "cl" in shown:
            self._log_list(request, shown["cl"].result_list)
        elif "rows" in shown:
            self._log_list(request, [row for row, _ in shown["rows"]])
        return response

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row of a page, of its history or of an act on it, and log the look."""
        row = super().get_object(request, object_id, from_field)
        if row is not None and self.has_view_permission(request, row):
            self._log_reads(request, {row.user_id: name_row(row)})
        return row

    def _list_looks(self, request: HttpRequest) -> dict[int, str]:
        if not hasattr(request, "open_looks"):
            request.open_looks = list_open_looks(request.user, _read_clock())  # type: ignore[attr-defined]
        return request.open_looks  # type: ignore[attr-defined,no-any-return]

    def _log_list(self, request: HttpRequest, rows: Iterable[Any]) -> None:
        # A list without rows of a user tells something too, for instance that a search found nothing.
        counts = Counter(row.user_id for row in rows)
        kinds = self.opts.verbose_name, self.opts.verbose_name_plural
        subjects = {user: f"{counts[user]} {kinds[counts[user] != 1]} in a list" for user in self._list_looks(request)}
        self._log_reads(request, subjects)

    def _log_reads(self, request: HttpRequest, subjects: dict[int, str]) -> None:
        now, looks, entries = _read_clock(), self._list_looks(request), _get_entries()
        values = {"staff_id": request.user.pk, "act": READ, "created_at": now}
        entries.objects.bulk_create(
            entries(user_id=user_id, subject=subject, reason=looks[user_id], **values)
            for user_id, subject in subjects.items()
        )


def register_rows(
    model: type[Model], base: type[LookOnlyAdmin] = PrivateAdmin, /, *, newest: str = "", **options: Any
) -> None:
    """Register a list of rows, joined with the rows that it shows; `newest` is the instant that orders it.

    A column of `list_display`, or a line of `readonly_fields`, is the name of a field or a function of the row:
    `admin.display(lambda fact: not fact.is_archived, boolean=True, description="in use")`.
    """
    keys = {field.name for field in model._meta.fields if field.is_relation}
    options["list_select_related"] = tuple(name for name in options["list_display"] if name in keys)
    if newest:
        options |= {"date_hierarchy": newest, "ordering": (f"-{newest}", "id")}
    if "search_fields" in options and "user" in keys:
        options["search_fields"] = (*options["search_fields"], "user__email")
    admin.site.register(model, type(f"{model.__name__}Admin", (base,), options))


class LeanChangeList(ChangeList):
    def get_queryset(self, request: HttpRequest, exclude_parameters: list[str | None] | None = None) -> QuerySet[Model]:
        rows: QuerySet[Model] = super().get_queryset(request, exclude_parameters)
        return rows.defer(*self.model_admin.heavy)  # type: ignore[attr-defined]


def _read_clock() -> datetime:
    return timezone.now()


def _run_action(
    act: Act, model_admin: ActAdmin, request: HttpRequest, queryset: QuerySet[Any]
) -> HttpResponseBase | None:
    """Ask for the reason, then act on each selected row."""
    rows = list(queryset.order_by("pk")[: MAX_ROWS + 1])
    if len(rows) > MAX_ROWS:
        model_admin.message_user(request, f"Select at most {MAX_ROWS} rows.", messages.ERROR)
        return None
    if not model_admin.may_run(request, act, rows):
        model_admin.message_user(request, _OF_STAFF, messages.ERROR)
        return None
    form = act.form(request.POST if "confirmed" in request.POST else None)
    form.rows, form.staff = rows, request.user
    if not form.is_valid():
        return _ask_reason(act, model_admin, request, rows, form)
    done = 0
    for row in rows:
        try:
            told = _run_act(act, row, form.cleaned_data, staff=request.user, now=_read_clock())
        except DomainError as error:
            model_admin.message_user(request, f"{name_row(row)}: {error}", messages.ERROR)
        else:
            done += 1
            if act.tells:
                model_admin.message_user(request, str(told), messages.INFO)
    if done:
        model_admin.message_user(request, f"{act.label}: {done} done, and noted in the staff log.", messages.SUCCESS)
    return None


def _find_subject(row: Any) -> Any:
    return row.pk if isinstance(row, get_user_model()) else getattr(row, "user_id", None)


def _run_act(act: Act, row: Any, values: dict[str, Any], *, staff: Any, now: datetime) -> object:
    others = {name: value for name, value in values.items() if name != "reason"}
    if act.proves:
        others["proof"] = Proof(Door.STAFF, reason=values["reason"])
    subject, user_id = name_row(row), getattr(row, "user_id", row.pk)
    with transaction.atomic():
        if act.as_system:
            told = act.run(row, now=now, **others)
            user_id = staff.pk  # the log of an erased user would go with them
        else:
            with owned_tx(user_id):
                told = act.run(row, now=now, **others)
        log_act(staff=staff, user_id=user_id, act=act.name, subject=subject, reason=values["reason"], now=now)
    return told


def _ask_reason(
    act: Act, model_admin: ActAdmin, request: HttpRequest, rows: list[Any], form: ReasonForm
) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": act.label,
        "act": act,
        "form": form,
        "rows": [(row, list(act.describe(row)) if act.describe else []) for row in rows],
        "checkbox": ACTION_CHECKBOX_NAME,
    }
    return TemplateResponse(request, "admin/act.html", context, status=422 if form.errors else 200)
