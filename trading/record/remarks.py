"""The user's note and tags of a trade."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from config.lib.errors import DomainError
from config.lib.text import clean_text, make_slug
from trading.models import TradeRemark
from trading.models.remarks import MAX_REMARK, MAX_TAG, MAX_TAGS, split_tags
from trading.record.trade_queries import get_trade


class RemarkRefused(DomainError):
    """The note or a tag is too long."""


def get_remark(trade_id: UUID) -> TradeRemark:
    """Return what the user wrote of a trade, an unsaved empty row before they did."""
    found: TradeRemark | None = TradeRemark.objects.filter(trade_id=trade_id).defer("picture").first()
    return found or TradeRemark(trade_id=trade_id)


def write_remark(
    *, trade_id: UUID, text: str | None = None, tags: Iterable[str] | None = None, now: datetime
) -> TradeRemark:
    """Change what is given, inside `owned_tx(user)`. Raises TradeNotFound, RemarkRefused."""
    get_trade(trade_id)
    changes: dict[str, object] = {"updated_at": now}
    if text is not None:
        changes["text"] = clean_text(text).strip()
        if len(str(changes["text"])) > MAX_REMARK:
            raise RemarkRefused(f"A note has at most {MAX_REMARK:,} characters.")
    if tags is not None:
        names = list(dict.fromkeys(name for tag in tags if (name := make_slug(tag, max_length=MAX_TAG))))
        if len(names) > MAX_TAGS:
            raise RemarkRefused(f"A trade has at most {MAX_TAGS} tags.")
        changes["tags"] = f",{','.join(names)}," if names else ""
    return TradeRemark.objects.update_or_create(trade_id=trade_id, defaults=changes)[0]


def find_tags(trade_ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """Return the tags of trades by id."""
    rows = TradeRemark.objects.filter(trade_id__in=trade_ids).values_list("trade_id", "tags")
    return {trade_id: split_tags(tags) for trade_id, tags in rows}


def list_tags() -> list[str]:
    """Return the tags in use."""
    rows = TradeRemark.objects.exclude(tags="").order_by().values_list("tags", flat=True).distinct()
    return sorted({name for tags in rows for name in split_tags(tags)})
