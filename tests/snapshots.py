"""Snapshots: values of the product that a reviewer reads as a diff. `make fix` renews their files."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent


def describe_tools() -> dict[str, Any]:
    """Return each assistant's tools in their order, and of each tool its arguments and what it does."""
    from chat.tools import TOOLS  # noqa: PLC0415 - the settings come first

    tools = {tool.name: tool for assistant in TOOLS.values() for tool in assistant}
    return {
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


SNAPSHOTS: Final[Mapping[str, Callable[[], Any]]] = {"chat/tools/tools.json": describe_tools}


def render(name: str) -> str:
    """Return the text of a snapshot."""
    return json.dumps(SNAPSHOTS[name](), indent=1, ensure_ascii=False) + "\n"


def assert_renewed(name: str) -> None:
    """Fail with what to do when a snapshot is not what the product says."""
    assert (ROOT / name).read_text() == render(name), f"tests/{name}: run `make fix` and review the diff"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    import django

    django.setup()
    for name in SNAPSHOTS:
        (ROOT / name).write_text(render(name))
