"""Files written from code, which a reviewer reads as a diff. `make fix` renews them."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.goals import render_page

ROOT: Final = Path(__file__).parent.parent


def render_tools() -> str:
    """Return each assistant's tools in their order, and of each tool its arguments and what it does."""
    from chat.tools import TOOLS  # noqa: PLC0415 - the settings come first

    tools = {tool.name: tool for assistant in TOOLS.values() for tool in assistant}
    described = {
        "assistants": {assistant: [tool.name for tool in tools] for assistant, tools in TOOLS.items()},
        "tools": {
            name: {
                "acts": sorted(tool.acts),
                "untrusted": tool.untrusted,
                "asks_model": tool.asks_model,
                **tool.schema["function"],
            }
            for name, tool in tools.items()
        },
    }
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


SNAPSHOTS: Final[Mapping[str, Callable[[], str]]] = {
    "tests/chat/tools/tools.json": render_tools,
    "docs/performance.md": render_page,
}


def assert_renewed(name: str) -> None:
    """Fail with what to do when a file is not what the code says."""
    assert (ROOT / name).read_text() == SNAPSHOTS[name](), f"{name}: run `make fix` and review the diff"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    for name, render in SNAPSHOTS.items():
        (ROOT / name).write_text(render())
