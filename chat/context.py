from typing import Any, Final

from django.http import HttpRequest

# By the name of the page's URL; each is a question the coach of this version can answer.
_BY_PAGE: Final = {
    "memory:facts": ["What do you know about me?", "Remember that I never risk more than 1% per trade."],
    "memory:fact": ["What do you know about me?"],
}
_ANYWHERE: Final = [
    "What do you know about me?",
    "Remember that I trade BTC and ETH only.",
    "My goal is to grow this account without a drawdown over 15%.",
]


def suggested_prompts(request: HttpRequest) -> dict[str, Any]:
    """Give every template the prompts suggested on its page."""
    page = request.resolver_match.view_name if request.resolver_match else ""
    return {"suggestions": _BY_PAGE.get(page, _ANYWHERE)}
