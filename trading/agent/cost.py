"""Tokens and price of a prompt, real or sample.

The sample is as full as the skill lets it be, so that a warning comes before the bill does.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Final

from django.conf import settings

from config.lib.llm.door import Usage, cost_usd
from config.lib.llm.tokens import count_tokens
from trading.agent.bars import block_length, count_settled, most_bars
from trading.agent.context import HIGHER_BARS, STABLE_END, AgentPrompt
from trading.agent.decide import define_tools
from trading.agent.prompts import LESSONS_HEADER, system_prompt
from trading.models import ReflectionNote
from trading.skills.schemas import PayloadInvalid, SkillPayload, parse_payload
from trading.skills.services import list_agent_models

LESSONS_SEGMENT: Final = "LESSONS"
TOOLS: Final = "Tools"
MEMORY_HEADINGS: Final = ("Recent trades on this skill", "Open positions (memory view)")
_CLOSE: Final = re.compile(
    r"^- [\dT:-]{16}(?: [\d,.]+){3} (\d[\d,]*(?:\.\d+)?) [\d.]+$", re.MULTILINE
)  # of a `bar_line`
_AT: Final = datetime(2026, 1, 15, 12, tzinfo=UTC)
_LESSONS: Final = ReflectionNote(
    lessons_text="- Longs taken into a falling daily trend lost three times out of four; wait for the regime\n" * 6,
    trades_considered=10,
    window_start=_AT - timedelta(days=14),
    window_end=_AT,
)
# Lines of a sample, as long as usual; only their tokens matter.
_HELD, _EVENTS, _SECTIONS = 2, 4, 6
_REASON: Final = '"Funding is crowded at +0.021 % and price made no new high in six bars; fading with a stop above"'
_HEADING: Final = "\n## Bars BTC 1h (open, high, low, close, volume; closed bars, oldest first)"
_BAR: Final = "- 2026-01-15 12:00 65214.5 65275.5 65127.5 65202.5 1834.5172"
_TRADE: Final = f"- 2026-01-14 06:00 → 01-15 08:00 BTC long $250 @ 64904.5 → 65214.5 -$9.70 (-3.9%) 26h 0m {_REASON}"
_POSITION: Final = f"- BTC long $250 @ 64904.5 mark=65214.5 MFE=+$22 / MAE=-$8 held 30h 0m {_REASON}"
_HOLDING: Final = "- BTC long 0.0038 = $247.82"
_MARKET: Final = "- BTC last=65214.5 24h=+1.2% funding=+0.0100%/8h basis=+0.040% vol=47% regime=trend"
_NEWS: Final = (
    "- 2026-01-15 11:00 [newswire] Exchange reserves fall to a three-year low as long-term holders keep accumulating"
    " into the weekend (+0.25)"
)
_EVENT: Final = "- 2026-01-15 13:00 cpi US consumer prices (importance 0.80)"


@dataclass(frozen=True, slots=True)
class PromptPart:
    """A part of the prompt: system segment, context section, tools."""

    name: str
    text: str
    tokens: int
    is_memory: bool  # of the agent's own record

    @property
    def closes(self) -> list[Decimal]:
        """The closes of the bars that the part lists, oldest first."""
        return [Decimal(close.replace(",", "")) for close in _CLOSE.findall(self.text)]


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
        return self.tokens_per_day > settings.AGENT_DAILY_PROMPT_TOKENS_WARNING

    @property
    def memory_tokens_per_day(self) -> int:
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
    texts = filter(None, context.rstrip("\n").replace(STABLE_END, "\n\n").split("\n\n"))
    named = [(text.partition("\n")[0].removeprefix("## "), text) for text in texts]
    return [PromptPart(name, text, count_tokens(text), name.startswith(MEMORY_HEADINGS)) for name, text in named]


def tools_part(payload: SkillPayload) -> PromptPart:
    """Return the tool definitions, one a line."""
    text = "\n".join(json.dumps(tool, separators=(",", ":")) for tool in define_tools(payload))
    return PromptPart(TOOLS, text, count_tokens(text), is_memory=False)


def cost_of(prompt: AgentPrompt, parts: Sequence[PromptPart], payload: SkillPayload) -> PromptCost:
    """Return a prompt's cost with tools. `parts`: system and context."""
    fixed = count_tokens(prompt.system) + tools_part(payload).tokens
    memory = sum(part.tokens for part in parts if part.is_memory)
    stable = count_tokens(prompt.context.partition(STABLE_END)[0])
    return _price_prompt(payload, fixed, stable, count_tokens(prompt.context) - stable, memory)


def sample_cost(payload: SkillPayload) -> PromptCost:
    """Return the cost of a prompt as full as the skill lets it be."""
    dial, symbols = payload.context, len(payload.context.symbols)
    charts = [dial.bars_lookback, *(HIGHER_BARS for _ in dial.higher_timeframes)]
    settled, bars = sum(map(count_settled, charts)), sum(map(most_bars, charts))
    held = min(symbols, _HELD)
    record = _count_lines({_TRADE: dial.memory.recent_trades_k, _POSITION: held * dial.memory.include_open_positions})
    record *= dial.memory.shows_trades
    stable = _count_lines({_HEADING: symbols * len(charts), _BAR: symbols * settled})
    changing = record + _count_lines(
        {
            _HEADING: symbols * len(charts) + _SECTIONS,
            _BAR: symbols * (bars - settled),
            _NEWS: dial.news_top_k,
            _EVENT: _EVENTS if dial.events.lookahead_hours else 0,
            _MARKET: symbols,
            _HOLDING: held,
        }
    )
    reflects = dial.memory.reflection.cadence != "off"
    lean, full = (count_tokens(system_prompt(payload, note)) for note in (None, _LESSONS if reflects else None))
    return _price_prompt(payload, full + tools_part(payload).tokens, stable, changing, record + full - lean)


def _count_lines(lines: Mapping[str, int]) -> int:
    return sum(count_tokens(f"{line}\n") * number for line, number in lines.items())


def find_sample_cost(payload: Mapping[str, object]) -> PromptCost | None:
    """Return a payload's sample cost; None while it is incomplete."""
    try:
        return sample_cost(parse_payload(payload))
    except PayloadInvalid:
        return None


def _price_prompt(payload: SkillPayload, fixed: int, stable: int, changing: int, memory: int) -> PromptCost:
    """Return the cost of tokens: `fixed` of system prompt and tools, `stable` while no block of bars ends."""
    model, dial, total = list_agent_models(payload)[0], payload.context, fixed + stable + changing
    # The share of ticks at which no block of bars ended since the tick before.
    kept = max(0.0, 1 - payload.schedule.every / block_length(dial.bars_interval, dial.bars_lookback))
    cached = fixed + round(stable * kept)
    return PromptCost(
        total,
        memory,
        payload.schedule.ticks_per_day,
        model,
        cost_usd(model, Usage(total, 0)),
        cost_usd(model, Usage(total, 0, cached, cache_write_tokens=fixed + stable - cached)),
    )
