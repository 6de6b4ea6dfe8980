from uuid import uuid4

import pytest

from chat.rendering import (
    MAX_DETAIL,
    is_quiet,
    memory_html,
    message_html,
    part_html,
    tool_html,
    view_messages,
    view_part,
)
from tests.factories.chat import MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, MemoryEventFactory
from tests.owners import as_owner

NASTY = "\"><img src=x onerror=alert(1)>'"


def tool(name="get_market_overview", *, status="done", arguments="{}", result=None):
    part = {"kind": "tool", "step": 0, "call_id": "call_1", "name": name, "arguments": arguments}
    return {**part, "status": status, "result": result}


def memory(event, text="Trades BTC only"):
    fact_id = str(event.after_id)
    part = {"kind": "memory", "step": 0, "event_id": str(event.pk), "event_kind": "save"}
    return {**part, "text": text, "fact_id": fact_id}


def view(message):
    return view_messages([message])[0]


# --- Values ---


def test_only_the_last_reply_can_be_retried(as_trader):
    first, last = ReplyFactory(), ReplyFactory(failed=True)

    views = view_messages([first.reply_to, first, last.reply_to, last])

    assert [each.can_retry for each in views] == [False, False, False, True]


def test_last_message_of_the_user_cannot_be_retried(as_trader):
    assert view(MessageFactory()).can_retry is False


def test_streaming_reply_cannot_be_retried(as_trader):
    assert view(ReplyFactory(streaming=True)).can_retry is False


def test_memory_lines_know_whether_they_were_undone(as_trader):
    kept, undone = MemoryEventFactory(), MemoryEventFactory(undone_at=JUNE)

    shown = view(ReplyFactory(parts=[memory(kept), memory(undone)]))

    assert [part.undone for part in shown.parts] == [False, True]
    assert shown.parts[0].kind_label == "Memory saved"


def test_undone_events_of_all_messages_are_one_query(as_trader, django_assert_num_queries):
    replies = [ReplyFactory(parts=[memory(MemoryEventFactory())]) for _ in range(3)]

    with django_assert_num_queries(1):
        view_messages(replies)
    with django_assert_num_queries(0):
        view_messages([ReplyFactory.build(reply_to=None, conversation=None)])


def test_event_of_a_stranger_is_not_told_to_be_undone(stranger, as_trader):
    theirs = as_owner(stranger, lambda: MemoryEventFactory(undone_at=JUNE))

    assert view(ReplyFactory(parts=[memory(theirs)])).parts[0].undone is False


@pytest.mark.parametrize(
    ("part", "quiet"),
    [
        (tool("remember"), True),
        (tool("forget", status="running"), True),
        (tool("remember", status="error"), False),
        (tool("get_market_overview"), False),
        ({"kind": "text", "text": "x"}, False),
    ],
    ids=["saved", "forgetting", "refused", "another tool", "text"],
)
def test_memory_tools_that_work_are_quiet(part, quiet):
    assert is_quiet(part) is quiet


def test_quiet_parts_are_not_shown(as_trader):
    reply = ReplyFactory(parts=[tool("remember"), {"kind": "text", "step": 1, "text": "Noted."}])

    assert [part.kind for part in view(reply).parts] == ["text"]
    assert part_html(tool("remember")) == ""


@pytest.mark.parametrize(
    ("result", "summary"),
    [
        ({"error": "There is no such tool."}, "There is no such tool."),
        ({"error": [{"argument": "fact", "problem": "too short"}]}, "The model gave arguments that do not fit."),
        ({"saved": "Trades BTC"}, "Trades BTC"),
        ({"forgotten": "Trades BTC"}, "Trades BTC"),
        ({"rows": []}, ""),
        (None, ""),
    ],
)
def test_summary_of_a_tool_is_one_line(result, summary):
    assert view_part(tool(result=result)).summary == summary


def test_detail_of_a_tool_is_bounded():
    assert len(view_part(tool(arguments="x" * 50_000)).detail) == MAX_DETAIL


# --- HTML ---


def test_message_of_the_user_is_text(as_trader):
    html = message_html(view(MessageFactory(content=f"**bold** {NASTY}")))

    assert "**bold** &quot;&gt;&lt;img src=x" in html
    assert "<img" not in html
    assert "Retry" not in html


def test_reply_is_shown_with_its_parts_in_order(as_trader):
    event = MemoryEventFactory()
    parts = [{"kind": "text", "step": 0, "text": "**One**"}, tool(), memory(event), {"kind": "text", "text": "Two"}]

    html = message_html(view(ReplyFactory(parts=parts)))

    places = [html.index(mark) for mark in ("<strong>One</strong>", 'id="tool-call_1"', f"memory-{event.pk}", "Two")]
    assert places == sorted(places)
    assert 'data-action="retry"' in html


@pytest.mark.parametrize(("trait", "words"), [("failed", "The model cannot be reached."), ("interrupted", "restarted")])
def test_reply_that_ended_early_says_why_once(as_trader, trait, words):
    html = message_html(view(ReplyFactory(**{trait: True})))

    assert html.count(words) == 1


def test_stopped_reply_says_that_it_was_stopped(as_trader):
    html = message_html(view(ReplyFactory(status="interrupted")))

    assert "Stopped" in html


def test_streaming_reply_waits_without_a_footer(as_trader):
    html = message_html(view(ReplyFactory(streaming=True, parts=[])))

    assert "message--waiting" in html
    assert "<footer" not in html


def test_nothing_a_model_writes_becomes_markup():
    part = tool(NASTY, arguments=f'{{"x": "{NASTY}"}}', result={"error": NASTY})
    part["call_id"] = NASTY

    for html in (tool_html(part), tool_html({**part, "status": "running"}), tool_html({**part, "status": "error"})):
        assert "<img" not in html
        assert NASTY not in html


def test_memory_line_links_to_its_fact_and_can_be_undone():
    event_id, fact_id = uuid4(), uuid4()
    part = {"kind": "memory", "event_id": str(event_id), "event_kind": "save", "text": NASTY, "fact_id": str(fact_id)}

    html = memory_html(part)

    assert f'id="memory-{event_id}"' in html
    assert f'href="/profile/facts/{fact_id}/"' in html
    assert f'hx-post="/profile/facts/events/{event_id}/undo/"' in html
    assert "<img" not in html
    assert html == part_html(part)
