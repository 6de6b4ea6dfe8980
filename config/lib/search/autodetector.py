"""Write migrations that keep the search index of the tables they alter."""

from typing import Any

from django.db.migrations import Migration
from django.db.migrations.autodetector import MigrationAutodetector
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.operations import AddIndex, RemoveIndex, RenameIndex

from config.lib.search.index import AddSearchIndex, KeepSearchIndex

_HARMLESS = (AddIndex, RemoveIndex, RenameIndex)  # SQLite makes no new table for them


class SearchIndexAutodetector(MigrationAutodetector):
    """Begin and end each migration of a searched model with KeepSearchIndex: SQLite drops the triggers of its table."""

    def changes(self, graph: MigrationGraph, *args: Any, **kwargs: Any) -> dict[str, list[Migration]]:
        """Return the migrations to write, by app."""
        found: dict[str, list[Migration]] = super().changes(graph, *args, **kwargs)
        added = [
            (app, operation)
            for (app, _), migration in graph.nodes.items()
            for operation in (migration.operations if migration else ())
            if isinstance(operation, AddSearchIndex)
        ]
        for app, migrations in found.items():
            indexes = {index.model.lower(): index for of, index in added if of == app}
            for migration in migrations:
                operations = [one for one in migration.operations if not isinstance(one, _HARMLESS)]
                altered = {str(getattr(operation, "model_name", "")).lower() for operation in operations}
                keeping = [
                    KeepSearchIndex(index.model, unless=index.unless, column=index.column)
                    for name, index in indexes.items()
                    if name in altered
                ]
                # The stubs have the operations of written migrations in mind, which never change.
                setattr(migration, "operations", [*keeping, *migration.operations, *keeping])  # noqa: B010
        return found
