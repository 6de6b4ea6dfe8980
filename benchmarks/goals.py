"""The goals of all benchmarks. `make fix` writes docs/performance.md from this table."""

import ast
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple


class Goal(NamedTuple):
    """What a claim's measure is to keep to."""

    bound: float
    unit: str = ""
    beside: str = ""  # what it is taken of or printed beside, in the same run
    is_least: bool = False

    def __str__(self) -> str:
        return f"{'at least' if self.is_least else 'at most'} {self.bound:g} {self.unit}".strip()

    def allows(self, value: float) -> bool:
        """Tell whether a measure keeps to it; no number does not."""
        return value >= self.bound if self.is_least else value <= self.bound


at_most, at_least = Goal, partial(Goal, is_least=True)
_SMALL: Final = "the same with 100 facts"
_LITELLM: Final = "a bare call of LiteLLM"

GOALS: Final[Mapping[str, Mapping[str, Goal]]] = {
    "bench_backtest": {
        "CPU of a tick by rules": at_most(1.6, "ms", "a plain loop of the same rule over the same bars"),
        "CPU of a tick of a month": at_most(1.15, "x", "a tick of a week"),
        "database of a year of ticks": at_most(100, "MB"),
    },
    "bench_charts": {
        "line of 50,000 points, thinned": at_most(60, "ms"),
        "50,000 candles, grouped": at_most(60, "ms"),
        "page of a large deployment": at_most(250, "ms"),
    },
    "bench_deployments": {
        "decisions that are missing, doubled or not due": at_most(0),
        "jobs left in the queue": at_most(0),
        "queries that find the due ones": at_most(6),
    },
    "bench_evidence": {
        "facts found among ten": at_least(65, "%", "constants that all pools share"),
        "turns found among ten": at_least(46, "%", "a ranking that does not tell the speakers apart"),
    },
    "bench_follow": {"p95 of gaps in another process": at_most(1.5, "x", "the turn's own process")},
    "bench_grounding": {
        "figures marked falsely, worst set": at_most(3, "%"),
        "altered figures marked, worst set": at_least(96, "%"),
        "altered figures marked, all sets": at_least(98, "%"),
        "CPU of checking a reply, worst set": at_most(5, "ms"),
    },
    "bench_household": {"memory of web and worker": at_most(350, "MB"), "CPU of manage.py check": at_most(1.2, "s")},
    "bench_intervals": {
        "normal results, worst size": at_most(2, "pts", "the stated coverage"),
        "skewed results, worst size": at_most(7, "pts", "the stated coverage"),
    },
    "bench_ledger": {
        "one more fill": at_most(1.5, "x", "one after 1,000"),
        "one more fill that comes late": at_most(1.5, "x", "one after 1,000"),
        "one more fill over REST": at_most(1.5, "x", "one after 1,000"),
        "one more live tick": at_most(1.5, "x", "one after 1,000"),
    },
    "bench_migrate": {
        "wait of a writer, index built beside it": at_most(2.5, "s", "Django's own index"),
        "wait of a writer, new column": at_most(2.5, "s"),
    },
    "bench_pages": {
        "CPU of Home, small account": at_most(30, "ms", "the median page"),
        "queries of a page, large account": at_most(12),
        "CPU of a page, large account": at_most(150, "ms"),
        "HTML of a page, large account": at_most(150, "kB"),
        "scripts of a page, large account": at_most(80, "kB"),
    },
    "bench_prompt": {
        "read again at turns 2 to 20": at_most(6, "%", "the first prompt of the turn"),
        "price of 20 turns": at_most(0.2, "x", "the same prompts, of which nothing is kept"),
        "shared by consecutive ticks": at_least(75, "%", "the prompt of the tick"),
    },
    "bench_recall": {
        "p95 of CPU, first query of a process": at_most(20, "ms"),
        "p95 of CPU, first query of a user": at_most(20, "ms"),
        "p95 of CPU, later queries": at_most(20, "ms"),
    },
    "bench_sockets": {
        "answers that are not whole in the browser": at_most(0),
        "answers that are not whole in the database": at_most(0),
        "news that were not sent": at_most(0),
    },
    "bench_store": {
        "save": at_most(1.25, "x", _SMALL),
        "CPU of a save": at_most(6, "ms"),
        "save by the coach's tool": at_most(1.25, "x", _SMALL),
        "turn": at_most(2, "x", _SMALL),
        "turn of a new chat": at_most(2, "x", _SMALL),
        "recall": at_most(5.5, "x", _SMALL),
        "page": at_most(2.5, "x", _SMALL),
        "search on the page": at_most(4, "x", _SMALL),
        "REST list": at_most(3, "x", _SMALL),
        "REST delete": at_most(3, "x", _SMALL),
    },
    "bench_turn": {
        "accepted, first turn": at_most(15, "ms"),
        "first text after accepted, first turn": at_most(15, "ms"),
        "CPU of the first turn": at_most(25, "ms"),
        "accepted, turn 21": at_most(15, "ms"),
        "first text after accepted, turn 21": at_most(15, "ms"),
        "CPU of turn 21": at_most(25, "ms"),
        "first token through LiteLLM": at_most(1.4, "x", _LITELLM),
        "first token of a direct turn": at_most(0.7, "x", _LITELLM),
        "CPU of a chunk through LiteLLM": at_most(1.1, "x", _LITELLM),
        "CPU of a chunk of a direct turn": at_most(0.28, "x", _LITELLM),
    },
}

_PAGE: Final = """\
# Performance

What each benchmark measures, and its goals; `make fix` writes this page from `benchmarks/goals.py`. `make bench` runs
all, `make bench ARGS="bench_turn bench_recall"` some, `make bench ARGS="bench_sockets --streams 500"` one with
options of its own. A missed goal, a crash and a claim without a measure fail. Measure on a quiet machine, and compare
ratios, never times of another day: most goals are CPU or a ratio within one run, since other programs move the rest.
`BENCH_DATABASE_URL` names another database than a new one of SQLite. CI runs all at their smallest size (`make bench
ARGS=--tiny`), where no goal counts and a crash or a missing measure does. PostgreSQL and Redis are started where they
are needed; what cannot be had is a skip with its reason, in CI a failure.
"""


def render_page() -> str:
    """Return docs/performance.md."""
    parts = [_PAGE]
    for name, goals in GOALS.items():
        text = ast.get_docstring(ast.parse(Path(__file__).with_name(f"{name}.py").read_text(encoding="utf-8"))) or ""
        rows = [f"| {claim} | {goal} | {goal.beside} |" for claim, goal in goals.items()]
        parts.append("\n".join([f"## {name}\n\n{text}\n", "| claim | goal | beside |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)
