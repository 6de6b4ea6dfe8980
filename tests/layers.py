"""Channel layers of processes that share one Redis."""

import asyncio

from config.lib.edge.layer import SharedLayer


async def until_linked(*linked: SharedLayer, seconds: float = 5) -> None:
    """Wait until each of the layers has heard of another one."""
    async with asyncio.timeout(seconds):
        while not all(layer._link._is_subscribed and layer._link._has_others for layer in linked):
            await asyncio.sleep(0.02)
