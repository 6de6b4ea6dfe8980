import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.lib.owned import owned, owned_tx
from tests.factories.record import DeploymentFactory
from tests.tables import each_case
from tests.trading.data import FILLS, needs_fills
from trading.intake import reading
from trading.intake.files import ImportRefused, check_reading
from trading.intake.guessing import propose_mapping
from trading.intake.reading import ReadFill
from trading.intake.tables import TableRefused, read_table
from trading.models import Deployment, Fill, Trade

D = Decimal
HEADER = "fill_id,time,symbol,side,quantity,price,fee_usd,liquidation\n"


def hyperliquid(**changes) -> dict:
    row = {"coin": "BTC", "px": "100", "sz": "2", "side": "B", "time": 1683245884863, "startPosition": "0"}
    return {**row, "dir": "Open Long", "closedPnl": "0", "hash": "0x1", "oid": 1, "fee": "0.5", **changes}


def read_fills(path, *, account="") -> list[ReadFill]:
    table = read_table(path.read_bytes())
    mapping = replace(propose_mapping(table, zone="UTC"), account=account)
    found = reading.read_fills(table, mapping, now=datetime(2026, 7, 1, tzinfo=UTC))
    check_reading(found, leaves_out=False)
    return found.fills


@pytest.fixture
def path(tmp_path):
    def write(content, name="fills.json"):
        file = tmp_path / name
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        return file

    return write


def test_liquidation_is_ours_only_if_we_were_liquidated(path):
    theirs = {"liquidation": {"liquidatedUser": "0xCD"}}
    for row, account, is_ours in (
        ({"liquidation": {"liquidatedUser": "0xAB"}}, "0xab", True),
        (theirs, "0xab", False),
        ({**theirs, "dir": "Liquidated Cross Long"}, "", True),
        ({**theirs, "dir": "Open Long"}, "", False),
        ({"liquidation": None}, "0xab", False),
    ):
        (fill,) = read_fills(path([hyperliquid(**row)]), account=account)
        assert fill.is_liquidation is is_ours


def test_fills_of_a_csv(path):
    text = HEADER + "a,2026-06-01T12:00:00Z,btc,buy,2,100.5,0.1,\nb,1780315200000,BTC,SELL,2,101,-0.1,true\n"

    first, second = read_fills(path("\ufeff" + text, "fills.csv"))

    assert (first.symbol, first.quantity, first.price, first.fee) == ("BTC", 2, D("100.5"), D("0.1"))
    assert not first.is_liquidation
    assert (second.quantity, second.fee, second.is_liquidation) == (-2, D("-0.1"), True)
    assert first.at == second.at == datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_fees_and_liquidations_may_be_left_out_of_a_csv_but_not_be_nonsense(path):
    (fill,) = read_fills(path("fill_id,time,symbol,side,quantity,price\na,2026-06-01,BTC,buy,1,1\n", "fills.csv"))

    assert (fill.fee, fill.is_liquidation) == (0, False)
    with pytest.raises(ImportRefused, match="Row 2: 'maybe'"):
        read_fills(path(HEADER + "a,2026-06-01,BTC,buy,1,1,,maybe\n", "fills.csv"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(st.sampled_from(list(hyperliquid())), st.one_of(st.none(), st.text(), st.floats(), st.integers()))
)
def test_any_row_is_read_or_refused(path, row):
    try:
        read_fills(path([{**hyperliquid(), **row}]))
    except (TableRefused, ImportRefused):
        return


@pytest.fixture
def deployment(trader):
    with owned_tx(trader):
        return DeploymentFactory(broker_kind="live")


def run(*arguments) -> str:
    output = StringIO()
    call_command(*map(str, arguments), stdout=output, stderr=StringIO())
    return output.getvalue()


def test_import_fills_command_imports_and_prints_counts_and_takes_nothing_of_a_file_with_a_bad_line(deployment, path):
    text = HEADER + "a,2026-06-01,BTC,buy,2,100,0.1,\nb,2026-06-02,BTC,sell,2,101,0.1,\n"
    given = ("import_fills", path(text, "fills.csv"), "--deployment", deployment.pk)

    bad = path(text.replace("sell", "hold"), "bad.csv")
    with pytest.raises(CommandError, match="Row 3"):
        run("import_fills", bad, "--deployment", deployment.pk)
    with owned(deployment.user_id):
        assert not Fill.objects.exists()
    said, again = run(*given), run(*given, "--json")

    assert said == "2 new fills, 0 known; 1 new trade, 1 closed, 0 with history missing\n"
    counts = {"new_fills": 0, "known_fills": 2, "opened": 0, "closed": 0, "gaps": 0, "conflicts": 0}
    assert json.loads(again) == counts


def test_import_fills_command_needs_an_owner_and_previews_no_deployment(deployment, path):
    file = path(HEADER + "a,2026-06-01,BTC,buy,2,100,0.1,\n", "fills.csv")

    assert run("import_fills", file, "--deployment", deployment.pk, "--dry-run") == ""
    with owned(deployment.user_id):
        assert not Fill.objects.exists()
    with pytest.raises(CommandError, match="Name a user"):
        run("import_fills", file)


TABLE = "when;what;way;much;at\n01/03/2025 10:00;BTC;buy;0,5;90.000,5\n"
COLUMNS = {"time": "when", "symbol": "what", "side": "way", "quantity": "much", "price": "at"}
BY_MAPPING = ("--mapping", json.dumps({"columns": COLUMNS, "dates": "dmy", "zone": "Europe/Berlin"}))
BY_OPTIONS = (
    *("--mapping", '{"columns": {"price": "what"}, "dates": "mdy"}', "--dates", "dmy", "--zone", "Europe/Berlin"),
    *(part for field, column in COLUMNS.items() for part in ("--column", f"{field}={column}")),
)


@pytest.mark.parametrize("command", ["import_trades", "import_fills"])
@pytest.mark.parametrize("corrections", [BY_MAPPING, BY_OPTIONS], ids=["mapping", "options"])
def test_commands_preview_and_import_into_the_users_own_record(trader, path, command, corrections):
    given = (path(TABLE, "mine.csv"), "--user", trader.email, "--venue", "kraken", *corrections)

    preview = run(command, *given, "--dry-run")
    with owned(trader):
        assert not Deployment.objects.exists()
    done = json.loads(run(command, *given, "--json"))
    again = run(command, *given)

    assert preview == "Kraken futures: 1 new fills, 0 known\n"
    assert done == {"new_fills": 1, "known_fills": 0, "opened": 1, "closed": 0, "gaps": 0, "conflicts": 0}
    assert again.startswith("0 new fills, 1 known;")
    with owned(trader):
        assert (Deployment.objects.get().label, Deployment.objects.get().skill.name) == ("Kraken futures", "My trades")
        assert Fill.objects.get().at == datetime(2025, 3, 1, 9, tzinfo=UTC)


@each_case(
    "content, arguments, words",
    [
        (TABLE, (), "Choose the column of the time"),
        (TABLE, ("--mapping", "[]"), "not a JSON object"),
        (TABLE, ("--mapping", '{"datse": "dmy"}'), "mapping.datse: there is no such field"),
        (TABLE, ("--mapping", '{"columns": {"when": "time"}}'), "There is no field when"),
        (TABLE, ("--venue", "mars"), "invalid choice: 'mars'"),
        ("PK\x03\x04", (), "spreadsheet"),
        (HEADER + "a,2026-06-01,BTC,hold,2,100,0.1,\n", (), "Row 2"),
        (HEADER + "a,2026-06-01,BTC,buy,2,100,0.1,\n", ("--venue", "kraken"), "an export of Keel, not of Kraken"),
    ],
)
def test_import_trades_command_refuses_what_it_cannot_read(trader, path, content, arguments, words):
    with pytest.raises(CommandError, match=words):
        run("import_trades", path(content, "mine.csv"), "--user", trader.email, *arguments)

    with owned(trader):
        assert not Fill.objects.exists()


def test_export_writes_json_and_csv_without_formulas(deployment, path, trader):
    text = HEADER + "=1+1,2026-06-01,BTC,buy,2,100,0.1,\nb,2026-06-02,BTC,sell,2,99,0.1,\n"
    assert json.loads(run("export_trades", "--user", trader.email)) == []
    run("import_fills", path(text, "fills.csv"), "--deployment", deployment.pk)

    (row,) = json.loads(run("export_trades", "--user", trader.email))
    header, line = run("export_trades", "--deployment", deployment.pk, "--format", "csv").splitlines()

    assert (row["realized_pnl_usd"], row["entry_price"], row["exit_kind"]) == ("-2.2", "100", "external")
    cells = dict(zip(header.split(","), line.split(","), strict=True))
    assert (cells["first_fill_id"], cells["realized_pnl_usd"]) == ("'=1+1", "-2.2")
    with pytest.raises(CommandError, match="Name a user"):
        run("export_trades")


@needs_fills
def test_real_fills_come_in_and_twice_change_nothing(deployment):
    first = run("import_fills", FILLS, "--deployment", deployment.pk)
    with owned(deployment.user_id):
        trades = list(Trade.objects.order_by("pk").values())
    second = run("import_fills", FILLS, "--deployment", deployment.pk)

    assert first.startswith("500 new fills, 0 known;")
    assert second.startswith("0 new fills, 500 known;")
    with owned(deployment.user_id):
        assert list(Trade.objects.order_by("pk").values()) == trades
        assert Trade.objects.filter(status="open").count() <= 15
        # Of each coin the history begins in the middle of a position; after that the venue's chain is whole.
        starts = Trade.objects.filter(reconciled="gap").values_list("symbol", flat=True)
        assert len(starts) == len(set(starts)) <= 15
        # The venue tells of 22 flips; five of them are one side of a trade with oneself, which turns nothing.
        assert Trade.objects.filter(exit_kind="flip").count() == 22 - 5


@needs_fills
def test_real_positions_end_where_the_venue_has_them(deployment):
    run("import_fills", FILLS, "--deployment", deployment.pk)

    last = {}
    for fill in sorted(read_fills(FILLS), key=lambda fill: fill.at):
        last[fill.symbol] = fill.at
    with owned(deployment.user_id):
        held = dict(Trade.objects.filter(status="open").values_list("symbol", "quantity"))
    for symbol, at in last.items():
        ends = {
            fill.start_quantity + fill.quantity for fill in read_fills(FILLS) if (fill.symbol, fill.at) == (symbol, at)
        }
        assert held.get(symbol, 0) in ends
