"""Find the deployment, skill and owner of a command."""

from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import CommandError, CommandParser

from config.lib.owned import owned, system_tx
from config.lib.work.commands import get_user_by_email
from trading.ledger.services import DeploymentNotFound
from trading.models import Deployment, Skill
from trading.skills.queries import SkillNotFound


def add_optional_user_argument(parser: CommandParser) -> None:
    """Add `--user EMAIL`, which may be left out."""
    parser.add_argument("--user", metavar="EMAIL", help="the owner; by default the owner of the deployment")


def find_owner(deployment_id: UUID | None, *, email: str | None) -> AbstractBaseUser:
    """Return the user of an address, or a deployment's owner. Raises CommandError, DeploymentNotFound."""
    if email is not None:
        user = get_user_by_email(email)
        with owned(user):
            is_theirs = deployment_id is None or Deployment.objects.filter(pk=deployment_id).exists()
        if not is_theirs:
            raise DeploymentNotFound("You have no such deployment.")
        return user
    if deployment_id is None:
        raise CommandError("Name a user or a deployment.")
    with system_tx("whose deployment the operator names"):
        rows = Deployment.objects.filter(pk=deployment_id).select_related("user")
        deployment = rows.first_or(DeploymentNotFound("There is no such deployment."))
    return deployment.user


def find_skill(name: str | None) -> Skill:
    """Return a skill by name or id. Raises SkillNotFound."""
    skills = list(Skill.objects.filter(archived_at__isnull=True).order_by("name"))
    if name is None and len(skills) == 1:
        return skills[0]
    wanted = (name or "").strip().lower()
    found = [skill for skill in skills if wanted in {skill.name.lower(), str(skill.pk)}]
    if len(found) == 1:
        return found[0]
    there_are = ", ".join(skill.name for skill in skills) or "none yet; write one on /skills/new/"
    raise SkillNotFound(f"Name one of the user's skills with --skill. There are: {there_are}.")
