"""Everything of a user in one zip."""

import io
import json
import re
from zipfile import ZipFile

import pytest
from django.apps import apps
from django.core.management import call_command
from django.urls import reverse

from chat.endings import export
from chat.endings.erasure import erase_user
from config.lib.owned import OwnedModel, owned, owned_tx
from config.lib.proofs import OPERATOR
from memory.transfer.uploads import parse_memory, read_upload
from tests.factories.memory import JULY
from tests.factories.trading import TraderFactory
from tests.owners import note_sign_in
from tests.strangers import make_person
from trading.models import ApiToken

WORD = "orchid"


def unpack(data: bytes) -> dict[str, object]:
    with ZipFile(io.BytesIO(data)) as packed:
        assert packed.testzip() is None
        return {name: json.loads(packed.read(name)) for name in packed.namelist()}


@pytest.fixture
def person(db):
    """A user with a row of every kind."""
    return make_person(WORD)


@pytest.fixture
def packed(person):
    """Return the zip of that user."""
    return b"".join(export.iter_zip(person.user.pk, proof=OPERATOR, now=JULY))


def test_every_owned_table_is_in_the_zip(packed):
    models = {model for model in apps.get_models() if issubclass(model, OwnedModel)}
    of_memory = {model for model in models if model._meta.app_label == "memory"}

    files = unpack(packed)

    assert set(export.list_tables().values()) == models - of_memory
    assert files.keys() == {"schema.json", "account.json", "memory.json", "memory_log.json", *export.list_tables()}
    assert [name for name, rows in files.items() if not rows] == []


def test_schema_describes_every_column_of_every_row(packed):
    files = unpack(packed)
    schema = files.pop("schema.json")["files"]

    for name in export.list_tables():
        assert files[name][0].keys() == schema[name].keys(), name
    for part in ("facts", "links", "places", "proposals"):
        assert files["memory.json"][part][0].keys() == schema["memory.json"][part].keys(), part


def test_zip_has_no_secret_and_nothing_of_a_stranger(person):
    stranger = make_person("thistle")
    with owned(person.user):
        digests = list(ApiToken.objects.values_list("digest", flat=True))

    files = unpack(b"".join(export.iter_zip(person.user.pk, proof=OPERATOR, now=JULY)))
    text = json.dumps(files)

    assert stranger.word not in text
    columns = {name for table in export.list_tables() for name in files["schema.json"]["files"][table]}
    assert [name for name in columns if re.search(r"digest|secret|sealed|password|lease$|_token$", name)] == []
    assert [digest for digest in digests if digest in text] == []


def test_memory_of_the_zip_comes_back_after_erasure(person, packed):
    erase_user(user_id=person.user.pk)
    target = TraderFactory()

    with owned_tx(target):
        parse_memory(read_upload(packed), is_list=False)(now=JULY)

    again = b"".join(export.iter_zip(target.pk, proof=OPERATOR, now=JULY))
    assert unpack(again)["memory.json"] == unpack(packed)["memory.json"]


def test_zip_is_written_in_parts(person, monkeypatch):
    monkeypatch.setattr(export, "_PART", 1)
    monkeypatch.setattr(export, "_BATCH", 1)

    parts = list(export.iter_zip(person.user.pk, proof=OPERATOR, now=JULY))

    assert len(parts) > 10
    assert unpack(b"".join(parts))["messages.json"]


def test_page_and_rest_send_the_zip(person, client):
    client.force_login(person.user)
    assert client.get(reverse("chat:export_everything")).status_code == 302
    assert client.get(reverse("api:chat:export")).json()["code"] == "sign_in_needed"
    note_sign_in(client, person.user)

    for name in ("chat:export_everything", "api:chat:export"):
        response = client.get(reverse(name))
        assert response["Content-Type"] == "application/zip"
        assert WORD in json.dumps(unpack(b"".join(response.streaming_content))["messages.json"])
    assert "schema.json" in client.get(reverse("chat:export")).content.decode()


def test_command_writes_the_zip_for_its_owner_alone(person, tmp_path, usual_umask):
    path = tmp_path / "all.zip"

    call_command("export_everything", str(path), user=person.user.email)

    assert path.stat().st_mode & 0o777 == 0o600
    assert unpack(path.read_bytes())["account.json"]["email"] == person.user.email
