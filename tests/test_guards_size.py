"""A wing has so many lines at most, and the name of a class means one thing."""

import ast
from collections import Counter, defaultdict
from typing import Final

from tests.source import PROJECT, ROOT, code

# Lines of Python by wing, without migrations; a file belongs to the longest name that its path begins with. Who needs
# more first looks for what to remove; to raise a budget is one line here, with its reason behind it.
BUDGETS: Final = {
    "config": 790,  # files that their owner alone reads, opened in one place
    "config/lib": 2670,  # proofs that a door passes on; queries compiled once; a meter of tokens; instants in templates
    "config/lib/words": 1850,
    "config/lib/llm": 2115,  # word vectors mapped from their file
    "config/lib/work": 990,  # retention, mails that wait, the tokens of the site
    "config/lib/rest": 725,  # a description that is made when asked for
    "config/lib/edge": 1255,  # a line for each request; wrong passwords by device; invitations; threads of pages
    "config/lib/charts": 750,
    "config/lib/search": 700,
    "config/lib/operations": 700,  # sizes, worker and backup in doctor
    "offline": 2600,
    "chat": 1300,
    "chat/turns": 1650,
    "chat/conversations": 1500,
    "chat/endings": 550,
    "chat/prompt": 900,
    "chat/grounding": 850,
    "chat/tools": 1900,
    "chat/web": 3000,
    "chat/api": 950,
    "chat/management": 950,
    "memory": 550,
    "memory/facts": 2700,
    "memory/claims": 2350,
    "memory/recall": 600,
    "memory/models": 600,
    "memory/learning": 900,
    "memory/transfer": 1000,
    "memory/web": 1500,
    "memory/api": 450,
    "trading": 400,
    "trading/ledger": 2200,  # proofs of the start of a history
    "trading/record": 2550,  # decisions that can be replayed; the values of a trade; balances of own accounts
    "trading/market": 1900,
    "trading/intake": 2750,  # whole trades that prove themselves, legs, columns that stop; formats left for data
    "trading/account": 200,
    "trading/models": 1570,  # system prompts and packed contexts; addresses that operators vouch for
    "trading/rules": 850,
    "trading/asking": 1750,
    "trading/skills": 2500,
    "trading/agent": 1400,
    "trading/runs": 1320,  # blocks of replayed ticks, 4 times as fast
    "trading/reviews": 950,
    "trading/web": 3300,  # sign-up by invitation; columns left out by a tick, balances
    "trading/api": 1700,
    "trading/admin": 520,  # invitations
    "trading/management": 970,  # invitations
}
# The name of a class that two modules have, and why it means the same in both.
ONE_MEANING: Final = {"Figure": "a number and what it counts, in a reply and in a record"}


def lines_of_wings() -> Counter[str]:
    lines: Counter[str] = Counter()
    for path in (path for package in PROJECT for path in (ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if "/migrations/" not in name:
            wing = max((wing for wing in BUDGETS if name.startswith(f"{wing}/")), key=len)
            lines[wing] += len(path.read_text().splitlines())
    return lines


def test_each_wing_keeps_its_budget():
    lines = lines_of_wings()

    found = [
        f"{wing} has {lines[wing]} lines, {lines[wing] - budget} above its budget: remove what nothing needs, or raise"
        " it in BUDGETS of tests/test_guards_size.py with the reason"
        for wing, budget in BUDGETS.items()
        if lines[wing] > budget
    ]

    assert not found, "\n".join(found)


def test_each_class_name_means_one_thing():
    places = defaultdict(list)
    for module, tree in code(but=r".*\.management\.commands\..*"):
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)

    found = [
        f"{name} is a class of {' and of '.join(modules)}: give one of them the name of what it is, or add it to"
        " ONE_MEANING with its reason"
        for name, modules in places.items()
        if len(modules) > 1 and name not in ONE_MEANING
    ]

    assert not found, "\n".join(found)
