"""Provider failures as `LLMUnavailable`, in words for the user."""

import logging
import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Literal

from config.lib.errors import DomainError
from config.lib.observe.metrics import count_model_error

logger = logging.getLogger(__name__)

_Failure = Literal["timeout", "rate_limited", "refused", "unreachable", "interrupted", "empty", "unmade_call"]
Kind = _Failure | Literal["misconfigured", "used_up"]

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
    "used_up": "The tokens that this site has for all its users today are used up. The count restarts at 00:00 UTC.",
}
NO_LITELLM = 'This model needs LiteLLM. Whoever runs this site should install it: docs/operations.md, "Packages".'
EFFORT_REFUSED = (
    "The model does not take this reasoning effort together with tools. Whoever runs this site should set"
    " CHAT_REASONING_EFFORT (of agents: TRADING_REASONING_EFFORT) to none or another value, or install LiteLLM, which"
    " reaches OpenAI's models by another way: keel[providers]."
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

# By the name of a class in the chain of causes; the first that fits decides.
_BY_NAME: tuple[tuple[set[str], Kind, str], ...] = (
    ({"ContextWindowExceededError"}, "refused", TOO_LONG),
    ({"ContentPolicyViolationError"}, "refused", _CONTENT),
    ({"ConnectTimeout", "ConnectionTimeoutError"}, "unreachable", ""),
    ({"Timeout", "APITimeoutError", "TimeoutException", "TimeoutError"}, "timeout", ""),
)
_BY_STATUS: dict[int, tuple[Kind, str]] = {
    402: ("refused", _NO_CREDIT),
    408: ("timeout", ""),
    413: ("refused", TOO_LONG),
    429: ("rate_limited", ""),
    504: ("timeout", ""),
}


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
    texts = [str(link) for link in _iter_chain(error)]
    names = {cls.__name__ for link in _iter_chain(error) for cls in type(link).__mro__}
    status = find_status(error)
    if any(map(_NO_KEY.search, texts)):
        return LLMUnavailable("misconfigured")
    if any(map(LOW_CREDIT.search, texts)):
        return LLMUnavailable("refused", _NO_CREDIT)
    if status == HTTPStatus.BAD_REQUEST and any(map(EFFORT.search, texts)):
        return LLMUnavailable("misconfigured", EFFORT_REFUSED)
    for known, kind, message in _BY_NAME:
        if known & names:
            return LLMUnavailable(kind, message)
    if status in {400, 403, 422} and "HTTPStatusError" in names:  # the provider's word; else LiteLLM's on our settings
        return LLMUnavailable("refused")
    if status in _BY_STATUS:
        return LLMUnavailable(*_BY_STATUS[status])
    return LLMUnavailable("misconfigured" if status and 400 <= status < 500 else otherwise)


def find_status(error: BaseException) -> int | None:
    """Return the first HTTP status in the chain of causes."""
    for link in _iter_chain(error):
        status = getattr(link, "status_code", None)
        if isinstance(status, int):
            return status
    return None


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
