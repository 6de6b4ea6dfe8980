"""Everything of a user as one zip of JSON files, written while it is read.

Each file is the array of one table's rows; memory has a file that Keel can import. Rows are read in batches, in doors
of their own, so that neither memory nor a transaction grows with the account.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from django.apps import apps
from django.contrib.auth import get_user_model

from config.lib.fields import Columns, SearchTermsField, describe_columns, dump_row, list_columns
from config.lib.owned import OwnedModel, owned
from config.lib.proofs import Proof, require_sign_in
from config.lib.text import make_slug
from memory.transfer import archive

MEMORY_FILE: Final = "memory.json"
_BATCH: Final = 100
_PART: Final = 64 * 1024  # bytes
# Not exported: tombstones, which are digests of forgotten facts without text.
_SECRET: Final = frozenset({"digest", "sealed_key", "lease", "closing_token"})
_ACCOUNT: Final = ("email", "first_name", "last_name", "experience_tier", "time_zone", "date_joined", "last_login")


def iter_zip(user_id: int, *, proof: Proof, now: datetime) -> Iterator[bytes]:
    """Return the bytes of a user's zip, in parts. Raises SignInNeeded."""
    require_sign_in(proof, now=now)
    return _iter_zip(user_id, now)


def _iter_zip(user_id: int, now: datetime) -> Iterator[bytes]:
    sink = _Sink()
    with ZipFile(sink, "w", ZIP_DEFLATED) as packed:
        for name, lines in _iter_files(user_id, now):
            entry = ZipInfo(name, date_time=now.timetuple()[:6])
            entry.compress_type = ZIP_DEFLATED
            with packed.open(entry, "w", force_zip64=True) as member:
                for line in lines:
                    member.write(line.encode())
                    if sink.size > _PART:
                        yield sink.take()
    yield sink.take()


def list_tables() -> dict[str, type[OwnedModel]]:
    """Return the exported tables by file name."""
    models = [model for model in apps.get_models() if issubclass(model, OwnedModel)]
    others = [model for model in models if model._meta.app_label != "memory"]
    return {f"{make_slug(str(m._meta.verbose_name_plural), max_length=60).replace('-', '_')}.json": m for m in others}


class _Sink:
    """A file that is written to and emptied."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.size = 0

    def write(self, part: bytes) -> int:
        self._parts.append(bytes(part))
        self.size += len(part)
        return len(part)

    def flush(self) -> None:
        """Do nothing: `take` empties the file."""

    def close(self) -> None:
        """Do nothing, as `flush`."""

    def take(self) -> bytes:
        part, self._parts, self.size = b"".join(self._parts), [], 0
        return part


def _iter_files(user_id: int, now: datetime) -> Iterator[tuple[str, Iterator[str]]]:
    tables = list_tables()
    yield "schema.json", iter([_format(_describe(tables, now))])
    user = get_user_model()._default_manager.get(pk=user_id)
    account = {name: value and str(value) for name in _ACCOUNT for value in [getattr(user, name)]}
    yield "account.json", iter([_format(account)])
    yield MEMORY_FILE, archive.iter_archive(user_id)
    yield "memory_log.json", archive.iter_log(user_id)
    for name, model in tables.items():
        yield name, _iter_table(user_id, model)


def _describe(tables: dict[str, type[OwnedModel]], now: datetime) -> dict[str, Any]:
    files: dict[str, Any] = {MEMORY_FILE: archive.describe_archive()}
    files["memory_log.json"] = dict(describe_columns(archive.EVENTS))
    for name, model in tables.items():
        columns = dict(describe_columns(_list_columns(model)))
        files[name] = columns | {text: {"type": "text"} for text in model.archived_as.values()}
    about = "All that Keel keeps of you. Each file is an array of rows; times are ISO 8601 in UTC."
    return {"about": about, "exported_at": now.isoformat(), "importable": [MEMORY_FILE], "files": files}


def _format(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _list_columns(model: type[OwnedModel]) -> Columns:
    derived = {field.name for field in model._meta.concrete_fields if isinstance(field, SearchTermsField)}
    return list_columns(model, but=_SECRET | derived | set(model.archived_as))


def _iter_table(user_id: int, model: type[OwnedModel]) -> Iterator[str]:
    columns = _list_columns(model)
    yield "[\n"
    yield from archive.join_lines(
        dump_row(row, columns) | {text: getattr(row, text) for text in model.archived_as.values()}
        for row in _iter_rows(user_id, model)
    )
    yield "]\n"


def _iter_rows(user_id: int, model: type[OwnedModel]) -> Iterator[OwnedModel]:
    batch: list[OwnedModel] = []
    # What is archived in place of a column may need another row.
    others = [field.name for field in model._meta.concrete_fields if model.archived_as and field.related_model is model]
    while True:
        with owned(user_id):
            rows = model.objects.order_by("pk").select_related(*others)
            batch = list((rows.filter(pk__gt=batch[-1].pk) if batch else rows)[:_BATCH])
        yield from batch
        if len(batch) < _BATCH:
            return
