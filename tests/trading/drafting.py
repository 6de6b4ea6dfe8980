"""Save and edit skills as a user does."""

from datetime import timedelta

from tests.factories.memory import JUNE
from trading.models import SkillDraft, SkillVersion
from trading.skills.services import patch_draft, save_draft, start_draft

SOON = JUNE + timedelta(minutes=1)
BASICS = {
    "name": "Dips",
    "tradingStyle": "swing",
    "strategy": {"thesis": "Dips are bought"},
    "context": {"symbols": ["BTC"]},
}


def save_skill(now=JUNE, **changes) -> SkillVersion:
    draft = start_draft(now=now)
    patch_draft(draft_id=draft.pk, patch={**BASICS, **changes}, now=now)
    return save_draft(draft_id=draft.pk, now=now)


def edit_skill(version: SkillVersion, now=SOON, **changes) -> SkillDraft:
    draft = start_draft(skill_id=version.skill_id, now=now)
    return patch_draft(draft_id=draft.pk, patch=changes, now=now)
