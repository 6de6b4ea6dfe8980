"""The stylesheets: one file per layer, and no class that nothing uses."""

import re
from functools import cache
from pathlib import Path

from tests.tables import each_case

ROOT = Path(__file__).parent.parent
STYLES = ROOT / "static" / "css"
LAYERS = ["reset", "tokens", "base", "frame", "components", "chat", "facts", "record", "charts", "utilities"]
SOURCES = {
    "templates": "*.html",
    "static": "*.js",
    "config": "*.py",
    "memory": "*.py",
    "trading": "*.py",
    "chat": "*.py",
}
# A library writes these class names; our own sources do not contain them.
FOREIGN = {"htmx-request": "htmx, on the element whose request is under way"}
CLASS = re.compile(r"\.([a-zA-Z_][\w-]*)")
# `badge--{{ state }}`, `badge--{% if ... %}`, `${name}--row` in JavaScript, `f"badge--{state}"` in Python.
COMPOSED = re.compile(r"([a-zA-Z_][\w-]*[-_])(?:\{\{|\{%|\$?\{)")


def classes_of(css: str) -> set[str]:
    """Return the class names in the selectors of a stylesheet."""
    css = re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)
    css = re.sub(r"\"[^\"]*\"|'[^']*'", "", css)
    preludes = re.findall(r"[^{};]+(?=\{)", css)
    return {name for prelude in preludes if not prelude.strip().startswith("@") for name in CLASS.findall(prelude)}


@cache
def source_text() -> str:
    paths = [path for folder, pattern in SOURCES.items() for path in sorted((ROOT / folder).rglob(pattern))]
    return "\n".join(path.read_text() for path in paths)


@cache
def source_words() -> frozenset[str]:
    """Return each word of the sources, as a class name would be written, and its parts between hyphens."""
    return frozenset(re.findall(r"[a-zA-Z_][\w-]*", source_text()))


@cache
def composed_prefixes() -> frozenset[str]:
    """Return the literal beginnings of the names that the sources put together at run time."""
    return frozenset(COMPOSED.findall(source_text()))


def is_used(name: str) -> bool:
    """Tell whether the sources write a class name, or put it together from a prefix and a word that they write."""
    if name in source_words() or name in FOREIGN:
        return True
    prefixes = (prefix for prefix in composed_prefixes() if name.startswith(prefix))
    return any(name.removeprefix(prefix) in source_words() for prefix in prefixes)


def linked_in(template: str) -> list[str]:
    return re.findall(r"css/(\w+)\.css", (ROOT / "templates" / template).read_text())


def test_each_stylesheet_is_one_layer_named_after_its_file():
    blocks = {
        path.stem: re.findall(r"^@layer ([\w-]+) \{", path.read_text(), re.MULTILINE) for path in STYLES.iterdir()
    }

    assert blocks == {layer: [layer] for layer in LAYERS}, "one file per layer: move the block to the file of its layer"


def test_stylesheets_hold_nothing_outside_their_layer():
    outside = {
        path.name: re.findall(r"^(?!@layer |/\*|\}|\s).+", path.read_text(), re.MULTILINE)
        for path in sorted(STYLES.iterdir())
    }

    assert not any(outside.values()), f"rules outside a layer win over every layer: move them into the block: {outside}"


def test_the_order_of_the_layers_is_the_order_of_the_links():
    statement = re.search(r"^@layer ([\w, ]+);", (STYLES / "reset.css").read_text(), re.MULTILINE)

    assert statement is not None
    assert statement[1].split(", ") == LAYERS
    assert linked_in("base.html") == LAYERS
    assert linked_in("plain.html") == [layer for layer in LAYERS if layer not in {"chat", "facts", "record", "charts"}]


@each_case("layer", LAYERS)
def test_every_class_is_used(layer):
    unused = sorted(name for name in classes_of((STYLES / f"{layer}.css").read_text()) if not is_used(name))

    assert unused == [], (
        f"static/css/{layer}.css styles classes that no template, script or Python file writes: delete their rules; "
        "if a library writes the class, add it to FOREIGN in tests/test_styles.py with the library's name"
    )


@each_case(
    "css, names",
    [
        (".a > .b-c__d:not(.e--f), p { color: red }", {"a", "b-c__d", "e--f"}),
        ("@media (max-width: 1.5rem) { .a { inset: .5rem } }", {"a"}),
        ("/* .gone {} */ .a::after { content: '.no { }' }", {"a"}),
        (".a { .b & { margin: 0 } }", {"a", "b"}),
        ('@import "x.css"; a[href$=".pdf"] { margin: 0 }', set()),
    ],
)
def test_classes_of_a_stylesheet_are_those_of_its_selectors(css, names):
    assert classes_of(css) == names


@each_case(
    "name, expected",
    [("btn", True), ("badge--gain", True), ("badge--no-such-state", False), ("no-such-class", False), ("bt", False)],
)
def test_a_class_is_used_if_sources_write_it_or_compose_it(name, expected):
    assert is_used(name) is expected
