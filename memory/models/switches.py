"""The owner's switches for memory."""

from django.db import models

from config.lib.owned import OwnedModel


class MemorySwitches(OwnedModel):
    """What a user lets memory do, by default everything."""

    uses_facts = models.BooleanField(default=True)  # off: prompts carry no facts
    learns = models.BooleanField(default=True)  # off: chats save no facts
    decay_reported_at = models.DateTimeField(null=True, blank=True)  # time of the last report of `decay_facts`

    class Meta(OwnedModel.Meta):
        db_table = "memory_switches"
        verbose_name = verbose_name_plural = "memory switches"
        constraints = (models.UniqueConstraint(fields=("user",), name="memory_switches_once"),)

    def __str__(self) -> str:
        return f"uses facts: {self.uses_facts}, learns: {self.learns}"
