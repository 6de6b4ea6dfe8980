from datetime import datetime

from config.lib.work.sweeps import SweepCommand
from memory.learning.consolidation import propose_merges


class Command(SweepCommand):
    help = "Propose to merge facts that say the same; each user accepts or dismisses on their page."
    reason = "consolidation of facts"
    summary = "{touched} merges proposed, to {users} users"

    def sweep(self, now: datetime, is_dry_run: bool) -> int:
        pairs = propose_merges(now=now, is_dry_run=is_dry_run)
        for old, into in pairs:
            self.say(f"{old} into {into}", fact_id=old, into_id=into)
        return len(pairs)
