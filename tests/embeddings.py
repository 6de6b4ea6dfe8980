"""A stand-in for an embedding model, as a custom provider of LiteLLM."""

from contextlib import suppress
from typing import Any

from config.lib.llm.litellm import load_litellm
from config.lib.owned import ScopeError, current_owner


class EmbeddingModel:
    """A model that has the vectors the test gives it, and remembers what it was asked for."""

    def __init__(self, vectors: dict[str, list[Any]], *, otherwise: list[float]) -> None:
        self.vectors = vectors
        self.otherwise = otherwise
        self.asked: list[str] = []
        self.batches: list[int] = []
        self.fails = False
        self.was_asked_in_a_scope = False

    def register(self) -> None:
        """Let LiteLLM ask this model for `embedding/...`."""
        load_litellm()
        import litellm  # noqa: PLC0415, TID251 - a custom provider can only be added to LiteLLM itself

        litellm.custom_provider_map = [{"provider": "embedding", "custom_handler": self}]
        litellm.utils.custom_llm_setup()

    def embedding(self, model: str, input: list[str], model_response: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer in LiteLLM's shape, last text first: only the index says whose vector it is."""
        self.asked += input
        self.batches.append(len(input))
        with suppress(ScopeError):
            current_owner()
            self.was_asked_in_a_scope = True
        if self.fails:
            raise RuntimeError("secret words of the provider")
        rows = [
            {"object": "embedding", "index": at, "embedding": self.vectors.get(text, self.otherwise)}
            for at, text in enumerate(input)
        ]
        model_response.data = rows[::-1]
        model_response.model = model
        return model_response
