"""What differs between two versions of a skill, in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from config.lib.text import WordRun, list_word_changes
from trading.skills.form import format_label, format_value

LONG: Final = 60  # characters, above which a difference is shown word by word


@dataclass(frozen=True, slots=True)
class Change:
    label: str
    before: str
    after: str

    @property
    def words(self) -> list[WordRun]:
        """What differs within a long text, word by word; empty for a short one."""
        is_long = self.before and self.after and max(len(self.before), len(self.after)) > LONG
        return list_word_changes(self.before, self.after) if is_long else []


def describe_changes(changes: Iterable[tuple[str, object, object]]) -> list[Change]:
    """Return the differences between two payloads as text."""
    return [
        Change(format_label(path), format_value(path, before), format_value(path, after))
        for path, before, after in changes
    ]
