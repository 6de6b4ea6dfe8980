"""A wing has so many lines at most, and the name of a class means one thing."""

import ast
from collections import Counter, defaultdict
from typing import Final

from tests.source import PROJECT, ROOT, code

# Lines of Python by wing, without migrations; a file belongs to the longest name that its path begins with. Who needs
# more first looks for what to remove; to raise a budget is one line here, with its reason behind it.
BUDGETS: Final = {
    "config": 720,
    "config/lib": 2230,
    "config/lib/words": 1820,
    "config/lib/llm": 2050,
    "config/lib/work": 780,
    "config/lib/rest": 640,
    "config/lib/edge": 770,
    "config/lib/charts": 690,
    "config/lib/search": 630,
    "config/lib/operations": 560,
    "offline": 2600,
    "chat": 1260,
    "chat/turns": 1580,
    "chat/conversations": 1430,
    "chat/endings": 500,
    "chat/prompt": 860,
    "chat/grounding": 840,
    "chat/tools": 1840,
    "chat/web": 2950,
    "chat/api": 910,
    "chat/management": 890,
    "memory": 500,
    "memory/facts": 2680,
    "memory/claims": 2320,
    "memory/recall": 560,
    "memory/models": 560,
    "memory/learning": 860,
    "memory/transfer": 970,
    "memory/web": 1440,
    "memory/api": 380,
    "trading": 330,
    "trading/ledger": 1930,
    "trading/record": 2300,
    "trading/market": 1870,
    "trading/intake": 2060,
    "trading/account": 170,
    "trading/models": 1460,
    "trading/rules": 810,
    "trading/asking": 1690,
    "trading/skills": 2460,
    "trading/agent": 1330,
    "trading/runs": 1140,
    "trading/reviews": 920,
    "trading/web": 3170,
    "trading/api": 1650,
    "trading/admin": 420,
    "trading/management": 950,
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
