"""Provider failures as `LLMUnavailable`, in words for the user."""

import logging
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Literal

from config.lib.errors import DomainError
from config.lib.observe.metrics import count_model_error

logger = logging.getLogger(__name__)

Kind = Literal[
    "timeout", "rate_limited", "refused", "unreachable", "interrupted", "empty", "unmade_call", "misconfigured"
]

_MESSAGES: dict[Kind, str] = {
    "timeout": "The model took too long to answer. Please try again in a moment.",
    "rate_limited": "The model is busy or its limit is reached. Please wait a minute and try again.",
    "refused": "The model's provider declined this request. Say it differently, or start a new chat.",
    "unreachable": "The model cannot be reached right now. Please try again in a moment.",
    "interrupted": "The answer broke off before its end. Please try again.",
    "empty": "The model answered with nothing. Please try again.",
    "unmade_call": (
        "The model wrote a tool call that Keel cannot run, instead of an answer. Please try again, or choose a model "
        "that supports tools."
    ),
    "misconfigured": (
        "The model is not set up correctly. Whoever runs this site should check its name and the provider's key."
    ),
}
NO_LITELLM = "This model needs LiteLLM. Whoever runs this site should install it: pip install 'keel[providers]'."
EFFORT_REFUSED = (
    "The model does not take this reasoning effort together with tools. Whoever runs this site should set"
    " CHAT_REASONING_EFFORT (of agents: TRADING_REASONING_EFFORT) to none or another value, or install LiteLLM, which"
    " reaches OpenAI's models by another way: pip install 'keel[providers]'."
)
TOO_LONG = "This conversation has grown too long for the model. Please start a new chat."
_NO_CREDIT = (
    "The account with the model's provider has too little credit for this answer. Whoever runs this site should add "
    "credit there, or lower CHAT_MAX_OUTPUT_TOKENS."
)
_CONTENT = "The model's provider declined this for its content. Please say it differently."

# A key that is not set has no exception of its own: the clients only say so, and LiteLLM makes a 500 of it.
_NO_KEY = re.compile(r"\bmissing (?:\w+ )?(?:api key|credentials)\b", re.IGNORECASE)
# Not every provider answers 402 to an account without credit.
LOW_CREDIT = re.compile(
    r"credit balance is too low|insufficient[ _](?:quota|credits|balance)|requires more credits", re.I
)


EFFORT = re.compile(r"reasoning[_. ]effort", re.IGNORECASE)  # names the parameter that was refused


class LLMUnavailable(DomainError):
    """No model answered; `kind` is the reason. The message repeats no text of the provider."""

    http_status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, kind: Kind, message: str = "") -> None:
        super().__init__(message or _MESSAGES[kind])
        self.kind: Kind = kind


def report_failure(model: str, error: Exception | None, *, otherwise: Kind) -> LLMUnavailable:
    """Translate a model's failure; log names and status, never its text."""
    failure = LLMUnavailable(otherwise) if error is None else explain_failure(error, otherwise=otherwise)
    name, status = (type(error).__name__, find_status(error)) if error is not None else (None, None)
    logger.warning("Model %s: %s (%s, status %s)", model, failure.kind, name, status)
    count_model_error(failure.kind)
    return failure


def explain_failure(error: BaseException, *, otherwise: Kind) -> LLMUnavailable:
    """Translate an exception of LiteLLM, as `otherwise` if unknown.

    LiteLLM wraps: a refused connection arrives as an InternalServerError, a time-out in mid-stream as an
    APIConnectionError. The real error is in the chain of causes. Classes are compared by name, because importing them
    would import LiteLLM.
    """
    names = [cls.__name__ for link in _iter_chain(error) for cls in type(link).__mro__]
    if any(_NO_KEY.search(str(link)) for link in _iter_chain(error)):
        return LLMUnavailable("misconfigured")
    if any(LOW_CREDIT.search(str(link)) for link in _iter_chain(error)):
        return LLMUnavailable("refused", _NO_CREDIT)
    if find_status(error) == HTTPStatus.BAD_REQUEST and any(EFFORT.search(str(link)) for link in _iter_chain(error)):
        return LLMUnavailable("misconfigured", EFFORT_REFUSED)
    if "ContextWindowExceededError" in names:
        return LLMUnavailable("refused", TOO_LONG)
    if "ContentPolicyViolationError" in names:
        return LLMUnavailable("refused", _CONTENT)
    if "ConnectTimeout" in names or "ConnectionTimeoutError" in names:
        return LLMUnavailable("unreachable")
    if not {"Timeout", "APITimeoutError", "TimeoutException", "TimeoutError"}.isdisjoint(names):
        return LLMUnavailable("timeout")
    return _explain_status(find_status(error), names, otherwise)


def find_status(error: BaseException) -> int | None:
    """Return the first HTTP status in the chain of causes."""
    for link in _iter_chain(error):
        status = getattr(link, "status_code", None)
        if isinstance(status, int):
            return status
    return None


def _explain_status(status: int | None, names: list[str], otherwise: Kind) -> LLMUnavailable:
    match status:
        case 402:
            return LLMUnavailable("refused", _NO_CREDIT)
        case 413:
            return LLMUnavailable("refused", TOO_LONG)
        case 400 | 403 | 422 if "HTTPStatusError" in names:  # the provider's word; else it is LiteLLM's on our settings
            return LLMUnavailable("refused")
        case 408 | 504:
            return LLMUnavailable("timeout")
        case 429:
            return LLMUnavailable("rate_limited")
        case int() if 400 <= status < 500:
            return LLMUnavailable("misconfigured")
    return LLMUnavailable(otherwise)


def _iter_chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, at most a dozen."""
    seen: list[BaseException] = []
    waiting: list[object] = [error]
    while waiting and len(seen) < 12:
        link = waiting.pop(0)
        if isinstance(link, BaseException) and all(link is not known for known in seen):
            seen.append(link)
            yield link
            waiting += [getattr(link, "original_exception", None), link.__cause__, link.__context__]
