import json
import os
import signal
import threading
import time
from datetime import timedelta
from uuid import uuid4

import pytest
from django.core.management import call_command, get_commands
from django.core.management.base import CommandError

from chat.management.commands import run_jobs
from chat.models import Conversation, ConversationStatus, Message, MessageStatus, Role
from chat.prompt.assistants import preview_prompt
from chat.prompt.receipts import find_receipt, rebuild_prompt
from chat.prompt.texts import as_blocks
from chat.rules import follow_facts
from chat.turns.accept import accept_message
from config.lib.owned import owned_tx
from config.lib.threads import join_threads
from config.lib.work.jobs import Job
from memory.models import UserFact
from tests.chat.talk import as_typed
from tests.commands import lines_of, run
from tests.factories.chat import ConversationFactory
from tests.factories.memory import JUNE, UserFactFactory, believed
from tests.fakes import Gate
from tests.owners import as_owner
from trading.models import RuleState, TradingRule

# Without `migrate`, which is Django's own but for its limits.
OURS = sorted(
    name for name, app in get_commands().items() if app in {"chat", "memory", "trading"} and name != "migrate"
)


@pytest.mark.parametrize("name", OURS)
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        call_command(name, "--help")

    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert "--json" in shown
    assert len(shown.partition("options:")[0].split(".")) >= 2, "the help has no sentence"


@pytest.mark.parametrize("name", ["call_tool", "chat", "show_prompt"])
def test_command_with_an_unknown_user_prints_one_line(name, db):
    rest = {"call_tool": ["remember", "{}"], "chat": ["Hello"], "show_prompt": []}[name]

    with pytest.raises(CommandError, match=r"There is no user nobody@example\.com\. Make one with `createuser`\."):
        run(name, "--user", "nobody@example.com", *rest)


# --- chat ---

LIVE = pytest.mark.django_db(transaction=True)


@LIVE
def test_chat_streams_an_answer_and_goes_on_with_a_conversation(model, trader):
    model.say("Hello ", "Ann.")

    printed = run("chat", "--user", trader.email, "Hi there")

    with owned_tx(trader):
        conversation = Conversation.objects.get()
        question, reply = Message.objects.order_by("pk")
    assert printed.splitlines() == [f"conversation {conversation.pk}", "Hello Ann."]
    assert (question.content, reply.content, reply.status) == ("Hi there", "Hello Ann.", MessageStatus.COMPLETE)
    model.say("Two.")
    run("chat", "--user", trader.email, "--conversation", str(conversation.pk), "second")
    said = [message["content"] for message in as_typed(model.requests[1]["messages"][1:])]
    assert said == ["Hi there", "Hello Ann.", "second"]


@LIVE
def test_chat_shows_tools_and_memory(model, trader):
    model.call("remember", {"fact": "Never trades alts"}, text="Noted. ")
    model.say("Anything else?")

    printed = run("chat", "--user", trader.email, "I never trade alts")

    assert '[remember] {"fact": "Never trades alts"}' in printed
    assert "Memory saved: Never trades alts" in printed
    assert printed.endswith("Anything else?\n")
    assert as_owner(trader, believed) == ["Never trades alts"]


@LIVE
def test_chat_in_json_is_one_event_a_line(model, trader):
    model.call("remember", {"fact": "Never trades alts"})
    model.say("Saved.")

    lines = lines_of("chat", "--user", trader.email, "I never trade alts")

    assert lines[0]["type"] == "conversation"
    assert len({line["type"] for line in lines}) == 6
    assert [line["text"] for line in lines if line.keys() == {"type", "text"}] == ["Saved."]


@LIVE
def test_chat_says_what_went_wrong_and_fails(model, trader):
    model.say("Half", RuntimeError("words of the provider"))

    with pytest.raises(CommandError, match=r"The answer broke off before its end\. Please try again\."):
        run("chat", "--user", trader.email, "Hi")

    with owned_tx(trader):
        assert Message.objects.order_by("-pk")[0].content == "Half"


@LIVE
def test_chat_is_stopped_by_ctrl_c_and_keeps_what_was_said(model, trader):
    gate = Gate()
    model.say("Keep this", gate, " not this")

    def press() -> None:
        gate.reached.wait(20)
        threading.Event().wait(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=press).start()
    run("chat", "--user", trader.email, "Hi")

    with owned_tx(trader):
        reply = Message.objects.order_by("-pk")[0]
    assert (reply.content, reply.status) == ("Keep this", MessageStatus.INTERRUPTED)


CTRL_C = "^C"


def run_session(monkeypatch, trader, *typed):
    """Run a session in which a person types these lines, then Ctrl-D."""
    lines = iter(typed)

    def read(prompt):
        line = next(lines, None)
        if line is None:
            raise EOFError
        if line == CTRL_C:
            raise KeyboardInterrupt
        return line

    monkeypatch.setattr("builtins.input", read)
    return run("chat", "--user", trader.email)


@LIVE
def test_session_answers_each_line_in_one_chat(model, trader, monkeypatch):
    model.say("One.")
    model.say("Two.")

    printed = run_session(monkeypatch, trader, "first", "", "second", "/quit", "never sent")

    with owned_tx(trader):
        conversation = Conversation.objects.get()
    assert printed.count(f"conversation {conversation.pk}") == 1
    assert printed.index("One.") < printed.index("Two.")
    said = [message["content"] for message in as_typed(model.requests[1]["messages"][1:])]
    assert said == ["first", "One.", "second"]


@LIVE
def test_session_begins_another_chat_and_closes_the_first(model, trader, monkeypatch):
    model.say("One.")
    model.say("Two.")

    run_session(monkeypatch, trader, "first", "/new", "second")

    with owned_tx(trader):
        first, second = Conversation.objects.order_by("created_at")
        assert Message.objects.filter(conversation=second, content="second").exists()
    assert first.status != second.status == ConversationStatus.ACTIVE


@LIVE
def test_session_obeys_its_commands_and_goes_on_after_trouble(model, trader, monkeypatch):
    model.say("You said 2 %, I say 7 %.")
    model.say("Half", RuntimeError("words of the provider"))
    model.say("Whole.")
    typed = ("/receipt", "Is 2 % fine?", "/receipt", "/what", CTRL_C, "/help", "x" * 100_000, "Hi", "Again")

    printed = run_session(monkeypatch, trader, *typed)

    told = [
        "There is no answer yet.",
        "Model: scripted/model; 1 message of the chat",
        "There is no /what.",
        "(Ctrl-D ends the session.)",
        "KiB",
        "(The answer broke off before its end. Please try again.)",
        "Whole.",
    ]
    places = [printed.index(words) for words in told]
    assert places == sorted(places)
    assert "Figures: 2 %: your words; 7 %: not from your record" in printed
    assert "Prompt: persona, " in printed
    assert printed.count("/receipt shows") == 3


@LIVE
def test_session_goes_on_after_ctrl_c_while_a_message_is_stored(model, trader, monkeypatch):
    model.say("Whole.")
    pressed = []

    def accept_and_press(**sent):
        if not pressed:
            pressed.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return accept_message(**sent)

    monkeypatch.setattr("chat.management.commands.chat.accept_message", accept_and_press)
    printed = run_session(monkeypatch, trader, "Hi", "Again")

    assert "(stopped)" in printed
    assert printed.rstrip().endswith("Whole.")
    with owned_tx(trader):
        replies = Message.objects.filter(role=Role.ASSISTANT).order_by("pk")
        assert [reply.status for reply in replies] == [MessageStatus.INTERRUPTED, MessageStatus.COMPLETE]


def test_chat_that_is_refused_leaves_no_conversation(trader):
    with pytest.raises(CommandError, match="nothing to send"):
        run("chat", "--user", trader.email, "  ")

    with owned_tx(trader):
        assert Conversation.objects.count() == 0


# --- call_tool ---


def test_call_tool_prints_what_the_tool_answers(trader):
    answer = json.loads(run("call_tool", "--user", trader.email, "remember", '{"fact": "Never trades alts"}'))

    assert answer["saved"] == "Never trades alts"
    assert answer["memoryEvent"]["kind"] == "save"
    assert as_owner(trader, believed) == ["Never trades alts"]


def test_call_tool_prints_a_refusal_as_the_model_gets_it(trader):
    (answer,) = lines_of("call_tool", "--user", trader.email.upper(), "remember", '{"fact": "abc"}')

    assert answer["error"][0]["argument"] == "fact"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("chat", "--json"), "--json needs TEXT"),
        *((("call_tool", "remember", text), r"not (JSON|a JSON object)") for text in ("", "{", "[]", "null", '"x"')),
        (
            ("call_tool", "rm_rf", "{}"),
            r"The coach has no tool rm_rf\. It has: set_basics, .*, remember, forget, prepare_action, query_trades\.",
        ),
        (("check_trade", "--symbol", "BTC", "--side", "long", "--stop", "tight"), "is not a number above zero"),
    ],
)
def test_command_that_cannot_be_run_so_says_why(trader, arguments, said):
    name, *rest = arguments
    with pytest.raises(CommandError, match=said):
        run(name, "--user", trader.email, *rest)


# --- show_prompt ---


def test_show_prompt_prints_what_a_new_chat_would_send(trader, time_machine):
    time_machine.move_to(JUNE, tick=False)
    as_owner(trader, lambda: UserFactFactory(content="Never trades alts"))

    printed = run("show_prompt", "--user", trader.email)

    with owned_tx(trader):
        assert printed == preview_prompt(assistant="coach", now=JUNE) + "\n"
        assert UserFact.objects.get().last_referenced_at < JUNE  # reading it changes nothing
    assert "Never trades alts" in printed


def test_show_prompt_prints_what_a_conversation_sent(trader):
    def ask():
        UserFactFactory(content="Never trades alts")
        conversation = ConversationFactory()
        turn = accept_message(conversation_id=conversation.pk, client_id=uuid4(), text="Hi", now=JUNE).turn
        UserFactFactory(content="Learned later")
        return conversation, turn

    conversation, turn = as_owner(trader, ask)

    (line,) = lines_of("show_prompt", "--user", trader.email, "--conversation", str(conversation.pk))

    assert line["prompt"] == "\n\n---\n\n".join(block["text"] for block in as_blocks(turn.sent.segments))
    assert "Learned later" not in line["prompt"]


# --- check_trade, list_rules ---


def test_check_trade_sizes_a_plan_by_a_rule_and_commits_nothing(trader):
    with owned_tx(trader):
        UserFactFactory(content="I risk at most 1% per trade")
        follow_facts(now=JUNE)
        TradingRule.objects.update(state=RuleState.CONFIRMED, decided_at=JUNE)
    plan = ("--symbol", "BTC", "--side", "buy", "--price", "100", "--stop", "95", "--equity-usd", "10000")

    (line,) = lines_of("check_trade", "--user", trader.email, *plan)
    printed = run("check_trade", "--user", trader.email, *plan)

    assert (line["side"], line["risk_usd"], line["size_usd"]) == ("long", 100, 2000)
    assert printed.startswith(f"BTC long: {line['verdict']}\n")
    assert "size_usd: 2000" in printed


def test_list_rules_prints_each_reading_with_how_trades_kept_it(trader):
    assert lines_of("list_rules", "--user", trader.email) == [{"rules": 0}]
    with owned_tx(trader):
        rule = UserFactFactory(content="My max leverage is 3x")

    first = lines_of("list_rules", "--user", trader.email)[0]

    assert (first["state"], first["fact"], first["fact_id"]) == ("waiting", rule.content, str(rule.pk))
    with owned_tx(trader):
        TradingRule.objects.update(state=RuleState.CONFIRMED, decided_at=JUNE)
    assert "; 0 kept, 0 broken: My max leverage is 3x" in run("list_rules", "--user", trader.email)


# --- seed_demo ---


@pytest.fixture
def demo_site(settings, tmp_path, db):
    """A site that keeps its demo password in a folder of the test, and whose demo is of chats alone."""
    settings.HOME_DIR = tmp_path
    settings.DEMO = ["chat.demo.seed_chats"]
    return tmp_path


def test_seed_demo_makes_users_who_can_sign_in_and_a_history_once(demo_site, django_user_model, usual_umask):
    (line,), (again,) = lines_of("seed_demo"), lines_of("seed_demo")

    assert again == {**line, "conversations": 0}
    assert django_user_model.objects.count() == 2
    demo = django_user_model.objects.get(email="demo@example.com")
    staff = django_user_model.objects.get(email=line["staff_email"])
    assert (line["email"], demo.check_password(line["password"])) == (demo.email, True)
    assert (staff.is_superuser, staff.check_password(line["staff_password"])) == (True, True)
    for name, password in (("demo-password", "password"), ("demo-staff-password", "staff_password")):
        kept = demo_site / "var" / name
        assert (kept.read_text(), kept.stat().st_mode & 0o777) == (line[password], 0o600)
    with owned_tx(demo):
        assert Conversation.objects.count() == line["conversations"] > 1
        assert Message.objects.exclude(status=MessageStatus.COMPLETE).count() == 0
        saved = [p["result"]["saved"] for m in Message.objects.all() for p in m.parts if p["kind"] == "tool"]
        assert set(saved) <= set(UserFact.objects.values_list("content", flat=True))
        assert all(conversation.title for conversation in Conversation.objects.all())
        replies = Message.objects.filter(role=Role.ASSISTANT).select_related("snapshot")
        assert [rebuild_prompt(find_receipt(reply), reply).is_exact for reply in replies] == [True] * len(replies)


def test_seed_demo_is_refused_on_a_public_site(demo_site, settings, django_user_model):
    settings.IS_LOCAL = False

    with pytest.raises(CommandError, match="does not belong on it"):
        run("seed_demo")

    assert django_user_model.objects.count() == 0


# --- run_jobs ---


@pytest.mark.django_db
def test_run_jobs_once_runs_every_job(monkeypatch):
    printed = run("run_jobs", "--once")

    assert "sweep_dead_turns: 0 replies marked as interrupted" in printed
    assert [line["failed"] for line in lines_of("run_jobs", "--once")] == [False] * len(run_jobs.list_jobs())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_jobs_that_is_told_to_stop_finishes_what_runs(monkeypatch, number):
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    ended = []

    def job(now):
        os.kill(os.getpid(), number)
        time.sleep(0.2)  # the main thread is told meanwhile
        ended.append(now)

    monkeypatch.setattr(run_jobs, "list_jobs", lambda: [Job("slow", timedelta(days=1), job)])
    monkeypatch.setattr(run_jobs, "list_finders", list)
    try:
        printed = run("run_jobs")
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

    assert len(ended) == 1
    assert printed.endswith("Stopped.\n")


def test_threads_that_do_not_end_are_waited_for_together():
    waits = []

    class Endless(threading.Thread):
        def join(self, timeout=None):
            waits.append(timeout)
            time.sleep(timeout)

    join_threads([Endless(), Endless(), Endless()], 0.05)

    assert waits[0] > 0
    assert waits[1:] == [0, 0]


@pytest.mark.django_db(transaction=True)
def test_failed_lane_restarts_and_slow_lane_delays_no_other(monkeypatch):
    stopped, is_slow = threading.Event(), threading.Event()
    runs = []

    def slow(now):
        is_slow.set()
        stopped.wait(30)
        return "slow"

    def quick(now):
        is_slow.wait(30)
        runs.append(now)
        return "quick"

    def report(run):
        if run.name != "quick":
            return
        if len(runs) == 3:
            stopped.set()
        raise OSError("nobody listens")

    often = run_jobs.timezone.timedelta(microseconds=1)
    jobs = [Job("slow", often, slow, lane="slow"), Job("quick", often, quick)]
    monkeypatch.setattr(run_jobs, "list_jobs", lambda: jobs)
    monkeypatch.setattr(run_jobs, "list_finders", list)
    monkeypatch.setattr(run_jobs, "RESTART_SECONDS", 0.01)
    monkeypatch.setattr(run_jobs, "TICK_SECONDS", 0.01)

    run_jobs.work_until(stopped, report)

    assert len(runs) == 3
