"""Report the patches of a draft."""

import re
from collections.abc import Sequence
from typing import Final

from chat.tools.drafts import SET_SCHEDULE
from config.lib.text import one_line
from config.offline.facts import Call, Outcome
from config.offline.figures import Row, escape, listing, paragraphs, plain, rows
from trading.skills.templates import TEMPLATES

_PREVIEW = re.compile(r"/skills/[\w/-]{1,60}")
_SAVE: Final = "You see it on the [preview]({}). Save is on the preview, not here: it becomes a version by your click."


def report_patches(done: Sequence[tuple[Call, Outcome]], *notes: str) -> str:
    """Describe written, refused and missing fields, with notes, and say where Save is."""
    written = [(call, outcome.as_row) for call, outcome in done if not outcome.error]
    failed = [(call, outcome) for call, outcome in done if outcome.error]
    refused = [
        line for call, one in failed for line in _list_problems(one.as_row, "error") or [f"`{call.name}`: {one.error}"]
    ]
    last = written[-1][1] if written else {}
    parts = {
        "I wrote this into the draft:": [line for call, _ in written for line in _format_written(call)],
        "Refused, and not in the draft:": refused,
        "Still missing before it can be saved:": _list_problems(last, "still_missing"),
        "Warnings:": [escape(str(one)) for one in last.get("warnings") or ()][:8],
    }
    told = [f"{head}\n\n{listing(lines)}" for head, lines in parts.items() if lines]
    urls = [url for _, row in written if _PREVIEW.fullmatch(url := str(row.get("url")))]
    return paragraphs(*told, "" if written else "Nothing was changed.", *notes, tell_save(urls))


def tell_save(urls: Sequence[str]) -> str:
    """Say where Save is."""
    return _SAVE.format(urls[-1] if urls else "/skills/new/")


def tell_missing(row: Row) -> str:
    """Say what keeps a draft from being saved, by its last patch."""
    problems = _list_problems(row, "still_missing")
    return f"Before it can be saved:\n\n{listing(problems)}" if problems else f"Nothing is missing. {tell_save([])}"


def _format_written(call: Call) -> list[str]:
    if call.name == SET_SCHEDULE.name:
        often = "daily at" if call.arguments.get("type") == "daily" else "every"
        return [f"schedule: {often} {escape(str(call.arguments.get('value')))}"]
    lines = []
    for name, value in call.arguments.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower().replace(" pct", " (% of equity)")
        text = one_line("; ".join(map(str, value)) if isinstance(value, list) else str(value))
        text = text.replace("_", " ") if re.fullmatch(r"[a-z_]{1,20}", text) else text
        title = TEMPLATES.get(str(value), {}).get("name", "") if name == "template" else ""
        lines.append(f"{words}: {title or escape(text)}")
    return lines


def _list_problems(found: Row, key: str) -> list[str]:
    told = rows(found, key)[:12]
    return [f"{plain(one, 'field') or plain(one, 'argument') or 'the draft'}: {plain(one, 'problem')}" for one in told]
