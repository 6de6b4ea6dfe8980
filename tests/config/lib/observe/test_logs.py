"""JSON lines: one object each, with the request's id and without private text."""

import json
import logging
from io import StringIO

import pytest

from config.environment import build_logging
from config.lib.observe.logs import PrivateJsonFormatter, RequestIdFilter, request_id

CANARY = "canary@example.com"


@pytest.fixture
def log():
    """A logger that writes JSON lines, and a function that reads them."""
    config = build_logging(level="INFO", form="json", has_access=True)
    options = {name: value for name, value in config["formatters"]["json"].items() if name != "()"}
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(PrivateJsonFormatter(**options))
    handler.addFilter(RequestIdFilter())
    logger = logging.Logger("test")
    logger.addHandler(handler)
    return logger, lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_line_has_time_level_logger_message_and_request(log):
    logger, read = log
    token = request_id.set("abc-123")
    logger.warning("Turn %s ended", 7)
    request_id.reset(token)

    (line,) = read()

    assert line.pop("time")
    assert line == {"level": "WARNING", "logger": "test", "message": "Turn 7 ended", "request_id": "abc-123"}


def test_exception_is_logged_by_type_and_place_without_its_text(log):
    logger, read = log
    try:
        try:
            raise KeyError(CANARY)
        except KeyError as error:
            raise ValueError(f"no user {CANARY}") from error
    except ValueError:
        logger.exception("It failed")

    (line,) = read()

    assert CANARY not in json.dumps(line)
    assert line["exc_info"].startswith("ValueError\n  ")
    assert "KeyError" in line["exc_info"]
    assert "test_logs.py" in line["exc_info"]


def test_message_of_several_lines_stays_one_line(log):
    logger, read = log
    logger.info("a\nb")

    assert [line["message"] for line in read()] == ["a\nb"]
