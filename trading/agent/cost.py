"""Tokens and price of a prompt, real or sample.

The sample is as full as the skill lets it be, so that a warning comes before the bill does.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final, NamedTuple

from django.conf import settings

from config.lib.llm.door import Usage, cost_usd
from config.lib.llm.tokens import count_tokens
from trading.agent.bars import block_length, most_bars
from trading.agent.context import (
    HIGHER_BARS,
    STABLE_END,
    AgentPrompt,
    ContextInputs,
    LastDecision,
    Portfolio,
    Record,
    assemble_context,
)
from trading.agent.decide import define_tools
from trading.agent.prompts import LESSONS_HEADER, Lessons, system_prompt
from trading.market.queries import Overview
from trading.market.regime import Regime
from trading.models import Bar, MarketEvent, NewsItem, Trade, TradeSide, TradeStatus
from trading.models.choices import INTERVALS
from trading.skills.schemas import PayloadInvalid, SkillPayload, parse_payload
from trading.skills.services import list_agent_models

LESSONS_SEGMENT: Final = "LESSONS"
TOOLS: Final = "Tools"
MEMORY_HEADINGS: Final = ("Recent trades on this skill", "Open positions (memory view)")
_AT: Final = datetime(2026, 1, 15, 12, tzinfo=UTC)
_PRICE: Final = Decimal("65214.5")
_LESSONS: Final = Lessons(
    "\n".join(["- Longs taken into a falling daily trend lost three times out of four; wait for the regime"] * 6),
    trades=10,
    window_start=_AT - timedelta(days=14),
    window_end=_AT,
)
_REASON: Final = "Funding is crowded at +0.021 % and price made no new high in six bars; fading with a stop above"


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of the prompt: system segment, context section, tools."""

    name: str
    text: str
    tokens: int
    is_memory: bool  # of the agent's own record


@dataclass(frozen=True, slots=True)
class PromptCost:
    """The cost of a tick's first request; answers come on top."""

    tokens: int  # of the prompt and the definitions of the tools
    memory_tokens: int  # of them: trades, positions and lessons
    ticks_per_day: int
    model: str  # that is asked first
    usd: Decimal | None  # at the model's list price; None: it is not known
    cached_usd: Decimal | None = None  # on average, if the provider keeps the prompt until the next tick

    @property
    def usd_per_day(self) -> Decimal | None:
        """Price of a day's ticks; None if the price is unknown."""
        return None if self.usd is None else self.usd * self.ticks_per_day

    @property
    def cached_usd_per_day(self) -> Decimal | None:
        """Price of a day's ticks with caching; None if unknown."""
        return None if self.cached_usd is None else self.cached_usd * self.ticks_per_day

    @property
    def tokens_per_day(self) -> int:
        """What all ticks of a day send."""
        return self.tokens * self.ticks_per_day

    @property
    def is_costly(self) -> bool:
        """Whether a day's tokens exceed the site's warning limit."""
        return self.tokens_per_day > settings.AGENT_DAILY_PROMPT_TOKENS_WARNING

    @property
    def memory_tokens_per_day(self) -> int:
        """What the record takes of it."""
        return self.memory_tokens * self.ticks_per_day


def system_parts(prompt: AgentPrompt) -> list[PromptPart]:
    """Return the segments of the system prompt, in order."""
    return [PromptPart(name, text, count_tokens(text), name == LESSONS_SEGMENT) for name, text in prompt.segments]


def stored_parts(system_prompt: str, *, has_lessons: bool) -> list[PromptPart]:
    """Split a stored system prompt at its segments' first words."""
    starts = {
        "LEASH": system_prompt.find("\n\nLeash: "),
        "STRATEGY": system_prompt.find("\n\n# Strategy: "),
        LESSONS_SEGMENT: system_prompt.rfind(f"\n\n{LESSONS_HEADER}") if has_lessons else -1,
        "FOOTER": system_prompt.rfind("\n\nDecide now"),
    }
    cuts = [("HEADER", -2), *((name, at) for name, at in starts.items() if at >= 0), ("", len(system_prompt))]
    segments = [(name, system_prompt[at + 2 : end]) for (name, at), (_, end) in pairwise(cuts)]
    return [PromptPart(name, text, count_tokens(text), name == LESSONS_SEGMENT) for name, text in segments if text]


def context_parts(context: str) -> list[PromptPart]:
    """Split the context into sections; no data line begins one."""
    parts = []
    for text in context.rstrip("\n").replace(STABLE_END, "\n\n").split("\n\n"):
        if not text:
            continue
        name = text.partition("\n")[0].removeprefix("## ")
        parts.append(PromptPart(name, text, count_tokens(text), name.startswith(MEMORY_HEADINGS)))
    return parts


def tools_part(payload: SkillPayload) -> PromptPart:
    """Return the tool definitions, one a line."""
    text = "\n".join(json.dumps(tool, separators=(",", ":")) for tool in define_tools(payload))
    return PromptPart(TOOLS, text, count_tokens(text), is_memory=False)


def cost_of(prompt: AgentPrompt, parts: Sequence[PromptPart], payload: SkillPayload) -> PromptCost:
    """Return a prompt's cost with tools. `parts`: system and context."""
    fixed = count_tokens(prompt.system) + tools_part(payload).tokens
    memory = sum(part.tokens for part in parts if part.is_memory)
    return _price_prompt(payload, _Tokens(fixed, *_count_context(prompt.context), memory))


def sample_cost(payload: SkillPayload) -> PromptCost:
    """Return the cost of a skill's full sample prompt."""
    # Each symbol has the same bars, so those of one are counted.
    bare, with_bars = (_count_context(assemble_context(_sample_inputs(payload, has_bars=has))) for has in (False, True))
    symbols = len(payload.context.symbols)
    stable, changing = (one + (full - one) * symbols for one, full in zip(bare, with_bars, strict=True))
    reflects = payload.context.memory.reflection.cadence != "off"
    lean, full = (count_tokens(system_prompt(payload, note)) for note in (None, _LESSONS if reflects else None))
    without = payload.model_copy(
        update={
            "context": payload.context.model_copy(
                update={"memory": payload.context.memory.model_copy(update={"enabled": False})}
            )
        }
    )
    memory = sum(bare) - sum(_count_context(assemble_context(_sample_inputs(without, has_bars=False))))
    return _price_prompt(payload, _Tokens(full + tools_part(payload).tokens, stable, changing, memory + full - lean))


def find_sample_cost(payload: Mapping[str, object]) -> PromptCost | None:
    """Return a payload's sample cost; None while it is incomplete."""
    try:
        return sample_cost(parse_payload(payload))
    except PayloadInvalid:
        return None


class _Tokens(NamedTuple):
    fixed: int  # of system prompt and tools
    stable: int  # of the context, while no block of bars ends
    changing: int
    memory: int  # of them all


def _count_context(context: str) -> tuple[int, int]:
    """Count the tokens of the stable and the changing part."""
    stable = count_tokens(context.partition(STABLE_END)[0])
    return stable, count_tokens(context) - stable


def _price_prompt(payload: SkillPayload, tokens: _Tokens) -> PromptCost:
    model, dial = list_agent_models(payload)[0], payload.context
    total = tokens.fixed + tokens.stable + tokens.changing
    # The share of ticks at which no block of bars ended since the tick before.
    kept = max(0.0, 1 - payload.schedule.every / block_length(dial.bars_interval, dial.bars_lookback))
    cached = tokens.fixed + round(tokens.stable * kept)
    return PromptCost(
        total,
        tokens.memory,
        payload.schedule.ticks_per_day,
        model,
        cost_usd(model, Usage(total, 0)),
        cost_usd(model, Usage(total, 0, cached, cache_write_tokens=tokens.fixed + tokens.stable - cached)),
    )


def _sample_inputs(payload: SkillPayload, *, has_bars: bool) -> ContextInputs:
    dial = payload.context
    first = dial.symbols[0]
    return ContextInputs(
        at=_AT,
        payload=payload,
        portfolio=Portfolio(Decimal("10123.40"), Decimal("10094.75")),
        bars={first: _sample_bars(dial.bars_interval, most_bars(dial.bars_lookback))} if has_bars else {},
        higher={first: {one: _sample_bars(one, most_bars(HIGHER_BARS)) for one in dial.higher_timeframes}}
        if has_bars
        else {},
        overviews=[_sample_overview(symbol) for symbol in dial.symbols],
        news=[_sample_news(number) for number in range(dial.news_top_k)],
        events=[_sample_event(hours) for hours in range(4)],
        marks=dict.fromkeys(dial.symbols, _PRICE),
        record=Record(
            open_trades=[_sample_trade(symbol, TradeStatus.OPEN) for symbol in dial.symbols[:2]],
            closed_trades=[_sample_trade(first, TradeStatus.CLOSED)] * dial.memory.recent_trades_k,
        ),
        last_decision=LastDecision(_AT - payload.schedule.every, "accepted"),
    )


def _sample_bars(interval: str, lookback: int) -> list[Bar]:
    length, count = INTERVALS[interval], most_bars(lookback)
    prices = {"open": _PRICE, "high": _PRICE + 61, "low": _PRICE - 87, "close": _PRICE - 12}
    return [
        Bar(interval=interval, opened_at=_AT - number * length, volume=Decimal("1834.5172"), **prices)
        for number in range(count, 0, -1)
    ]


def _sample_overview(symbol: str) -> Overview:
    return Overview(
        symbol=symbol,
        at=_AT,
        price=_PRICE,
        change_24h_fraction=0.0123,
        funding_rate_fraction=0.0001,
        funding_hours=8,
        basis_fraction=0.0004,
        realised_volatility_fraction=0.47,
        regime=Regime.TREND,
        is_simulated=True,
    )


def _sample_news(number: int) -> NewsItem:
    headline = "Exchange reserves fall to a three-year low as long-term holders keep accumulating into the weekend"
    return NewsItem(headline=headline, source="newswire", published_at=_AT - timedelta(hours=number), sentiment=0.25)


def _sample_event(hours: int) -> MarketEvent:
    return MarketEvent(kind="cpi", title="US consumer prices", starts_at=_AT + timedelta(hours=hours), importance=0.8)


def _sample_trade(symbol: str, status: str) -> Trade:
    is_open = status == TradeStatus.OPEN
    return Trade(
        symbol=symbol,
        side=TradeSide.LONG,
        status=status,
        quantity=Decimal("0.0038") if is_open else Decimal(0),
        entry_tick_at=_AT - timedelta(hours=30),
        entry_at=_AT - timedelta(hours=30),
        entry_price=_PRICE - 310,
        entry_size_usd=Decimal(250),
        entry_reason=_REASON,
        exit_at=None if is_open else _AT - timedelta(hours=4),
        exit_tick_at=None if is_open else _AT - timedelta(hours=4),
        gross_pnl_usd=Decimal(0),
        exit_price=None if is_open else _PRICE,
        holding_minutes=None if is_open else Decimal(1560),
        realized_pnl_usd=Decimal(0) if is_open else Decimal("-9.70"),
        mfe_usd=Decimal(22),
        mae_usd=Decimal(-8),
        path_minutes=60,
        reconciled="exact",
    )
