"""The advisor's seven tools, as seed 001 names them."""

from datetime import timedelta

import pytest

from memory.models import FactLink, MemoryEvent, UserFact
from memory.wording import MAX_CONTENT
from tests.chat.tools.talking import NOW, Toolbox, row
from tests.factories.memory import UserFactFactory


@pytest.fixture
def box(as_trader) -> Toolbox:
    """The advisor's tools in a chat where the user has typed a line."""
    return Toolbox(as_trader, "advisor", "I only buy funds, since 2019. Let us change 50 to 55.")


def test_save_is_in_force_at_once_and_said_outright(box):
    result = box.call("save_preference", category="finance_context", content="Only buys funds", detail="Since 2019.")

    fact, event = UserFact.objects.get(), MemoryEvent.objects.get()
    assert result["memoryEvent"] == {"id": str(event.pk), "kind": "save", "before": None, "after": row(fact)}
    assert (result["id"], result["content"]) == (str(fact.pk), "Only buys funds")
    assert "next chat" in result["message"]
    assert (fact.category, fact.body, fact.confidence, fact.score) == (
        "finance_context",
        "Since 2019.",
        "asserted",
        None,
    )


@pytest.mark.limit("memory.wording.MAX_CONTENT")
def test_line_that_is_too_long_is_sent_back_with_a_word_about_the_detail(box):
    refused = box.call("save_preference", category="fact", content="x" * (MAX_CONTENT + 1))

    assert "Put the rest into `detail`" in str(refused["error"])


def test_save_of_the_same_line_changes_nothing(box):
    box.call("save_preference", category="fact", content="Only buys funds")

    result = box.call("save_preference", category="fact", content="only buys funds.")

    assert result["message"] == "It was so already; nothing changed."
    assert "memoryEvent" not in result
    assert UserFact.objects.count() == 1


def test_update_by_words_replaces_the_fact_and_keeps_history(box):
    old = UserFactFactory(content="Retires at 50", category="profile", topic="goal")

    result = box.call(
        "update_preference", id_or_substring="retires AT", new_content="Retires at 55", detail="With wife."
    )

    new = UserFact.objects.current(NOW).get()
    assert (new.content, new.supersedes, new.body) == ("Retires at 55", old, "With wife.")
    assert (new.category, new.topic) == ("profile", "goal")
    assert result["memoryEvent"]["before"] == row(old)
    assert result["memoryEvent"]["after"] == row(new)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("update_preference", {"id_or_substring": "gold", "new_content": "Trades silver"}),
        ("forget_preference", {"id_or_substring": "gold"}),
        ("confirm_preference", {"id_or_substring": "gold"}),
        ("link_preferences", {"from_id": "gold", "to_id": "silver", "relation": "relates_to"}),
        ("link_preferences", {"from_id": "silver", "to_id": "gold", "relation": "relates_to"}),
    ],
)
def test_words_of_several_facts_change_nothing_and_give_the_candidates(box, tool, arguments):
    facts = [UserFactFactory(content=content) for content in ("Trades gold", "Likes gold coins")]
    UserFactFactory(content="Sells silver")

    result = box.call(tool, **arguments)

    assert result["candidates"] == [{"id": str(fact.pk), "fact": fact.content} for fact in facts]
    assert "Which one is meant?" in result["error"]
    assert not MemoryEvent.objects.exists()


def test_confirm_notes_the_affirmation(box):
    fact = UserFactFactory(content="Only buys funds", learned=True)

    result = box.call("confirm_preference", id_or_substring=str(fact.pk))

    fact.refresh_from_db()
    assert fact.last_confirmed_at == NOW
    assert result["memoryEvent"]["kind"] == "confirm"


def test_link_relates_two_facts_once(box):
    one, other = UserFactFactory(content="Trades gold"), UserFactFactory(content="Hates risk")

    result = box.call("link_preferences", from_id=str(one.pk), to_id="hates", relation="contradicts")
    again = box.call("link_preferences", from_id=str(one.pk), to_id="hates", relation="contradicts")

    link = FactLink.objects.get()
    assert (link.from_fact, link.to_fact, link.relation) == (one, other, "contradicts")
    assert result["memoryEvent"]["kind"] == "link"
    assert "memoryEvent" not in again


def test_list_gives_the_live_set_also_what_this_chat_saved(box):
    UserFactFactory(content="Trades gold", category="profile")
    UserFactFactory(content="Traded silver", archived=True)
    UserFactFactory(content="May like tin", learned=True, score=0.4)
    box.call("save_preference", category="fact", content="Only buys funds")

    result = box.call("list_preferences")

    assert {row["content"] for row in result["preferences"]} == {"Trades gold", "May like tin", "Only buys funds"}
    assert (result["total"], result["truncated"]) == (3, False)
    assert [row["content"] for row in box.call("list_preferences", category="profile")["preferences"]] == [
        "Trades gold"
    ]


def test_list_says_when_there_are_more(box, monkeypatch):
    monkeypatch.setattr("chat.tools.facts.LISTED", 2)
    for _ in range(3):
        UserFactFactory()

    result = box.call("list_preferences")

    assert (len(result["preferences"]), result["total"], result["truncated"]) == (2, 3, True)


def test_recall_finds_what_prompts_leave_out_and_says_where_it_is_from(box):
    UserFactFactory(content="May like tin", learned=True, score=0.4)
    UserFactFactory(content="Trades gold", body="Bought tin once, in 2019.")
    UserFactFactory(content="Sold tin", archived=True)
    UserFactFactory(content="Liked tin", valid_until=NOW - timedelta(days=1))

    result = box.call("recall_preferences", query="tin")

    found = {row["content"]: row for row in result["preferences"]}
    assert found.keys() == {"May like tin", "Trades gold"}
    assert (found["May like tin"]["origin"], found["May like tin"]["score"]) == ("inferred", 0.4)
    assert (found["Trades gold"]["origin"], found["Trades gold"]["detail"]) == ("stated", "Bought tin once, in 2019.")
    assert (result["total"], result["truncated"]) == (2, False)
