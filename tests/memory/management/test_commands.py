"""The commands and jobs of memory."""

import json
import logging
from datetime import timedelta

import pytest
from django.core.management.base import CommandError

from config.lib.owned import owned_tx, owner_id
from config.lib.work.jobs import list_jobs
from memory import jobs
from memory.models import MemoryProposal, UserFact
from tests.commands import lines_of, run
from tests.factories.memory import JUNE, MAY, UserFactFactory
from tests.owners import as_owner

YEAR = timedelta(days=365)
pytestmark = pytest.mark.django_db(transaction=True)


def fading():
    return UserFactFactory(content="Prefers gold", learned=True, created_at=JUNE - YEAR, valid_from=JUNE - YEAR)


def twins():
    UserFactFactory(content="Lives in Seattle")
    UserFactFactory(content="The user lives in Seattle")


def many():
    return [UserFactFactory(last_referenced_at=MAY + timedelta(minutes=n)).pk for n in range(20)]


@pytest.fixture
def rows_of_both(trader, stranger, settings):
    """Two users, each with something for every job."""
    settings.MEMORY_TOKEN_LIMIT = 1_500
    for user in (trader, stranger):
        as_owner(user, fading)
        as_owner(user, twins)
        as_owner(user, many)


@pytest.mark.parametrize("name", ["decay_facts", "consolidate_facts", "enforce_token_limits"])
def test_command_prints_summary_and_is_idempotent(name, rows_of_both):
    [first], [second] = lines_of(name), lines_of(name)

    assert (first["job"], first["failed"]) == (name, False)
    assert first["summary"].endswith(", 2 users")
    assert not first["summary"].startswith("0 ")
    assert second["summary"].startswith("0 ")
    assert name in {job.name for job in list_jobs()}


@pytest.mark.parametrize("name", ["decay_facts", "consolidate_facts", "enforce_token_limits"])
def test_dry_run_prints_same_summary_and_changes_nothing(name, rows_of_both, trader):
    def state():
        return list(UserFact.objects.order_by("pk").values()), MemoryProposal.objects.count()

    before = as_owner(trader, state)

    [dry] = lines_of(name, "--dry-run")

    assert as_owner(trader, state) == before
    assert lines_of(name)[0]["summary"] == dry["summary"]


def test_job_logs_the_ids_of_the_facts_it_names(rows_of_both, trader, caplog):
    fact = as_owner(trader, lambda: UserFact.objects.get(content="Prefers gold").pk)

    with caplog.at_level(logging.INFO):
        run("decay_facts")

    assert f"facts faded: {fact}" in caplog.text
    assert "gold" not in caplog.text


def test_command_continues_after_failing_user_and_counts_it(rows_of_both, trader, monkeypatch, caplog):
    report = jobs.report_faded_facts

    def failing(**values):
        if owner_id() == trader.pk:
            raise RuntimeError("broken")
        return report(**values)

    monkeypatch.setattr(jobs, "report_faded_facts", failing)

    assert run("decay_facts") == "decay_facts: 1 facts faded, 2 users, 1 failed\n"
    assert "facts faded failed for user" in caplog.text


def test_exit_code_tells_when_everything_failed(rows_of_both, monkeypatch):
    def failing(**values):
        raise RuntimeError("broken")

    monkeypatch.setattr(jobs, "report_faded_facts", failing)

    with pytest.raises(CommandError, match="Everything failed"):
        run("decay_facts")


def test_export_prints_the_document_and_import_brings_it_into_another_account(trader, stranger, tmp_path):
    as_owner(trader, twins)
    text = run("export_memory", "--user", trader.email)
    file = tmp_path / "memory.json"
    file.write_text(text, encoding="utf-8")

    [done] = lines_of("import_memory", "--user", stranger.email, str(file))

    assert (done["added"], done["known"], done["left_out"]) == (2, 0, 0)
    assert run("export_memory", "--user", stranger.email) == text
    [again] = lines_of("import_memory", "--user", stranger.email, str(file))
    assert (again["added"], again["known"]) == (0, 2)


def test_import_of_a_list_proposes_and_saves_nothing(trader, tmp_path):
    file = tmp_path / "facts.txt"
    file.write_text("- Lives in Seattle\n* [2024-11-20] Likes gold\n\nMy password is hunter2\n", encoding="utf-8")

    *left_out, done = lines_of("import_memory", "--user", trader.email, "--list", str(file))

    assert (done["added"], done["left_out"], len(left_out)) == (2, 1, 1)
    with owned_tx(trader):
        assert not UserFact.objects.exists()
        assert {p.payload["content"] for p in MemoryProposal.objects.all()} == {"I live in Seattle", "I like gold"}


@pytest.mark.parametrize(
    ("content", "says"), [(b"{", "no memory document"), (b"\xff\xfe", "no text in UTF-8"), (None, "Cannot read")]
)
def test_import_of_something_else_is_one_clear_line(trader, tmp_path, content, says):
    file = tmp_path / "memory.json"
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(CommandError, match=says):
        run("import_memory", "--user", trader.email, str(file))


# --- recall ---


@pytest.fixture
def facts(trader, stranger):
    as_owner(trader, lambda: UserFactFactory(content="Trades BTC perps", topic="symbols"))
    as_owner(trader, lambda: UserFactFactory(content="Trades ETH now and then", learned=True, score=0.4))
    as_owner(stranger, lambda: UserFactFactory(content="Trades gold BTC"))


def test_recall_prints_the_facts_found_best_first(trader, facts):
    first, second, last = run("recall", "--user", trader.email, "btc", "trades").splitlines()

    assert first.endswith("Trades BTC perps  (stated)")
    assert second.endswith("Trades ETH now and then  (inferred, learned with 0.40)")
    assert last == "2 found"
    assert run("recall", "--user", trader.email, "--limit", "1", "trades").splitlines()[-1] == "2 found, the best shown"


def test_recall_prints_json_lines(trader, facts):
    lines = [
        json.loads(line) for line in run("recall", "--user", trader.email, "--json", "btc perps trades").splitlines()
    ]

    assert [line["content"] for line in lines] == ["Trades BTC perps", "Trades ETH now and then"]
    assert lines[0].keys() == {"fact_id", "content", "topic", "rank", "origin", "score"}
    assert (lines[1]["origin"], lines[1]["score"]) == ("inferred", 0.4)


@pytest.mark.limit("memory.recall.search.MAX_RECALLED")
@pytest.mark.parametrize("limit", ["0", "51", "many"])
def test_a_limit_out_of_bounds_is_refused(limit, trader):
    with pytest.raises(CommandError, match="limit"):
        run("recall", "--user", trader.email, "--limit", limit, "btc")
