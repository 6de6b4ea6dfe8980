"""What a user adds to a trade: a note, tags, a picture.

A rebuild of the record deletes a trade's row and writes it again under the same id. So this row holds the id alone: a
foreign key would delete it with the trade.
"""

from uuid import uuid4

from django.db import models

from config.lib.owned import OwnedModel
from trading.models.columns import together_rule

MAX_REMARK = 2_000  # characters
MAX_TAGS = 12
MAX_TAG = 24


class TradeRemark(OwnedModel):
    """The user's own words about a trade, and one picture, encoded anew without metadata."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    trade_id = models.UUIDField()
    text = models.TextField(max_length=MAX_REMARK, blank=True)
    tags = models.CharField(max_length=MAX_TAGS * (MAX_TAG + 1) + 1, blank=True)  # as `,late-entry,news,`
    picture = models.BinaryField(null=True, blank=True)  # WebP
    picture_width = models.PositiveIntegerField(null=True, blank=True)
    picture_height = models.PositiveIntegerField(null=True, blank=True)
    updated_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "trade_remarks"
        constraints = (
            models.UniqueConstraint(fields=("user", "trade_id"), name="remark_once_per_trade"),
            together_rule("remark_picture_has_its_size", "picture", "picture_width", "picture_height"),
        )

    def __str__(self) -> str:
        return self.text[:60] or ", ".join(self.tag_names)

    @property
    def tag_names(self) -> list[str]:
        return split_tags(self.tags)


def split_tags(tags: str) -> list[str]:
    """Return the names in `,late-entry,news,`."""
    return [name for name in tags.split(",") if name]
