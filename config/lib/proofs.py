"""What a door knows of who asks. A service whose act counts takes a `Proof` and refuses one that is too weak."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from http import HTTPStatus
from typing import Final

from django.conf import settings

from config.lib.errors import DomainError


class Door(Enum):
    """Where a request for an act comes from."""

    SESSION = auto()
    TOKEN = auto()
    STAFF = auto()
    OPERATOR = auto()  # a command line, a job, a seed


@dataclass(frozen=True, slots=True)
class Proof:
    """Who asks for an act, and what they showed for it."""

    door: Door
    signed_in_at: datetime | None = None  # when the session last showed a password, a factor or a provider's word
    factor_at: datetime | None = None  # when it last showed the second factor
    page: str = ""  # of the session, to come back to once it has shown more
    may_write: bool = False  # of the token
    reason: str = ""  # of staff


OPERATOR: Final = Proof(Door.OPERATOR)


class ProofRefused(DomainError):
    """The door does not open this act."""

    http_status = HTTPStatus.FORBIDDEN


class ProofNeeded(ProofRefused):
    """The session has to show more; pages lead there."""

    says = ""

    def __init__(self, proof: Proof) -> None:
        super().__init__(f"{self.says} Then try again within five minutes.")
        self.page = proof.page


class SecondFactorNeeded(ProofNeeded):
    """The site asks for a second factor before this act."""

    says = "This site asks for a second factor before this: show it on the site."


class SignInNeeded(ProofNeeded):
    """The session signed in too long ago for what opens a way in or takes everything out."""

    says = "For this, prove on the site once more that it is you."


def require_factor(proof: Proof, *, now: datetime) -> None:
    """Raise SecondFactorNeeded for a session that did not show a factor a moment ago where the site asks for it.

    Raises ProofRefused for a token that may only read, and for staff without a reason.
    """
    if proof.door is Door.TOKEN and not proof.may_write:
        raise ProofRefused("This token may only read.")
    if proof.door is Door.STAFF and not proof.reason:
        raise ProofRefused("Staff act with a reason.")
    if proof.door is Door.SESSION and settings.CONFIRM_NEEDS_SECOND_FACTOR and not _is_fresh(proof.factor_at, now):
        raise SecondFactorNeeded(proof)


def require_sign_in(proof: Proof, *, now: datetime) -> None:
    """Raise SignInNeeded for a session that did not sign in, or prove itself again, a moment ago."""
    if proof.door is Door.SESSION and not _is_fresh(proof.signed_in_at, now):
        raise SignInNeeded(proof)


def _is_fresh(shown_at: datetime | None, now: datetime) -> bool:
    return shown_at is not None and shown_at > now - timedelta(seconds=settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)
