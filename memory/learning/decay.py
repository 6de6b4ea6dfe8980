"""Report learned facts that faded from prompts."""

from datetime import datetime

from memory.facts.services import set_switches
from memory.models import UserFact
from memory.recall.blocks import INJECTION_FLOOR, is_injectable


def report_faded_facts(*, now: datetime) -> list[UserFact]:
    """Return the learned facts that faded since the last report, and note the report."""
    switches = set_switches()
    since = switches.decay_reported_at
    learned = UserFact.objects.current(now).filter(score__gte=INJECTION_FLOOR).order_by("created_at", "id")
    switches.decay_reported_at = max(since or now, now)
    switches.save(update_fields=["decay_reported_at"])
    return [fact for fact in learned if not is_injectable(fact, now) and (since is None or is_injectable(fact, since))]
