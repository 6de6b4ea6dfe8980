"""False and missed marks on the figures of replies about the demo's rows, and the CPU of looking for them.

Replies are those of the rule-based model to a hundred questions, and sentences about the results of every tool; each
set has a half that the checks were tuned on. Every figure is true; in a second pass one digit of each reply is
altered.
"""

import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, timedelta
from itertools import product
from typing import Any

from django.db import transaction

from benchmarks.report import Report, benchmark, size
from benchmarks.site import NOW, make_demo_user
from benchmarks.tool_replies import TUNED, UNSEEN, write_sentences
from benchmarks.trader_replies import NARRATED, NOTED
from chat.grounding.checks import check_figures
from chat.grounding.sources import Sources
from chat.tools import TOOLS
from chat.tools.base import ToolContext
from chat.web.page_context import _BY_PAGE
from config.lib.owned import owned
from memory.models import UserFact
from tests.chat.grounding.replies import alter_digit
from tests.offline.real import RealChat
from tests.offline.sets import SETS

ASKED = "Would 4% be too much?"
SENTENCES = 6  # of a reply
ALTERED = size(6, 1)  # replies with one digit altered, of each true one
STEP = size(1, 3)  # of the questions, one of so many is asked
Results = list[dict[str, Any]]


@dataclass
class Marks:
    """What was marked of a set of replies."""

    replies: int = 0
    stated: int = 0
    false: int = 0
    altered: int = 0
    caught: int = 0
    seconds: float = 0.0  # of CPU


def answer_questions(user: Any) -> list[tuple[str, Results, str]]:
    """Return the rule-based model's replies, with the results and the question of each."""
    suggested = dict.fromkeys(text for texts in _BY_PAGE.values() for text in texts)
    replies = []
    for question in [*(row.partition(" | ")[0] for row in SETS["questions: questions"]), *suggested][::STEP]:
        with transaction.atomic():
            chat = RealChat(user, TOOLS["coach"], NOW)
            replies.append((chat.say(question), chat.results, question))
            transaction.set_rollback(True)
    return replies


def call_tools(user: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the results of every tool that reads the record or the market."""
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
    for row, (side, share), amount in product(markets[1]["markets"], (("long", 0.96), ("short", 1.03)), sizes):
        plan = {"symbol": row["symbol"], "side": side, "stop": round(row["last_price"] * share, 4), **amount}
        yield call("query_trades", check=plan)


def check(text: str, results: Results, asked: str, facts: list[str]) -> list[dict[str, Any]]:
    """Return the figures of a reply with their sources."""
    sources = Sources(UTC, NOW)
    for number, result in reversed(list(enumerate(results))):
        sources.add_result(f"c{number}", result)
    sources.add_text(asked, {"kind": "chat"})
    for fact in facts:
        sources.add_text(fact, {"kind": "fact"})
    return check_figures(text, sources)


def mark(name: str, replies: list[tuple[str, Results, str]], facts: list[str]) -> Marks:
    """Check a set of replies, and each with a digit altered; print what was marked."""
    pick, marks = random.Random(5), Marks(len(replies))
    for text, results, asked in replies:
        began = time.process_time()
        found = check(text, results, asked, facts)
        marks.seconds += time.process_time() - began
        false = [one for one in found if one["source"] is None]
        marks.stated += len(found)
        marks.false += len(false)
        for one in false if "--show" in sys.argv else ():
            print(f"  {one['text']!r}: {text[max(one['start'] - 60, 0) : one['end'] + 30]!r}")
        for figure in [pick.choice(found) for _ in range(ALTERED) if found]:
            changed = text[: figure["start"]] + alter_digit(pick, figure["text"]) + text[figure["end"] :]
            marks.altered += 1
            marks.caught += any(
                one["source"] is None and one["start"] <= figure["end"] and figure["start"] <= one["end"]
                for one in check(changed, results, asked, facts)
            )
    print(
        f"{name:<20} {marks.replies:3} replies, {marks.stated:4} figures: {marks.false} marked falsely,"
        f" {marks.caught} of {marks.altered} altered ones marked"
    )
    return marks


def mark_all() -> list[Marks]:
    """Mark both halves of all sets."""
    user, pick = make_demo_user(timedelta(days=size(13, 6))), random.Random(3)
    with owned(user):
        facts = [f"[{fact.topic}] {fact.content}" for fact in UserFact.objects.current(NOW)]
        own, results = answer_questions(user), list(call_tools(user))
    marks = [mark("rule-based, tuned", own[::2], facts), mark("rule-based, unseen", own[1::2], facts)]
    sets = {"sentences, tuned": TUNED, "sentences, unseen": UNSEEN, "sums, tuned": NARRATED, "sums, unseen": NOTED}
    for name, kind in sets.items():
        written = [(write_sentences(kind, tool, result), result) for tool, result in results]
        told = [
            ("\n\n".join(pick.sample(texts, min(SENTENCES, len(texts)))), [result], ASKED)
            for texts, result in written
            if texts
        ]
        marks.append(mark(name, told, facts))
    return marks


@benchmark
def main(report: Report) -> None:
    marks = mark_all()
    report.add("figures marked falsely, worst set", max(100 * one.false / one.stated for one in marks))
    report.add("altered figures marked, worst set", min(100 * one.caught / one.altered for one in marks))
    caught, altered = sum(one.caught for one in marks), sum(one.altered for one in marks)
    report.add("altered figures marked, all sets", 100 * caught / altered)
    report.add("CPU of checking a reply, worst set", max(1e3 * one.seconds / one.replies for one in marks))


if __name__ == "__main__":
    sys.exit(main())
