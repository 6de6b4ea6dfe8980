"""A table of cases as one test: for where a test of its own would take a hundred times as long as a case."""

from collections.abc import Callable, Iterable
from functools import wraps
from inspect import signature
from typing import Any

import pytest


def each_case(names: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Call the test for each case and tell all that failed, in place of `pytest.mark.parametrize`.

    Args:
        names: those of the test's arguments, as for `parametrize`: "text, amount".
        cases: a value each or, for several names, a tuple. They share the test's fixtures, so none may leave a trace.
    """
    columns = [name.strip() for name in names.split(",")]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def try_all(**fixtures: Any) -> None:
            failed = []
            for case in cases:
                values = case if len(columns) > 1 else (case,)
                try:
                    test(**fixtures, **dict(zip(columns, values, strict=True)))
                except Exception as error:  # noqa: BLE001 - told below, with the others
                    failed.append(f"{case!r:.500}\n{type(error).__name__}: {error}")
            if failed:
                pytest.fail("\n\n".join([f"{len(failed)} cases failed", *failed]), pytrace=False)

        others = [one for name, one in signature(test).parameters.items() if name not in columns]
        try_all.__signature__ = signature(test).replace(parameters=others)  # type: ignore[attr-defined]
        return try_all

    return decorate
