import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.apps import apps
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from config.lib.owned import OwnedModel, system
from tests.factories.memory import MAY
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentCommandFactory,
    DeploymentFactory,
    EquityPointFactory,
    FillFactory,
    FundingPaymentFactory,
    FundingRateFactory,
    ImportBatchFactory,
    MarketEventFactory,
    NewsItemFactory,
    OrderFactory,
    PositionCheckFactory,
    ReflectionNoteFactory,
    ReflectionRunFactory,
    SkillDraftFactory,
    SkillVersionFactory,
    TradeFactory,
    TradeFileFactory,
    TradingRuleFactory,
    VenueAccountFactory,
)
from tests.factories.trading import TraderFactory
from tests.owners import as_owner, open_data
from tests.tables import each_case
from trading.market.imports.events import make_event_key
from trading.models import MarketEvent, NewsItem, StaffEntry, Trader

OWNED = (
    *(
        "skill",
        "skillversion",
        "skilldraft",
        "deployment",
        "deploymentcommand",
        "backtestrun",
        "decisionsnapshot",
        "systemprompt",
    ),
    *("order", "equitypoint", "fill", "importbatch", "fundingpayment", "positioncheck", "trade"),
    *("reflectionnote", "reflectionrun"),
)
WAYS_IN = ("venueaccount", "tradefile", "tradingrule")  # they belong to no deployment
UNLISTED = {"traderemark", "savedfilter"}  # a user's own words and pictures, no business of staff
PRICES = ("bar", "fundingrate")
EDITED = ("newsitem", "marketevent")
HEAVY = "elephant"  # stands in each large text
LARGE = (
    *('"skill_versions"."payload"', '"skill_drafts"."payload"', '"deployments"."account"', '"trade_history"."state"'),
    *(f'"decision_snapshots"."{column}"' for column in ("packed", "steps")),
    *('"backtest_runs"."summary"', '"reflection_notes"."lessons_text"'),
)


def page(model: str, name: str, *args: object) -> str:
    return reverse(f"admin:trading_{model}_{name}", args=args)


@pytest.fixture
def staff(db):
    """A browser of somebody who may look at the record in the admin and do nothing else."""
    user = TraderFactory(email="staff@example.com", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="trading", codename__startswith="view"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def root(db):
    """A browser of somebody who may do everything."""
    client = Client()
    client.force_login(TraderFactory(email="root@example.com", is_staff=True, is_superuser=True))
    return client


def make_one_of_each(word: str) -> dict[str, Model]:
    """Write a row for each list of what users own."""
    version = SkillVersionFactory(skill__name=f"{word} dips")
    deployment = DeploymentFactory(version=version, account={"cash": HEAVY})
    snapshot = DecisionSnapshotFactory(
        deployment=deployment,
        system_prompt=f"{HEAVY} {word}",
        context=HEAVY,
        steps=[HEAVY],
        verdict_text=f"{word} is out of hours",
    )
    note = ReflectionNoteFactory(deployment=deployment, lessons_text=f"{HEAVY} {word}")
    return {
        "skill": version.skill,
        "skillversion": version,
        "skilldraft": SkillDraftFactory(base_skill=version.skill, base_version=1, payload={"name": f"{HEAVY} {word}"}),
        "deployment": deployment,
        "deploymentcommand": DeploymentCommandFactory(deployment=deployment, outcome=f"{word} waits"),
        "backtestrun": BacktestRunFactory(deployment__version=version, error=f"{word} broke", summary={"text": HEAVY}),
        "decisionsnapshot": snapshot,
        "systemprompt": snapshot.system,
        "order": OrderFactory(deployment=deployment, snapshot=snapshot, reason=f"{word} hoped"),
        "equitypoint": EquityPointFactory(deployment=deployment),
        "fill": FillFactory(deployment=deployment, fill_id=f"{word}-1"),
        "importbatch": ImportBatchFactory(deployment=deployment, name=word),
        "fundingpayment": FundingPaymentFactory(deployment=deployment),
        "positioncheck": PositionCheckFactory(deployment=deployment),
        "trade": TradeFactory(deployment=deployment, entry_reason=f"{word} hoped", state={"text": HEAVY}),
        "venueaccount": VenueAccountFactory(error=f"{word} failed"),
        "tradefile": TradeFileFactory(name=f"{word}.csv"),
        "tradingrule": TradingRuleFactory(words=f"{word} never goes above 5x"),
        "reflectionnote": note,
        "reflectionrun": ReflectionRunFactory(deployment=deployment, status="failed", error=f"{word} is silent"),
    }


@pytest.fixture
def rows(trader, staff, root):
    """A row for each list of what users own, of the trader, whose data is open to the staff."""
    for member in Trader.objects.filter(is_staff=True):
        open_data(member, trader)
    return as_owner(trader, lambda: make_one_of_each("orchid"))


@pytest.fixture
def market(db):
    """A row for each list of what belongs to nobody."""
    return {
        "bar": BarFactory(),
        "fundingrate": FundingRateFactory(),
        "newsitem": NewsItemFactory(headline="Orchid rises"),
        "marketevent": MarketEventFactory(),
    }


@pytest.fixture
def strangers_deployment(stranger):
    """A deployment whose data is closed to the staff."""
    values = {"broker_kind": "live", "halt_code": "R6", "halted_until": "2026-06-01T00:00Z"}
    return as_owner(stranger, lambda: DeploymentFactory(**values))


def test_every_model_has_its_list_and_an_english_plural():
    models = list(apps.get_app_config("trading").get_models())
    owned = {model._meta.model_name for model in models if issubclass(model, OwnedModel)}

    assert owned == {*OWNED, *WAYS_IN, *UNLISTED, "apitoken", "staffentry"}
    assert {model._meta.model_name for model in models} - owned == {*PRICES, *EDITED, "trader"}

    models = [model for app in ("chat", "memory", "trading") for model in apps.get_app_config(app).get_models()]

    names = [str(model._meta.verbose_name_plural) for model in models]

    assert [name for name in names if re.search(r"(?:[^aeiou]y|ch|sh|s|x)s$", name)] == []


@each_case(
    "model, query",
    [
        ("skill", "q=orchid&trading_style__exact=swing&archived_at__isempty=1"),
        ("skillversion", "q=orchid"),
        ("skilldraft", "q=orchid&status__exact=editing&base_skill__isempty=0"),
        ("deployment", "q=orchid&broker_kind__exact=paper&status__exact=running&halt_code__exact="),
        ("deploymentcommand", "q=waits&kind__exact=pause&status__exact=pending"),
        ("backtestrun", "q=broke&status__exact=pending&reflects__exact=1&is_simulated__exact=0"),
        ("decisionsnapshot", "q=hours&verdict__exact=none"),
        ("order", "q=hoped&state__exact=filled&origin__exact=agent&side__exact=long"),
        ("order", "q=BTC"),
        ("equitypoint", "q=trader"),
        ("fill", "q=orchid-1&is_liquidation__exact=0"),
        ("importbatch", "q=orchid&source__exact=file&undone_at__isempty=1"),
        ("fundingpayment", "q=BTC"),
        ("positioncheck", "q=BTC&is_opening__exact=0"),
        ("trade", "q=hoped&status__exact=closed&side__exact=long&exit_kind__exact=signal&reconciled__exact=exact"),
        ("reflectionnote", "q=elephant&status__exact=active&deployment__isempty=0&model_used__exact=scripted/model"),
        ("venueaccount", "q=trader&venue__exact=hyperliquid"),
        ("tradefile", "q=orchid"),
        ("reflectionrun", "q=silent&status__exact=failed"),
    ],
)
def test_the_lists_search_and_filter(staff, rows, strangers_deployment, model, query):
    response = staff.get(f"{page(model, 'changelist')}?{query}")

    assert response.status_code == 200
    assert response.context["cl"].result_count == 1


@each_case("model", [*OWNED[3:5], *OWNED[6:]])
def test_the_rows_of_a_deployment_are_found_by_its_id(staff, rows, model):
    deployment = rows["deployment"].pk

    assert staff.get(f"{page(model, 'changelist')}?q={deployment}").context["cl"].result_count == 1
    assert staff.get(f"{page(model, 'changelist')}?q=no-such-thing").context["cl"].result_count == 0


def test_the_lists_take_as_many_queries_for_many_rows_as_for_one_and_load_no_large_text(staff, rows):
    def look(model: str) -> tuple[list[str], str]:
        with CaptureQueriesContext(connection) as queries:
            body = staff.get(page(model, "changelist")).content.decode()
        return [query["sql"] for query in queries], body

    for_one = {model: len(look(model)[0]) for model in (*OWNED, *WAYS_IN)}
    for number in range(10):
        other = TraderFactory()
        open_data(Trader.objects.get(email="staff@example.com"), other)
        as_owner(other, lambda number=number: make_one_of_each(f"orchid{number}"))

    for model, count in for_one.items():
        statements, body = look(model)
        assert len(statements) == count, model
        assert body.count("trader") >= 11
        assert any(f'FROM "{rows[model]._meta.db_table}"' in sql for sql in statements)
        assert [column for column in LARGE if any(column in sql for sql in statements)] == []


@each_case("model", [*OWNED, *WAYS_IN])
def test_the_page_of_a_row_shows_all_of_it_and_no_field_to_fill(staff, rows, model):
    body = staff.get(page(model, "change", rows[model].pk)).content.decode()

    wordless = model in {"equitypoint", "deployment", "fundingpayment", "positioncheck"}
    assert ("orchid" in body) is (not wordless or "orchid dips" in body)
    heavy = {"skilldraft", "deployment", "backtestrun", "decisionsnapshot", "systemprompt", "trade", "reflectionnote"}
    assert (HEAVY in body) is (model in heavy)
    assert [word for word in ('name="_save"', "<textarea", "deletelink") if word in body] == []


@each_case("model", [*OWNED, *WAYS_IN, *PRICES])
def test_not_even_a_superuser_rewrites_history(root, rows, market, model):
    pk = {**rows, **market}[model].pk

    assert root.get(page(model, "add")).status_code == 403
    assert root.post(page(model, "change", pk), {"status": "closed"}).status_code == 403
    assert root.post(page(model, "delete", pk), {"post": "yes"}).status_code == 403
    assert "delete_selected" not in root.get(page(model, "changelist")).content.decode()


def test_staff_without_the_permission_sees_nothing(rows):
    client = Client()
    client.force_login(TraderFactory(is_staff=True))

    for model in (*OWNED, *WAYS_IN, *PRICES, *EDITED):
        assert client.get(page(model, "changelist")).status_code == 403, model


# --- What belongs to nobody ---


def test_the_lists_of_the_market_search_and_filter(staff, market):
    BarFactory(symbol="BTCX", is_simulated=True, interval="4h")

    for model, query in {
        "bar": "q=BTC&interval__exact=1h&is_simulated__exact=0",
        "fundingrate": "q=BTC&is_simulated__exact=0",
        "newsitem": "q=rises&is_simulated__exact=0",
        "marketevent": "q=FOMC&kind__exact=fomc",
    }.items():
        assert staff.get(f"{page(model, 'changelist')}?{query}").context["cl"].result_count == 1, model


def test_bars_stand_in_the_order_of_their_index(staff, market):
    older = BarFactory(opened_at=MAY - timedelta(hours=1))

    bars = staff.get(page("bar", "changelist")).context["cl"]

    assert list(dict.fromkeys(bars.queryset.query.order_by)) == ["-symbol", "-interval", "-opened_at"]
    assert list(bars.result_list) == [market["bar"], older]


WHEN = {"published_at_0": "2026-05-01", "published_at_1": "12:00:00"}
HEADLINE = {"reason": "the wire corrected it", "source": "wire", "symbols": "[]", **WHEN}
EVENT = {"kind": "cpi", "title": "CPI", "starts_at_0": "2026-06-10", "starts_at_1": "12:30:00", "importance": "0.8"}
EVENT |= {"symbols": '["btc", "BTC"]', "source": "calendar", "reason": "the agency moved it"}


def test_an_event_is_put_right_and_stays_the_one_that_an_import_knows(root, market):
    key = market["marketevent"].key

    response = root.post(
        page("marketevent", "change", market["marketevent"].pk), EVENT | {"title": "  CPI,\u202e moved "}
    )

    assert response.status_code == 302
    changed = MarketEvent.objects.get()
    assert (changed.title, changed.kind, changed.symbols, changed.key) == ("CPI, moved", "cpi", ["BTC"], key)


@each_case(
    "field, value",
    [("importance", "1.5"), ("symbols", '{"BTC": 1}'), ("symbols", '["b t"]'), ("kind", "party"), ("title", "\u200b")],
)
def test_an_event_that_cannot_be_is_refused(root, market, field, value):
    response = root.post(page("marketevent", "change", market["marketevent"].pk), EVENT | {field: value})

    assert response.status_code == 200
    assert response.context["errors"]
    assert MarketEvent.objects.get().title == "FOMC statement"


def test_a_headline_is_put_right_or_taken_away_for_a_reason(root, market):
    address = page("newsitem", "change", market["newsitem"].pk)

    assert root.post(address, {**HEADLINE, "headline": "Orchid falls", "sentiment": "-0.5"}).status_code == 302
    assert NewsItem.objects.get().headline == "Orchid falls"
    assert root.post(address, {**HEADLINE, "headline": "Orchid", "sentiment": "-5"}).status_code == 200
    assert root.post(page("newsitem", "delete", market["newsitem"].pk), {"post": "yes"}).status_code == 302
    assert root.post(page("newsitem", "add"), {**HEADLINE, "headline": "Falls", "reason": ""}).status_code == 200
    assert not NewsItem.objects.exists()


def test_add_event_by_staff_stores_the_key_of_an_import_and_logs_the_reason(root):
    assert root.post(page("marketevent", "add"), EVENT).status_code == 302

    made = MarketEvent.objects.get()
    assert made.key == make_event_key("cpi", "CPI", made.starts_at, ["BTC"])
    with system("reads the log"):
        entry = StaffEntry.objects.get()
    assert (entry.act, entry.subject, entry.reason) == ("add", f"market event {made.pk}", "the agency moved it")
    assert entry.user_id == entry.staff_id

    response = root.post(page("marketevent", "add"), EVENT)
    assert response.status_code == 200
    assert "known already" in response.content.decode()
    assert MarketEvent.objects.count() == 1


def test_prices_keep_every_digit_on_their_page(staff, db):
    bar = BarFactory(open=Decimal("0.000012345678"), low=Decimal("0.00001"))

    assert "0.000012345678" in staff.get(page("bar", "change", bar.pk)).content.decode()
