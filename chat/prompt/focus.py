"""What Keel writes before the user's words: the time, the focus and facts. `chat.parts` describes the stored form.

A preamble is stored with the reply that it was sent for, so that later prompts and receipts repeat it byte for byte,
while a retry of the message has the time of the retry. The focus of a chat is what its user looks at, such as a
deployment, a draft or a trade (seed 003): `opening_context` names it by the keys of a subject below, beside the `mode`.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from chat.parts import Json, Preamble
from chat.prompt.texts import RECALLED, about_fact, clock_text
from config.lib.errors import DomainError
from config.lib.figures import format_minute, format_price, format_signed_usd
from config.lib.text import prompt_line
from memory.facts.versions import get_last_version
from memory.models import UserFact
from trading.ledger.services import get_deployment
from trading.market.queries import get_event
from trading.models import BacktestRun, BrokerKind, Deployment, Skill, SkillDraft, Trade
from trading.record.backtests import get_backtest
from trading.record.trade_queries import get_trade, list_open
from trading.skills.queries import find_open_draft, get_skill, get_version

HEADING: Final = "## In focus"
DELETED: Final = f"{HEADING}\n- nothing: it was deleted"
_WRITTEN: Final = ("strategy", "context", "risk", "schedule")  # blocks of a draft that are included verbatim
MAX_DRAFT: Final = 6_000  # characters of a draft
Opening = Mapping[str, Any]  # Conversation.opening_context
Lines = list[tuple[str, str]]  # labels and texts


@dataclass(frozen=True, slots=True)
class _Subject:
    """A subject of focus: how to find its row, and what to say of it."""

    keys: tuple[str, ...]  # in the opening
    find: Callable[[Opening], Any]  # raises a DomainError for what is not there
    name: Callable[[Any], str]  # for the user
    describe: Callable[[Any], Lines]  # for the model
    is_untrusted: Callable[[Any], bool] = lambda row: False  # whether others wrote words of the description


def build_preamble(opening: Opening, *, about: UserFact | None, now: datetime) -> list[Json]:
    """Return the preamble of a turn, without recalled facts; `about` is the fact that the user opened it to change."""
    parts: list[Json] = [{"name": "clock", "text": clock_text(now)}]
    if focus := build_focus(opening):
        parts.append(focus)
    if about is not None:
        told, _, fact = about_fact(fact_id=about.pk, content=about.content, body=about.body).partition("\n")
        parts.append({"name": "fact", "text": told, "facts": [{"id": str(about.pk), "text": fact}]})
    return parts


def build_recall(recalled: Iterable[tuple[UUID, str]]) -> list[Json]:
    """Return the part of a preamble with the facts that a message concerns; empty without one."""
    facts = [{"id": str(fact_id), "text": line} for fact_id, line in recalled]
    return [{"name": "recall", "text": RECALLED, "facts": facts}] if facts else []


def find_focus(preamble: Preamble) -> str:
    """Return the focus in a preamble; empty without one."""
    return next((str(part["text"]) for part in preamble if part["name"] == "focus"), "")


def list_fact_ids(preamble: Preamble) -> list[UUID]:
    """Return the ids of the facts in a preamble."""
    return [UUID(fact["id"]) for part in preamble for fact in part.get("facts", ())]


def drop_known_focus(preamble: Preamble, known: str) -> list[Json]:
    """Return a preamble without a focus that the prompt has."""
    return [part for part in preamble if part["name"] != "focus" or part["text"] != known]


def build_focus(opening: Opening) -> Json | None:
    """Return the focus of a turn as a part of its preamble, or None."""
    subject = _find_subject(opening)
    if subject is None:
        return None
    try:
        row = subject.find(opening)
    except DomainError:
        return {"name": "focus", "text": DELETED}
    lines = [f"- {label}: {prompt_line(text)}" for label, text in subject.describe(row)]
    # The words of a fact are apart, so that they can be erased.
    facts = {"facts": [{"id": str(row.pk), "text": lines.pop()}]} if isinstance(row, UserFact) else {}
    return {"name": "focus", "text": "\n".join([HEADING, *lines]), **facts}


def is_focus_untrusted(opening: Opening) -> bool:
    """Tell whether a model wrote words of the focus with text of others in view, or others wrote them."""
    subject = _find_subject(opening)
    try:
        return subject is not None and subject.is_untrusted(subject.find(opening))
    except DomainError:
        return False


def subject_of(opening: Opening) -> str:
    """Return a chat's subject for its user."""
    subject = _find_subject(opening)
    try:
        return "" if subject is None else subject.name(subject.find(opening))
    except DomainError:
        return ""


def check_opening(opening: Opening) -> None:
    """Check that the focus is there, and the owner's. Raises a DomainError."""
    subject = _find_subject(opening)
    if subject is not None:
        subject.find(opening)


def fits_mode(mode: str, keys: Collection[str]) -> bool:
    """Tell whether a chat of a mode can be about what these keys of an opening name."""
    ordinary = [(), *(subject.keys for subject in _SUBJECTS if subject is not _DEPLOYMENT)]
    allowed = {"coach": [_DEPLOYMENT.keys], "authoring": [(), ("skill_id",)]}.get(mode, ordinary)
    return {*keys} in map(set, allowed)


def can_refocus(current: Opening, wanted: Opening) -> bool:
    """Tell whether a chat can turn to what its user looks at now, and is not about it already."""
    is_bound = "authoring" in (current.get("mode"), wanted.get("mode")) or "fact_id" in current
    return not is_bound and {**current, "mode": ""} != {**wanted, "mode": ""}


def _find_subject(opening: Opening) -> _Subject | None:
    if opening.get("mode") == "authoring":
        return _DRAFT
    return next((subject for subject in _SUBJECTS if all(key in opening for key in subject.keys)), None)


def _find_draft(opening: Opening) -> tuple[Skill | None, SkillDraft | None]:
    skill_id = UUID(opening["skill_id"]) if "skill_id" in opening else None
    return get_skill(skill_id) if skill_id else None, find_open_draft(skill_id)


def _describe_deployment(deployment: Deployment) -> Lines:
    held = ", ".join(f"{trade.symbol} {trade.side}" for trade in list_open(deployment.pk)) or "none"
    return [
        ("deployment_id", str(deployment.pk)),
        *_name_skill(deployment.skill),
        ("version", f"{deployment.version.version}, newest {deployment.skill.latest_version}"),
        ("status", deployment.status),
        ("runs on", deployment.broker_kind),
        ("open positions", held),
    ]


def _describe_draft(found: tuple[Skill | None, SkillDraft | None]) -> Lines:
    skill, draft = found
    known = _name_skill(skill) if skill else [("skill", "a new one")]
    if draft is None:
        return [*known, ("draft", "not begun; the first `set_*` call begins it")]
    blocks = {name: draft.payload[name] for name in _WRITTEN if draft.payload.get(name)}
    written = json.dumps(blocks, ensure_ascii=False, sort_keys=True)[:MAX_DRAFT]
    return [*known, ("draft", str(draft)), ("draft, as it stands (data)", written)]


def _name_skill(skill: Skill) -> Lines:
    return [("skill", skill.name), ("skill_id", str(skill.pk))]


def _describe_trade(trade: Trade) -> Lines:
    ended = ""
    if trade.exit_at is not None and trade.exit_price is not None:
        ended = f"left {format_minute(trade.exit_at)} UTC at {format_price(trade.exit_price)}, "
    told = (
        f"{trade.symbol} {trade.side}, {trade.status}, entered {format_minute(trade.entry_at)} UTC at"
        f" {format_price(trade.entry_price)}, {ended}net {format_signed_usd(trade.realized_pnl_usd)}"
    )
    # A look-up does not list the deployment of a backtest.
    is_listed = trade.deployment.broker_kind != BrokerKind.BACKTEST
    place = [("deployment_id", str(trade.deployment_id))] if is_listed else []
    return [("trade", told), ("trade_id", str(trade.pk)), *place]


def _describe_backtest(run: BacktestRun) -> Lines:
    skill, version = run.deployment.skill, run.deployment.version.version
    told = f"{skill.name} version {version}, {run.starts_at:%Y-%m-%d} to {run.ends_at:%Y-%m-%d}, {run.status}"
    return [("backtest", told), ("backtest_id", str(run.pk)), ("skill_id", str(skill.pk))]


_DRAFT: Final = _Subject(
    keys=(),
    find=_find_draft,
    name=lambda found: f"Editing {found[0].name}" if found[0] else "A new skill",
    describe=_describe_draft,
    is_untrusted=lambda found: any(row is not None and row.is_untrusted for row in found),
)
_DEPLOYMENT: Final = _Subject(
    keys=("deployment_id",),
    find=lambda opening: get_deployment(UUID(opening["deployment_id"])),
    name=lambda deployment: f"About {deployment.skill.name}",
    describe=_describe_deployment,
    is_untrusted=lambda deployment: deployment.skill.is_untrusted,
)
_SUBJECTS: Final = (
    _DEPLOYMENT,
    _Subject(
        keys=("trade_id",),
        find=lambda opening: get_trade(UUID(opening["trade_id"])),
        name=lambda trade: f"About a trade: {trade.symbol} {trade.side}",
        describe=_describe_trade,
    ),
    _Subject(
        keys=("backtest_id",),
        find=lambda opening: get_backtest(UUID(opening["backtest_id"])),
        name=lambda run: f"About a backtest of {run.deployment.skill.name}",
        describe=_describe_backtest,
        is_untrusted=lambda run: run.deployment.skill.is_untrusted,
    ),
    _Subject(
        keys=("event_id",),
        find=lambda opening: get_event(int(opening["event_id"])),
        name=lambda event: f"About {event.title}",
        describe=lambda event: [("event", f"{event.kind}, {event.title}, {format_minute(event.starts_at)} UTC")],
        is_untrusted=lambda event: True,  # its title comes from a calendar's file
    ),
    _Subject(
        keys=("skill_id", "version"),
        find=lambda opening: get_version(UUID(opening["skill_id"]), int(opening["version"])),
        name=lambda version: f"About {version.skill.name}, version {version.version}",
        describe=lambda version: [*_name_skill(version.skill), ("version", str(version.version))],
        is_untrusted=lambda version: version.skill.is_untrusted,
    ),
    _Subject(
        keys=("about_fact_id",),
        find=lambda opening: get_last_version(UUID(opening["about_fact_id"])),
        name=lambda fact: f"About “{fact.content}”",
        describe=lambda fact: [("fact_id", str(fact.pk)), ("fact", fact.content)],
    ),
)
