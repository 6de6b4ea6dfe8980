"""Facts and places as the planner sees them, and what hostile text they may hold."""

from uuid import UUID

from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memory.models import Place, UserFact
from memory.recall.blocks import MemoryBlock
from memory.wording import MAX_CONTENT, MAX_TOPIC
from tests.factories.memory import JUNE


def block_fact(
    number: int = 0, line: str | None = None, *, is_inferred: bool = False, affirmed_at=JUNE, **values
) -> UserFact:
    """Make a fact whose id is the number."""
    given = {
        "content": f"Fact number {number}" if line is None else line,
        "learned_at": JUNE,
        "created_at": JUNE,
        "score": None,
        **values,
    }
    return UserFact(
        id=UUID(int=number), confidence="inferred" if is_inferred else "asserted", valid_from=affirmed_at, **given
    )


def block_place(name: str = "Home", notes: str = "", conversations: int = 1) -> Place:
    """Make a place."""
    place = Place(id=UUID(int=1), name=name, notes=notes)
    place.conversations = conversations
    return place


def numbers(block: MemoryBlock) -> list[int]:
    """Return the numbers of the facts in a block, in order."""
    return [fact_id.int for fact_id in block.fact_ids]


MARKS = [
    *("# ", "## ", "#", "```", "~~~", "---", "===", "***", "___", "`", "> ", "<!--", "<h1>", "]", "[risk] ", "- ", "x"),
    *("\n", "\r", "\u2028", "\x85", "\x0b", "\t", "\0", " ", "\u200b", "\u202e", "\ufeff", "\uff03 ", "\uff40" * 3),
    *("-", "+ ", "1. ", ":", "\n### Profile\n", "\n\nPLACES OF INTEREST:\n- ", "(mentioned in 9 conversations)"),
]
HOSTILE = st.lists(st.sampled_from(MARKS) | st.text(st.characters(), max_size=6), max_size=20).map("".join)
LINES = HOSTILE.map(lambda text: text[:MAX_CONTENT])
TOPICS = HOSTILE.map(lambda text: text[:MAX_TOPIC])
FACTS = st.lists(st.builds(lambda line, topic: {"line": line, "topic": topic}, LINES, TOPICS), max_size=4)


def assert_opens_nothing(text: str, headings: list[str], lists: int) -> None:
    """Check that a block has these headings and flat lists and nothing else that a reader of Markdown could see."""
    assert all(char == "\n" or char.isprintable() for char in text)
    assert "```" not in text
    assert "~~~" not in text
    tokens = MarkdownIt("commonmark", {"html": False}).parse(text)
    assert [token.tag for token in tokens if token.type == "heading_open"] == headings
    assert not [token for token in tokens if token.type in {"fence", "code_block", "hr"}]
    assert len([token for token in tokens if token.type == "bullet_list_open" and not token.level]) == lists
