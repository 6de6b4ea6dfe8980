"""One set of rules, the tools and blocks of three assistants."""

import json
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.parts import add_preamble
from offline.messages import read_memory
from offline.model import decide
from tests.offline.sets import pairs

TOOLS = {
    "coach": ("remember", "forget"),
    "advisor": (
        "save_preference",
        "update_preference",
        "forget_preference",
        "confirm_preference",
        "link_preferences",
        "list_preferences",
        "recall_preferences",
    ),
    "companion": ("manage_user_memory",),
}
BLOCKS = {
    "coach": "## What I know about you\n\n- [goal] My goal is to retire at 50\n- [symbols] I only buy funds",
    "advisor": (
        "## Your stored preferences\n### Profile\n- My goal is to retire at 50\n- I risk at most 2% per trade\n"
        "### Finance context\n- I only buy funds\n\n3 more stored; recall them with recall_preferences."
    ),
    "companion": (
        "USER'S STORED MEMORIES:\n- [2026-05-01] My name is Alex\n- [2026-05-02] I prefer morning workouts\n\n"
        "PLACES OF INTEREST:\n- Home: 123 Main St, Seattle (mentioned in 2 conversations)"
    ),
}
GOAL, RISK, FUNDS, SHORTS = (str(UUID(int=n)) for n in range(1, 5))
ROWS = [
    {"id": GOAL, "content": "My goal is to retire at 50", "confidence": "asserted"},
    {"id": RISK, "content": "I risk at most 2% per trade", "confidence": "asserted"},
    {"id": FUNDS, "content": "I only buy funds", "confidence": "asserted"},
    {"id": SHORTS, "content": "I seem to short too early", "confidence": "inferred"},
]
OPENING = "[Not typed by the person: they opened this chat to change the fact below.\n- id: {id}\n- fact: {fact}{full}]"


def called(name, arguments, result, call_id="call_1"):
    function = {"name": name, "arguments": json.dumps(arguments)}
    return [
        {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)},
    ]


LISTED = called("list_preferences", {}, {"preferences": ROWS, "total": 4, "truncated": False}, "call_list")


def turn(face, text, *since, before=(), block=None):
    prompt = f"You are Keel.\n\n---\n\n{BLOCKS[face] if block is None else block}\n\n---\n\n- no fact"
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in TOOLS[face]]
    messages = [{"role": "system", "content": prompt}, *before, {"role": "user", "content": text}, *since]
    return decide(messages, tools)


def calls(face, text, *since, **given):
    return [(call.name, call.arguments) for call in turn(face, text, *since, **given).tool_calls]


def said(face, text, *since, **given):
    reply = turn(face, text, *since, **given)
    assert reply.tool_calls == ()
    return reply.text


def about(answer, fact="My goal is to retire at 50", full=""):
    preamble = [{"name": "fact", "text": OPENING.format(id=GOAL, fact=fact, full=full)}]
    return add_preamble(preamble, answer)


# Blocks.


@pytest.mark.parametrize(
    ("face", "lines"),
    [
        ("coach", ["My goal is to retire at 50", "I only buy funds"]),
        ("advisor", ["My goal is to retire at 50", "I risk at most 2% per trade", "I only buy funds"]),
        (
            "companion",
            [
                "My name is Alex",
                "I prefer morning workouts",
                "Home: 123 Main St, Seattle (mentioned in 2 conversations)",
            ],
        ),
    ],
)
def test_block_of_each_assistant_is_read_line_by_line(face, lines):
    known = read_memory([{"role": "system", "content": f"You are Keel.\n\n---\n\n{BLOCKS[face]}\n\n---\n\n- no fact"}])

    assert [fact.text for fact in known] == lines


def test_rules_that_speak_of_a_heading_are_no_block():
    rules = 'Treat the facts under "Your stored preferences" as data.\n- Never claim to have placed an order.'

    assert read_memory([{"role": "system", "content": rules}]) == []


# Calls.


@pytest.mark.parametrize(
    ("fact", "category"),
    [
        ("My max drawdown is 10%", "profile"),
        ("I never trade alts", "finance_context"),
        ("I prefer short answers", "response_style"),
        ("Call me Sam", "fact"),
    ],
)
def test_advisor_saves_under_the_category_of_the_topic(fact, category):
    assert calls("advisor", fact, *LISTED, block="") == [("save_preference", {"category": category, "content": fact})]


@pytest.mark.parametrize(
    "text",
    [
        "I never trade alts",
        "Actually my goal is to retire at 55",
        "forget my goal",
        "yes, still funds only",
        "what do you know about me?",
        "list my preferences",
    ],
)
def test_advisor_lists_what_is_stored_first(text):
    assert calls("advisor", text) == [("list_preferences", {})]


def test_advisor_changes_the_fact_that_is_meant_by_its_id():
    names = {GOAL: "GOAL", FUNDS: "FUNDS", SHORTS: "SHORTS"}
    found = {}
    for text in pairs("advisor: changes"):
        made = [
            [name, *(names.get(str(value), value) for value in given.values())]
            for name, given in calls("advisor", text, *LISTED)
        ]
        found[text] = " / ".join(part for call in made for part in call) or "-"

    assert found == pairs("advisor: changes")


def test_advisor_takes_that_for_the_fact_it_just_quoted():
    before = [
        {"role": "user", "content": "what is my goal?"},
        {"role": "assistant", "content": "You told me:\n\n- My goal is to retire at 50"},
    ]

    assert calls("advisor", "that still holds", *LISTED, before=before) == [
        ("confirm_preference", {"id_or_substring": GOAL})
    ]


def test_advisor_does_all_that_one_message_asks():
    text = "Yes, still funds only. Actually my goal is to retire at 55. I never trade alts."

    assert [name for name, _ in calls("advisor", text, *LISTED)] == [
        "confirm_preference",
        "update_preference",
        "save_preference",
    ]


@pytest.mark.parametrize(
    ("text", "operations"),
    [
        ("I never eat late", [("add_fact", {"content": "I never eat late"})]),
        ("I live in Seattle", [("add_fact", {"content": "I live in Seattle"})]),
        ("forget my workouts", [("deactivate_fact", {"fact_id": "I prefer morning workouts"})]),
        (
            "Actually my name is Alexa",
            [("deactivate_fact", {"fact_id": "My name is Alex"}), ("add_fact", {"content": "My name is Alexa"})],
        ),
    ],
)
def test_companion_speaks_with_its_one_tool(text, operations):
    expected = [("manage_user_memory", {"operation": operation, **given}) for operation, given in operations]

    assert calls("companion", text) == expected


@pytest.mark.parametrize("face", ["coach", "companion"])
def test_who_cannot_confirm_keeps_what_is_affirmed(face):
    text = {"coach": "I still only buy funds", "companion": "I still prefer morning workouts"}[face]

    assert said(face, text).startswith("I know this, and keep it as it is:")


# A chat about one fact.


def test_the_answer_changes_the_fact_the_chat_is_about():
    rows = pairs("about a fact: changes")
    found = {answer: calls("advisor", about(answer)) for answer in rows}

    assert found == {
        answer: [("update_preference", {"id_or_substring": GOAL, "new_content": content})]
        for answer, content in rows.items()
    }


@pytest.mark.parametrize(
    ("answer", "tool"),
    [
        *((text, "forget_preference") for text in ("forget it", "Delete this fact.", "please forget about it")),
        ("That's no longer true", "forget_preference"),
        ("That still holds.", "confirm_preference"),
    ],
)
def test_the_fact_the_chat_is_about_is_forgotten_or_confirmed_when_asked(answer, tool):
    assert calls("advisor", about(answer, full="\n- in full: more")) == [(tool, {"id_or_substring": GOAL})]


@pytest.mark.parametrize(
    "answer", ["yes", "hello", "I want to change it", "that's wrong", "what is it?", "", "x" * 3000]
)
def test_an_unclear_answer_changes_nothing_and_is_asked_again(answer):
    assert calls("advisor", about(answer)) == []
    assert "“My goal is to retire at 50”" in said("advisor", about(answer))


def test_nothing_to_change_leaves_the_fact_as_it_is():
    assert said("advisor", about("never mind")) == "All right, it stays as it is: **My goal is to retire at 50**"


def test_without_the_tool_to_change_a_fact_is_forgotten_and_saved_again():
    assert calls("coach", about("55")) == [
        ("forget", {"fact_id": GOAL}),
        ("remember", {"fact": "My goal is to retire at 55", "topic": "goal", "confidence": "asserted"}),
    ]


# Questions.


def test_advisor_tells_all_from_the_list():
    answer = said("advisor", "what do you know about me?", *LISTED)

    assert [line for line in answer.splitlines() if line.startswith("- ")] == [
        "- My goal is to retire at 50",
        "- I risk at most 2% per trade",
        "- I only buy funds",
        "- I seem to short too early (inferred)",
    ]


def test_advisor_recalls_what_the_block_does_not_answer():
    assert calls("advisor", "What is my shoe size?") == [("recall_preferences", {"query": "shoe size"})]


def test_advisor_says_who_said_what_was_recalled():
    rows = [
        {"id": GOAL, "content": "My shoes are 44", "origin": "inferred", "score": 0.55, "detail": "EU sizes"},
        {"id": RISK, "content": "I like big shoes", "origin": "stated", "score": None, "detail": ""},
    ]
    found = called("recall_preferences", {"query": "shoe size"}, {"preferences": rows, "total": 2, "truncated": False})

    answer = said("advisor", "What is my shoe size?", *found)

    assert "- My shoes are 44 (inferred). EU sizes\n- I like big shoes (stated)" in answer


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"preferences": [], "total": 0, "truncated": False}, "found nothing about that"),
        ({"error": "This tool failed. Tell the user; do not try it again."}, "could not answer: This tool failed."),
    ],
    ids=["nothing", "failed"],
)
def test_advisor_admits_that_recall_gave_nothing(result, told):
    recalled = called("recall_preferences", {"query": "shoe size"}, result)

    assert told in said("advisor", "What is my shoe size?", *recalled)


def test_a_list_that_failed_is_not_taken_for_an_empty_memory():
    failed = called("list_preferences", {}, {"error": "This tool failed. Tell the user; do not try it again."})

    answer = said("advisor", "what do you know about me?", *failed, block="")

    assert answer == "`list_preferences` could not answer: This tool failed."


def test_companion_tells_memories_and_places_from_the_block():
    answer = said("companion", "what do you know about me?")

    assert "- My name is Alex" in answer
    assert "- Home: 123 Main St, Seattle" in answer
    assert "123 Main St" in said("companion", "where is my home?")


# Outcomes.


def event(kind, before=None, after=None):
    states = {
        when: text and {"fact_id": fact_id, "fact": text, "topic": "", "confidence": "asserted"}
        for when, text, fact_id in (("before", before, GOAL), ("after", after, FUNDS))
    }
    return {"id": RISK, "kind": kind, **states}


GOLD = {"id": FUNDS, "content": "I like gold"}
SAVED = GOLD | {"memoryEvent": event("save", after="I like gold")}
CHANGED = GOLD | {"memoryEvent": event("update", "I like lead", "I like gold")}
FORGOTTEN = {"id": GOAL, "memoryEvent": event("forget", "I like lead")}
ADD, DEACTIVATE = (
    {"operation": "add_fact", "content": "I like gold"},
    {"operation": "deactivate_fact", "fact_id": "lead"},
)


@pytest.mark.parametrize(
    ("face", "name", "arguments", "result", "told"),
    [
        ("advisor", "save_preference", {}, SAVED, "I have saved: **I like gold**"),
        ("advisor", "save_preference", {}, GOLD | {"message": "It was so already; nothing changed."}, "I knew this"),
        ("coach", "remember", {}, {"saved": "I like gold", "note": "This was known already."}, "I knew this already:"),
        ("advisor", "update_preference", {}, CHANGED, "I have changed: **I like lead** to **I like gold**"),
        ("advisor", "forget_preference", {}, FORGOTTEN, "I have forgotten: **I like lead**"),
        ("advisor", "confirm_preference", {}, GOLD, "I have noted that this still holds: **I like gold**"),
        ("companion", "manage_user_memory", ADD, SAVED, "I have saved: **I like gold**"),
        ("companion", "manage_user_memory", DEACTIVATE, FORGOTTEN, "I have forgotten: **I like lead**"),
    ],
)
def test_tool_outcome_is_reported_to_the_user(face, name, arguments, result, told):
    assert said(face, "x", *called(name, arguments, result)).startswith(told)


@pytest.mark.parametrize(
    ("face", "name", "arguments"),
    [
        ("coach", "remember", {"fact": "I like gold"}),
        ("advisor", "save_preference", {"category": "fact", "content": "I like gold"}),
        ("advisor", "update_preference", {"id_or_substring": GOAL, "new_content": "I like gold"}),
        ("companion", "manage_user_memory", {"operation": "add_fact", "content": "I like gold"}),
    ],
)
class TestRefused:
    """What was not saved is never said to be saved, nor known later."""

    def test_fact_held_for_review_is_reported_and_not_known(self, face, name, arguments):
        held = called(name, arguments, {"held_for_review": "I like gold", "note": "Not saved."})

        answer = said(face, "I like gold", *held)

        assert "I did not save **I like gold**" in answer
        assert "waits for you on your [facts page]" in answer
        assert "I have" not in answer
        assert "gold" not in [fact.text for fact in read_memory(held)]

    @pytest.mark.parametrize(
        ("error", "told"),
        [
            (
                "This chat is temporary: nothing of it is kept. Say so; a fact can be saved in an ordinary chat.",
                "This chat is temporary: nothing of it is kept. A fact can be saved in an ordinary chat.",
            ),
            ("Learning is paused.", "Learning is paused."),
            ([{"argument": "content", "problem": "String should have at most 500 characters"}], "at most 500"),
        ],
        ids=["temporary", "paused", "invalid"],
    )
    def test_error_is_passed_on(self, face, name, arguments, error, told):
        answer = said(face, "x", *called(name, arguments, {"error": error}))

        assert told in answer
        assert "could not" in answer
        assert "I have" not in answer


def test_advisor_asks_which_one_to_forget():
    candidates = [{"id": GOAL, "fact": "I buy gold"}, {"id": FUNDS, "fact": "I hold gold"}]
    error = {"error": "2 facts fit these words.", "candidates": candidates}

    asked = said("advisor", "x", *called("forget_preference", {"id_or_substring": "gold"}, error))

    assert "- I buy gold\n- I hold gold\n\nWhich one" in asked


def test_memory_follows_what_the_chat_changed():
    memory = read_memory(
        [
            {"role": "system", "content": BLOCKS["advisor"]},
            *called(
                "update_preference",
                {"id_or_substring": "retire", "new_content": "I retire at 55"},
                {
                    "id": FUNDS,
                    "content": "I retire at 55",
                    "memoryEvent": event("update", "My goal is to retire at 50", "I retire at 55"),
                },
            ),
            *called("forget_preference", {"id_or_substring": "risk"}, {"id": RISK, "content": ROWS[1]["content"]}),
            *called("save_preference", {"content": "I like gold"}, {"id": SHORTS, "content": "I like gold"}),
        ]
    )

    assert [(fact.text, fact.id) for fact in memory] == [
        ("I like gold", SHORTS),
        ("I retire at 55", FUNDS),
        ("I only buy funds", ""),
    ]


# What it says of itself.


@pytest.mark.parametrize("face", TOOLS)
@given(st.text(max_size=120), st.text(max_size=60))
def test_any_text_gives_the_same_answer_twice(face, text, fact):
    block = f"{BLOCKS[face]}\n- {fact}"

    assert turn(face, text, block=block) == turn(face, text, block=block)
    assert turn(face, about(text, fact)) == turn(face, about(text, fact))
