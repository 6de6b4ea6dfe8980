"""Columns derived from another column of the row."""

import hashlib
from collections.abc import Sequence
from typing import Any

from django.db import models

from config.lib.search.terms import build_index_text
from config.lib.text import normal_form


class DerivedField(models.CharField):  # type: ignore[type-arg]
    """A text column computed from another when saved."""

    def __init__(self, *args: Any, source: str = "", **kwargs: Any) -> None:
        self.source = source
        super().__init__(*args, **{"editable": False, **kwargs})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """Return the arguments from which a migration rebuilds the field."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "source": self.source}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Compute the value and set it on the row."""
        value = self.derive(getattr(model_instance, self.source))
        setattr(model_instance, self.attname, value)
        return value

    def derive(self, text: str) -> str:
        """Return the column's value for a source text."""
        raise NotImplementedError


class NormalFormField(DerivedField):
    """The normal form of a text, for substring search."""

    def derive(self, text: str) -> str:
        """Return the normal form."""
        return normal_form(text)


class ContentKeyField(DerivedField):
    """A digest of the normal form, for equality."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"max_length": 64, **kwargs})

    def derive(self, text: str) -> str:
        """Return the digest."""
        return content_key(text)


class SearchTermsField(models.TextField):  # type: ignore[type-arg]
    """The terms by which full-text search finds a row. See `build_index_text`."""

    def __init__(self, *args: Any, sources: Sequence[str] = (), **kwargs: Any) -> None:
        self.sources = tuple(sources)
        super().__init__(*args, **{"editable": False, "default": "", **kwargs})

    def deconstruct(self) -> tuple[str, str, Sequence[Any], dict[str, Any]]:
        """Return the arguments from which a migration rebuilds the field."""
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "sources": self.sources}

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """Compute the value and set it on the row."""
        text = "\n".join(getattr(model_instance, source) for source in self.sources)
        value = build_index_text(text, model_instance.user_id)  # type: ignore[attr-defined]
        setattr(model_instance, self.attname, value)
        return value


def content_key(text: str) -> str:
    """Return the sha256 (hex) of the text's normal form."""
    return hashlib.sha256(normal_form(text).encode()).hexdigest()
