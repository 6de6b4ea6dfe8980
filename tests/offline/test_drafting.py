"""Drafting: parsing of a pitch, and each tier's way to a draft."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from offline.drafting import AREAS, CAPS, SAFE_CAPS, read_fields
from tests.offline.chat import ADVISOR, NEW_DRAFT, SKILL, Chat, first_calls, skill, written
from tests.offline.sets import SETS, pairs
from trading.skills.patches import parse_partial
from trading.skills.templates import TEMPLATES as SHIPPED

PITCH = (
    "Fade BTC perp funding above 40% annualised on 1h bars, exit when funding is back under 10% or after 48 hours, 2x"
    " leverage, 5% per position, daily loss halt 3%, no trades within 2h before FOMC or CPI, never add to a loser."
    " Crowded longs pay to stay and unwind when price stalls."
)
BUILD = "Help me build a BTC funding-flip mean-reversion strategy"
CRITIQUE = {
    "summary": "It leaves two things open.",
    "findings": [
        {"severity": "error", "title": "Conflict", "detail": "The exit contradicts the thesis."},
        {"severity": "warning", "title": "No stop", "detail": "Nothing ends a loss.", "suggestion": "Name a price."},
    ],
}
REVIEWED = {"critique_draft": CRITIQUE}


def with_draft(**blocks):
    return f"- skill: a new one\n- draft: BTC funding\n- draft, as it stands (data): {json.dumps(blocks)}"


STRATEGY = ("style", "thesis", "entry", "exit", "riskManagement", "avoid")


def pick(text, *names):
    """Return the fields of these names that a text has."""
    return {name: value for name, value in read_fields(text).items() if name in names}


def names(chat):
    return [name for name, _ in chat.calls]


def given_to(chat, name):
    """Return all that was given to a tool, later over earlier."""
    return {key: value for called, arguments in chat.calls if called == name for key, value in arguments.items()}


# Reading a pitch.


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("context", ("symbols", "barsInterval")),
        ("caps", CAPS),
        ("texts", ("thesis", "entry", "exit", "avoid")),
        ("schedule", ("type", "value")),
        ("style", ("style",)),
    ],
)
def test_fields_of_a_draft_are_read(part, fields):
    rows = pairs(f"drafts: {part}")

    assert {text: pick(text, *fields) for text in rows} == {text: json.loads(row) for text, row in rows.items()}


def test_sentences_go_where_they_belong():
    assert pick(PITCH, *STRATEGY) == {
        "style": "mean_reversion",
        "thesis": "Crowded longs pay to stay and unwind when price stalls.",
        "entry": "Fade BTC perp funding above 40% annualised on 1h bars.",
        "exit": "Exit when funding is back under 10% or after 48 hours.",
        "avoid": ["No trades within 2h before FOMC or CPI", "Never add to a loser"],
    }


def test_labels_decide_where_a_line_goes():
    text = "Entry: close above the 20-day high\nExit: close below the 10-day low\nAvoid: FOMC days\nSize: 5%"

    assert pick(text, *STRATEGY) == {
        "entry": "Close above the 20-day high.",
        "exit": "Close below the 10-day low.",
        "avoid": ["FOMC days"],
    }
    assert pick(text, *CAPS) == {"maxPositionPct": 5}


@pytest.mark.parametrize("text", ['"Short BTC at 3x leverage"', "> enter when funding flips", ""])
def test_pitch_ignores_quotations(text):
    assert read_fields(text) == {}


@given(st.text(max_size=300))
def test_whatever_is_read_fits_the_schema(text):
    words = pick(text, *STRATEGY)

    parse_partial({"strategy": {name: value for name, value in words.items() if name != "avoid"}})
    assert all(len(rule) <= 280 for rule in words.get("avoid", []))


@pytest.mark.parametrize(
    ("idea", "name"),
    [
        ("a BTC funding reversion strategy", "funding_mean_reversion"),
        ("a BTC mean reversion strategy", "funding_mean_reversion"),
        ("a BTC trend strategy", "trend_breakout"),
        ("a BTC range strategy", "range_fade"),
        ("a BTC strategy", "trend_breakout"),
    ],
)
def test_idea_of_a_novice_begins_with_the_nearest_template(idea, name):
    chat = Chat({}, tier="novice", focus=NEW_DRAFT)

    chat.say(f"Help me build {idea}")

    assert given_to(chat, "set_strategy") == {"template": name}


# The novice.


def test_a_novice_gets_a_template_small_caps_and_the_terms():
    chat = Chat({}, tier="novice", focus=NEW_DRAFT)

    told = chat.say(BUILD)

    assert names(chat) == ["set_strategy", "set_basics", "set_context", "set_risk"]
    assert given_to(chat, "set_strategy") == {"template": "funding_mean_reversion"}
    assert given_to(chat, "set_context") == {"symbols": ["BTC"]}
    assert given_to(chat, "set_risk") == SAFE_CAPS
    assert "**Funding**: what holders of one side" in told
    assert "**Leverage**:" in told
    assert "max leverage: 1" in told
    assert "[preview](/skills/new/)" in told
    assert "Backtest it before you deploy it" in told


def test_a_novices_own_words_and_numbers_stand_over_the_template():
    chat = Chat({}, tier="novice", focus=NEW_DRAFT)

    chat.say(
        "Help me build a breakout strategy for SOL. Enter above the 20-day high. Never trade on FOMC days. 2x leverage."
    )

    strategy = given_to(chat, "set_strategy")
    assert strategy["template"] == "trend_breakout"
    assert strategy["entry"] == "Enter above the 20-day high."
    assert strategy["avoid"] == [*SHIPPED["trend_breakout"]["strategy"]["avoid"], "Never trade on FOMC days"]
    assert given_to(chat, "set_risk")["maxLeverage"] == 2


# The intermediate.


def asked_in(text):
    return [area for area in AREAS if f"**{area}**" in text]


def test_a_few_words_answer_the_question_before_them():
    chat = Chat({}, focus=NEW_DRAFT)
    chat.say("Help me build a strategy")

    answers = ["Close above the 20-day high", "Close below the 10-day low", "chop regimes", "5%", "a few days, on 4h"]
    asked = [asked_in(chat.say(answer)) for answer in [*answers, "btc and eth", "2x and 3%"]]

    assert asked == [["Exit"], ["What kills it"], ["Sizing"], ["Horizon"], ["Symbols"], ["Risk"], []]
    assert given_to(chat, "set_strategy") == {
        "mode": "rules",
        "entry": "Close above the 20-day high.",
        "exit": "Close below the 10-day low.",
        "avoid": ["Chop regimes"],
    }
    assert given_to(chat, "set_context") == {"symbols": ["BTC", "ETH"], "barsInterval": "4h"}
    assert given_to(chat, "set_risk") == {"maxPositionPct": 5, "maxLeverage": 2, "dailyLossHaltPct": 3}


def test_entry_that_names_a_market_is_no_order():
    chat = Chat({}, focus=NEW_DRAFT)

    chat.say("Enter when ETH closes above its 20 hour high. Exit when it closes below the 10 hour low.")

    assert given_to(chat, "set_strategy")["entry"] == "Enter when ETH closes above its 20 hour high."
    assert "I cannot place an order" in chat.say("Buy 2 ETH now")


def test_a_question_between_is_answered_and_the_draft_stays():
    market = {"symbol": "BTC", "funding_rate_pct": 0.01}
    chat = Chat({"get_market_overview": {"markets": [market]}}, focus=NEW_DRAFT)
    chat.say(BUILD)

    told = chat.say("what's BTC funding right now?")
    chat.say("Exit when funding is normal again.")

    assert "funding +0.0100%" in told
    assert given_to(chat, "set_strategy")["exit"] == "Exit when funding is normal again."


def test_enough_ends_the_questions():
    chat = Chat({}, focus=NEW_DRAFT)
    chat.say(BUILD)

    assert "keeps the default" in chat.say("use the defaults for the rest")


# The expert.


def test_an_experts_pitch_is_drafted_whole_and_pushed_back_on():
    chat = Chat(REVIEWED, tier="expert", focus=NEW_DRAFT)

    told = chat.say(PITCH)

    assert names(chat) == ["set_strategy", "set_basics", "set_context", "set_risk", "set_schedule", "critique_draft"]
    assert given_to(chat, "set_basics") == {"name": "BTC mean reversion", "tradingStyle": "swing"}
    assert given_to(chat, "set_strategy")["mode"] == "rules"
    assert given_to(chat, "set_risk") == {"maxPositionPct": 5, "maxLeverage": 2, "dailyLossHaltPct": 3}
    assert "Where I push back:" in told
    assert told.index("**error** Conflict") < told.index("**warning** No stop")
    assert "Suggestion: Name a price." in told
    assert "It leaves two things open." in told


def test_an_expert_without_a_pitch_is_asked_for_one():
    chat = Chat(REVIEWED, tier="expert", focus=NEW_DRAFT)

    assert chat.say("help me build a strategy").startswith("Hand me the pitch")
    chat.say(PITCH)

    assert names(chat)[-1] == "critique_draft"


def test_a_change_of_one_thing_is_not_reviewed_again():
    chat = Chat(REVIEWED, tier="expert", focus=NEW_DRAFT)
    chat.say(PITCH)

    chat.say("use 1x leverage")

    assert chat.calls[-1] == ("set_risk", {"maxLeverage": 1})


# Changes.


@pytest.mark.parametrize(
    ("text", "tool", "arguments"),
    [
        ("use 2x leverage", "set_risk", {"maxLeverage": 2}),
        ("Set leverage to 1x", "set_risk", {"maxLeverage": 1}),
        ("add ETH", "set_context", {"symbols": ["BTC", "ETH"]}),
        ("also trade SOL and ETH", "set_context", {"symbols": ["BTC", "SOL", "ETH"]}),
        ("only SOL", "set_context", {"symbols": ["SOL"]}),
        ("check every 15 minutes", "set_schedule", {"type": "interval", "value": "15m"}),
        ("Never trade on weekends", "set_strategy", {"avoid": ["No trade in chop", "Never trade on weekends"]}),
        ("Exit at the 20-bar mean", "set_strategy", {"exit": "Exit at the 20-bar mean."}),
    ],
)
def test_a_draft_is_changed_as_it_stands(text, tool, arguments):
    focus = with_draft(
        strategy={"thesis": "Crowds unwind.", "avoid": ["No trade in chop"]},
        context={"symbols": ["BTC"], "bars_interval": "1h"},
        risk={"max_position_pct": 10, "max_total_exposure_pct": 50, "max_leverage": 3, "daily_loss_halt_pct": 5},
    )

    assert first_calls(text, focus=focus) == [(tool, arguments)]


def test_rules_of_the_draft_are_no_facts_about_the_person():
    focus = with_draft(strategy={"thesis": "Crowds unwind."})

    assert [name for name, _ in first_calls("Never trade on weekends", focus=focus)] == ["set_strategy"]
    assert [name for name, _ in first_calls("Never trade on weekends")] == ["remember"]
    assert [name for name, _ in first_calls("I never trade on weekends", focus=focus)] == ["remember"]


@pytest.mark.parametrize("tier", ["novice", "intermediate", "expert"])
def test_skill_that_is_edited_gets_no_template(tier):
    chat = Chat(REVIEWED, tier=tier, focus=f"- skill: Old\n- skill_id: {SKILL}\n- draft: 1")

    chat.say("Exit at the 20-bar mean, use 2x leverage.")

    assert chat.calls == [("set_strategy", {"exit": "Exit at the 20-bar mean."}), ("set_risk", {"maxLeverage": 2})]


def test_symbols_that_are_not_in_view_are_not_replaced_blindly():
    chat = Chat({}, focus=f"- skill: Old\n- skill_id: {SKILL}\n- draft: 1")

    assert "I see the symbols of this skill once its draft has begun" in chat.say("add ETH")
    assert chat.calls == []


@pytest.mark.parametrize("text", ["review it", "critique the draft", "What do you think of it?", "any holes?"])
def test_a_review_reports_the_findings(text):
    chat = Chat(REVIEWED, focus=NEW_DRAFT)

    told = chat.say(text)

    assert names(chat) == ["critique_draft"]
    assert "**warning** No stop: Nothing ends a loss. Suggestion: Name a price." in told


def test_a_review_without_findings_says_so():
    assert "No finding." in Chat({"critique_draft": {"summary": "Sound.", "findings": []}}, focus=NEW_DRAFT).say(
        "review it"
    )


@pytest.mark.parametrize("text", ["Show me a template", "what templates are there?", "templates"])
def test_templates_are_shown_without_a_tool(text):
    chat = Chat({})

    told = chat.say(text)

    assert all(one["name"] in told for one in SHIPPED.values())
    assert chat.calls == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("use the range fade template", "range_fade"),
        ("start from the trend breakout template", "trend_breakout"),
        ("apply the funding template", "funding_mean_reversion"),
    ],
)
def test_a_named_template_is_applied(text, name):
    assert first_calls(text) == [("set_strategy", {"template": name})]


def test_missing_fields_come_from_the_last_patch():
    chat = Chat({"set_risk": lambda given: written(given, missing=["trading_style"])}, focus=NEW_DRAFT)

    patched = chat.say("use 2x leverage")

    assert "Still missing before it can be saved:\n\n- trading\\_style: is missing" in patched


@pytest.mark.parametrize("text", ["save it", "discard the draft"])
def test_save_and_discard_are_on_the_preview(text):
    chat = Chat({}, focus=NEW_DRAFT)

    assert "on the preview" in chat.say(text)
    assert chat.calls == []


def test_something_safer_than_the_last_begins_with_small_caps():
    chat = Chat({"list_my_skills": {"skills": [skill()], "open_drafts": []}}, focus=NEW_DRAFT)

    told = chat.say("I want something safer than my last one")

    assert chat.calls == [("set_risk", SAFE_CAPS)]
    assert "max leverage: 1" in told
    assert "What do you want to trade" in told


# Refusals.


@pytest.mark.parametrize(
    "error",
    [
        [{"field": "risk.max_leverage", "problem": "is above 100"}],
        [{"argument": "maxLeverage", "problem": "is above 100"}],
        [{"field": "", "problem": "is above 100"}],
        "is above 100",
    ],
)
def test_what_stays_refused_is_explained(error):
    chat = Chat({"set_risk": {"error": error}}, focus=with_draft(strategy={"thesis": "x"}))

    told = chat.say("use 200x leverage")

    assert chat.calls == [("set_risk", {"maxLeverage": 200})]
    assert "is above 100" in told
    assert "Nothing was changed." in told


# What is none.


@pytest.mark.parametrize(("name", "focus"), [("drafts: none begun", ""), ("drafts: none of it", NEW_DRAFT)])
def test_what_is_not_of_a_draft_writes_none(name, focus):
    calls = {text: first_calls(text, focus=focus) for text in SETS[name]}

    assert [text for text, made in calls.items() if any(one.startswith(("set_", "critique")) for one, _ in made)] == []


def test_the_advisor_drafts_nothing():
    assert first_calls(BUILD, tools=ADVISOR) == []


def test_a_refused_field_is_left_out_and_the_rest_tried_once_more():
    def refusing(arguments):
        if "maxLeverage" in arguments:
            return {"error": [{"field": "risk.max_leverage", "problem": "is above 100"}]}
        return written(arguments)

    chat = Chat({"set_risk": refusing}, focus=with_draft(strategy={"thesis": "x"}))

    told = chat.say("use 200x leverage, 5% per position")

    assert chat.calls == [("set_risk", {"maxPositionPct": 5, "maxLeverage": 200}), ("set_risk", {"maxPositionPct": 5})]
    assert "max position (% of equity): 5" in told
    assert "Refused, and not in the draft:\n\n- risk.max\\_leverage: is above 100" in told


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("BTC trend breakout, called Harbour. Enter on a close above the 20-bar high.", "Harbour"),
        ("Exit on a close below the 10-bar low. Call it Slow Boat 2.", "Slow Boat 2"),
        ("An ETH range strategy named “Tide”, 2x leverage", "Tide"),
        ("BTC trend breakout. I was called to a meeting.", "BTC breakout"),
        ("It is called mean reversion. Trade BTC.", "BTC mean reversion"),
    ],
)
def test_pitch_takes_the_name_that_its_author_gives_it(said, name):
    chat = Chat({}, focus=NEW_DRAFT)

    chat.say(said)

    assert given_to(chat, "set_basics")["name"] == name


def test_symbols_in_a_name_are_not_what_is_traded():
    assert read_fields("ETH breakout, called BTC Killer.")["symbols"] == ["ETH"]
