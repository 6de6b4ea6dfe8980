"""One process of the storm: `manage.py` with a fake trading model and a fake venue, else as it is.

`python -m tests.faults.storm_process up --port 8123`. The venue fills an order each ten seconds since STORM_BEGAN.
"""

import os
import sys
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

FILL_SECONDS = 10
MODEL_SECONDS = 0.3  # long enough for a kill in the middle


class Trader:
    """A model that opens a position in even minutes and closes it in odd ones."""

    async def stream(self, model: str, request: Any) -> AsyncIterator[Any]:
        import asyncio  # noqa: PLC0415
        import json  # noqa: PLC0415

        from config.lib.llm.answer import Piece, Usage  # noqa: PLC0415

        await asyncio.sleep(MODEL_SECONDS)
        order = {"symbol": "BTC", "side": "long", "size_usd": "100", "reason": "An even minute."}
        if int(time.time() / 60) % 2:
            order = {"symbol": "BTC", "side": "close", "reason": "An odd minute."}
        call = {
            "index": 0,
            "id": f"call_{uuid4().hex}",
            "function": {"name": "propose_order", "arguments": json.dumps(order)},
        }
        yield Piece(content="", calls=[call], finish_reason="tool_calls", usage=Usage(100, 10))


def list_fills(began: float, until: float) -> list[dict[str, Any]]:
    """Return the fills of the fake venue from its first up to an instant, as the venue sends them."""
    rows = []
    for number in range(int((until - began) / FILL_SECONDS) + 1):
        is_buy = number % 2 == 0
        rows.append(
            {
                **{"coin": "ETH", "px": "2000", "sz": "1", "side": "B" if is_buy else "A"},
                **{"time": int((began + number * FILL_SECONDS) * 1000), "startPosition": "0" if is_buy else "1"},
                **{"dir": "Open Long" if is_buy else "Close Long", "closedPnl": "0", "hash": f"0x{number:x}"},
                **{"oid": number + 1, "tid": number + 1, "fee": "0.1", "feeToken": "USDC"},
            }
        )
    return rows


def fetch_fills(*_: Any, since: datetime, until: datetime, **__: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the fills of a range, as `fetch_records` does."""
    rows = list_fills(float(os.environ["STORM_BEGAN"]), until.timestamp())
    found = [row for row in rows if since <= datetime.fromtimestamp(row["time"] / 1000, UTC) <= until]
    if found:
        yield found


def main() -> None:
    """Run a management command with the fakes."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    from django.conf import settings  # noqa: PLC0415
    from django.core.management import execute_from_command_line  # noqa: PLC0415

    settings.LLM_PROVIDERS = {**settings.LLM_PROVIDERS, "storm": "tests.faults.storm_process.Trader"}
    import django  # noqa: PLC0415

    django.setup()
    from trading.intake import sync  # noqa: PLC0415

    sync.open_account = lambda *_: None  # type: ignore[assignment]
    sync.fetch_records = fetch_fills  # type: ignore[assignment]
    execute_from_command_line(["manage.py", *sys.argv[1:]])


if __name__ == "__main__":
    main()
