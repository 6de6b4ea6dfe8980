"""Rules for the files of the repository: locks, names, settings, commands."""

import ast
import os
import re
import subprocess
import tomllib
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.source import code
from tests.tables import each_case

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
FILLED_PACKAGES = {
    "trading/models/__init__.py",
    "chat/tools/__init__.py",
    "memory/models/__init__.py",
    "trading/admin/__init__.py",
}  # the models by name, the catalogue of tools, what Django looks for in an app
# Put together here, or this file would name them.
REGISTRIES = [
    ".".join(labels)
    for labels in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("debian", "org"),
        ("crates", "io"),
        ("golang", "org"),
    )
]
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(?:home|root|Users|work|mnt|opt)/\w")
PROVIDER_VARIABLE = re.compile(r"_API_(KEY|BASE)$")


def tracked_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check="CI" in os.environ)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return sorted(name for name in set(listed.stdout.splitlines()) if (ROOT / name).is_file())


@cache
def locked(path: Path) -> dict[str, Version]:
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", path.read_text(), re.MULTILINE)
    return {name.lower(): Version(version) for name, version in pins}


def asked_for() -> list[tuple[str, Requirement]]:
    base, groups = PROJECT["project"]["dependencies"], PROJECT["dependency-groups"]
    extras = PROJECT["project"]["optional-dependencies"]
    everything = base + [text for texts in extras.values() for text in texts]
    wanted = {
        "base.txt": base,
        **{f"{name}.txt": base + extras[name] for name in ("providers", "venues")},
        "site.txt": everything,
        "dev.txt": everything + groups["dev"],
        "build.txt": groups["bootstrap"] + PROJECT["build-system"]["requires"],
    }
    return [(lock, Requirement(text)) for lock, texts in wanted.items() for text in texts]


@each_case("lock", LOCKS)
def test_lock_names_no_address_and_has_a_hash_for_each_package(lock):
    text = lock.read_text()
    packages = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]

    assert "://" not in text, f"{lock.name} names an address: run `make lock`"
    assert "index" not in re.sub(r"[\w-]*==.*|# via.*|#   .*", "", text), f"{lock.name} names an index: run `make lock`"
    found = [package.split("==")[0] for package in packages if "--hash=sha256:" not in package]

    assert not found, f"{lock.name}: {', '.join(found)} have no hash: run `make lock`"


@each_case("lock, requirement", asked_for())
def test_lock_holds_what_the_project_asks_for(lock, requirement):
    version = locked(ROOT / "requirements" / lock).get(requirement.name.lower())

    assert version is not None, f"{requirement.name} is not locked: run `make lock`"
    assert requirement.specifier.contains(version), f"{requirement.name} {version} is locked: run `make lock`"


@each_case("name", sorted({lock.name for lock in LOCKS} - {"build.txt"}))
def test_lock_is_a_part_of_what_the_tests_run_with(name):
    installed, tested = (locked(ROOT / "requirements" / lock) for lock in (name, "dev.txt"))

    found = [f"{one} {version}" for one, version in installed.items() if tested[one] != version]

    assert not found, f"{name} has {', '.join(found)}, not so dev.txt: run `make lock`"


def test_base_has_no_litellm():
    assert not {"litellm", "ccxt", "huggingface-hub"} & locked(ROOT / "requirements" / "base.txt").keys()


@each_case("version", ["1.82.7", "1.82.8"])
@each_case("lock", ["providers.txt", "site.txt"])
def test_litellm_is_above_its_compromised_versions(lock, version):
    litellm = dict(((lock, wanted.name), wanted) for lock, wanted in asked_for())[lock, "litellm"]

    assert not litellm.specifier.contains(version)
    assert locked(ROOT / "requirements" / lock)["litellm"] > Version(version)


def test_licence_of_the_project_is_the_text_beside_it():
    text = (ROOT / "LICENSE").read_text()

    assert (PROJECT["project"]["license"], PROJECT["project"]["license-files"]) == ("Apache-2.0", ["LICENSE"])
    assert "Apache License" in text[:200]
    assert "END OF TERMS AND CONDITIONS" in text
    # The image is built from a context that leaves out all that is not listed.
    assert "!LICENSE" in (ROOT / ".dockerignore").read_text().splitlines()
    assert re.search(r"^COPY .*\bLICENSE\b", (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_no_file_names_a_registry_or_a_path_of_a_machine():
    found = []
    for name in tracked_files():
        text = (ROOT / name).read_text(errors="ignore")
        found += [
            f"{name}: remove the address {host}" for host in REGISTRIES if re.search(rf"\b{re.escape(host)}\b", text)
        ]
        found += [f"{name}: write {match.group()}... relative to the project" for match in MACHINE_PATH.finditer(text)]

    assert not found, "\n".join(found)


def test_templates_begin_kept_line_breaks_on_the_line_of_their_tag():
    # The class `said` shows each line break of its content, those of the template too.
    begun = re.compile(r"""class="(?:[^"]* )?said(?: [^"]*)?"[^>]*>\s*\n""")
    templates = [name for name in tracked_files() if name.startswith("templates/") and name.endswith(".html")]

    assert [name for name in templates if begun.search((ROOT / name).read_text())] == []


def test_templates_have_lines_of_at_most_120_characters():
    # A mail is plain text: a line break in its template would be one in the mail.
    templates = [name for name in tracked_files() if name.startswith("templates/") and name.endswith(".html")]
    long = [
        f"{name}:{number}: {len(line)} characters"
        for name in templates
        for number, line in enumerate((ROOT / name).read_text().splitlines(), 1)
        if len(line) > 120
    ]

    assert len(templates) > 100
    assert not long, "break these lines inside a tag or at a space:\n" + "\n".join(long)


def test_init_files_are_empty():
    packages = (name for name in tracked_files() if name.endswith("__init__.py") and name not in FILLED_PACKAGES)

    found = [name for name in packages if (ROOT / name).read_text().strip()]

    assert not found, f"{', '.join(found)}: move its code into a module, or add it to FILLED_PACKAGES with its reason"


def variables_read() -> set[str]:
    """Return the names that config/ asks the environment for, by itself or through a function of its own."""
    calls = [
        node
        for path in (ROOT / "config").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and node.args
    ]
    readers = re.compile(r"read_\w+|os\.getenv|os\.environ\.get")
    keys = [call.args[0] for call in calls if readers.fullmatch(ast.unparse(call.func))]
    return {key.value for key in keys if isinstance(key, ast.Constant)}


def variables_listed() -> set[str]:
    return set(re.findall(r"^#? ?([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text(), re.MULTILINE))


def test_env_example_lists_every_variable_that_is_read():
    missing = sorted(variables_read() - variables_listed())

    assert not missing, f"add {', '.join(missing)} to .env.example, with a line that says what it does"


def test_env_example_lists_nothing_else():
    unread = variables_listed() - variables_read()

    found = sorted(name for name in unread if not PROVIDER_VARIABLE.search(name))

    assert not found, f"remove {', '.join(found)} from .env.example: no setting reads it"


def test_chat_is_kept_from_the_broker_once_there_is_one():
    guarded = {
        module
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract["type"] == "forbidden" and contract["source_modules"] == ["chat"]
        for module in contract["forbidden_modules"]
        if not contract.get("allow_indirect_imports")
    }
    present = {name for name in ("brokers", "runner") if list((ROOT / "trading").glob(f"{name}*"))}

    assert {f"trading.{name}" for name in present} <= guarded, "add a contract of type `forbidden` to pyproject.toml"


def test_make_knows_the_documented_targets():
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    for target in ("demo", "test", "check", "bench", "fix", "run", "help"):
        assert f"make {target} " in listed, f"give the target a line of help in the Makefile: `{target}: ## ...`"


def test_a_message_names_a_document_and_a_heading_that_exist():
    texts = {
        (name, node.value)
        for name, tree in code()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    mention = re.compile(r'(docs/[\w/.-]+\.md)(?:, ("?)([^".)]*))?')
    named = [(name, *found) for name, text in texts for found in mention.findall(text)]
    # A heading, or the words in bold that a paragraph begins with.
    begin = re.compile(r"^(?:#+ (.+)|\*\*(.+?)\.?\*\*)", re.MULTILINE)
    headings = {path: set(sum(begin.findall((ROOT / path).read_text()), ())) for _, path, *_ in named}

    assert ("config.environment", "docs/operations.md", '"', "Packages") in named
    for name, path, quote, heading in named:
        assert quote or not heading[:1].isupper(), f"{name}: quote the heading of {path}, so that this test reads it"
        assert not quote or heading in headings[path], f"{name}: {path} has no heading {heading!r}"


def test_index_names_each_decision_once_by_its_title():
    folder = ROOT / "docs" / "decisions"
    records = {path.name: path.read_text().partition("\n")[0].removeprefix("# ") for path in folder.glob("0*.md")}

    named = re.findall(r"^- \[(\d+)\. (.+?)\]\((.+?)\)", (folder / "README.md").read_text(), re.MULTILINE)

    listed = sorted((name, f"{number}. {title}") for number, title, name in named)
    assert listed == sorted(records.items()), "name the decision in docs/decisions/README.md, in the group of its wing"
