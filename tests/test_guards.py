"""Rules of ownership that every model keeps."""

from functools import reduce

from django.apps import apps
from django.conf import settings
from django.db.migrations.loader import MigrationLoader
from django.db.models import CheckConstraint, Field, Model, Q

from config.lib.owned import OwnedManager, OwnedModel, OwnedQuerySet
from config.lib.rls import EnableOwnerPolicy
from tests.source import PROJECT, differences
from tests.tables import each_case

MODELS = [model for app in PROJECT if apps.is_installed(app) for model in apps.get_app_config(app).get_models(True)]
OWNED = [model for model in MODELS if issubclass(model, OwnedModel)]
UNOWNED = {
    "trading.Trader": "the owners themselves",
    "trading.Trader_groups": "Django's permissions of staff",
    "trading.Trader_user_permissions": "Django's permissions of staff",
    "trading.Bar": "prices are everybody's",
    "trading.FundingRate": "prices are everybody's",
    "trading.NewsItem": "news are everybody's",
    "trading.MarketEvent": "the calendar is everybody's",
}
# Indexes that do not begin with the owner.
INDEXES_OVER_ALL = {
    "messages_streaming": "the sweep looks for dead turns of everybody",
    "conversations_to_close": "the worker looks for chats of everybody that are to be closed",
    "conversations_to_extract": "the worker tries again what failed, of everybody",
    "conversations_trashed": "the worker empties everybody's trash",
    "cards_waiting": "the sweep looks for expired cards of everybody",
    "venue_accounts_due": "the worker looks for venue accounts of everybody that are to be read",
    "deployments_due": "the runner looks for deployments of everybody",
}

each_owned_model = each_case("model", OWNED)


def test_every_model_has_an_owner():
    labels = {model._meta.label for model in MODELS if not issubclass(model, OwnedModel)}
    problems = differences(labels, UNOWNED, table="UNOWNED", advice="extend config.lib.owned.OwnedModel")

    assert not problems, problems


def test_every_key_to_a_user_is_the_owner():
    keys = [
        field
        for model in MODELS
        for field in model._meta.get_fields()
        if isinstance(field, Field) and field.is_relation
    ]
    named = {str(field) for field in keys if field.related_model._meta.label == settings.AUTH_USER_MODEL}
    owners = {f"{model._meta.label}.user" for model in OWNED}
    others = named - owners - {f"{label}.trader" for label in UNOWNED}

    assert not others, f"{sorted(others)}: `user` of OwnedModel is the one key to a user; remove this one"
    assert owners <= named, f"{sorted(owners - named)}: do not override `user` of OwnedModel"


@each_owned_model
def test_owned_model_has_owned_managers_only(model):
    managers = [*model._meta.managers, model._default_manager, model._base_manager]

    names = (model._meta.base_manager_name, model._meta.default_manager_name)
    plain = [manager.name for manager in managers if not isinstance(manager, OwnedManager)]
    querysets = [manager.name for manager in managers if not issubclass(manager._queryset_class, OwnedQuerySet)]

    assert names == ("objects", "objects"), f"{model.__name__}: write `class Meta(OwnedModel.Meta)`"
    assert not plain, f"{model.__name__}.{plain[0]}: write `OwnedManager.from_queryset(XQuerySet)()`"
    assert not querysets, f"{model.__name__}.{querysets[0]}: let its queryset extend OwnedQuerySet"


@each_owned_model
def test_owned_model_keeps_the_guards(model):
    guards = ("save", "delete", "from_db", "guard")

    overridden = [name for name in guards if getattr(model, name).__qualname__ != f"OwnedModel.{name}"]

    assert not overridden, f"{model.__name__}.{overridden[0]}: do not override it; it checks the owner of the row"


@each_owned_model
def test_owned_model_always_has_an_owner(model):
    user = model._meta.get_field("user")

    found = (user.null, user.column, user.related_model._meta.label)
    assert found == (False, "user_id", settings.AUTH_USER_MODEL), f"{model.__name__}: do not override `user`"


@each_owned_model
def test_index_begins_with_the_owner(model):
    others = {index.name for index in model._meta.indexes if [*index.fields, ""][0] != "user"}
    found = sorted(others - INDEXES_OVER_ALL.keys())

    assert not found, f"{', '.join(found)}: begin with `user`, or add it to INDEXES_OVER_ALL with its reason"


@each_owned_model
def test_many_to_many_goes_through_an_owned_table(model):
    relations = [field for field in model._meta.get_fields() if field.many_to_many]

    found = [field.name for field in relations if not issubclass(field.remote_field.through, OwnedModel)]

    assert not found, f"{model.__name__}.{', '.join(found)}: pass `through=` an owned model"


def test_every_owned_table_has_its_policy():
    migrations = MigrationLoader(None).disk_migrations.items()
    policies = [
        (app, operation.model.lower())
        for (app, _), migration in migrations
        for operation in migration.operations
        if isinstance(operation, EnableOwnerPolicy)
    ]

    tables = [(model._meta.app_label, model._meta.model_name) for model in OWNED]
    tables.append(("work", "mail"))  # not owned by the model: one to an address without an account has no owner
    missing, unknown = set(tables) - set(policies), set(policies) - set(tables)

    assert not missing, f"{sorted(missing)}: add `EnableOwnerPolicy(model)` to the migration that creates the table"
    assert not unknown, f"{sorted(unknown)}: these policies are of no owned model"
    assert len(policies) == len(set(policies)), f"{sorted(policies)}: a table has two policies"


# --- Choices ---

ANYTHING = None


def allowed(condition: object, field: str) -> set | None:
    """Return the values of a field that a condition lets through; ANYTHING if it does not limit them."""
    match condition:
        case Q(negated=False, connector="AND", children=parts):
            limits = [limit for part in parts if (limit := allowed(part, field)) is not ANYTHING]
            return reduce(set.intersection, limits) if limits else ANYTHING
        case Q(negated=False, connector="OR", children=parts):
            limits = [allowed(part, field) for part in parts]
            return ANYTHING if ANYTHING in limits else set().union(*limits)
        case (str(name), values) if name == f"{field}__in":
            return set(values)
        case (str(name), value) if name == field:
            return {value}
        case (str(name), True) if name == f"{field}__isnull":
            return set()
    return ANYTHING


@each_case(
    "field, condition, values",
    [
        ("kind", Q(kind__in=["a", "b"]), {"a", "b"}),
        ("kind", Q(kind__in=["a", "b"], other=1), {"a", "b"}),
        ("kind", Q(kind__isnull=True) | Q(kind__in=["a"]), {"a"}),
        ("kind", Q(other=1, kind="") | Q(other=2, kind__in=["a"]), {"", "a"}),
        ("kind", Q(other=1) | Q(kind__in=["a"]), ANYTHING),
        ("kind", ~Q(kind="a"), ANYTHING),
        ("kind", Q(other__in=["a"]), ANYTHING),
    ],
)
def test_allowed_reads_a_condition(field, condition, values):
    assert allowed(condition, field) == values


def choice_fields(model: type[Model]) -> list[Field]:
    return [field for field in model._meta.fields if field.choices]


@each_case("model, field", [(model, field) for model in MODELS for field in choice_fields(model)])
def test_choices_are_kept_by_the_database_too(model, field):
    known = {value for value, _ in field.flatchoices} | ({""} if field.blank and not field.null else set())
    checks = [rule for rule in model._meta.constraints if isinstance(rule, CheckConstraint)]

    limits = [allowed(check.condition, field.name) for check in checks]
    rule = f"CheckConstraint(condition=Q({field.name}__in={model.__name__}... .values), name=...)"

    assert known in limits, f"{model.__name__}.{field.name}: add {rule} to Meta.constraints, for {sorted(known)}"
