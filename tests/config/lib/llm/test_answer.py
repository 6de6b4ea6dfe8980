import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from config.lib.llm.answer import MAX_ARGUMENTS, MAX_BLANK, MAX_CALLS, MAX_TEXT, Piece, StreamedAnswer, Usage, clean
from tests.fakes import tool_fragment

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # surrogates and NUL included


def text_through(pieces):
    answer = StreamedAnswer()
    return "".join([answer.take_text(piece) for piece in pieces])


def calls_of(*chunks, taken=()):
    answer = StreamedAnswer()
    for chunk in chunks:
        answer.take_calls(chunk)
    return [(call.id, call.name, call.arguments) for call in answer.tool_calls(taken)]


def called(*chunks, state=None):
    """Return the calls of the pieces, with the provider state of their message."""
    answer = StreamedAnswer()
    for chunk in chunks:
        answer.take_piece(Piece(calls=chunk, state=state))
    return answer.tool_calls(model="m")


@given(ANY_TEXT)
def test_clean_keeps_storable_text(text):
    cleaned = clean(text)

    assert "\x00" not in cleaned
    assert cleaned.encode().decode() == cleaned


@given(ANY_TEXT, st.lists(st.integers(0, 30), max_size=6))
@example("\ud83d\n", [])
@example("\ud83d\ude00", [9])
@example("\ud83d\x00\ude00", [10])
def test_take_text_does_not_depend_on_where_chunks_end(text, cuts):
    text = f"Answer: {text}"
    ends = sorted({min(cut, len(text)) for cut in cuts} | {0, len(text)})
    pieces = [text[start:end] for start, end in pairwise(ends)]

    assert text_through([*pieces, "."]) == clean(f"{text}.")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        (5, ""),
        ({"text": "x"}, ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, "b", {"text": 3}], "ab"),
    ],
)
def test_take_text_reads_content_that_is_no_string(content, text):
    assert StreamedAnswer().take_text(content) == text


def test_take_text_delays_white_space_until_a_visible_character():
    answer = StreamedAnswer()

    assert [answer.take_text(piece) for piece in ("\n", "  ", "Hi", " ")] == ["", "", "\n  Hi", " "]
    assert not answer.is_empty


def test_endless_white_space_is_given_up():
    answer = StreamedAnswer()

    answer.take_text(" " * (MAX_BLANK + 1))

    assert answer.full
    assert answer.is_empty


@pytest.mark.limit("config.lib.llm.answer.MAX_TEXT")
def test_take_text_is_cut_at_the_limit_exactly():
    answer = StreamedAnswer()

    sizes = [len(answer.take_text("x" * size)) for size in (MAX_TEXT - 1, 2, 1)]

    assert sizes == [MAX_TEXT - 1, 1, 0]
    assert answer.full
    assert answer.finish("stop") == "length"


part = tool_fragment
FRAGMENTS = {  # as they come, one a chunk, and the calls
    "by index": ([part(0, id="1", name="a", arguments='{"x'), part(0, arguments='": 1}')], [("1", "a", '{"x": 1}')]),
    "indexes in any order": (
        [part(1, id="2", name="b", arguments="{}"), part(0, id="1", name="a")],
        [("2", "b", "{}"), ("1", "a", "{}")],
    ),
    "no index": ([part(None, id="1", name="a", arguments="{"), part(None, arguments="}")], [("1", "a", "{}")]),
    "no index, a new id begins a call": (
        [
            *(part(None, id="1", name="a", arguments="{}"), part(None, id="2", name="b", arguments="{")),
            part(None, arguments="}"),
        ],
        [("1", "a", "{}"), ("2", "b", "{}")],
    ),
    "id and name in each fragment": (
        [part(0, id="1", name="a", arguments="{"), part(0, id="1", name="a", arguments="}")],
        [("1", "a", "{}")],
    ),
    "name in fragments": (
        [part(0, id="1", name="rem"), part(0, name="ember"), part(0, arguments="{}")],
        [("1", "remember", "{}")],
    ),
    "no arguments": ([part(0, id="1", name="a", arguments="")], [("1", "a", "{}")]),
    "broken JSON stays": ([part(0, id="1", name="a", arguments="{bad")], [("1", "a", "{bad")]),
    "NUL and surrogates": ([part(0, id="1", name="a", arguments='{"x": "\x00\ud800"}')], [("1", "a", '{"x": "�"}')]),
    "name with odd signs": ([part(0, id="1", name="get weather!\n")], [("1", "get_weather__", "{}")]),
    "no name": ([part(0, id="1", arguments="{}")], [("1", "unnamed", "{}")]),
    "an object": ([part(0, id="1", name="a", arguments={"b": 1})], [("1", "a", '{"b": 1}')]),
}


@pytest.mark.parametrize(("fragments", "calls"), FRAGMENTS.values(), ids=FRAGMENTS)
def test_take_calls_joins_fragments(fragments, calls):
    assert calls_of(*([fragment] for fragment in fragments)) == calls


def test_take_calls_tells_calls_apart_without_ids_and_indexes():
    found = calls_of(
        [tool_fragment(None, name="a", arguments='{"x": 1}')],
        [tool_fragment(None, name="a", arguments='{"x": 2}')],
        [tool_fragment(None, name="b", arguments="{}")],
    )

    assert [(name, arguments) for _, name, arguments in found] == [("a", '{"x": 1}'), ("a", '{"x": 2}'), ("b", "{}")]
    assert len({id_ for id_, _, _ in found}) == 3


@pytest.mark.parametrize("bad", ["", "a b", "a\nb", "é", "x" * 40_000, "taken"])
def test_tool_calls_replaces_ids_that_cannot_be_used(bad):
    [(made, _, _)] = calls_of([tool_fragment(0, id=bad, name="a")], taken={"taken"})

    assert made.startswith("call_")
    assert len(made) == 29


def test_tool_calls_keeps_an_id_that_carries_a_signature():
    signed = "call_1__thought__" + "Ab+/=" * 400

    (call,) = called([tool_fragment(0, id=signed, name="a")])

    assert len(call.id) <= 64
    assert call.state == {"model": "m", "call": {"id": signed}}


@pytest.mark.limit("config.lib.llm.answer.MAX_CALLS")
def test_endless_calls_are_cut_off():
    answer = StreamedAnswer()

    answer.take_calls([tool_fragment(n, id=f"c{n}", name="a") for n in range(MAX_CALLS + 5)])

    assert answer.full
    assert len(answer.tool_calls()) == MAX_CALLS


@pytest.mark.limit("config.lib.llm.answer.MAX_ARGUMENTS")
def test_arguments_of_all_calls_share_one_limit():
    answer = StreamedAnswer()

    for index in range(3):
        answer.take_calls([tool_fragment(index, id=str(index), name="a", arguments="x" * (MAX_ARGUMENTS // 2))])
    answer.take_calls([tool_fragment(0, arguments="x")])

    assert answer.full
    assert sum(len(call.arguments) for call in answer.tool_calls()) == MAX_ARGUMENTS + len("{}")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["index", "id", "function", "name", "arguments"]), inner)
        ),
        max_leaves=20,
    )
)
def test_take_calls_never_raises(fragments):
    answer = StreamedAnswer()

    answer.take_calls(fragments)

    assert all(json.dumps([call.id, call.name, call.arguments]) for call in answer.tool_calls())


@pytest.mark.parametrize(
    ("reason", "calls", "said"),
    [
        ("stop", True, "tool_calls"),
        ("tool_calls", True, "tool_calls"),
        ("tool_calls", False, "stop"),
        ("function_call", False, "stop"),
        ("length", True, "length"),
        ("content_filter", False, "content_filter"),
    ],
)
def test_finish_reason_agrees_with_the_answer(reason, calls, said):
    answer = StreamedAnswer()
    if calls:
        answer.take_calls([tool_fragment(0, id="1", name="a")])

    assert answer.finish(reason) == said


COUNTED = {"prompt_tokens": 2_000, "completion_tokens": 9}
OF_PROVIDERS = {
    "OpenAI": ({"prompt_tokens_details": {"cached_tokens": 1_024}}, Usage(2_000, 9, 1_024)),
    "OpenRouter": (
        {"prompt_tokens_details": {"cached_tokens": 1_500, "cache_write_tokens": 400}},
        Usage(2_000, 9, 1_500, cache_write_tokens=400),
    ),
    "Anthropic": (
        {"cache_read_input_tokens": 1_500, "cache_creation_input_tokens": 400},
        Usage(2_000, 9, 1_500, cache_write_tokens=400),
    ),
    "DeepSeek": ({"prompt_cache_hit_tokens": 1_920, "prompt_cache_miss_tokens": 80}, Usage(2_000, 9, 1_920)),
    "Moonshot": ({"cached_tokens": 40}, Usage(2_000, 9, 40)),
    "no cache": ({}, Usage(2_000, 9)),
    "too much": ({"cached_tokens": 9_000, "cache_creation_input_tokens": 9_000}, Usage(2_000, 9, 2_000)),
    "no number": ({"cached_tokens": "40"}, Usage(2_000, 9)),
}


@pytest.mark.parametrize(("cached", "usage"), OF_PROVIDERS.values(), ids=OF_PROVIDERS)
def test_usage_of_reads_the_cached_tokens_of_each_family(cached, usage):
    assert Usage.of(COUNTED | cached) == usage


@pytest.mark.parametrize(
    "sent",
    [None, 3, [], {}, {"prompt_tokens": 0}, {"prompt_tokens": "7"}, {"prompt_tokens": -7}, {"completion_tokens": 9}],
)
def test_usage_of_broken_counts_is_none(sent):
    assert Usage.of(sent) is None


def test_usage_plus_adds_every_count():
    assert Usage(1, 2, 3, cache_write_tokens=4).plus(Usage(10, 20, 30, True, 40)) == Usage(11, 22, 33, True, 44)
