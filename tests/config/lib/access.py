"""The ways to reach an owned row: each takes a manager of facts and one fact, and is tried by `test_owned.py`."""

import pickle

from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.db.models import Count, Exists, F, OuterRef, Prefetch

from memory.models import MemoryEvent, UserFact
from tests.factories.memory import MAY, UserFactFactory

Trader = get_user_model()
UPSERT = {"update_conflicts": True, "update_fields": ["content"], "unique_fields": ["id"]}


def awaited(call, *args, **kwargs):
    """Return what an asynchronous method answers."""

    async def run():
        return await call(*args, **kwargs)

    return async_to_sync(run)()


def collected(rows) -> list:
    """Return the rows of an asynchronous iteration."""

    async def run():
        return [row async for row in rows]

    return async_to_sync(run)()


def handed_over(row: UserFact, to) -> UserFact:
    """Return the row with another owner."""
    row.user = to
    return row


READS = {
    "all": lambda facts, row: list(facts.all()),
    "filter": lambda facts, row: list(facts.filter(pk=row.pk)),
    "exclude": lambda facts, row: list(facts.exclude(content="")),
    "own_verb": lambda facts, row: list(facts.believed().current(MAY)),
    "length": lambda facts, row: len(facts.all()),
    "truth": lambda facts, row: bool(facts.all()),
    "index": lambda facts, row: facts.order_by("pk")[0],
    "slice": lambda facts, row: list(facts.order_by("pk")[:5]),
    "first": lambda facts, row: facts.first(),
    "last": lambda facts, row: facts.last(),
    "latest": lambda facts, row: facts.latest("created_at"),
    "count": lambda facts, row: facts.count(),
    "exists": lambda facts, row: facts.exists(),
    "contains": lambda facts, row: facts.contains(row),
    "in_bulk": lambda facts, row: facts.in_bulk([row.pk]),
    "aggregate": lambda facts, row: facts.aggregate(Count("pk")),
    "annotate": lambda facts, row: list(facts.annotate(same=F("content"))),
    "values": lambda facts, row: list(facts.values()),
    "values_list": lambda facts, row: list(facts.values_list("content", flat=True)),
    "only": lambda facts, row: list(facts.only("content")),
    "defer": lambda facts, row: list(facts.defer("user")),
    "distinct": lambda facts, row: list(facts.values("source").distinct()),
    "datetimes": lambda facts, row: list(facts.datetimes("created_at", "day")),
    "iterator": lambda facts, row: list(facts.iterator(chunk_size=2)),
    "union": lambda facts, row: list(facts.values("content").union(facts.values("content"))),
    "difference": lambda facts, row: list(facts.values("content").difference(facts.filter(pk=None).values("content"))),
    "or": lambda facts, row: list(facts.filter(pk=row.pk) | facts.exclude(pk=row.pk)),
    "subquery": lambda facts, row: list(Trader.objects.filter(pk__in=facts.values("user"))),
    "exists_subquery": lambda facts, row: list(Trader.objects.filter(Exists(facts.filter(user=OuterRef("pk"))))),
    "select_related": lambda facts, row: list(facts.select_related("user", "supersedes")),
    "select_for_update": lambda facts, row: list(facts.select_for_update(of=("self",))),
    "explain": lambda facts, row: facts.explain(),
    "pickle": lambda facts, row: pickle.dumps(facts.all()),
    "default_manager": lambda facts, row: list(UserFact._default_manager.all()),
    "base_manager": lambda facts, row: list(UserFact._base_manager.all()),
    "reverse_key": lambda facts, row: list(row.user.userfact_set.all()),
    "prefetch": lambda facts, row: list(Trader.objects.prefetch_related("userfact_set")),
    "prefetch_queryset": lambda facts, row: list(
        Trader.objects.prefetch_related(Prefetch("userfact_set", facts.all(), to_attr="facts"))
    ),
    "unique_check": lambda facts, row: UserFactFactory.build(id=row.pk, user=row.user).validate_unique(),
    "constraint_check": lambda facts, row: UserFactFactory.build(user=row.user).validate_constraints(["content_key"]),
    "async_iteration": lambda facts, row: collected(facts.all()),
    "async_iterator": lambda facts, row: collected(facts.all().aiterator()),
    "afirst": lambda facts, row: awaited(facts.afirst),
}
# Of one row, which does not exist for anybody but its owner.
READS_OF_ONE = {
    "get": lambda facts, row: facts.get(pk=row.pk),
    "aget": lambda facts, row: awaited(facts.aget, pk=row.pk),
    "refresh": lambda facts, row: row.refresh_from_db(),
    "deferred": lambda facts, row: UserFact(id=row.pk).refresh_from_db(fields=["content"]),
    "forward_key": lambda facts, row: MemoryEvent(after_id=row.pk).after,
    "reverse_one_to_one": lambda facts, row: row.superseded_by,
}
# No condition can be added to these, so they are refused in any scope.
RAW = {
    "raw": lambda facts, row: list(facts.raw("SELECT * FROM user_facts")),
    "raw_without_owner": lambda facts, row: list(facts.raw("SELECT id, content FROM user_facts")),
    "raw_of_queryset": lambda facts, row: list(facts.all().raw("SELECT * FROM user_facts")),
    "raw_of_relation": lambda facts, row: list(row.user.userfact_set.raw("SELECT * FROM user_facts")),
}
# Each writes, or would, a row of the user who owns `row`.
WRITES = {
    "save": lambda facts, row: row.save(),
    "save_new": lambda facts, row: UserFactFactory.build(user=row.user).save(),
    "save_fields": lambda facts, row: row.save(update_fields=["topic"]),
    "save_again": lambda facts, row: row.save(force_insert=True),
    "insert": lambda facts, row: UserFactFactory.build(user=row.user).insert(),
    "insert_again": lambda facts, row: row.insert(),
    "asave": lambda facts, row: awaited(row.asave),
    "create": lambda facts, row: facts.create(user=row.user, content="Planted"),
    "get_or_create": lambda facts, row: facts.get_or_create(content="Planted", defaults={"user": row.user}),
    "update_or_create": lambda facts, row: facts.update_or_create(content="Planted", defaults={"user": row.user}),
    "create_related": lambda facts, row: row.user.userfact_set.create(content="Planted"),
    "bulk_create": lambda facts, row: facts.bulk_create([UserFactFactory.build(user=row.user)]),
    "bulk_create_ignoring": lambda facts, row: facts.bulk_create([row], ignore_conflicts=True),
    "bulk_update": lambda facts, row: facts.bulk_update([row], ["topic"]),
    "delete": lambda facts, row: row.delete(),
}
# Each returns how many rows it wrote.
WRITES_BY_QUERY = {
    "update": lambda facts, row: facts.filter(pk=row.pk).update(topic="planted"),
    "aupdate": lambda facts, row: awaited(facts.filter(pk=row.pk).aupdate, topic="planted"),
    "update_of_values": lambda facts, row: facts.filter(pk=row.pk).values("pk").update(topic="planted"),
    "update_of_relation": lambda facts, row: row.user.userfact_set.update(topic="planted"),
    "update_row": lambda facts, row: UserFact.update_row(row.pk, {"topic": "planted"}),
    "delete_by_query": lambda facts, row: facts.filter(pk=row.pk).delete()[0],
    "delete_of_relation": lambda facts, row: row.user.userfact_set.all().delete()[0],
    "raw_delete": lambda facts, row: facts.filter(pk=row.pk)._raw_delete("default"),
}
# Each writes a row of one's own, made up with the id of a foreign one.
TAKEOVERS = {
    "save": lambda row: row.save(),
    "forced_update": lambda row: row.save(force_update=True),
    "update_of_columns": lambda row: row.save(update_fields=["topic", "user"]),
    "stored": lambda row: (setattr(row._state, "adding", False), row.save()),
    "insert": lambda row: row.insert(),
    "delete": lambda row: row.delete(),
    "delete_by_id": lambda row: UserFact(pk=row.pk).delete(),
    "bulk_create": lambda row: UserFact.objects.bulk_create([row]),
    "bulk_create_ignoring": lambda row: UserFact.objects.bulk_create([row], ignore_conflicts=True),
    "bulk_update": lambda row: UserFact.objects.bulk_update([row], ["topic"]),
    "add_to_relation": lambda row: row.user.userfact_set.add(row, bulk=False),
}
# Each gives `row` to another user.
HANDOVERS = {
    "save": lambda row, to: handed_over(row, to).save(),
    "save_fields": lambda row, to: handed_over(row, to).save(update_fields=["user"]),
    "delete": lambda row, to: handed_over(row, to).delete(),
    "bulk_update_of_another_column": lambda row, to: UserFact.objects.bulk_update([handed_over(row, to)], ["topic"]),
    "bulk_update": lambda row, to: UserFact.objects.bulk_update([row], ["user"]),
    "bulk_update_of_the_column": lambda row, to: UserFact.objects.bulk_update([row], ["user_id"]),
    "update": lambda row, to: UserFact.objects.update(user=to),
    "update_of_the_column": lambda row, to: UserFact.objects.update(user_id=to.pk),
    "update_row": lambda row, to: UserFact.update_row(row.pk, {"user": to}),
    "update_row_by_column": lambda row, to: UserFact.update_row(row.pk, {"user_id": to.pk}),
    "aupdate": lambda row, to: awaited(UserFact.objects.aupdate, user=to),
    "update_or_create": lambda row, to: UserFact.objects.update_or_create(pk=row.pk, defaults={"user": to}),
    "add_to_relation": lambda row, to: to.userfact_set.add(row),
    "set_relation": lambda row, to: to.userfact_set.set([row]),
    "upsert": lambda row, to: UserFact.objects.bulk_create([row], **UPSERT),
    "upsert_by_position": lambda row, to: UserFact.objects.bulk_create([row], None, False, True, ["content"], ["id"]),
    "async_upsert": lambda row, to: awaited(UserFact.objects.abulk_create, [row], **UPSERT),
}
# What a queryset that was fetched already may be asked; each returns ids of facts.
ASKED_AGAIN = {
    "list": lambda rows: {row.pk for row in rows},
    "index": lambda rows: {rows[0].pk},
    "first": lambda rows: {rows.first().pk},
    "or": lambda rows: {row.pk for row in rows | rows},
    "contains": lambda rows: {row.pk for row in UserFact.objects.all() if rows.contains(row)},
    "in_bulk": lambda rows: set(rows.in_bulk()),
    "values": lambda rows: set(rows.values_list("pk", flat=True)),
    "pickle": lambda rows: {row.pk for row in pickle.loads(pickle.dumps(rows))},  # noqa: S301 - our own bytes
}
