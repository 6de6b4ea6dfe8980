"""The scripts' own tests and types, where Node is."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
TYPESCRIPT = ROOT / "node_modules" / "typescript" / "bin" / "tsc"
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(NODE is None, reason="node is not installed: the scripts are not tested")


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([NODE, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)


def test_modules_pass_their_own_tests():
    files = sorted((ROOT / "tests" / "js").glob("*.test.mjs"))

    ran = run("--test", *files)

    assert files
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.skipif(not TYPESCRIPT.exists(), reason="TypeScript is not installed (`npm ci`): types are not checked")
def test_types_in_comments_are_right():
    checked = run(TYPESCRIPT, "--project", "tsconfig.json")

    assert checked.returncode == 0, checked.stdout
