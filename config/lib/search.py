"""Finding rows by the words in them."""

from functools import reduce
from operator import and_, or_

from django.db.models import Q

from config.lib.text import normal_form

MAX_WORDS = 16  # more words than anyone types to find a line; bounds the SQL


def has_words(query: str, *columns: str) -> Q:
    """Return the condition that each word of `query` stands, as a substring, in one of the columns.

    The columns hold normal forms (`NormalFormField`) or lower-case slugs, so the comparison is without case in any
    script on any database. `%` and `_` are plain characters. A blank query is met by every row.
    """
    words = normal_form(query).split()[:MAX_WORDS]
    return reduce(and_, (_in_any(word, columns) for word in words), Q())


def _in_any(word: str, columns: tuple[str, ...]) -> Q:
    return reduce(or_, (Q(**{f"{column}__contains": word}) for column in columns))
