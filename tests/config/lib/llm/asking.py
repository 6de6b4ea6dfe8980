"""Ask a server of OpenAI's protocol through the door."""

import asyncio

from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable

USER = [{"role": "user", "content": "hi"}]
WIRE = ["openai/wire"]


def run(coroutine):
    """Run a coroutine to its end and leave no connection behind."""

    async def main():
        try:
            return await coroutine
        finally:
            await door.close()

    return asyncio.run(main())


def read(messages=USER, *, models=WIRE, **options):
    """Return all chunks of a stream, and the exception it ended with, if any."""

    async def collect():
        chunks = []
        try:
            async for chunk in door.stream(messages, models=models, **options):
                chunks.append(chunk)
        except LLMUnavailable as error:
            return chunks, error
        return chunks, None

    return run(collect())


def text_of(chunks):
    return "".join(chunk.text for chunk in chunks)
