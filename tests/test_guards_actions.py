"""Chats reach actions only through a clicked card."""

import ast

from tests.source import calls, code, imports, place_of, walk
from tests.tables import each_case

ACTIONS = {"run_action"}  # queues the action of a card
# Queue an action in another way, or mark one as done.
OTHER_ACTIONS = {"request_command", "deploy_skill", "start_backtest", "apply_command", "finish_command"}
OTHER_ACTIONS |= {"claim_backtest", "finish_backtest", "cancel_backtest"}
ROWS_OF_ACTIONS = {"DeploymentCommand", "BacktestRun", "Deployment", "Order", "Trade", "Fill"}
WRITES = {"create", "get_or_create", "bulk_create", "update_or_create", "update", "bulk_update", "delete", "save"}


def names_in(tree: ast.AST) -> set[str]:
    """Return each name that is imported, said or looked up, also as a text that getattr() could take."""
    named = {part for way, _ in imports(tree) for part in way.split(".")}
    named |= {alias.asname for node in walk(tree) for alias in getattr(node, "names", ()) if _is_renamed(alias)}
    for node in walk(tree):
        named |= {getattr(node, "id", ""), getattr(node, "attr", "")}
        # "start_backtest" is also the type of a card.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != "start_backtest":
            named.add(node.value)
    return named


def _is_renamed(alias: object) -> bool:
    return isinstance(alias, ast.alias) and alias.asname is not None


def chat_code() -> dict[str, ast.Module]:
    return {name: tree for name, tree in code() if name.split(".")[0] == "chat"}


@each_case(
    "lines",
    [
        "from trading.services import deploy_skill",
        "from trading.services import deploy_skill as harmless",
        "services.deploy_skill(skill_id=1)",
        "getattr(services, 'deploy_skill')()",
        "import trading.services.deploy_skill",
    ],
)
def test_names_are_found(lines):
    assert "deploy_skill" in names_in(ast.parse(lines))


def test_only_cards_name_an_action():
    named = {name: names_in(tree) for name, tree in chat_code().items()}

    others = {
        name: sorted(names & ACTIONS) for name, names in named.items() if names & ACTIONS and name != "chat.cards"
    }
    direct = {name: sorted(names & OTHER_ACTIONS) for name, names in named.items() if names & OTHER_ACTIONS}

    assert not others | direct, (
        f"{others | direct}: draw a card with chat.cards.draw_card; its confirmation runs the action"
    )
    assert named["chat.cards"] & ACTIONS, "chat.cards no longer runs actions: adapt ACTIONS"


def test_only_confirm_card_runs_an_action():
    tree = chat_code()["chat.cards"]
    callers = {place_of(call, "chat.cards", tree) for name, call in calls(tree) if name in ACTIONS}

    assert callers == {"chat.cards.confirm_card"}, f"{sorted(callers)}: only chat.cards.confirm_card may run an action"


def test_only_a_click_confirms_a_card():
    named = {name for name, tree in code() if "confirm_card" in names_in(tree)}
    views = chat_code()["chat.web.views.cards"]
    callers = {place_of(call, "chat.web.views.cards", views) for name, call in calls(views) if name == "confirm_card"}

    advice = "only the view chat.web.views.cards.confirm may confirm a card, after the user's click"
    assert named == {"chat.web.views.cards", "chat.web.urls"}, f"{sorted(named)}: {advice}"  # the URL has the same name
    assert callers == {"chat.web.views.cards.confirm"}, f"{sorted(callers)}: {advice}"


def test_chat_imports_names_from_trading_not_modules():
    # An action could be looked up in a module by a name that is composed at run time.
    whole = {
        f"{name} imports {way}"
        for name, tree in chat_code().items()
        for way, node in imports(tree)
        if way.split(".")[0] == "trading" and (isinstance(node, ast.Import) or way.rpartition(".")[2].islower())
        if isinstance(node, ast.Import) or node.module == "trading"
    }

    assert not whole, f"{sorted(whole)}: import the functions by name: `from trading.x import y`"


def test_chat_writes_no_row_of_an_action():
    found = {
        f"{name} writes {model}"
        for name, tree in chat_code().items()
        for way, call in calls(tree)
        for model in ROWS_OF_ACTIONS
        if (way in WRITES and model in names_in(call.func)) or way == model
    }

    assert not found, f"{sorted(found)}: confirm a card instead; trading writes the row"
