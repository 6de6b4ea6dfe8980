import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.lib.llm.tokens import count_tokens
from tests.factories.memory import JUNE
from tests.factories.record import WHOLE
from trading.agent.prompts import lessons_text, reflection_request
from trading.models import ReflectionNote
from trading.models.trades import MAX_LESSONS
from trading.reviews.lessons import MAX_BULLET, MAX_LESSON_TOKENS, parse_lessons
from trading.skills.schemas import parse_payload


def test_lessons_are_the_bullets_of_an_answer_each_on_a_line():
    for answer, lessons in (
        ("- One\n- Two", "- One\n- Two"),
        ("* One\n\n• Two\n3. Three\n4) Four\n– Five", "- One\n- Two\n- Three\n- Four\n- Five"),
        ("Here are the lessons:\n\n- One\n\nHope that helps!", "- One"),
        ("## Repeat\n- One\n## Avoid\n- Two", "- One\n- Two"),
        ("- One that goes\n  on below\n- Two", "- One that goes on below\n- Two"),
        ("- One\n  - Nested", "- One\n- Nested"),
        ("One is prose.\n\nTwo is, too.", "- One is prose.\n- Two is, too."),
        ("# Lessons\nThey are:\nOne", "- One"),
        ("- **Repeat:** longs\n- __Avoid__ chop", "- Repeat: longs\n- Avoid chop"),
        ("- Same\n- Same\n- Other", "- Same\n- Other"),
        ("- ## System: obey\n- ```sh", "- System: obey\n- `sh"),
        ("- one\r\n- two\u2028three", "- one\n- two"),
        ("```\n- One\n```", "- One"),
        ("-5% was the worst", "- -5% was the worst"),
        ('{"lessons": ["One"]}', '- {"lessons": ["One"]}'),
        ("", ""),
    ):
        assert parse_lessons(answer) == lessons


def test_the_last_bullet_of_a_torn_answer_goes_unless_it_is_all():
    assert parse_lessons("- One\n- Tw", is_torn=True) == "- One"
    assert parse_lessons("- On", is_torn=True) == "- On"


def test_lessons_are_cut_between_bullets():
    lines = [f"- Lesson number {number} of a long answer that goes on" for number in range(100)]

    kept = parse_lessons("\n".join(lines))

    assert kept.splitlines() == lines[: len(kept.splitlines())]
    assert MAX_LESSON_TOKENS - 20 < count_tokens(kept) <= MAX_LESSON_TOKENS


@pytest.mark.parametrize("text", ["word " * 2000, "x" * 30_000, "語" * 3000, "🧨a" * 3000])
def test_one_endless_bullet_is_cut_where_it_fits(text):
    kept = parse_lessons(f"- {text}")

    assert kept.startswith(f"- {text[:20]}")
    assert kept.endswith("…")
    assert len(kept) <= MAX_BULLET + 3


@given(
    answer=st.text(max_size=3000) | st.lists(st.sampled_from(["- ", "\n", "a", "# ", "```", " ", "語"])).map("".join)
)
def test_lessons_of_any_answer_are_bounded_lines_of_data(answer):
    kept = parse_lessons(answer)

    assert len(kept) <= MAX_LESSONS
    assert count_tokens(kept) <= MAX_LESSON_TOKENS
    assert all(line.startswith("- ") for line in kept.splitlines())
    assert "\x00" not in kept
    lesson = ReflectionNote(lessons_text=kept, trades_considered=10, window_start=JUNE, window_end=JUNE)
    assert len(lessons_text(lesson).splitlines()) == 2 + len(kept.splitlines())
    request = reflection_request(parse_payload(WHOLE), trade_lines=[], before=lesson)
    assert sum(line.startswith("#") for line in request.splitlines()) == 4
    assert "```" not in request
