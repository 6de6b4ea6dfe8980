"""Wire frames: parsing, serialising, and the page's type definitions."""

import json
import re
from dataclasses import fields
from pathlib import Path
from uuid import UUID

import pytest
from django.conf import settings

from chat.turns import frames
from chat.turns.frames import PLAIN, ReplySoFar, ServerFrame, parse_frame

CLIENT_ID = "6f1f1f0e-2c38-4c2b-9d0a-3a4de3f5b0aa"
TYPEDEF = re.compile(r"@typedef \{object\} (\w+)(.*?)\*/", re.DOTALL)
PROPERTY = re.compile(r"@property \{(.+?)\} (\[?)(\w+)\]?")
SERVER_FRAMES = [
    frame
    for frame in vars(frames).values()
    if isinstance(frame, type) and issubclass(frame, ServerFrame) and hasattr(frame, "type")
]
PAGE_ONLY = {"resume": {"seq"}}  # the page sends it, the server needs no number


def read_typedefs() -> dict[str, dict[str, tuple[str, bool]]]:
    """Return each typedef of frames.js: property to its type and whether it may be left out."""
    text = (Path(settings.BASE_DIR) / "static/chat/frames.js").read_text()
    return {
        name: {field: (kind, bool(bracket)) for kind, bracket, field in PROPERTY.findall(body)}
        for name, body in TYPEDEF.findall(text)
    }


def page_frames() -> dict[str, dict[str, dict[str, tuple[str, bool]]]]:
    """Return the frames of the page by direction and type; what the server sends has a `seq`."""
    text = (Path(settings.BASE_DIR) / "static/chat/frames.js").read_text()
    typedefs = read_typedefs()
    directions = {}
    for direction in ("ServerFrame", "ClientFrame"):
        (union,) = re.findall(r"@typedef \{([^}]*)\} " + direction, text)
        frames_of = [typedefs[name] for name in re.findall(r"\w+Frame", union)]
        directions[direction] = {frame["type"][0].strip('"'): frame for frame in frames_of}
    return directions


def optional_names(frame):
    return {field.name for field in fields(frame) if field.default is None}


def test_page_knows_every_server_frame_with_its_fields():
    page = page_frames()["ServerFrame"]
    server = {frame.type: frame for frame in SERVER_FRAMES}

    assert page.keys() == server.keys()
    for name, frame in server.items():
        names = {field.name for field in fields(frame)}
        assert page[name].keys() == names | {"type", "seq"}, f"{name}: mend its typedef in static/chat/frames.js"
        optional = {field for field, (_, is_optional) in page[name].items() if is_optional}
        assert optional == optional_names(frame), f"{name}: mark its optional fields in static/chat/frames.js"


def test_page_knows_every_client_frame_with_its_fields():
    page = page_frames()["ClientFrame"]

    assert page.keys() == {*PLAIN, "message", "edit"}
    for name, frame in {**dict.fromkeys(PLAIN), "message": frames.SendMessage, "edit": frames.Edit}.items():
        names = {field.name for field in fields(frame)} if frame else set()
        names |= {"type"} | PAGE_ONLY.get(name, set())
        assert page[name].keys() == names, f"{name}: mend its typedef in static/chat/frames.js"


def test_page_knows_the_reply_of_a_snapshot():
    assert read_typedefs()["ReplySnapshot"].keys() == ReplySoFar.__annotations__.keys()


# --- to_json ---


@pytest.mark.parametrize("frame", SERVER_FRAMES, ids=lambda frame: frame.type)
def test_to_json_has_type_and_seq_and_leaves_out_optional_fields_that_are_none(frame):
    sent = frame(*[None for _ in fields(frame)]).to_json(7)

    assert (sent["type"], sent["seq"]) == (frame.type, 7)
    assert sent.keys() == {field.name for field in fields(frame)} - optional_names(frame) | {"type", "seq"}


# --- parse_frame ---


@pytest.mark.parametrize(
    ("sent", "parsed"),
    [
        ({"type": "message", "client_id": CLIENT_ID, "text": "Hi"}, frames.SendMessage(UUID(CLIENT_ID), "Hi")),
        ({"type": "edit", "message_id": "12", "text": "Hi"}, frames.Edit(12, "Hi")),
        ({"type": "resume", "seq": 4}, "resume"),
        ({"type": "stop"}, "stop"),
        ({"type": "retry"}, "retry"),
        ({"type": "continue"}, "continue"),
    ],
)
def test_parse_frame_reads_each_frame_of_the_page(sent, parsed):
    assert parse_frame(json.dumps(sent)) == parsed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '"stop"',
        "[" * 100_000,
        '{"type": "snapshot"}',
        '{"type": ["stop"]}',
        '{"type": "message", "text": "Hi"}',
        '{"type": "message", "client_id": "no uuid", "text": "Hi"}',
        f'{{"type": "message", "client_id": "{CLIENT_ID}", "text": 5}}',
        '{"type": "edit", "message_id": 12, "text": "Hi"}',
        '{"type": "edit", "message_id": "-1", "text": "Hi"}',
        '{"type": "edit", "message_id": "\u0661", "text": "Hi"}',
        '{"type": "edit", "message_id": "1234567890123456789", "text": "Hi"}',
    ],
)
def test_parse_frame_refuses_anything_else(text):
    assert parse_frame(text) is None
