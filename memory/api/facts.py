"""Facts and their links over REST."""

from typing import Any
from uuid import UUID

from django.http import Http404
from django.utils import timezone

from config.lib.rest.operations import NEW_OR_KNOWN, make_act_view, read, read_pages, write
from config.lib.rest.views import ApiView
from memory.api import serializers as shapes
from memory.claims.validity import Validity
from memory.facts import services
from memory.facts.history import list_versions
from memory.facts.queries import FactFilter, find_last_version, select_facts
from memory.facts.review import close_fulfilled
from memory.models import Confidence, FactSource, UserFact, UserFactQuerySet
from memory.recall.search import recall_for_user


class FactsView(ApiView):
    @read_pages("list_facts", "facts", shapes.FactSerializer, shapes.FactQuery)
    def get(self, **query: Any) -> UserFactQuerySet:
        """List facts, the newest first."""
        wanted = FactFilter(shelf=query.pop("state"), words=query.pop("q"), **query)
        return select_facts(wanted, timezone.now())

    @write("add_fact", "facts", shapes.WrittenSerializer, shapes.FactInput, status=NEW_OR_KNOWN)
    def post(self, **fields: Any) -> Any:
        """Add a fact; 200 when it is known already."""
        now = timezone.now()
        words = {**_replace_dates(fields), "confidence": Confidence.ASSERTED, "source": FactSource.PROFILE}
        written = services.remember_fact(**words, now=now)
        close_fulfilled(conversation_id=None, now=now)
        return written, written.event is not None


class RecallView(ApiView):
    @read("recall_facts", "facts", shapes.RecalledSerializer, shapes.RecallQuery)
    def get(self, **query: Any) -> Any:
        """Search current facts, hidden ones included, best first."""
        with self.door_closed():
            return recall_for_user(self.user.pk, **query, now=timezone.now())


class FactView(ApiView):
    """One fact; the id of any version leads to the newest."""

    @read("get_fact", "facts", shapes.FactSerializer)
    def get(self, fact_id: UUID) -> UserFact:
        """Return the newest version of a fact."""
        return _get_newest(fact_id)

    @write("change_fact", "facts", shapes.WrittenSerializer, shapes.FactChange)
    def patch(self, fact_id: UUID, **fields: Any) -> Any:
        """Correct a fact; the id must be that of the newest version."""
        newest = _get_newest(fact_id)
        given = {"content": newest.content, **_replace_dates(fields, newest)}
        return services.supersede_fact(fact_id=fact_id, **given, now=timezone.now())

    @write("delete_fact", "facts", shapes.WrittenSerializer)
    def delete(self, fact_id: UUID) -> Any:
        """Move a fact to the trash for 30 days."""
        return services.delete_fact(fact_id=fact_id, now=timezone.now())


class HistoryView(ApiView):
    @read("list_fact_history", "facts", shapes.FactsSerializer)
    def get(self, fact_id: UUID) -> Any:
        """List all versions of a fact, oldest first."""
        return {"versions": list_versions(_get_newest(fact_id).lineage)}


ConfirmView = make_act_view("confirm_fact", "facts", services.confirm_fact, shapes.WrittenSerializer)
PromoteView = make_act_view("promote_fact", "facts", services.promote_fact, shapes.WrittenSerializer)
DemoteView = make_act_view("demote_fact", "facts", services.demote_fact, shapes.WrittenSerializer)
ArchiveView = make_act_view("archive_fact", "facts", services.archive_fact, shapes.WrittenSerializer)
RestoreView = make_act_view("restore_fact", "facts", services.restore_fact, shapes.WrittenSerializer)


def _get_newest(fact_id: UUID) -> UserFact:
    fact = find_last_version(fact_id)
    if fact is None:
        raise Http404
    return fact


def _replace_dates(fields: dict[str, Any], newest: UserFact | None = None) -> dict[str, Any]:
    """Replace the two dates by `validity`; an omitted date stays that of the newest version."""
    dates = {name: fields[name] for name in ("valid_from", "valid_until") if name in fields}
    if not dates:
        return fields
    begins, ends = (dates.get(name, newest and getattr(newest, name)) for name in ("valid_from", "valid_until"))
    kept = {name: value for name, value in fields.items() if name not in dates}
    return {**kept, "validity": Validity(begins, ends)}
