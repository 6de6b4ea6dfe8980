"""The table of controls is true of the code; `make controls` removes each one."""

from pathlib import Path

import pytest

from tests.faults.controls import CONTROLS, ROOT

each_control = pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)


@each_control
def test_control_is_in_its_file_once_and_its_tests_exist(control):
    text = (ROOT / control.path).read_text()

    assert text.count(control.piece) == 1, f"{control.path}: name the piece as it is now in tests/faults/controls.py"
    assert control.piece != control.without
    assert all((ROOT / path).exists() for path in control.tests.split() if path.startswith("tests/"))


@each_control
def test_code_without_a_control_still_compiles(control):
    text = (ROOT / control.path).read_text().replace(control.piece, control.without)

    compile(text, Path(control.path).name, "exec")


def test_names_of_controls_differ():
    assert len({control.name for control in CONTROLS}) == len(CONTROLS) > 40
