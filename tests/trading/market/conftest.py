import json

import pytest


@pytest.fixture
def path(tmp_path):
    """A function that writes a text or a value to a file and returns its path."""

    def write(content, name="file.csv"):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    return write
