"""Every text of a user in the admin asks for a reason: a canary in each text column of each owned model.

A new column or model is planted and looked for without a line here; only what is no user's text is named.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, models, transaction
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from config.lib.admin import name_row
from config.lib.owned import OwnedModel, system, system_tx
from tests.factories.trading import TraderFactory
from tests.owners import open_data
from tests.strangers import make_person
from trading.models import StaffEntry, Trader

pytestmark = [pytest.mark.django_db, pytest.mark.computing]

CANARY: Final = "ϗ"  # one letter fits every column, and neither a token nor a page of ours has it
SPELLINGS: Final = (CANARY, r"\u03d7", "%CF%97", "&#983;", r"\xcf\x97")
TEXTS: Final = (models.CharField, models.TextField, models.JSONField, models.BinaryField)
STAFFS_OWN: Final = {StaffEntry}  # the reasons of staff, which the auditors read without one
# Columns whose constraint lets no free text in.
CLOSED: Final = {
    "DecisionSnapshot.verdict_code",
    "Order.verdict_code",
    "Deployment.halt_code",
    "VenueAccount.sealed_key",
    "ApiToken.areas",
}
GROUPS: Final = ("support", "operations", "auditor", "superuser")
WRITTEN: Final = {model for model in apps.get_models() if issubclass(model, OwnedModel)} - STAFFS_OWN

admin.autodiscover()
LISTS: Final = {model: one for model, one in admin.site._registry.items() if model in WRITTEN}


def list_text_columns(model: type[models.Model]) -> list[Any]:
    """Return the columns that a person's words can get into."""
    fields = model._meta.concrete_fields
    return [field for field in fields if isinstance(field, TEXTS) and not field.choices and not field.primary_key]


def add_canary(field: Any, value: Any) -> Any:
    """Return the value with the canary in it, as long as the column may be."""
    if isinstance(field, models.BinaryField):
        return CANARY.encode() + bytes(value or b"")
    if isinstance(field, models.JSONField):
        return {**value, CANARY: CANARY} if isinstance(value, dict) else [*(value or []), CANARY]
    return f"{CANARY}{value}"[: field.max_length]


def plant(user: Trader) -> dict[type[models.Model], Any]:
    """Write the canary into each text column of a user's rows; return a row of each model."""
    planted, columns = {}, set()
    with system_tx("test: plants canaries"):
        for model in WRITTEN:
            rows = list(model.objects.filter(user=user))
            assert rows, f"{model.__name__}: add a row to tests/strangers.py"
            columns |= {
                (model, field.name) for row in rows for field in list_text_columns(model) if write_canary(row, field)
            }
            planted[model] = model.objects.filter(user=user).first()
    wanted = {(model, field.name) for model in WRITTEN for field in list_text_columns(model)}
    assert {f"{model.__name__}.{name}" for model, name in wanted - columns} == CLOSED
    return planted


def write_canary(row: Any, field: Any) -> bool:
    """Write past the model, as some columns never change by an update; False if a constraint knows the only values."""
    table, key = row._meta.db_table, row._meta.pk
    values = [field.get_db_prep_save(add_canary(field, getattr(row, field.attname)), connection)]
    values.append(key.get_db_prep_save(row.pk, connection))
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f'UPDATE {table} SET "{field.column}" = %s WHERE "{key.column}" = %s', values)  # noqa: S608
    except IntegrityError:
        return False
    return True


def sign_in(group: str) -> tuple[Client, Trader]:
    for name, act in (
        ("0003_staff_groups", "create_groups"),
        ("0004_operations_open_data", "let_operations_open_data"),
    ):
        getattr(import_module(f"chat.migrations.{name}"), act)(apps, None)
    staff = TraderFactory(email=f"{group}@example.com", is_staff=True, is_superuser=group == "superuser")
    staff.groups.set(Group.objects.filter(name=group))
    client = Client()
    client.force_login(staff)
    return client, staff


def iter_looks(client: Client, model: type[models.Model], row: Any) -> Iterator[tuple[str, HttpResponse]]:
    """Ask for what the admin has of a model, by every way to a row; the next page shows a message."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    pages = reverse(f"{name}_changelist")
    yield f"{pages}?q", client.get(pages, {"q": row.user.email})
    for way in ("change", "history", "delete"):
        yield way, client.get(reverse(f"{name}_{way}", args=[row.pk]))
        yield f"POST {way}", client.post(reverse(f"{name}_{way}", args=[row.pk]), {"post": "yes"})
    for act in LISTS[model].acts:
        asked = {"action": act.name, "_selected_action": str(row.pk)}
        yield act.name, client.post(pages, asked)
        yield f"{act.name} confirmed", client.post(pages, {**asked, "confirmed": "yes", "reason": "because I can"})
    for field in model._meta.concrete_fields:
        if field.is_relation and field.name != "user":
            names = {"app_label": model._meta.app_label, "model_name": model._meta.model_name}
            term = {**names, "field_name": field.name, "term": row.user.email}
            yield f"autocomplete {field.name}", client.get(reverse("admin:autocomplete"), term)


def shows_canary(response: HttpResponse) -> bool:
    body = response.content.decode()
    return any(spelling in body for spelling in SPELLINGS)


def list_leaks(client: Client, model: type[models.Model], row: Any, is_superuser: bool) -> list[str]:
    """Return the ways that show the canary, and the search if it finds one; a superuser tries every way."""
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    found = client.get(reverse(f"{name}_changelist"), {"q": CANARY})
    has_found = found.status_code == 200 and found.context["cl"].result_count and list_text_columns(model)
    looks = [("list", client.get(reverse(f"{name}_changelist")))]
    looks += iter_looks(client, model, row) if is_superuser else ()
    looks.append(("change", client.get(reverse(f"{name}_change", args=[row.pk]))))
    return [way for way, response in looks if shows_canary(response)] + ["search"] * bool(has_found)


@pytest.fixture
def rows():
    """Bob's rows, with a canary in each text column."""
    return plant(make_person("bob").user)


def test_admin_shows_no_text_of_a_user_whose_data_is_not_open(rows):
    ann = TraderFactory(email="ann@example.com")
    leaks = []
    for group in GROUPS:
        client, staff = sign_in(group)
        open_data(staff, ann)  # the data of one user opens nothing of another
        for model in LISTS:
            ways = list_leaks(client, model, rows[model], is_superuser=group == "superuser")
            leaks += [f"{group}, {model.__name__}: {way}" for way in ways]
        for path in (reverse("admin:index"), "/admin/trading/"):
            leaks += [f"{group}: {path}"] * shows_canary(client.get(path))

    assert leaks == []


def test_a_reason_shows_the_text_and_each_look_leaves_a_trace(rows):
    client, staff = sign_in("superuser")
    bob = next(iter(rows.values())).user
    open_data(staff, bob)

    for model, registered in LISTS.items():
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        with system("test: empties the log"):
            StaffEntry.objects.all().exclude(act="open").delete()
        row = rows[model]
        shown = client.get(reverse(f"{name}_changelist")).context["cl"].result_count
        body = client.get(reverse(f"{name}_change", args=[row.pk]))
        client.get(reverse(f"{name}_history", args=[row.pk]))
        with system("test: reads the log"):
            entries = StaffEntry.objects.filter(user=bob, act="read").order_by("created_at")
            log = [entry.subject for entry in entries]

        texts = {field.name for field in list_text_columns(model)}
        assert shows_canary(body) or texts <= set(registered.exclude or ()), model.__name__
        kind = model._meta.verbose_name if shown == 1 else model._meta.verbose_name_plural
        assert log == [f"{shown} {kind} in a list", name_row(row), name_row(row)] or not texts, model.__name__
