"""Whose deployment a command was given, where the operator names it alone."""

from uuid import UUID

from django.contrib.auth.base_user import AbstractBaseUser
from django.core.management.base import CommandParser

from config.lib.commands import user_by_email
from config.lib.owned import owned, system_tx
from trading.models import Deployment
from trading.queries import DeploymentNotFound


def add_optional_user_argument(parser: CommandParser) -> None:
    """Add `--user EMAIL`, which may be left out."""
    parser.add_argument("--user", metavar="EMAIL", help="whose it is; by default the owner of the deployment")


def owner_of_deployment(deployment_id: UUID, *, email: str | None) -> AbstractBaseUser:
    """Return whose the deployment is; with an address, of that user's alone. Raises DeploymentNotFound."""
    if email is not None:
        user = user_by_email(email)
        with owned(user):
            is_theirs = Deployment.objects.filter(pk=deployment_id).exists()
        if not is_theirs:
            raise DeploymentNotFound("You have no such deployment.")
        return user
    with system_tx("whose deployment the operator names"):
        deployment = Deployment.objects.filter(pk=deployment_id).select_related("user").first()
    if deployment is None:
        raise DeploymentNotFound("There is no such deployment.")
    owner: AbstractBaseUser = deployment.user
    return owner
