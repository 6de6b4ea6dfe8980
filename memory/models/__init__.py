"""The rows of memory."""

from memory.models.events import EventKind, MemoryEvent
from memory.models.facts import (
    STALE_AFTER,
    TRASH_KEPT,
    ArchivedReason,
    Confidence,
    FactCategory,
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

__all__ = ["EventKind", "MemoryEvent", "MemoryProposal", "MemorySwitches", "Place", "PlaceMention"]
__all__ += ["STALE_AFTER", "TRASH_KEPT", "ArchivedReason", "Confidence", "FactCategory", "FactLink", "FactSource"]
__all__ += ["REOPENED", "ProposalKind", "ProposalStatus", "Tombstone", "UserFact", "UserFactQuerySet", "hold_at"]
