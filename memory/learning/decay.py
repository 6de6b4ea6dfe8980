"""Report learned facts that faded from prompts."""

from datetime import datetime

from memory.models import MemorySwitches, UserFact
from memory.recall.blocks import INJECTION_FLOOR, effective_score


def report_faded_facts(*, now: datetime) -> list[tuple[UserFact, float]]:
    """Return learned facts that faded since the last report, with their scores, and log it."""
    switches = MemorySwitches.objects.first()
    since = switches.decay_reported_at if switches is not None else None
    learned = UserFact.objects.current(now).filter(score__gte=INJECTION_FLOOR).order_by("created_at", "id")
    faded = [
        (fact, _get_score_at(fact, now))
        for fact in learned
        if _get_score_at(fact, now) < INJECTION_FLOOR
        and (since is None or _get_score_at(fact, since) >= INJECTION_FLOOR)
    ]
    switches = switches or MemorySwitches.objects.create()
    switches.decay_reported_at = max(since or now, now)
    switches.save(update_fields=["decay_reported_at"])
    return faded


def _get_score_at(fact: UserFact, moment: datetime) -> float:
    assert fact.score is not None, "only learned facts are looked at"
    return effective_score(fact.score, unconfirmed_for=moment - fact.affirmed_at)
