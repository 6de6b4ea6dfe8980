"""The owner's switches for memory."""

from django.db import models

from config.lib.owned import OwnedModel


class MemorySwitches(OwnedModel):
    """What a user lets memory do, by default everything."""

    uses_facts = models.BooleanField(default=True)  # off: no prompt holds a fact
    learns = models.BooleanField(default=True)  # off: no chat saves a fact
    decay_reported_at = models.DateTimeField(null=True, blank=True)  # until when `decay_facts` has told who faded

    class Meta(OwnedModel.Meta):
        db_table = "memory_switches"
        constraints = (models.UniqueConstraint(fields=("user",), name="memory_switches_once"),)

    def __str__(self) -> str:
        return f"uses facts: {self.uses_facts}, learns: {self.learns}"
