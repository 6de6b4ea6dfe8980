from datetime import UTC, datetime

import pytest

from tests.trading.intake.bad_files import BAD_FILES
from trading.intake.guessing import propose_mapping
from trading.intake.reading import RowProblem, read_fills
from trading.intake.tables import TableRefused, read_table

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def list_problems(content: bytes) -> list[RowProblem]:
    try:
        table = read_table(content)
    except TableRefused as refusal:
        message = str(refusal)
        row = int(message.split()[1].rstrip(":")) if message.startswith("Row ") else 0
        return [RowProblem(row, message)]
    mapping = propose_mapping(table, zone="Europe/Berlin")
    return read_fills(table, mapping, now=NOW).problems


@pytest.mark.limit("trading.ledger.executions.MAX_AMOUNT")
@pytest.mark.parametrize("name", BAD_FILES)
def test_read_fills_of_a_bad_file_names_the_row_and_the_reason(name):
    content, row, words = BAD_FILES[name]

    problems = list_problems(content)

    assert problems, "nothing was found wrong"
    assert {problem.row for problem in problems} == {row}
    assert all(words in problem.message for problem in problems)
