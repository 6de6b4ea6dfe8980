"""The rows of memory."""

from memory.models.events import MemoryEvent, WriteKind
from memory.models.facts import (
    STALE_AFTER,
    TRASH_KEPT,
    ArchivedReason,
    Confidence,
    FactLink,
    FactSource,
    Tombstone,
    UserFact,
    UserFactQuerySet,
    hold_at,
)
from memory.models.places import Place, PlaceMention
from memory.models.review import REOPENED, MemoryProposal, ProposalKind, ProposalStatus
from memory.models.switches import MemorySwitches
from memory.wording import FactCategory

__all__ = ["MemoryEvent", "MemoryProposal", "MemorySwitches", "Place", "PlaceMention", "WriteKind"]
__all__ += ["STALE_AFTER", "TRASH_KEPT", "ArchivedReason", "Confidence", "FactCategory", "FactLink", "FactSource"]
__all__ += ["REOPENED", "ProposalKind", "ProposalStatus", "Tombstone", "UserFact", "UserFactQuerySet", "hold_at"]
