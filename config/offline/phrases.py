"""Texts in which the model describes itself, small talk, and the terms it explains."""

import re
from collections.abc import Collection
from typing import Final

from config.lib.words.clauses import Forms
from config.offline.messages import content_words
from config.offline.talk import Reply, Talk
from config.offline.telling import listing, paragraphs

FACTS_PAGE: Final = "[facts page](/profile/facts/)"

WHAT_I_AM: Final = "I am Keel's offline model: I work by rules, not with a language model."
REAL_MODEL: Final = (
    "For a real conversation, whoever runs this site sets `CHAT_AGENT_MODEL` (for example"
    " `openrouter/anthropic/claude-sonnet-4.6`) and the provider's key (`OPENROUTER_API_KEY`), and restarts Keel."
)
NO_RULE: Final = "I have no rule for what you just wrote: I work by rules, not with a language model."
# A line: the act that it needs, what it does with it, and what to say; two are shown, any question is offered.
_TABLE: Final = """
remember = remember lasting things: I never trade alts / remember that I only buy funds
forget = correct and forget them: forget my max leverage / forget everything about SOL
confirm = note what still holds: yes, still funds only
query_trades = ask your record: What is my net profit? / Which symbol makes me the most money?
    / What's my win rate this month? / What do my losing trades have in common?
    / How big can a BTC long be with a stop 4% away?
get_my_deployments = tell how your agents do: What's running and how is it doing? / What's my biggest risk right now?
    / What did I learn from my last trades?
get_market_overview = look at markets: What's the market doing today? / What is funding on ETH right now?
get_upcoming_events = look ahead: What is coming up this week? / What will CPI do to my BTC long?
get_recent_news = quote news: Any news today?
list_my_skills = compare your skills: How did my last backtest go? / What skills do I have?
set_strategy = draft a skill with you: Help me build a BTC trend breakout strategy
prepare_action = prepare actions that you alone confirm: stop it / backtest it over last month
 = say what I know: What do you know about me? / What can you do?
"""
_ABLE: Final = {
    act.strip(): (what, said.split(" / "))
    for act, _, rest in (line.partition("= ") for line in re.sub(r"\n    +", " ", _TABLE).strip("\n").split("\n"))
    for what, _, said in (rest.partition(": "),)
}
_STATEMENTS: Final = frozenset({"remember", "forget", "confirm", "prepare_action"})
# Explained on request, and by the drafting with a novice: the names of a term, and what it is.
_TERMS: Final = """
Funding|funding rate: what holders of one side of a perpetual pay the other side, every few hours
Mean reversion: the bet that a price which ran far comes back to its average
Breakout: price leaving a range it had stayed in; the bet is that it keeps going
Trend: a move that goes on; the bet is that it goes on longer
Range: price going back and forth between two levels
Leverage: trading with more than you have; at 2x a move of 1% costs or makes 2%
Daily loss halt: the loss of a day after which nothing new is opened until 00:00 UTC
Backtest: the strategy run over past prices: no proof, but the cheapest way to find out it is wrong
MAE|adverse excursion: the worst point of a trade while it was open (maximum adverse excursion)
MFE|favourable excursion: the best point of a trade while it was open (maximum favourable excursion)
R|r multiple: the result of a trade as a multiple of what its stop would have lost
Profit factor: what the winners made divided by what the losses cost
Win rate: the share of closed trades that made money; it says nothing without their sizes
Expectancy: what a trade made on average, after fees and funding
Drawdown|max drawdown: the fall of equity from its highest point so far
Slippage: the difference between the price that is expected and the one that is got
Sharpe ratio|sharpe: the mean daily return divided by its spread, annualised
Basis: the perpetual's price against the index: above zero, longs pay up
Regime: how the market moves: trend, chop or shock, from its own past bars
"""
TERMS: Final = {
    name.casefold(): f"**{line.partition(':')[0].partition('|')[0]}**:{line.partition(':')[2]}."
    for line in _TERMS.strip().splitlines()
    for name in line.partition(":")[0].split("|")
}

_ABOUT_KEEL: Final = Forms("""
what: who|what are you / who made|built you|keel / are you a|an|really|the* MACHINE / which|what language? model
    / your name / which|what MACHINE
help: ^ /? help / ^ what can you|i do|ask|say !!about|with / ^ how do|does you|this|it work
greeting: ^ GREETING !how|what / ^ GREETING $
""")
_SHORT_TALK: Final = Forms("""
You are welcome.: ^ FINE? ,|.|!? THANKS
Goodbye. What I saved stays saved.: ^ PARTING
All right.: ^ FINE .|!* $
""")


def asks_for_help(text: str) -> bool:
    """Tell whether a text asks what Keel can do."""
    return "help" in _ABOUT_KEEL.read(text)


def make_small_talk(talk: Talk) -> Reply | None:
    """Answer greetings, thanks and questions about the model itself."""
    said, brief = _ABOUT_KEEL.read(talk.text), _SHORT_TALK.read(talk.text)
    if "what" in said or "help" in said:
        return Reply(paragraphs(_list_abilities(talk.acts), f"{WHAT_I_AM} {REAL_MODEL}"))
    if len(talk.text.split()) > 6:
        return None
    if "greeting" in said:
        return Reply(f"Hello. {WHAT_I_AM} {suggest('', talk.acts)}")
    return next((Reply(answer) for answer in _SHORT_TALK.rows if answer in brief), None)


def suggest(text: str, acts: Collection[str]) -> str:
    """Offer three questions that can be answered, the ones nearest to a text."""
    open_to = {"", *acts} - _STATEMENTS
    able = [question for act, (_, questions) in _ABLE.items() if act in open_to for question in questions]
    wanted = content_words(text)
    first, *others = sorted(able, key=lambda question: -len(wanted & content_words(question)))[:3]
    return f"Try {', '.join(f'“{one}”' for one in [first, *others[:-1]])} or “{others[-1]}”."


def _list_abilities(acts: Collection[str]) -> str:
    """List the model's abilities, with examples for this assistant."""
    told = [
        f"**{what}**: {', '.join(f'“{one}”' for one in questions[:2])}"
        for act, (what, questions) in _ABLE.items()
        if act in {"", *acts}
    ]
    told += [] if acts else ["I can **save nothing** here: this chat has no tool for it"]
    page = f"You see and edit all that I know of you on your {FACTS_PAGE}."
    return paragraphs("Here is what I can do:", listing(told), page)


def knows_nothing(acts: Collection[str]) -> str:
    """Say that nothing is known of the user, and how that changes."""
    if "remember" not in acts:
        return f"I know nothing about you in this chat. What you want known you can add on your {FACTS_PAGE}."
    how = f"Tell me something lasting, such as “I never trade alts”, or add it on your {FACTS_PAGE}"
    return f"I know nothing about you yet. {how}, and I will remember it."
