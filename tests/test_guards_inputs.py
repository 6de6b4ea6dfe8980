"""What people and programs type is bounded, and by no more than its column holds."""

from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Final, NamedTuple

from django import forms
from django.apps import apps
from django.contrib import admin
from django.core.validators import MaxLengthValidator
from rest_framework import serializers

from config.lib.rest.views import InputSerializer
from tests.source import PROJECT, differences, modules

# Fields without a bound of their own, and what bounds them.
BOUNDED: Final = {
    "AddKeyForm.name": "allauth's own: kept as JSON; the body of the form",
    "ArchiveInput.facts[]": "checked row by row in memory/transfer; the body",
    "ArchiveInput.links[]": "the same",
    "ArchiveInput.places[]": "the same",
    "ArchiveInput.proposals[]": "the same",
    "ArchiveInput.version": "one number is known",
    "CompareForm.compare": "its pattern",
    "DocumentInput.facts[]": "MAX_ITEMS of memory/facts/schemas.py",
    "DocumentInput.placer_user_datapoints[]": "the same",
    "EditFactForm.detail": "MAX_BODY, in the service, which says by how much",
    "EditFactForm.summary": "MAX_SUMMARY, in the service",
    "EndSessionsForm.session": "an id of the session's own",
    "FillInput.fill_id": "its pattern",
    "ImportForm.text": "MAX_DOCUMENT of memory/facts/schemas.py",
    "ReasonInput.fill_id": "its pattern",
    "SignupForm.username": "allauth's own, which no account here has",
    "TitleInput.title": "MAX_TITLE, in its field",
    "TurnInput.message": "MAX_MESSAGE_BYTES, in its field",
    "WordsForm.q": "cut to MAX_QUERY",
}
# Fields that are larger than a column of their name, which they do not fill.
LARGER: Final = {
    "AccountForm.key": "sealed before it is stored",
    "AccountForm.password": "the same",
    "EditFactForm.content": "may be pasted whole; the service says by how much it is too long",
    "FactForm.content": "the same",
    "SignupForm.email": "MAX_EMAIL of config/lib/edge/accounts.py, for all forms with an address",
}


class Input(NamedTuple):
    """A field of a form, or of a body of the API; of the items of a list the field ends in `[]`."""

    app: str
    form: str
    name: str
    most: Any  # characters, items or the largest number


def subclasses(base: type) -> Iterator[type[Any]]:
    for one in base.__subclasses__():
        if one.__module__.split(".")[0] in PROJECT:
            yield one
        yield from subclasses(one)


def find_inputs() -> dict[str, Input]:
    admin.autodiscover()
    for name in modules():
        if ".web" in name or ".api." in name or name.endswith("second_factor"):
            import_module(name)
    found = [
        Input(form.__module__.split(".")[0], form.__name__, *one)
        for form in subclasses(forms.BaseForm)
        for one in of_form(form)
    ]
    bodies = subclasses(InputSerializer)
    found += [Input(body.__module__.split(".")[0], body.__name__, *one) for body in bodies for one in of_body(body)]
    return {f"{one.form}.{one.name}": one for one in found}


def of_form(form: type[forms.BaseForm]) -> Iterator[tuple[str, Any]]:
    model = form._meta.model if issubclass(form, forms.BaseModelForm) else None
    of_model = {column.name for column in model._meta.fields} if model else ()  # Django bounds these by their columns
    for name, field in form.base_fields.items():
        if name in of_model:
            continue
        if isinstance(field, forms.IntegerField):
            yield name, field.max_value if field.max_value is not None else getattr(field, "max_digits", None)
        elif isinstance(field, forms.CharField) and not isinstance(field, forms.UUIDField | forms.JSONField):
            limits = [rule.limit_value for rule in field.validators if isinstance(rule, MaxLengthValidator)]
            yield name, field.max_length or min(limits, default=None)


def of_body(body: type[serializers.Serializer[Any]]) -> Iterator[tuple[str, Any]]:
    for name, field in body().fields.items():
        if isinstance(field, serializers.ListField | serializers.ListSerializer):
            yield f"{name}[]", field.max_length
            field = field.child
        if isinstance(field, serializers.CharField):
            yield name, field.max_length
        elif isinstance(field, serializers.IntegerField | serializers.FloatField | serializers.DecimalField):
            yield name, field.max_value


def test_each_input_is_bounded():
    found = {name for name, one in find_inputs().items() if one.most is None and one.name != "page"}
    problems = differences(found, BOUNDED, table="BOUNDED", advice="give it a max_length or max_value")

    assert not problems, problems


def test_no_input_takes_more_than_its_column_holds():
    columns = defaultdict(set)
    for app in PROJECT:
        for model in apps.get_app_config(app).get_models() if apps.is_installed(app) else ():
            for field in model._meta.fields:
                if getattr(field, "max_length", None):
                    columns[app, field.name].add(field.max_length)
    found = {
        name
        for name, one in find_inputs().items()
        if isinstance(one.most, int) and columns[one.app, one.name] and one.most > max(columns[one.app, one.name])
    }
    problems = differences(found, LARGER, table="LARGER", advice="PostgreSQL refuses what is longer: bound it so")

    assert not problems, problems
