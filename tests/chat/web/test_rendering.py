from uuid import uuid4

import pytest

from chat.tools import TOOLS as CATALOGUE
from chat.tools.calls import MAX_DETAIL, is_hidden
from chat.web.rendering import message_html, part_html, view_messages, view_part
from tests.factories.chat import ConversationFactory, MessageFactory, ReplyFactory
from tests.factories.memory import JUNE, MemoryEventFactory

TOOLS = sorted({tool.name for tools in CATALOGUE.values() for tool in tools})
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


@pytest.mark.parametrize(
    ("values", "can_retry", "can_continue"),
    [
        ({"interrupted": True}, True, True),
        ({"failed": True}, True, True),
        ({"failed": True, "content": ""}, True, False),
        ({}, True, False),
        ({"streaming": True}, False, False),
        ({"reply_to": None, "conversation": None}, False, False),
    ],
    ids=["interrupted", "failed", "failed without a word", "complete", "streaming", "no turn wrote it"],
)
def test_newest_reply_can_be_retried_and_goes_on_where_it_broke_off(as_trader, values, can_retry, can_continue):
    if "reply_to" in values:
        values = {**values, "conversation": ConversationFactory()}
    older, reply = ReplyFactory(interrupted=True), ReplyFactory(**values)

    *rest, newest = view_messages([older.reply_to, older, reply])

    assert (newest.can_retry, newest.can_continue) == (can_retry, can_continue)
    assert newest.has_receipt is (reply.reply_to is not None and not reply.is_streaming)
    assert [(one.can_retry, one.can_continue) for one in rest] == [(False, False)] * 2


def test_what_can_be_done_with_a_message_goes_by_whose_it_is(as_trader):
    reply = ReplyFactory()
    running = ReplyFactory(streaming=True, reply_to=MessageFactory(conversation=reply.conversation))

    views = view_messages([reply.reply_to, reply, running])

    done = [(each.can_edit, each.can_keep, each.has_receipt) for each in views]
    assert done == [(True, False, False), (False, True, True), (False, False, False)]


def test_kept_replies_and_the_end_of_the_summary_are_marked(as_trader):
    first, second = ReplyFactory(), ReplyFactory()
    messages = [first.reply_to, first, second.reply_to, second]

    views = view_messages(messages, kept={second.pk}, summarised_through=first.pk)

    assert [each.is_kept for each in views] == [False, False, False, True]
    assert [each.ends_summary for each in views] == [False, True, False, False]


def test_memory_lines_know_whether_they_were_undone(as_trader):
    kept, undone = MemoryEventFactory(), MemoryEventFactory(undone_at=JUNE)

    shown = view(ReplyFactory(parts=[memory(kept), memory(undone)]))

    assert [part.undone for part in shown.parts] == [False, True]
    assert shown.parts[0].kind_label == "Memory saved"


def test_forget_that_became_part_of_an_update_has_no_line(as_trader):
    forgotten, updated = MemoryEventFactory(undone_at=JUNE), MemoryEventFactory()
    forget = memory(forgotten, "Risks 1%") | {"event_kind": "forget"}
    update = memory(updated, "Risks 2%") | {"event_kind": "update"}

    assert [part.text for part in view(ReplyFactory(parts=[forget, update])).parts] == ["Risks 2%"]
    assert [part.undone for part in view(ReplyFactory(parts=[forget])).parts] == [True]  # the user took it back


def test_undone_events_of_all_messages_are_one_query(as_trader, django_assert_num_queries):
    replies = [ReplyFactory(parts=[memory(MemoryEventFactory())]) for _ in range(3)]

    with django_assert_num_queries(2):  # and one for the answers that retries replaced
        view_messages(replies)
    with django_assert_num_queries(0):
        view_messages([ReplyFactory.build(reply_to=None, conversation=None)])


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
    assert is_hidden(part) is quiet


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
        ({"total": 3}, "3 found"),
        ({"rows": []}, ""),
        (None, ""),
    ],
)
def test_summary_of_a_tool_is_one_line(result, summary):
    assert view_part(tool("a_tool", result=result)).summary == summary


@pytest.mark.parametrize(
    ("name", "result", "summary"),
    [
        ("list_my_skills", {"skills": [{}], "open_drafts": []}, "1 skill"),
        ("list_my_skills", {"skills": [{}] * 3, "open_drafts": [{}], "left_out": {"skills": 2}}, "5 skills, 1 draft"),
        ("list_my_skills", {"skills": [], "open_drafts": [{}, {}]}, "no skills, 2 drafts"),
        (
            "get_skill_performance",
            {"name": "Dips", "summary": {"backtest": {"sample_size": 12}, "paper": {"sample_size": 1}, "live": None}},
            "Dips, 12 trades in backtests, 1 trade on paper",
        ),
        ("get_skill_performance", {"name": "Dips", "summary": {"backtest": None, "paper": None}}, "Dips, nothing yet"),
        (
            "get_skill_performance",
            {"name": "Dips", "trades": [{}] * 9, "lessons": [{}]},
            "Dips, 9 closed trades, 1 note",
        ),
        ("get_my_deployments", {"deployments": []}, "no deployments"),
        (
            "get_my_deployments",
            {"deployments": [{"open_positions": 0}, {"open_positions": 1}]},
            "2 deployments, 1 position",
        ),
        (
            "get_my_deployments",
            {"deployments": [{"open_positions": 2}], "trades": [{}], "lessons": [{}], "left_out": {"trades": 29}},
            "1 deployment, 2 positions, 30 closed trades, 1 note",
        ),
        ("get_market_overview", {"markets": [{"symbol": "BTC"}, {"symbol": "ETH"}]}, "BTC, ETH"),
        ("get_market_overview", {"as_of": "2026-06-01T12:00:00Z", "markets": []}, "no symbols"),
        ("get_recent_news", {"lookback_hours": 24, "news": [{}] * 5}, "5 headlines in 24 hours"),
        ("get_upcoming_events", {"lookahead_hours": 24, "events": [{}] * 3}, "3 events in 24 hours"),
        ("get_upcoming_events", {"lookahead_hours": 72, "events": []}, "no events in 72 hours"),
        ("set_risk", {"changed": ["risk.max_leverage"], "still_missing": [{}, {}]}, "1 change, 2 still missing"),
        ("set_basics", {"changed": [], "still_missing": []}, "no changes"),
        ("critique_draft", {"summary": "Thin.", "findings": [{}, {}]}, "2 findings"),
        ("prepare_action", {"title": "Deploy Dips", "note": "Nothing has happened yet"}, "Deploy Dips"),
        ("prepare_action", {"error": "You have no such skill."}, "You have no such skill."),
    ],
)
def test_summary_says_what_a_tool_found(name, result, summary):
    assert view_part(tool(name, result=result)).summary == summary


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


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"failed": True}, "The model cannot be reached."),
        ({"interrupted": True}, "restarted"),
        ({"status": "interrupted"}, "Stopped"),
    ],
)
def test_reply_that_ended_early_says_why_once(as_trader, values, words):
    assert message_html(view(ReplyFactory(**values))).count(words) == 1


def test_streaming_reply_waits_without_a_footer(as_trader):
    html = message_html(view(ReplyFactory(streaming=True, parts=[])))

    assert "message--waiting" in html
    assert "<footer" not in html


def test_nothing_a_model_writes_becomes_markup():
    part = tool(NASTY, arguments=f'{{"x": "{NASTY}"}}', result={"error": NASTY})
    part["call_id"] = NASTY

    for html in (part_html(part), part_html({**part, "status": "running"}), part_html({**part, "status": "error"})):
        assert "<img" not in html
        assert NASTY not in html


def test_memory_line_links_to_its_fact_and_can_be_undone():
    event_id, fact_id = uuid4(), uuid4()
    part = {"kind": "memory", "event_id": str(event_id), "event_kind": "save", "text": NASTY, "fact_id": str(fact_id)}

    html = part_html(part)

    assert f'id="memory-{event_id}"' in html
    assert f'href="/profile/facts/{fact_id}/"' in html
    assert f'hx-post="/profile/facts/events/{event_id}/undo/"' in html
    assert "<img" not in html
