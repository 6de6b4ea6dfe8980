import re
from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.utils import timezone

from tests.factories.memory import MAY
from tests.factories.record import DeploymentFactory, MarketEventFactory, TradeFactory, TradingRuleFactory
from tests.trading.browsing import assert_shows, is_page, text_of

ASK = "/trades/ask/"


@pytest.fixture
def trades(as_trader):
    deployment = DeploymentFactory(version__skill__name="Dips")
    for number, symbol in enumerate(("BTC", "BTC", "ETH")):
        when = {"entry_tick_at": MAY + timedelta(days=number)}
        TradeFactory(deployment=deployment, symbol=symbol, gross_pnl_usd=Decimal(10 * number), **when)


def test_question_is_answered_with_its_groups_and_trades(client, trades):
    response = client.get(ASK, {"measure": "net", "group": "symbol", "side": "long"})

    total = "Net +$27.00 of 3 closed trades"
    text = assert_shows(response, total, "Highest +$19.00", "Lowest -$1.00", "ETH +$19.00 1", "BTC +$8.00 2")
    assert text.count("BTC long") == 2 + 1  # in the list, and the lowest
    links = re.findall(r'href="([^"]+)"', response.content.decode())
    assert "/trades/ask/?measure=net&side=long&symbol=ETH" in [unescape(link) for link in links]
    assert_shows(client.get(ASK, {"symbol": "BTC"}), "of 2 closed trades")


def test_address_fills_the_form_and_words_that_the_record_cannot_answer_are_kept(client, trades):
    page = client.get(ASK, {"measure": "fees", "weekday": "sat,sun", "period": "2026"}).content.decode()

    assert '<option value="fees" selected>' in page
    assert '<option value="sat,sun" selected>' in page
    assert 'value="2026"' in page

    page = client.get(ASK, {"q": "the weather <b>"})

    assert "The record cannot answer “the weather <b>”" in unescape(text_of(page))
    assert 'value="the weather &lt;b&gt;"' in page.content.decode()


def test_question_without_an_answer_says_what_to_do(client, trades):
    for words, shown in (
        ({"period": "someday"}, "is no period that Keel knows"),
        ({"measure": "luck"}, "choose among net"),
        ({"skill": "Nobody's"}, "You have no such skill."),
        ({"symbol": "ADA"}, "No closed trade fits"),
    ):
        response = client.get(ASK, words)
        assert is_page(response)
        assert_shows(response, shown)


def test_pages_without_rows_say_what_to_do(client):
    assert_shows(client.get(ASK), "No closed trades yet")

    assert_shows(client.get(CHECK), "No trade planned yet")
    assert_shows(client.get(CHECK, {"symbol": "BTC"}), "Give the side of the planned trade.")


CHECK = "/trades/check/"


def test_check_shows_size_risk_rules_and_verdict(client, trades):
    TradingRuleFactory()  # at most 5x
    MarketEventFactory(starts_at=timezone.now() + timedelta(hours=2))
    plan = {"symbol": "btc", "side": "long", "price": "100", "stop": "95", "risk_pct": "1", "leverage": "6"}

    assert_shows(
        client.get(CHECK, plan),
        *("BTC long: breaks a rule", "Size $2,000.00 20 BTC at 100", "Equity $10,000.00 Dips"),
        "Lost at the stop $100.00 1.0% of equity, 5.0% from the price",
        *("Too few to say 2 trades", "broken At most 5x leverage (it had 6x)"),
        *("Fed decision", "0 past events, too few to say"),
    )


def test_question_in_words_leads_to_the_address_of_its_reading(client, trades):
    response = client.get(ASK, {"q": "Which symbol makes the most?"})

    assert response.status_code == 302
    page = client.get(response.url)
    assert 'value="Which symbol makes the most?"' in unescape(page.content.decode())
    assert '<option value="symbol" selected>' in page.content.decode()
    assert "ETH +$19.00 1" in text_of(page)
