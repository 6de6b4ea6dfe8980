"""The benchmarks are whole and say what they found, without running one: CI runs them at their smallest size."""

import ast
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as runner
from benchmarks.goals import GOALS, at_least, at_most
from benchmarks.report import Report, UnknownClaim
from tests.snapshots import ROOT, assert_renewed

BENCHMARKS = ROOT / "benchmarks"
TWO = {"time": at_most(2, "ms"), "share": at_least(90, "%")}


def test_page_and_table_say_the_same():
    assert_renewed("docs/performance.md")


def test_table_has_each_benchmark():
    assert sorted(GOALS) == sorted(path.stem for path in BENCHMARKS.glob("bench_*.py"))


@pytest.mark.parametrize("name", GOALS)
def test_benchmark_is_whole(name):
    tree = ast.parse((BENCHMARKS / f"{name}.py").read_text())
    main = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}

    assert [ast.unparse(node) for node in main.decorator_list] == ["benchmark"]
    assert ast.unparse(tree.body[-1]).startswith("if __name__ == '__main__':\n    sys.exit(")
    assert ast.unparse(tree.body[-1]).endswith("main())")
    assert set(GOALS[name]) <= words, "a claim of the table that the module never names"


@pytest.mark.parametrize(
    ("measures", "is_held", "code"),
    [
        ({"time": 2.0, "share": 90.0}, True, 0),
        ({"time": 2.1, "share": 90.0}, True, 1),
        ({"time": 2.0, "share": 89.9}, True, 1),
        ({"time": float("nan"), "share": 90.0}, True, 1),
        ({"time": 2.0}, True, 1),
        ({"time": 2.1, "share": 0.0}, False, 0),
        ({"time": 2.0}, False, 1),
    ],
)
def test_exit_code_tells_a_missed_goal_and_a_missing_measure(measures, is_held, code):
    report = Report(TWO, is_held=is_held)
    for claim, value in measures.items():
        report.add(claim, value)

    assert report.end() == code


def test_claim_that_the_table_does_not_know_is_refused():
    with pytest.raises(UnknownClaim, match="pace"):
        Report(TWO).add("pace", 1)


@pytest.mark.parametrize(("code", "failure"), [(0, 0), (1, 1), (-9, 1)])
def test_one_process_that_fails_or_is_killed_fails_the_run(monkeypatch, capsys, code, failure):
    codes = {"bench_charts": 0, "bench_store": code}
    monkeypatch.setattr("sys.argv", ["benchmarks", *codes])
    monkeypatch.setattr(
        runner.subprocess, "run", lambda command, **_: SimpleNamespace(returncode=codes[command[2].split(".")[1]])
    )

    assert runner.main() == failure
    assert ("KILLED by SIGKILL" in capsys.readouterr().out) == (code == -9)


@pytest.mark.parametrize(("is_ci", "failure"), [(False, 0), (True, 1)])
def test_missing_service_is_a_skip_and_in_ci_a_failure(monkeypatch, is_ci, failure):
    def miss():
        raise runner.ServiceMissing("no PostgreSQL")

    monkeypatch.setattr("sys.argv", ["benchmarks", "bench_migrate"])
    monkeypatch.setattr(runner, "new_database", miss)
    monkeypatch.delenv("BENCH_DATABASE_URL", raising=False)
    monkeypatch.setenv("CI", "true") if is_ci else monkeypatch.delenv("CI", raising=False)

    assert runner.main() == failure


def test_benchmark_without_goals_is_refused(monkeypatch):
    monkeypatch.setattr("sys.argv", ["benchmarks", "bench_nothing"])

    with pytest.raises(SystemExit, match=r"bench_nothing: give each benchmark its goals"):
        runner.main()
