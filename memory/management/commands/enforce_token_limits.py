from datetime import datetime

from config.lib.work.sweeps import SweepCommand
from memory.facts.limits import enforce_token_limit
from memory.facts.versions import lock_memory


class Command(SweepCommand):
    help = (
        "Take facts out of the memory document over its limit, the least recently referenced first; they stay believed."
    )
    reason = "limit of memory"
    summary = "{touched} facts evicted, of {users} users"

    def sweep(self, now: datetime, is_dry_run: bool) -> int:
        lock_memory()
        evicted = enforce_token_limit(now=now, is_dry_run=is_dry_run)
        for fact in evicted:
            self.say(str(fact.pk), fact_id=fact.pk)
        return len(evicted)
