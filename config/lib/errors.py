"""`DomainError`, the base class of foreseen refusals."""

from http import HTTPStatus
from typing import ClassVar


class DomainError(Exception):
    """A foreseen refusal. Its text may be shown to the user and to the model.

    Define a subclass in the module that raises it. The message says what happened and what to do, and contains no id
    and no word of another user's rows.
    """

    http_status: ClassVar[HTTPStatus] = HTTPStatus.UNPROCESSABLE_ENTITY  # the input is invalid


class NotFound(DomainError):
    """The owner has no such row."""

    http_status = HTTPStatus.NOT_FOUND


class StateConflict(DomainError):
    """The request conflicts with the current state."""

    http_status = HTTPStatus.CONFLICT
