"""Parse and bound the lessons of a model's answer; pure."""

from typing import Final

from config.lib.llm.tokens import count_tokens
from config.lib.text import prompt_line
from trading.models.trades import MAX_LESSONS
from trading.reviews.lint import BULLET_MARK

MAX_LESSON_TOKENS: Final = 300  # seed 002
MAX_READ: Final = 20_000  # characters of an answer that are looked at
MAX_BULLETS: Final = 100
MAX_BULLET: Final = 400  # characters


def parse_lessons(answer: str, *, is_torn: bool = False) -> str:
    """Return an answer's bullets, or its lines, as `- ` lines, cut to the limits between bullets.

    `is_torn`: the answer broke off, so that its last bullet may lack its end.
    """
    bullets = list(dict.fromkeys(map(_clean_bullet, _split_bullets(answer[:MAX_READ])[:MAX_BULLETS])))
    bullets = [bullet for bullet in bullets if any(map(str.isalnum, bullet))]
    if (is_torn or len(answer) > MAX_READ) and len(bullets) > 1:
        bullets.pop()
    kept: list[str] = []
    for bullet in bullets:
        text = "\n".join([*kept, f"- {bullet}"])
        if len(text) > MAX_LESSONS or count_tokens(text) > MAX_LESSON_TOKENS:
            break
        kept.append(f"- {bullet}")
    return "\n".join(kept)


def _split_bullets(answer: str) -> list[str]:
    """Return the bullets as written; join wrapped lines."""
    bullets: list[str] = []
    prose: list[str] = []
    is_open = False  # an indented line goes on with the bullet above it
    for line in answer.splitlines():
        text = line.strip()
        mark = BULLET_MARK.match(text)
        if mark:
            bullets.append(text[mark.end() :])
        elif text and is_open and line[0].isspace():
            bullets[-1] += f" {text}"
            continue
        elif text and not text.startswith("#") and not text.endswith(":"):
            prose.append(text)
        is_open = mark is not None
    return bullets or prose


def _clean_bullet(text: str) -> str:
    line = prompt_line(text.replace("**", "").replace("__", ""))
    if len(line) <= MAX_BULLET and count_tokens(line) < MAX_LESSON_TOKENS:
        return line
    # A character is four tokens at most.
    return f"{line[: MAX_BULLET if line.isascii() else MAX_LESSON_TOKENS // 4 - 1]}…"
