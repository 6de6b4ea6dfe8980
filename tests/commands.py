"""What the tests of the management commands share."""

import json
from io import StringIO
from typing import Any

from django.core.management import call_command


def run(*args: str, **options: Any) -> str:
    """Run a command and return what it printed."""
    out = StringIO()
    call_command(*args, stdout=out, stderr=out, **options)
    return out.getvalue()


def lines_of(*args: str) -> list[dict[str, Any]]:
    """Run a command with --json and return its lines."""
    return [json.loads(line) for line in run(*args, "--json").splitlines()]
