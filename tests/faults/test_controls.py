"""The table of controls is true of the code; `make controls` removes each one."""

from pathlib import Path

from tests.faults.controls import CONTROLS, ROOT
from tests.limits import find_places, rewrite
from tests.tables import each_case


@each_case("control", CONTROLS)
def test_control_is_in_its_file_once_and_its_tests_exist(control):
    text = (ROOT / control.path).read_text()

    assert text.count(control.piece) == 1, f"{control.path}: name the piece as it is now in tests/faults/pieces.py"
    assert control.piece != control.without
    compile(text.replace(control.piece, control.without), Path(control.path).name, "exec")
    assert all((ROOT / path).exists() for path in control.tests.split() if path.startswith("tests/"))


def test_names_of_controls_differ():
    assert len({control.name for control in CONTROLS}) == len(CONTROLS) > 90


@each_case("path", sorted({place.path for place in find_places()}))
def test_limits_can_be_lifted_in_each_file(path):
    text = rewrite(path)

    asked = sum(len(nodes) for place, nodes in find_places().items() if place.path == path)
    assert text.count("_ask_limit(") == asked > 0
    compile(text, path, "exec")
