"""Texts in which the model describes itself."""

from collections.abc import Collection
from typing import Final

from chat.tools.actions import PREPARE_ACTION
from chat.tools.deployments import GET_MY_DEPLOYMENTS
from chat.tools.drafts import SET_STRATEGY
from chat.tools.market import GET_MARKET_OVERVIEW

FACTS_PAGE: Final = "[facts page](/profile/facts/)"

WHAT_I_AM: Final = (
    "I am Keel's offline model: I work by rules, not with a language model, so I understand only what a rule was"
    " written for."
)
REAL_MODEL: Final = (
    "For a real conversation, whoever runs this site sets `CHAT_AGENT_MODEL` (for example"
    " `openrouter/anthropic/claude-sonnet-4.6`) and the provider's key (`OPENROUTER_API_KEY`), and restarts Keel."
)

_COACH: Final = {
    GET_MY_DEPLOYMENTS.name: (
        "- **tell how your agents do**: “what's running and how is it doing?”, “why did you open this position?”,"
        " “show my last trades”, “anything I should worry about?”"
    ),
    GET_MARKET_OVERVIEW.name: (
        "- **look at markets, news and events**: “what's the market doing today?”, “what will CPI do to my BTC long?”"
    ),
    SET_STRATEGY.name: (
        "- **draft a skill with you**: “help me build a BTC funding mean-reversion strategy”, “show me a template”"
    ),
    PREPARE_ACTION.name: "- **prepare actions** as cards that you alone confirm: “stop it”, “backtest it over the last"
    " month”",
}
_TRADER: Final = ("I never trade alts", "my max leverage is 5x", "actually my max leverage is 3x", "max leverage")
_INVESTOR: Final = ("I only buy funds", "my goal is to retire at 50", "actually my goal is to retire at 55", "goal")
_PERSON: Final = ("I prefer morning workouts", "my name is Alex", "actually my name is Alexa", "name")


def what_i_can(acts: Collection[str]) -> str:
    """List the model's abilities, with examples for this assistant."""
    one, other, correction, asked = _list_examples(acts)
    lines = {
        "remember": f"- **remember** lasting things you tell me: “{one}”, “{other}”, “remember that …”",
        "place": "- **keep places** you care about: “my home is at 123 Main St, Seattle”, “what places do you know?”",
        "forget": f"- **correct and forget** them: “{correction}”, “forget my {asked}”",
        "confirm": "- **note what still holds**: “yes, still funds only”",
        "link": "- **relate two facts**: “link my goal and my risk limit”",
    }
    told = [line for act, line in lines.items() if act in acts]
    told += [line for act, line in _COACH.items() if act in acts]
    told.append(f"- **say what I know**: “what do you know about me?”, “what is my {asked}?”")
    if not acts:
        told.append("- I can **save nothing** here: this chat has no tool for it")
    listed = "\n".join(told)
    return f"Here is what I can do:\n\n{listed}\n\nYou see and edit all that I know of you on your {FACTS_PAGE}."


def knows_nothing(acts: Collection[str]) -> str:
    """Say that nothing is known of the user, and how that changes."""
    one, other, *_ = _list_examples(acts)
    if "remember" not in acts:
        return f"I know nothing about you in this chat. What you want known you can add on your {FACTS_PAGE}."
    return (
        f"I know nothing about you yet. Tell me something lasting, such as “{one}” or “{other}”,"
        f" or add it on your {FACTS_PAGE}, and I will remember it."
    )


def find_example(acts: Collection[str]) -> str:
    """Return something that may be remembered."""
    return _list_examples(acts)[0]


def _list_examples(acts: Collection[str]) -> tuple[str, str, str, str]:
    if "place" in acts:
        return _PERSON
    return _INVESTOR if "confirm" in acts else _TRADER
