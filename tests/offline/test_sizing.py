"""A planned trade in words: each figure has one meaning, or nothing is computed."""

import pytest

from offline.sizing import read_figures
from tests.offline.chat import Chat
from tests.offline.sets import pairs


@pytest.mark.parametrize("name", ["plans: tuned", "plans: held out", "plans: words of rules"])
def test_figures_of_a_plan_have_one_reading_or_none(name):
    rows = {text: wanted.split() for text, wanted in pairs(name).items()}
    wanted = {
        text: None if figures == ["ask"] else {key: float(value) for key, value in (one.split("=") for one in figures)}
        for text, (_, *figures) in rows.items()
    }

    assert {text: read_figures(text, symbol) for text, (symbol, *_) in rows.items()} == wanted


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
