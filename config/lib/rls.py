"""Row-level security on PostgreSQL, as migration operations."""

from django.db.backends.base.schema import BaseDatabaseSchemaEditor as Editor
from django.db.migrations.operations import RunPython
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState as State

# Loud on purpose: without a door opened, `app.user_id` is unset or empty and the cast fails. NULLIF would hide that.
_OWNER = "current_setting('app.user_id')::bigint"
_CONDITION = f"user_id = {_OWNER} OR {_OWNER} = 0"

_ENABLE = """
ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
CREATE POLICY owner ON {table} FOR ALL USING ({condition}) WITH CHECK ({condition});
"""
_DISABLE = """
DROP POLICY owner ON {table};
ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
"""


class EnableOwnerPolicy(Operation):
    """Restrict rows to their owner, on PostgreSQL only."""

    def __init__(self, model: str) -> None:
        self.model = model

    def state_forwards(self, app_label: str, state: State) -> None:
        """Change no state: a policy is not in the model."""

    def _run(self, sql: str, app_label: str, editor: Editor, state: State) -> None:
        if editor.connection.vendor == "postgresql":
            table = editor.quote_name(state.apps.get_model(app_label, self.model)._meta.db_table)
            editor.execute(sql.format(table=table, condition=_CONDITION), params=None)

    def database_forwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        self._run(_ENABLE, app_label, schema_editor, to_state)

    def database_backwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        self._run(_DISABLE, app_label, schema_editor, from_state)

    def describe(self) -> str:
        return f"Let rows of {self.model} be seen by their owner only"


class RunPythonOnOwnedRows(RunPython):
    """A data migration over all users' rows, in the system's scope."""

    def database_forwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        see_everything(schema_editor)
        super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Editor, from_state: State, to_state: State) -> None:
        see_everything(schema_editor)
        super().database_backwards(app_label, schema_editor, from_state, to_state)


def see_everything(editor: Editor) -> None:
    """Open the rows of all users to the rest of a transaction, on PostgreSQL."""
    if editor.connection.vendor == "postgresql":
        editor.execute("SELECT set_config('app.user_id', '0', true)", params=None)
