from datetime import datetime

from config.lib.work.sweeps import SweepCommand
from memory.learning.decay import report_faded_facts


class Command(SweepCommand):
    help = "Report the learned facts that faded from prompts since the last report."
    reason = "decay of facts"
    summary = "{touched} facts faded, of {users} users"

    def sweep(self, now: datetime, is_dry_run: bool) -> int:
        faded = report_faded_facts(now=now, is_dry_run=is_dry_run)
        for fact, score in faded:
            # Command output ends up in logs, so do not print the text.
            self.say(f"{fact.pk}: {score:.2f}", fact_id=fact.pk, score=score)
        return len(faded)
