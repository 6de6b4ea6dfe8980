"""The dashboard: what each card shows, the first steps, its queries and its time."""

import re
from datetime import datetime, time, timedelta
from decimal import Decimal
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
from django.urls import reverse
from django.utils import timezone

from config.lib.words.rules import LossPause, TradesPerDay, dump_rule
from memory.models import UserFact
from tests.factories.chat import ConversationFactory
from tests.factories.memory import UserFactFactory
from tests.factories.record import (
    BacktestRunFactory,
    BarFactory,
    DecisionSnapshotFactory,
    DeploymentFactory,
    EquityPointFactory,
    MarketEventFactory,
    ReflectionNoteFactory,
    TradeFactory,
    TradingRuleFactory,
)
from tests.owners import as_owner
from trading.models import Trader, TradingRule

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
D = Decimal


def read_home(client) -> str:
    response = client.get(reverse("home"))
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def card(html: str, title: str) -> str:
    """Return the section with this heading."""
    sections = re.findall(r"<section.*?</section>", html)
    return next(one for one in sections if re.search(rf"<h2[^>]*>\s*{title}", one))


# --- The first run ---


def test_home_of_an_empty_account_offers_three_steps_and_one_line_a_card(ann):
    html = read_home(ann)

    assert '<progress max="3" value="0"' in html
    for title in ("Needs you", "Money", "Open positions", "Agents", "Coming events", "Rules", "What Keel learned"):
        assert "home__line" in card(html, title), title
    assert "<table" not in html


def test_home_counts_the_steps_that_are_done(ann, trader):
    trader.experience_tier = "expert"
    trader.save(update_fields=["experience_tier"])
    as_owner(trader, TradeFactory)

    assert '<progress max="3" value="2"' in read_home(ann)

    as_owner(trader, TradingRuleFactory)
    assert "<progress" not in read_home(ann)


def test_first_steps_skip_one_or_all_for_the_owner_alone(ann, trader, stranger):
    ann.post(reverse("chat:first_steps"), {"skip": "record"})
    assert '<progress max="3" value="1"' in read_home(ann)
    ann.post(reverse("chat:first_steps"), {"skip": "nothing known"})

    ann.post(reverse("chat:first_steps"), {"skip": "all"})

    assert "<progress" not in read_home(ann)
    assert Trader.objects.get(pk=stranger.pk).skipped_steps == []


def test_first_steps_keep_a_rule_as_a_fact_to_confirm(ann, trader):
    response = ann.post(reverse("chat:first_steps"), {"rule": "I never use more than 3x leverage"})

    assert response.url == reverse("chat:rules")
    assert as_owner(trader, lambda: list(TradingRule.objects.values_list("state", flat=True))) == ["waiting"]
    assert "1 rule to confirm" in card(read_home(ann), "Needs you")


def test_first_steps_keep_words_that_are_no_rule_as_a_fact_and_give_the_reason(ann, trader):
    response = ann.post(reverse("chat:first_steps"), {"rule": "I like calm mornings"}, follow=True)

    assert "Keel cannot check trades by it. " in response.content.decode()
    assert as_owner(trader, UserFact.objects.count) == 1


def test_first_steps_refuse_a_secret_and_show_what_was_typed(ann, trader):
    response = ann.post(reverse("chat:first_steps"), {"rule": "my password is hunter2 "})

    html = response.content.decode()
    assert response.status_code == 422
    assert 'value="my password is hunter2 "' in html
    assert "Keel never keeps those" in html
    assert as_owner(trader, UserFact.objects.count) == 0


# --- The cards ---


@pytest.fixture
def busy(trader):
    """An agent with a position, an own account, lessons, a broken rule, and chats; of now, in Auckland."""
    trader.time_zone = "Pacific/Auckland"
    trader.save(update_fields=["time_zone"])
    now = timezone.now()
    midnight = datetime.combine(
        now.astimezone(ZoneInfo("Pacific/Auckland")).date(), time(), ZoneInfo("Pacific/Auckland")
    )

    def make():
        agent = DeploymentFactory(created_at=now - 20 * DAY, last_tick=7, last_tick_at=now - HOUR)
        own = DeploymentFactory(broker_kind="live", label="Binance spot", starting_equity_usd=None)
        EquityPointFactory(deployment=agent, at=now - 10 * DAY, equity_usd=D(10_500), tick=1)
        EquityPointFactory(deployment=agent, at=now - timedelta(minutes=1), equity_usd=D(10_250), tick=2)
        DecisionSnapshotFactory(deployment=agent, tick=7, tick_at=now - HOUR, verdict="accepted")
        ReflectionNoteFactory(deployment=agent, generated_at=now - DAY, window_end=now - DAY)
        held = TradeFactory(deployment=agent, still_open=True, entry_tick_at=now - 26 * HOUR, symbol="SOL", mfe_usd=40)
        BarFactory(symbol="SOL", opened_at=now - 2 * HOUR, close=D(103))
        MarketEventFactory(starts_at=now + 5 * HOUR, symbols=["SOL"], title="SOL unlock", kind="token_unlock")
        MarketEventFactory(starts_at=now + 6 * HOUR, symbols=["XRP"], title="XRP unlock", kind="token_unlock")
        for exit_at, net in ((midnight + timedelta(seconds=1), 30), (midnight - timedelta(seconds=1), 500)):
            TradeFactory(
                deployment=own, entry_tick_at=exit_at - HOUR, exit_tick_at=exit_at, gross_pnl_usd=net + 1, mfe_usd=600
            )
        TradeFactory(deployment=agent, entry_tick_at=now - 40 * DAY)
        TradeFactory(deployment=agent, entry_tick_at=midnight, entry_leverage=D(9), symbol="ETH", exit_tick_at=now)
        TradingRuleFactory()
        BacktestRunFactory(status="failed", finished_at=now - DAY, deployment__created_at=now - DAY)
        UserFactFactory(content="Trades SOL on weekends", valid_from=now - HOUR, learned_at=now - HOUR)
        ConversationFactory(title="Sizing", last_message_at=now)
        return agent, own, held

    return as_owner(trader, make)


def test_home_shows_results_of_today_in_the_zone_own_trades_and_agents_apart(ann, busy):
    money = card(read_home(ann), "Money")

    text = " ".join(re.sub(r"<[^>]+>", " ", money).split())
    assert "Own trades: today ▲ +$30.00 1 closed trade" in text
    assert "Own trades: 30 days ▲ +$530.00 2 closed trades" in text
    assert "Agents: equity $10,250.00 +$250.00 in 30 days" in text
    assert "?period=today&amp;record=own" in money
    assert "?period=last+30+days&amp;record=agents" in money


def test_home_results_are_the_figures_of_the_page_they_link_to(ann, busy):
    html = read_home(ann)

    links = re.findall(r'href="(/trades/ask/\?period=[^"]+)"[^>]*>.*?([+-]?\$[\d,.]+)', card(html, "Money"))
    assert len(links) == 4
    for link, amount in links:
        assert amount in ann.get(link.replace("&amp;", "&")).content.decode()


def test_home_shows_positions_events_agents_rules_and_lessons_with_links(ann, busy):
    agent, _, held = busy
    html = read_home(ann)

    positions = card(html, "Open positions")
    assert reverse("trading:trade", args=[held.pk]) in positions
    assert "+$6.00" in positions  # 2 SOL from 100 to 103
    assert "+$40.00 /<br>-$8.00" in positions
    assert "1 d 2 h" in positions
    events = card(html, "Coming events")
    assert "SOL unlock" in events
    assert "XRP unlock" not in events
    agents = card(html, "Agents and accounts")
    assert reverse("trading:decision", args=[agent.pk, 7]) in agents
    assert "accepted" in agents
    assert " · next " in agents
    assert "it had 9x" in card(html, "Rules broken this week")
    learned = card(html, "What Keel learned")
    assert "Trades SOL on weekends" in learned
    assert f"{reverse('trading:deployment', args=[agent.pk])}#lessons" in learned
    assert "1 backtest failed" in card(html, "Needs you")
    assert "Sizing" in html
    assert html.index("Needs you") < html.index(">Money<") < html.index("Recent chats")


def test_home_names_a_halt_and_a_late_runner(ann, trader):
    now = timezone.now()
    as_owner(
        trader,
        lambda: (
            DeploymentFactory(halt_code="R6_DAILY_LOSS_HALT", halted_until=now + HOUR, created_at=now),
            DeploymentFactory(created_at=now - 9 * DAY, last_tick=1, last_tick_at=now - 8 * DAY),
        ),
    )

    waiting = card(read_home(ann), "Needs you")
    assert "is halted by its risk limits" in waiting
    assert "missed a decision" in waiting


@pytest.mark.parametrize(
    "rules", [[], [TradesPerDay(limit=3, zone="UTC"), LossPause(losses=3, is_in_row=True, minutes=90, zone="UTC")]]
)
def test_home_takes_as_many_queries_for_a_large_account(ann, trader, busy, rules, django_assert_max_num_queries):
    agent, own, _ = busy
    now = timezone.now()

    def fill():
        for one in rules:
            TradingRuleFactory(payload=dump_rule(one), fact_id=uuid4())
        for number in range(60):
            at = now - number * 3 * HOUR
            TradeFactory(deployment=(agent, own)[number % 2], entry_tick_at=at - HOUR, exit_tick_at=at)
        for number in range(12):
            TradeFactory(deployment=agent, still_open=True, symbol=f"S{number}", entry_tick_at=now - DAY)
            DeploymentFactory(created_at=now - DAY)

    as_owner(trader, fill)
    ann.get(reverse("home"))
    with django_assert_max_num_queries(18):  # twelve, session and user, and the four of PostgreSQL for the scope
        ann.get(reverse("home"))
