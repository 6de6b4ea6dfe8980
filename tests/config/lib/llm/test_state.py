import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm.state import MAX_OPAQUE, MAX_STATE, StateReader


def joined(*pieces):
    reader = StateReader()
    for piece in pieces:
        reader.take(piece)
    return reader.read()


def details(*items):
    return {"reasoning_details": list(items)}


def block(kind, index=0, **fields):
    return {"type": f"reasoning.{kind}", "index": index, **fields}


@pytest.mark.parametrize(
    ("pieces", "fields"),
    [
        pytest.param([], {}, id="nothing"),
        pytest.param([{"reasoning_content": None}], {}, id="null"),
        pytest.param([{"reasoning_content": ""}], {"reasoning_content": ""}, id="empty text is kept"),
        pytest.param([{"reasoning_content": "a"}, {"reasoning_content": "b"}], {"reasoning_content": "ab"}, id="text"),
        pytest.param(
            [
                details(block("text", text="Let ")),
                details(block("text", text="me.")),
                details(block("text", signature="SIG")),
                details(block("text", text="Again")),
            ],
            details(block("text", text="Let me.", signature="SIG"), block("text", text="Again")),
            id="fragments until the signature",
        ),
        pytest.param(
            [details(block("summary", summary="A")), details(block("summary", 1, summary="B"))],
            details(block("summary", summary="A"), block("summary", 1, summary="B")),
            id="another index",
        ),
        pytest.param(
            [details(block("encrypted", data="one")), details(block("encrypted", data="two"))],
            details(block("encrypted", data="one"), block("encrypted", data="two")),
            id="encrypted blocks are never joined",
        ),
        pytest.param(
            [
                {"thinking_blocks": [{"type": "thinking", "thinking": "Hm", "signature": None}]},
                {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "SIG"}]},
            ],
            {"thinking_blocks": [{"type": "thinking", "thinking": "Hm", "signature": "SIG"}]},
            id="Anthropic's blocks",
        ),
        pytest.param([{"a": "text"}, {"a": ["list"]}], {}, id="a field that changes its type"),
        pytest.param([{"reasoning_content": "a\x00b\ud800"}], {"reasoning_content": "ab\ufffd"}, id="not storable"),
    ],
)
def test_read_joins_the_pieces(pieces, fields):
    assert joined(*pieces) == fields


@pytest.mark.limit("config.lib.llm.state.MAX_OPAQUE")
@pytest.mark.parametrize(("length", "is_kept"), [(MAX_OPAQUE, True), (MAX_OPAQUE + 1, False), (40_000, False)], ids=str)
def test_read_drops_a_signature_that_is_too_long(length, is_kept):
    sent = details({"type": "reasoning.encrypted", "data": "x" * length})

    assert joined(sent) == (sent if is_kept else {})


def test_read_drops_state_that_is_too_long():
    pieces = [{"reasoning_content": "x" * 1_000}] * (MAX_STATE // 1_000)

    assert len(joined(*pieces[:-1])["reasoning_content"]) > 250_000
    assert joined(*pieces, *pieces) == {}


@pytest.mark.limit("config.lib.llm.state.MAX_DEPTH")
def test_read_drops_state_that_is_too_deep():
    deep = {"a": 1}
    for _ in range(50):
        deep = {"a": deep}

    assert joined({"extra_content": deep}) == {}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "index", "text", "data", "signature", "thinking"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from(["reasoning_details", "reasoning_content"]), JSON), max_size=4))
def test_read_gives_storable_fields_whatever_comes(pieces):
    fields = joined(*pieces)

    assert json.loads(json.dumps(fields)) == fields
    assert "\\u0000" not in json.dumps(fields)
