"""Measure false and missed marks on the figures of replies about the demo's rows.

Replies are those of the rule-based model to a hundred questions, and sentences about the results of every tool; each
set has a half that the checks were tuned on. Every figure is true; in a second pass one digit of each reply is altered.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from benchmarks.bench_recall import set_up

NOW = datetime(2026, 3, 5, 6, 42, 17, tzinfo=UTC)
ASKED = "Would 4% be too much?"
SENTENCES = 6  # of a reply
ALTERED = 6  # replies with one digit altered, of each true one
MOST_FALSE, LEAST_CAUGHT, MOST_MS = 0.03, 0.98, 5.0
LEAST_CAUGHT_OF_A_SET = 0.96  # counts of one digit agree by chance
Results = list[dict[str, Any]]


def seed_user() -> Any:
    """Return the demo's user, with a short history."""
    from chat.demo import seed_chats  # noqa: PLC0415
    from tests.factories.trading import TraderFactory  # noqa: PLC0415
    from trading.demo import Lengths, seed_demo  # noqa: PLC0415

    user = TraderFactory(email="demo@example.com")
    seed_chats(user.pk, clock=lambda: NOW)
    lengths = Lengths(
        history=timedelta(days=13),
        past=timedelta(0),
        backtest=timedelta(days=10),
        breakout=timedelta(days=9),
        funding=timedelta(hours=80),
    )
    seed_demo(user.pk, clock=lambda: NOW, lengths=lengths)
    return user


def answer_questions(user: Any) -> list[tuple[str, Results, str]]:
    """Return the rule-based model's replies, with the results and the question of each."""
    from django.db import transaction  # noqa: PLC0415

    from chat.tools import TOOLS  # noqa: PLC0415
    from chat.web.page_context import _BY_PAGE  # noqa: PLC0415
    from tests.offline.real import RealChat  # noqa: PLC0415
    from tests.offline.sets import SETS  # noqa: PLC0415

    suggested = dict.fromkeys(text for texts in _BY_PAGE.values() for text in texts)
    replies = []
    for question in [*(row.partition(" | ")[0] for row in SETS["questions: questions"]), *suggested]:
        with transaction.atomic():
            chat = RealChat(user, TOOLS["coach"], NOW)
            replies.append((chat.say(question), chat.results, question))
            transaction.set_rollback(True)
    return replies


def call_tools(user: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the results of every tool that reads the record or the market."""
    from chat.tools import TOOLS  # noqa: PLC0415
    from chat.tools.base import ToolContext  # noqa: PLC0415

    context, tools = ToolContext(user_id=user.pk, now=NOW), {tool.name: tool for tool in TOOLS["coach"]}

    def call(name: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        return name, tools[name].call(context, json.dumps(arguments))

    yield (mine := call("get_my_deployments", detail="full"))
    for row in mine[1]["deployments"]:
        yield call("get_my_deployments", deployment_id=row["deployment_id"], detail="trades")
        for hours in (24, 72):
            yield call("get_upcoming_events", lookaheadHours=hours, minImportance=0, deploymentId=row["deployment_id"])
    yield (markets := call("get_market_overview"))
    for hours in (24, 72):
        yield call("get_recent_news", lookbackHours=hours)
        yield call("get_upcoming_events", lookaheadHours=hours)
    yield (skills := call("list_my_skills"))
    for row in skills[1]["skills"]:
        for detail in ("summary", "full"):
            yield call("get_skill_performance", skill_id=row["skill_id"], detail=detail)
    groups = ("", "symbol", "side", "skill", "regime", "hour", "exit", "record")
    for measure, group in product(("net", "expectancy", "fees", "funding", "drawdown"), groups):
        yield call("query_trades", measure=measure, group=group)
    sizes = ({"risk_pct": 1}, {"size_usd": 2000}, {"risk_usd": 55, "leverage": 2})
    for row, (side, share), size in product(markets[1]["markets"], (("long", 0.96), ("short", 1.03)), sizes):
        plan = {"symbol": row["symbol"], "side": side, "stop": round(row["last_price"] * share, 4), **size}
        yield call("query_trades", check=plan)


def report(name: str, replies: list[tuple[str, Results, str]], facts: list[str]) -> tuple[bool, int, int]:
    """Print the marks of a set of replies; return whether it is good, and how many altered figures were marked."""
    from chat.grounding.checks import check_figures  # noqa: PLC0415
    from chat.grounding.sources import Sources  # noqa: PLC0415
    from tests.chat.grounding.replies import alter_digit  # noqa: PLC0415

    def check(text: str, results: Results, asked: str) -> list[dict[str, Any]]:
        sources = Sources(UTC, NOW)
        for number, result in reversed(list(enumerate(results))):
            sources.add_result(f"c{number}", result)
        sources.add_text(asked, {"kind": "chat"})
        for fact in facts:
            sources.add_text(fact, {"kind": "fact"})
        return check_figures(text, sources)

    pick, stated, marked, altered, caught, took = random.Random(5), 0, 0, 0, 0, 0.0
    for text, results, asked in replies:
        begin = time.process_time()
        found = check(text, results, asked)
        took += time.process_time() - begin
        stated += len(found)
        false = [one for one in found if one["source"] is None]
        marked += len(false)
        if "--show" in sys.argv:
            print(
                *(f"  {one['text']!r}: {text[max(one['start'] - 60, 0) : one['end'] + 30]!r}" for one in false),
                sep="\n",
            )
        for figure in [pick.choice(found) for _ in range(ALTERED) if found]:
            changed = text[: figure["start"]] + alter_digit(pick, figure["text"]) + text[figure["end"] :]
            after = check(changed, results, asked)
            altered += 1
            caught += any(
                one["source"] is None and one["start"] <= figure["end"] and figure["start"] <= one["end"]
                for one in after
            )
    shares = marked / stated, caught / altered, 1000 * took / len(replies)
    print(
        f"{name:<20} {len(replies):3} replies, {stated:4} figures: {shares[0]:.1%} marked falsely,"
        f" {caught} of {altered} altered ones marked ({shares[1]:.1%}), {shares[2]:.1f} ms a reply"
    )
    is_met = shares[0] <= MOST_FALSE and shares[1] >= LEAST_CAUGHT_OF_A_SET and shares[2] <= MOST_MS
    return is_met, caught, altered


def main() -> int:
    """Report both halves of both sets."""
    from benchmarks.tool_replies import TUNED, UNSEEN, write_sentences  # noqa: PLC0415
    from benchmarks.trader_replies import NARRATED, NOTED  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        set_up(folder)
        from config.lib.owned import owned  # noqa: PLC0415
        from memory.models import UserFact  # noqa: PLC0415

        user = seed_user()
        with owned(user):
            facts = [f"[{fact.topic}] {fact.content}" for fact in UserFact.objects.current(NOW)]
            own, results = answer_questions(user), list(call_tools(user))
    pick, reports = random.Random(3), [report("rule-based, tuned", own[::2], facts)]
    reports.append(report("rule-based, unseen", own[1::2], facts))
    sets = {"sentences, tuned": TUNED, "sentences, unseen": UNSEEN, "sums, tuned": NARRATED, "sums, unseen": NOTED}
    for name, kind in sets.items():
        written = [(write_sentences(kind, tool, result), result) for tool, result in results]
        told = [
            ("\n\n".join(pick.sample(texts, min(SENTENCES, len(texts)))), [result], ASKED)
            for texts, result in written
            if texts
        ]
        reports.append(report(name, told, facts))
    caught, altered = (sum(one[place] for one in reports) for place in (1, 2))
    print(f"All: {caught} of {altered} altered figures marked ({caught / altered:.1%})")
    return 0 if all(one[0] for one in reports) and caught / altered >= LEAST_CAUGHT else 1


if __name__ == "__main__":
    sys.exit(main())
