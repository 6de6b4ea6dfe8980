"""Review a draft by rules, then by a model (seed 003).

The model gets the draft as data; its answer is data too, bounded and checked. If the answer fails, the findings of the
rules remain. Call it outside of any transaction.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from django.conf import settings
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from config.lib.figures import format_count
from config.lib.llm import door
from config.lib.llm.door import LLMUnavailable
from config.lib.text import normal_form, prompt_line
from trading.agent.prompts import CRITIQUE, critique_request
from trading.skills.lint import DraftFinding, Severity, lint_draft, sort_by_weight
from trading.skills.services import list_save_problems

logger = logging.getLogger(__name__)

MAX_FINDINGS: Final = 12
MAX_ANSWER: Final = 40_000  # characters of an answer; a longer one is ignored
ANSWER_TOKENS: Final = 1_500
ANSWER_SECONDS: Final = 90.0
MAX_TITLE, MAX_TEXT = 120, 600  # characters stored
MAX_GIVEN: Final = 100  # findings in one answer; more make it unreadable


@dataclass(frozen=True, slots=True)
class Critique:
    summary: str
    findings: list[DraftFinding]  # heaviest first, at most MAX_FINDINGS


def critique_draft(payload: Mapping[str, object], tier: str | None) -> Critique:
    """Review a draft by rules and, if it answers, a model; outside of event loops and transactions."""
    problems = [f"{error.field}: {error.problem}".removeprefix(": ") for error in list_save_problems(payload)]
    missing = _cut_text(prompt_line("; ".join(problems)), MAX_TEXT)
    unsaved = [DraftFinding(Severity.ERROR, "It cannot be saved yet", missing)] if missing else []
    cost = warn_of_cost(payload)
    costly = [DraftFinding(Severity.WARNING, "A lot of tokens", f"It takes {cost}")] if cost else []
    found = sort_by_weight([*unsaved, *lint_draft(payload), *costly])
    found = [finding for finding in found if not (finding.is_basic and tier == "expert")]
    try:
        answer = door.run(_ask_model(payload, tier, found))
    except (LLMUnavailable, TimeoutError) as problem:
        logger.info("No critique by a model: %s", type(problem).__name__)
        return _critique_by_rules(found, "the reviewing model did not answer")
    read = _parse_answer(answer)
    if read is None:
        return _critique_by_rules(found, "the reviewing model's answer could not be read")
    given = [DraftFinding(**finding.model_dump(exclude_none=True)) for finding in read.findings]
    # Of both that have one title, the wording of the rules wins.
    by_title = {normal_form(finding.title): finding for finding in [*given, *found]}
    ordered = [by_title[normal_form(finding.title)] for finding in [*found, *given]]
    return Critique(read.summary, sort_by_weight(dict.fromkeys(ordered))[:MAX_FINDINGS])


def list_warnings(payload: Mapping[str, object]) -> list[str]:
    """Return a draft's warnings: by rules, and by daily cost."""
    findings = [finding for finding in lint_draft(payload) if finding.severity != Severity.INFO]
    cost = [f"It takes {cost}"] if (cost := warn_of_cost(payload)) else []
    return [*(f"{finding.title}. {finding.detail}" for finding in findings), *cost]


def warn_of_cost(payload: Mapping[str, object]) -> str:
    """Return what a day of a costly draft takes, as the end of a sentence; empty for others."""
    from trading.agent.cost import find_sample_cost  # noqa: PLC0415 - takes 0.15 s, and most chats draft nothing

    cost = find_sample_cost(payload)
    if cost is None or not cost.is_costly:
        return ""
    tokens, limit = format_count(cost.tokens_per_day), format_count(settings.AGENT_DAILY_PROMPT_TOKENS_WARNING)
    return f"about {tokens} tokens of prompt a day, above {limit}. Fewer decisions, symbols or bars save most."


def _critique_by_rules(found: Sequence[DraftFinding], why: str) -> Critique:
    said = format_count(len(found), "finding") if found else "nothing to say against it"
    return Critique(f"Checked by rules alone, since {why}: {said}.", list(found[:MAX_FINDINGS]))


async def _ask_model(payload: Mapping[str, object], tier: str | None, found: Sequence[DraftFinding]) -> str:
    draft = json.dumps(payload, ensure_ascii=False)
    request = critique_request(draft, tier=tier, known=[finding.title for finding in found])
    messages = [{"role": "system", "content": CRITIQUE}, {"role": "user", "content": request}]
    async with asyncio.timeout(ANSWER_SECONDS):
        answer = await door.complete(messages, models=[settings.CHAT_CRITIQUE_MODEL], max_tokens=ANSWER_TOKENS)
    return answer.text


def _clean_line(text: str) -> str:
    if "\0" in text:
        raise ValueError("NUL stands in no sentence")
    line = prompt_line(text)
    if not any(map(str.isalnum, line)):
        raise ValueError("says nothing")
    return line


def _cut_text(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


_Text = Annotated[str, AfterValidator(_clean_line), AfterValidator(lambda text: _cut_text(text, MAX_TEXT))]
_Title = Annotated[
    str, AfterValidator(_clean_line), AfterValidator(lambda text: _cut_text(text.rstrip("."), MAX_TITLE))
]
_Severity = Annotated[
    Severity, BeforeValidator(lambda value: value.strip().lower() if isinstance(value, str) else value)
]


class _AnswerFinding(BaseModel):
    """A finding in a model's answer; extra fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=False)

    severity: _Severity
    title: _Title
    detail: _Text
    suggestion: _Text | None = None


class _Answer(BaseModel):
    summary: _Text
    findings: list[_AnswerFinding] = Field(max_length=MAX_GIVEN)


def _parse_answer(answer: str) -> _Answer | None:
    start, end = answer.find("{"), answer.rfind("}")
    if len(answer) > MAX_ANSWER or start < 0 or end < start:
        return None
    try:
        return _Answer.model_validate_json(answer[start : end + 1])
    except (ValidationError, UnicodeError) as error:
        logger.info("A critique could not be read: %s", type(error).__name__)
        return None
