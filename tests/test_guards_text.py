"""Files and functions are short, and public functions say what they do."""

import ast
import re
from collections import Counter
from pydoc import locate

from django.template import TemplateDoesNotExist
from django.template.loader import get_template

from tests.source import PROJECT, ROOT, code, functions

MAX_MODULES = 16  # of one folder
MAX_LINES = 400  # of one file
MAX_FUNCTION_LINES = 50
DOCUMENTED = re.compile(
    r"config\.lib\..*|\w+\.(account|agent|cards|claims|conversations|endings|facts|learning|ledger|market|parts|prompt|recall"
    r"|record|reviews|runs|skills|tools|turns|wording)\b.*"
)


def test_no_folder_has_too_many_modules():
    paths = [path.relative_to(ROOT) for package in PROJECT for path in (ROOT / package).rglob("*.py")]
    counts = Counter(path.parent for path in paths if path.name != "__init__.py" and "migrations" not in path.parts)
    found = [
        f"{folder} has {n} modules" for folder, n in counts.items() if n > MAX_MODULES and folder.name != "commands"
    ]

    assert not found, f"{', '.join(found)}; at most {MAX_MODULES}: group modules of one noun in a folder"


def test_no_file_is_too_long():
    paths = [path for package in PROJECT for path in (ROOT / package).rglob("*.py") if "migrations" not in path.parts]
    lengths = {path.relative_to(ROOT): len(path.read_text().splitlines()) for path in paths}
    found = [f"{path} has {length} lines" for path, length in lengths.items() if length > MAX_LINES]

    assert not found, f"{', '.join(found)}; at most {MAX_LINES}: move the parts of one noun to a module of its own"


def test_no_function_is_too_long():
    found = [
        f"{name}.{function} has {length} lines"
        for name, tree in code()
        for function, node in functions(tree)
        if (length := (node.end_lineno or 0) - node.lineno + 1) > MAX_FUNCTION_LINES
    ]

    assert not found, f"{', '.join(found)}; at most {MAX_FUNCTION_LINES}: split it into functions with names"


def public_functions() -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    return [
        (f"{name}.{function}", node)
        for name, tree in code()
        if DOCUMENTED.fullmatch(name)
        for function, node in functions(tree)
        if not any(part.startswith("_") for part in function.split("."))
        # The name of a property says it, a tool has a description for the models.
        and not any(re.search(r"property|^tool\(", ast.unparse(decorator)) for decorator in node.decorator_list)
    ]


def is_explained_by_its_base(name: str) -> bool:
    """Tell whether a method replaces one of a base class, which says what it does."""
    owner, _, method = name.rpartition(".")
    found = locate(owner)
    return isinstance(found, type) and any(method in vars(base) for base in found.__mro__[1:])


def test_each_public_function_has_a_docstring():
    silent = [name for name, node in public_functions() if not ast.get_docstring(node)]

    found = [name for name in silent if not is_explained_by_its_base(name)]

    assert not found, f"{', '.join(found)}: write a docstring of one line that says what the function does"


def test_each_docstring_begins_with_a_whole_sentence_on_one_line():
    texts = {name: ast.get_docstring(node) for name, node in public_functions()}
    firsts = {name: text.splitlines()[0] for name, text in texts.items() if text}

    found = [name for name, first in firsts.items() if not re.fullmatch(r"[A-Z`].*[.:]", first)]

    assert not found, f"{', '.join(found)}: begin the docstring with a whole sentence on one line, ended by a full stop"


def test_every_template_that_a_template_names_exists():
    """Otherwise the page fails where somebody first sees it."""
    folder, named = ROOT / "templates", re.compile(r'{% (?:include|extends) "([^"]+)"')
    missing = []
    for path in sorted(folder.rglob("*.html")):
        for name in named.findall(path.read_text()):
            try:
                get_template(name)
            except TemplateDoesNotExist:
                missing.append(f"{path.relative_to(folder)} names {name}")

    assert missing == []
