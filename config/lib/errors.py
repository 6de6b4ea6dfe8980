"""The one root of refusals that were foreseen."""


class DomainError(Exception):
    """A refusal we foresaw; its text may be shown to the user and to the model.

    Subclasses stand in the module that raises them. The message says what happened and what to do, and
    never holds an id or a word of another user's rows.
    """
