"""What the operations page promises is what the worker does and keeps."""

import re
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from chat.jobs import RETENTION
from config.lib.work.jobs import list_work
from tests.source import ROOT

UNITS = {"s": "seconds", "min": "minutes", "h": "hours", "day": "days", "days": "days"}
PAGE = ROOT / "docs" / "operations.md"


def rows_of(heading: str, page: Path = PAGE) -> list[list[str]]:
    """Return the cells of the first table below a heading."""
    section = page.read_text().split(f"\n## {heading}\n")[1]
    table = re.search(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", section, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table[1].splitlines()] if table else []


def parse_span(text: str) -> timedelta:
    number, unit = text.split()
    return timedelta(**{UNITS[unit]: int(number)})


def test_each_job_stands_in_the_operations_page_and_each_of_its_rows_is_a_job():
    told = {name.strip("`"): parse_span(every) for name, every, _ in rows_of("Jobs")}
    done = {work.name: work.every for work in list_work()}

    missing = {name: every for name, every in done.items() if told.get(name) != every}
    gone = sorted(told.keys() - done.keys())

    assert not missing, f"{missing}: give each its row in the table of jobs of docs/operations.md"
    assert not gone, f"{gone}: docs/operations.md promises this work, but no JOBS has it: register it again"


def test_each_kind_of_old_rows_is_dropped_as_the_operations_page_says():
    told = {kind.strip("`"): default for kind, _, _, default in rows_of("What is kept, and how long")}
    kept = {kind: f"{days} days" if days else "for ever" for kind, days in settings.KEEP_DAYS.items()}

    assert told == kept, "docs/operations.md lists the kinds and defaults of KEEP_DAYS"
    assert {kind.name for kind in RETENTION} == set(kept), "RETENTION of chat/jobs.py drops each kind of KEEP_DAYS"
