"""`DomainError`, the base class of foreseen refusals."""

from http import HTTPStatus
from typing import ClassVar


class DomainError(Exception):
    """A foreseen refusal. Its text may be shown to the user and to the model.

    Subclasses stand in the module that raises them. The message says what happened and what to do, and
    never holds an id or a word of another user's rows.
    """

    # What the refusal means over HTTP: 404 there is none, 409 the state of things forbids it, 422 the words do.
    http_status: ClassVar[HTTPStatus] = HTTPStatus.UNPROCESSABLE_ENTITY
