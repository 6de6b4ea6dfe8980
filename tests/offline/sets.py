"""The labelled sentences of `sets.txt`: a row a line, an indented line goes on with the one before."""

import re
from pathlib import Path

from config.lib.words.clauses import read_sections

SETS = {
    name: re.sub(r"\n +", " ", rows).strip().split("\n")
    for name, rows in read_sections(Path(__file__).with_name("sets.txt")).items()
}


def pairs(name: str) -> dict[str, str]:
    """Return the texts of a set with what stands behind their arrows."""
    return dict(row.split(" => ") for row in SETS[name])
