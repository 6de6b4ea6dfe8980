"""What Keel writes to a disk is for its owner alone."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.source import calls, code, differences, place_of
from tests.tables import each_case

# Where files and folders are made, and what keeps others from reading them.
WRITERS: Final = {
    "config.files.open_private": "0600, checked in tests/config/test_files.py",
    "config.files.keep_text": "its folder has 0700",
    "config.settings": "the home folder has 0700",
    "config.lib.operations.backups.write_backup": "writes into what open_private opened",
    "config.lib.operations.backups._write_entry": "an entry of that archive",
    "config.lib.operations.backups._make_folder": "tempfile makes folders with 0700",
    "config.lib.operations.backups._dump_sqlite": "0600, in that folder",
    "config.lib.operations.backups._load_sqlite": "in that folder",
    "chat.management.commands.restore.Command.run": "tempfile makes files with 0600",
    "chat.endings.export._iter_zip": "an entry of a zip in memory",
}
_MAKERS: Final = re.compile(
    r"write_text|write_bytes|touch|mkdir|makedirs|mkstemp|mkdtemp|NamedTemporaryFile|TemporaryDirectory|TemporaryFile"
    r"|extract(?:all)?|copyfile|copy2|copytree|symlink_to|hardlink_to"
)
_OPENERS: Final = re.compile(r"open|fdopen|ZipFile|GzipFile|TarFile")


def makes_file(name: str, call: ast.Call) -> bool:
    """Tell whether a call makes a file, or opens one to write."""
    if name == "open" and "O_CREAT" in ast.unparse(call):
        return True
    modes = [
        one.value for one in [*call.args, *(word.value for word in call.keywords)] if isinstance(one, ast.Constant)
    ]
    if _OPENERS.fullmatch(name):
        return any(isinstance(mode, str) and re.fullmatch(r"[rbt]*[wax+][wbtx+]*", mode) for mode in modes)
    return bool(_MAKERS.fullmatch(name))


def find_writers() -> Iterator[str]:
    for module, tree in code():
        yield from (place_of(call, module, tree) for name, call in calls(tree) if makes_file(name, call))


@each_case(
    "line, is_found",
    [
        ("open(path, 'w')", True),
        ("path.open(mode='ab')", True),
        ("Path(file).open('x')", True),
        ("os.open(path, os.O_WRONLY | os.O_CREAT)", True),
        ("path.write_text(key)", True),
        ("folder.mkdir(exist_ok=True)", True),
        ("ZipFile(path, 'w', ZIP_DEFLATED)", True),
        ("shutil.copyfile(a, b)", True),
        ("path.open('rb')", False),
        ("gzip.open(path, 'rt')", False),
        ("UserFact.objects.open(now)", False),
    ],
)
def test_writers_are_found(line, is_found):
    assert any(makes_file(name, call) for name, call in calls(ast.parse(line))) is is_found


def test_files_are_written_in_known_places():
    advice = "others on the machine must not read it: write through config.files.open_private"
    problems = differences(set(find_writers()), WRITERS, table="WRITERS", advice=advice)

    assert not problems, problems
