"""A chat with the offline model, without a database: its tools are functions of their arguments."""

import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from chat.parts import add_preamble
from offline.model import decide

READS = (
    "query_trades",
    "list_my_skills",
    "get_skill_performance",
    "get_my_deployments",
    "get_market_overview",
    "get_recent_news",
    "get_upcoming_events",
)
WRITES = ("set_basics", "set_strategy", "set_context", "set_risk", "set_schedule", "set_tools", "critique_draft")
COACH = ("remember", "forget", *READS, *WRITES, "prepare_action")
ADVISOR = ("save_preference", "list_preferences", "recall_preferences", *READS)
TIERS = {
    "novice": "The person is new to trading. Walk them through: explain a term.",
    "intermediate": "The person knows the basics of trading. Skip definitions.",
    "expert": "The person is an expert. Be terse.",
}
DEPLOYMENT, OTHER = "0190aaaa-0000-7000-8000-000000000001", "0190aaaa-0000-7000-8000-000000000002"
SKILL, SKILL_2 = "0190aaaa-0000-7000-8000-0000000000a1", "0190aaaa-0000-7000-8000-0000000000a2"
EVENT = "0190aaaa-0000-7000-8000-0000000000e1"
MOST_STEPS = 8

FOCUS = f"- deployment_id: {DEPLOYMENT}\n- skill: Funding fade\n- skill_id: {SKILL}\n- status: running"
NEW_DRAFT = "- skill: a new one\n- draft: not begun; the first `set_*` call begins it"

Run = Callable[[Mapping[str, Any]], Any]


def held(**given):
    """Return an open position."""
    base = {
        "trade_id": "t1",
        "symbol": "BTC",
        "side": "long",
        "size_usd": 5000.0,
        "entry_at": "2026-11-21T14:00:00Z",
        "entry_price": 84000.0,
        "mark_price": 84840.0,
        "unrealised_pnl_usd": 50.0,
        "entry_reason": "Funding flipped negative & price held the range low",
    }
    return base | given


def deployed(**given):
    """Return a deployment."""
    base = {
        "deployment_id": DEPLOYMENT,
        "skill_id": SKILL,
        "skill_name": "Funding fade",
        "version": 2,
        "newest_version": 2,
        "status": "running",
        "broker_kind": "paper",
        "net_pnl_usd": 123.45,
        "closed_trades": 12,
        "positions": [held()],
        "last_decision_at": "2026-11-22T09:00:00Z",
        "recent_rejections": [],
    }
    return base | given


def closed(**given):
    """Return a closed trade."""
    base = {
        "trade_id": "t0",
        "deployment_id": DEPLOYMENT,
        "symbol": "ETH",
        "side": "short",
        "status": "closed",
        "size_usd": 2000.0,
        "entry_at": "2026-11-20T08:00:00Z",
        "entry_price": 3000.0,
        "exit_at": "2026-11-20T11:30:00Z",
        "exit_price": 2940.0,
        "exit_kind": "agent",
        "net_pnl_usd": 38.2,
        "net_pnl_pct": 1.9,
        "mfe_pct": 2.2,
        "mae_pct": -0.4,
        "regime_tag": "chop",
        "holding_minutes": 210,
        "entry_reason": "Funding above 40%",
        "exit_reason": "Funding back to normal",
    }
    return base | given


def skill(**given):
    """Return a skill of list_my_skills."""
    base = {
        "skill_id": SKILL,
        "name": "Funding fade",
        "latest_version": 2,
        "trading_style": "swing",
        "running_deployments": 1,
        "last_deployed_at": "2026-11-01T00:00:00Z",
        "last_simulation": None,
    }
    return base | given


def carded(arguments):
    """Return what prepare_action answers."""
    return {
        "card_id": "0190aaaa-0000-7000-8000-0000000000c1",
        "type": arguments["type"],
        "title": f"{arguments['type'].capitalize()} Funding fade",
        "lines": [["Skill", "Funding fade v2"], ["Open positions", "BTC long $5,000"]],
        "expires_at": "2026-11-22T09:45:00Z",
        "note": "Nothing has happened yet: only the user's click on Confirm does it.",
    }


def written(arguments, *, missing=(), name="BTC funding mean reversion"):
    """Return what a set_* tool answers."""
    return {
        "draft_id": "0190aaaa-0000-7000-8000-0000000000d1",
        "name": name,
        "changed": list(arguments),
        "still_missing": [{"field": field, "problem": "is missing"} for field in missing],
        "warnings": [],
        "url": "/skills/new/",
    }


def converse(messages: list[dict[str, Any]], tools: list[dict[str, Any]], run: Callable[..., Any]) -> str:
    """Let the model answer, run the tools that it calls, and return what it says; all of it joins the messages."""
    ids = (f"call_{len(messages)}_{number}" for number in count())
    for _ in range(MOST_STEPS):
        reply = decide(messages, tools)
        made = [(next(ids), call.name, call.arguments) for call in reply.tool_calls]
        functions = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id_, name, arguments in made
        ]
        messages.append({"role": "assistant", "content": reply.text or None, "tool_calls": functions})
        if not made:
            return reply.text
        for id_, name, arguments in made:
            content = json.dumps(run(name, arguments))
            messages.append({"role": "tool", "tool_call_id": id_, "content": content})
    raise AssertionError(f"the model never came to an answer: {messages[-1]}")


class Chat:
    """A conversation; `calls` holds all tool calls as (name, arguments)."""

    def __init__(self, results: Mapping[str, Any], *, tools=COACH, tier="intermediate", focus="", facts=""):
        memory = f"\n\n---\n\n## What I know about you\n\n{facts}" if facts else ""
        prompt = f"You are Keel.\n\n---\n\n{TIERS[tier]}{memory}\n\n---\n\nToday is Sunday, 2026-11-22."
        self.preamble = [{"name": "clock", "text": "Current datetime: 2026-11-22T09:30:00Z"}]
        if focus:
            self.preamble.append({"name": "focus", "text": f"## In focus\n{focus}"})
        self.results = dict(results)
        self.tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in tools]
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": prompt}]
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def say(self, text: str) -> str:
        """Send a message, run the tools that are called, and return the answer."""
        self.messages.append(self.typed(text))
        return converse(self.messages, self.tools, self._result)

    def typed(self, text: str) -> dict[str, Any]:
        """Return a user's message as a model reads it."""
        return {"role": "user", "content": add_preamble(self.preamble, text)}

    def _result(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls.append((name, arguments))
        if name not in self.results and name.startswith("set_"):
            return written(arguments)
        if name not in self.results and name == "prepare_action":
            return carded(arguments)
        if name not in self.results and name == "remember":
            return {"fact_id": "0190aaaa-0000-7000-8000-0000000000f1", "saved": arguments["fact"]}
        result = self.results[name]
        return result(arguments) if callable(result) else result


def first_calls(text, *, tools=COACH, tier="intermediate", focus="", before=()):
    """Return the calls that a message alone leads to."""
    chat = Chat({}, tools=tools, tier=tier, focus=focus)
    messages = [*chat.messages, *before, chat.typed(text)]
    return [(call.name, call.arguments) for call in decide(messages, chat.tools).tool_calls]
