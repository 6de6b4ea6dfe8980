"""A planned trade in words: each figure has one meaning, or nothing is computed."""

from collections.abc import Iterator

import pytest

from offline.sizing import read_figures
from tests.offline.chat import Chat

# A message, its symbol, and what each figure is; "ask" where a figure has no name or a name has two figures. The
# code was written with TUNED in view; HELD_OUT was written beside it and tried once the code was done. Of its 46 one
# was misread then ("stop 5% of my account").
TUNED = """
size an ETH long, entry 3200, stop 3120, account 25000, risk 1%
    ETH price=3200 stop=3120 equity_usd=25000 risk_pct=1
size an ETH long, entry 3200, stop 3120, my account is 25k, risk 1%. how many coins?
    ETH price=3200 stop=3120 equity_usd=25000 risk_pct=1
How big can a BTC long be with a stop 4% away?
    BTC away=4
How big can a BTC long be with a stop 4% away if my account is $12,000?
    BTC away=4 equity_usd=12000
BTC short at 62,500 with a stop at 63,400 and $200 risk, what size?
    BTC price=62500 stop=63400 risk_usd=200
What size for an ETH long: stop 3120, entry 3200, equity 10,000, risking 0.5%?
    ETH price=3200 stop=3120 equity_usd=10000 risk_pct=0.5
position size SOL short entry at 150.5 sl 155 risk $50
    SOL price=150.5 stop=155 risk_usd=50
Can I buy 2 ETH at 3,150 with a stop at 3,050?
    ETH quantity=2 price=3150 stop=3050
how big can a BTC long be at 5x with a stop 3% below
    BTC leverage=5 away=3
Size a BTC long: 61000 stop 60000
    BTC ask
Size a BTC long with stop 60000, stop 59000
    BTC ask
how many coins for an ETH long, entry 3200, stop 3120, 25000, 1%?
    ETH ask
size ETH long 3200 stop 3120 account 25000 risk 1%
    ETH ask
long ETH from 3200 to a stop of 3120, capital 25k, risk 1 percent, size?
    ETH price=3200 stop=3120 equity_usd=25000 risk_pct=1
what size on BTC long if I risk 250 dollars with the stop 2% from entry
    BTC away=2 risk_usd=250
Size a BTC long of $5,000 with a stop at 60000
    BTC size_usd=5000 stop=60000
Check a $5,000 BTC long with a stop at 60000?
    BTC size_usd=5000 stop=60000
How big can my SOL long be with a 3% stop on a $8,000 account risking 1%?
    SOL away=3 equity_usd=8000 risk_pct=1
how much ETH can I buy if my stop is 5% away and I risk 1%?
    ETH away=5 risk_pct=1
What size for an ETH short? Entry: 3,200; stop: 3,280; balance: 40,000; risk: 0.75%
    ETH price=3200 stop=3280 equity_usd=40000 risk_pct=0.75
stop 3120, ETH long, how big?
    ETH stop=3120
Size an ETH long with stop 3120 or 3100
    ETH ask
BTC long size with entry 60k-61k, stop 58k
    BTC ask
size ETH long entry 3200 stop 80 below, account 25000
    ETH ask
Size ETH long, entry 3200, stop 3120, account 25000, risk 1% or 2%
    ETH ask
should I go long BTC here with stop 57000 and 1000 dollars
    BTC ask
size an ETH long entry 3200 stop 1.5 ATR account 25000 risk 1%
    ETH ask
SOL long at 160, stop 150 bps below entry, 20k account, risk 1%, what size?
    SOL ask
size a BTC long, entry 65k, stop 63k, account 2 mil, risk 0.25%
    BTC ask
how many coins on an ETH short: entry 3400, stop 3470, account 25 K, risk 1%
    ETH equity_usd=25000 price=3400 stop=3470 risk_pct=1
I have a 25k account and hold 2 ETH. What size for another ETH long, entry 3200, stop 3120, risk 1%?
    ETH ask
How big is a BTC long with 20% of my account, stop 5% away? account is 30k
    BTC ask
Size an ETH long at 3200 with an $80 stop, account 25000, risk 1%
    ETH ask
Last time I risked 2%. Size an ETH long now, entry 3200, stop 3120, account 25k
    ETH ask
how big can an ETH long be with stop 3120, sell at 3400, account 25k, risk 1%
    ETH ask
ETH long with target price 3500 and stop 3120, account 25k, risk 1%, how big?
    ETH target=3500 stop=3120 equity_usd=25000 risk_pct=1
How big can a BTC long be with a stop 4% away? My account sits at 25k and I risk 1%
    BTC away=4 equity_usd=25000 risk_pct=1
ETH is down from 3500, how big a long here with stop 3120, account 25k, risk 1%
    ETH ask
size ETH long, entry 3200, stop at the 50 EMA, account 25k, risk 1%
    ETH ask
How big can an ETH long at 3200 be with a stop 1% below the swing low, 25k account, risk 1%?
    ETH ask
BTC long at 64000, stop 62000, risk 0.01 BTC, what size?
    BTC ask
Can I long ETH for $500 at 10x with a stop 2% away?
    ETH ask
BTC long, 5x leverage, liq price 52,000, stop 4% below, account 25k, risk 1%, what size?
    BTC ask
I can risk 3% a day. Size a BTC long, entry 64k, stop 63k, account 40k
    BTC ask
ETHUSDT long, entry: 3,050.5 / SL: 2,990 / TP: 3,200 / balance: 5,000 USDT / risk: 2% -> size?
    ETH price=3050.5 stop=2990 target=3200 equity_usd=5000 risk_pct=2
want to long BTC after CPI at 2 pm, stop 3% away, account 25k, risk 1%, how big?
    BTC ask
Want to go long ETH at 2850, SL 2790, got a 40k account and I risk 1% per trade. What size?
    ETH price=2850 stop=2790 equity_usd=40000 risk_pct=1
my account is down 5% to 25,000. what size for an ETH long, entry 3150 and stop 3080, risking 1%
    ETH ask
"""
HELD_OUT = """
I'm looking at a long on ETH at 3,180 with my stop at 3,090. Account 15,000, risking 1%.
    ETH price=3180 stop=3090 equity_usd=15000 risk_pct=1
SOL short, in at 148, stop loss 152, 10k account, 2% risk: what size?
    SOL price=148 stop=152 equity_usd=10000 risk_pct=2
What size for a BTC short if I enter at 64250, stop out at 65500 and risk $300?
    BTC price=64250 stop=65500 risk_usd=300
With 20k in equity and 1% risk, how large can an ETH long be, entry 3000, stop 2900?
    ETH price=3000 stop=2900 equity_usd=20000 risk_pct=1
how many SOL can I short at 150 with a stop at 156 risking 75 usd?
    SOL price=150 stop=156 risk_usd=75
position size: BTC long, buy at 60,000, stop-loss at 58,800, capital of 50,000, 0.5 % risk
    BTC price=60000 stop=58800 equity_usd=50000 risk_pct=0.5
Size a SOL long, target 180, entry 150, stop 145, account 9000, risk 1%
    SOL target=180 price=150 stop=145 equity_usd=9000 risk_pct=1
size an ETH long, stop 3120 entry 3200 account 25000 risk 1%
    ETH price=3200 stop=3120 equity_usd=25000 risk_pct=1
How big should my BTC long be? entry 62k stop 60.5k account 30k risk 1%
    BTC price=62000 stop=60500 equity_usd=30000 risk_pct=1
Size an ETH long at 3200 with 3120 as stop, risk 100
    ETH price=3200 stop=3120 risk_usd=100
ETH long 3200/3120, account 25k, risk 1%
    ETH ask
size a BTC long: entry sixty thousand, stop 58000
    BTC ask
BTC long, account 25.000, entry 60.000, stop 58.000
    BTC ask
What if BTC drops to 60000, how big a long with a stop at 58000?
    BTC ask
Can I long ETH with a stop at 3120 and a target at 3400 on my 25k account, 1% risk?
    ETH stop=3120 target=3400 equity_usd=25000 risk_pct=1
size an ETH long entry 3200 stop 3120 account 25000 risk 1% leverage 5
    ETH price=3200 stop=3120 equity_usd=25000 risk_pct=1 leverage=5
Size a 0.5 BTC long with entry 60000 and stop 59000
    BTC quantity=0.5 price=60000 stop=59000
I have 25000 and want to risk 1% on an ETH long, entry 3200, stop 3120. How big?
    ETH ask
size ETH long, entry 3200, stop at breakeven, account 25000
    ETH price=3200 equity_usd=25000
ETH long entry 3200 stop 3120 risk 1% of 25000, how many coins?
    ETH ask
Size a BTC long: stop 58000, entry 60000, 3 x leverage, 10k account, risk 1%
    BTC price=60000 stop=58000 equity_usd=10000 risk_pct=1 leverage=3
size BTC long entry $60,000 stop $58,000 account $25,000 risk $250
    BTC price=60000 stop=58000 equity_usd=25000 risk_usd=250
What size: ETH short, entry 3200, stop 3120
    ETH price=3200 stop=3120
how big can a BTC long be with a stop 4% away and another at 6%
    BTC ask
ETH long, entry 3200, stop 2x ATR, account 25000
    ETH ask
Size an ETH long on the 4h chart, entry 3200, stop 3120
    ETH ask
long BTC at 63k, stop 61.8k, 40k account, risk 1%. how many contracts?
    BTC price=63000 stop=61800 equity_usd=40000 risk_pct=1
How big can a SOL short be with entry 151, stop level 157, capital 12,500 and max loss $150?
    SOL price=151 stop=157 equity_usd=12500 risk_usd=150
ETH short: entry price 3,310; stop price 3,380; price target 3,100; acct 18 k; risk 0.8%
    ETH price=3310 stop=3380 target=3100 equity_usd=18000 risk_pct=0.8
size a BTC long, entry 64k, stop 2 daily ranges below, account 30k, risk 1%
    BTC ask
size an ETH long, entry 3150, stop 35 bucks under, account 20k, risk 1%
    ETH ask
My account made 4% this month and is at 26k. ETH long, entry 3200, stop 3120, risk 1%, size?
    ETH ask
I made $300 on BTC. How big can an ETH long be, entry 3200, stop 3120, account 20k, risk 1%?
    ETH ask
size an ETH long, account 20k minus 3k margin, entry 3200, stop 3120, risk 1%
    ETH ask
Size an ETH long: entry 3200, stop 3120, account 20k, risk no more than 1%
    ETH ask
size ETH long at the 200 day average, stop 3100, account 20k, risk 1%
    ETH ask
ETH long, resistance at 3400, support at 3100, stop 3050, account 20k, risk 1%, what size?
    ETH ask
how big an ETH long, entry 3200, stop 5% of my account, account 20k
    ETH ask
Size a BTC short, entry 64000, stop 65000, account 2000000 yen, risk 1%
    BTC ask
size a SOL long entry 150 stop 144, margin 2000, leverage 5
    SOL ask
How much ETH can I buy with $2,000 at 3,200 if my stop is 3,100?
    ETH ask
Size an ETH long, entry 3200 in 2 parts, stop 3120, account 20k, risk 1%
    ETH ask
How many ETH can I long at 3200 with stop at 3136 if account is 50k and risk is 0.4%
    ETH price=3200 stop=3136 equity_usd=50000 risk_pct=0.4
what size for a long in BTC with 61k entry, 59.5k stop, 15k equity, 1.5% risk
    BTC price=61000 stop=59500 equity_usd=15000 risk_pct=1.5
Size a BTC long please: entry 64000, stop 63000, balance 10000 usdt, risk 2 %
    BTC price=64000 stop=63000 equity_usd=10000 risk_pct=2
ETH long in at 3180 out at 3400 stop 3120 account 20k risk 1%, size?
    ETH ask
"""
# Words that rules know.
SHARED = """
size an ETH long, entry 3200, protective stop 3120, bankroll 25000, risk .5%
    ETH price=3200 stop=3120 equity_usd=25000 risk_pct=0.5
BTC long at 60000, hard stop at 58000, capital 2 million, ceiling loss $200, what size?
    BTC price=60000 stop=58000 equity_usd=2000000 risk_usd=200
size an ETH long, entry 3200, stop 3120, account 25000 euros, risk 1%
    ETH ask
size an ETH long, entry 3200, stop 3120, account 25,5, risk 1%
    ETH ask
"""


def cases(table: str) -> Iterator[tuple[str, str, dict[str, float] | None]]:
    for text, wanted in batched_lines(table):
        symbol, *words = wanted.split()
        figures = {name: float(value) for name, value in (word.split("=") for word in words if "=" in word)}
        yield text, symbol, None if words == ["ask"] else figures


def batched_lines(table: str) -> Iterator[tuple[str, str]]:
    lines = table.strip().splitlines()
    return zip(lines[::2], lines[1::2], strict=True)


@pytest.mark.parametrize(("text", "symbol", "figures"), [*cases(TUNED), *cases(HELD_OUT), *cases(SHARED)])
def test_figures_of_a_plan_have_one_reading_or_none(text, symbol, figures):
    assert read_figures(text, symbol) == figures


def answer(check):
    """Answer as `query_trades` does, by arithmetic of our own; a price of the market is 4,000."""
    price = check.get("price", 4000)
    distance = abs(price - check["stop"]) / price
    equity = check.get("equity_usd")
    risk = check.get("risk_usd") or (equity or 0) * check.get("risk_pct", 0) / 100
    size = check.get("size_usd") or (check["quantity"] * price if "quantity" in check else risk / distance)
    sized = {"size_usd": size, "quantity": size / price, "risk_usd": size * distance} if size else {}
    return {
        "check": {
            **check,
            **sized,
            "price": price,
            "stop_price": check["stop"],
            "verdict": "fits",
            "why": ["Keeps 2 rules."],
        }
    }


MARKET = {"markets": [{"symbol": "ETH", "last_price": 4000}]}


def ask(text: str, **more) -> tuple[str, list[str]]:
    chat = Chat({"query_trades": lambda given: answer(given["check"]), "get_market_overview": MARKET}, **more)
    return chat.say(text), [name for name, _ in chat.calls]


@pytest.mark.parametrize(
    ("text", "read", "sized"),
    [
        (
            "size an ETH long, entry 3200, stop 3120, account 25000, risk 1%",
            "Read: entry 3,200, stop 3,120, account $25,000.00, risk 1%.",
            f"$10,000.00 ({25_000 * 0.01 / (80 / 3200) / 3200} coins)",
        ),
        (
            "I'm looking at an ETH long at 3,200 with my stop at 3,120. Account 25k, risking 1%. How many coins?",
            "Read: entry 3,200, stop 3,120, account $25,000.00, risk 1%.",
            "$10,000.00 (3.125 coins)",
        ),
        (
            "How big can an ETH long be with a stop 4% away if my account is $12,000 and I risk 1%?",
            "Read: stop 4% away, account $12,000.00, risk 1%.",
            f"$3,000.00 ({12_000 * 0.01 / 0.04 / 4000} coins) at 4,000 with the stop at 3,840",
        ),
        (
            "I want to long ETH. Entry 3,200, stop 3,120, account 25,000, risk 1%. How big?",
            "Read: entry 3,200, stop 3,120, account $25,000.00, risk 1%.",
            "$10,000.00 (3.125 coins)",
        ),
        (
            "Thinking of an ETH short. Entry 3,200 and my stop is at 3,280. Account is 25k. How many coins at 1% risk?",
            "Read: entry 3,200, stop 3,280, account $25,000.00, risk 1%.",
            "$10,000.00 (3.125 coins)",
        ),
        ("How big can an ETH long be with a stop 4% below my entry of 3000 and $120 at risk?", "compute nothing", ""),
    ],
)
def test_reply_repeats_what_was_read_and_then_sizes(text, read, sized):
    said, _ = ask(text)

    assert read in said
    assert sized in said


@pytest.mark.parametrize(
    "text",
    [
        "size an ETH long, entry 3200, stop 3120, account 25000, 1%",
        "size an ETH long, entry 3200, stop 3120 or 3100, account 25000, risk 1%",
        "size an ETH long, entry 3.200, stop 3.120, account 25.000, risk 1%",
        "size an ETH long, entry 3200, stop 80 points away, account 25000, risk 1%",
        "size an ETH or BTC long, entry 3200, stop 3120, account 25000, risk 1%",
        "how big can an ETH long or short be, entry 3200, stop 3120, account 25000, risk 1%",
    ],
)
def test_what_has_two_readings_is_asked_and_nothing_is_computed(text):
    said, called = ask(text)

    assert "compute nothing" in said or said.startswith("Name one market, one side")
    assert called == []


def test_check_without_a_size_gives_no_verdict_but_asks_for_the_account():
    said, _ = ask("How big can an ETH long be with a stop 4% away?")

    assert "How large is your account?" in said
    assert "Verdict" not in said


def test_own_limit_is_named_where_it_gives_the_risk():
    fact = "- [risk] I risk at most 1% of the account per trade."

    said, _ = ask("size an ETH long, entry 3200, stop 3120, account 25000", facts=fact)

    assert "By what you told me: I risk at most 1% of the account per trade" in said
    assert "$10,000.00 (3.125 coins)" in said


def test_figures_of_another_question_are_not_of_the_plan():
    said, called = ask("Can I long ETH at 3200, stop 3120, account 25000, risk 1%? What did I make in 30 days?")

    assert "Read: entry 3,200, stop 3,120, account $25,000.00, risk 1%." in said
    assert called[0] == "query_trades"
