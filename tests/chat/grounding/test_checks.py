import random
from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from chat.grounding.checks import MAX_FIGURES, check_figures
from chat.grounding.figures import find_figures
from chat.grounding.sources import Sources
from tests.chat.grounding.replies import KINDS, NOW, alter_digit, make_reply

TRADES = {
    "trades": [
        {
            "trade_id": "t-btc",
            "symbol": "BTC",
            "side": "long",
            "entry_at": "2026-03-12T14:30:00Z",
            "entry_price": 65200,
            "net_pnl_usd": 28.4,
            "net_pnl_pct": 1.1,
            "holding_minutes": 2400,
        },
        {"trade_id": "t-eth", "symbol": "ETH", "side": "short", "net_pnl_usd": -9.7, "size_usd": 1234.56},
    ],
    "net_pnl_usd": 18.7,
    "win_rate_pct": 54.55,
    "sample_size": 11,
    "fees_usd": 3.25,
    "sharpe": 1.24,
    "sharpe_days": 348,
}


def make_sources(result=TRADES, *, asked="", fact="", zone=UTC) -> Sources:
    sources = Sources(zone, NOW)
    sources.add_result("c1", result)
    sources.add_text(asked, {"kind": "chat"})
    sources.add_text(fact, {"kind": "fact"})
    return sources


def list_sources(text, sources=None) -> dict:
    """Return the source of each figure, by its text."""
    return {figure["text"]: figure["source"] for figure in check_figures(text, sources or make_sources())}


def list_unknown(text, sources=None) -> list[str]:
    return [text for text, source in list_sources(text, sources).items() if source is None]


@pytest.mark.parametrize(
    "text",
    [
        "Net is +$18.70 over 11 closed trades.",
        "Net is about $19.",
        "Your win rate is 54.5 %, or 54.55%, or 55 %.",
        "BTC made $28.40 (1.1%); ETH lost $9.70.",
        "It went in at 65,200 and was held for 1 d 16 h, or 40 hours.",
        "It opened on 12 March 2026 at 14:30, or 2026-03-12T14:30.",
        "The size was $1,234.56, that is $1,235 or $1.23k.",
        "Sharpe is 1.24 over 348 days.",
        "Fees were -$3.25.",
        "BTC and ETH made $18.70 together.",
        "BTC's $28.40 is $38.10 more than ETH's -$9.70.",
        "There are 2 trades.",
    ],
)
def test_check_finds_what_a_result_states(text):
    assert list_unknown(text) == []


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Net is +$18.71.", ["+$18.71"]),
        ("Net is -$18.70.", ["-$18.70"]),  # a sign turned round
        ("Your win rate is 18.7 %.", ["18.7 %"]),  # another unit
        ("Fees were $28.40.", ["$28.40"]),  # another measure
        ("ETH made $28.40.", ["$28.40"]),  # another symbol
        ("ETH lost $9.70 on 12 March at 14:30.", ["12 March", "14:30"]),  # another row
        ("It ran for 41 hours.", ["41 hours"]),
        ("You should aim for 70 %.", ["70 %"]),
        ("BTC made $28.40 and ETH -$9.70, so $38.11 apart.", ["$38.11"]),
        ("There are 7 trades.", ["7"]),
    ],
)
def test_check_marks_what_nothing_states(text, unknown):
    assert list_unknown(text) == unknown


def test_check_names_the_row_of_a_figure():
    found = list_sources(
        "BTC made $28.40, net is $18.70, you asked about 4 %, your limit is 2 %, your record says 99 %.",
        make_sources(asked="Is 4 % fine?", fact="Risks at most 2 % a trade"),
    )

    assert found == {
        "$28.40": {"kind": "trade", "id": "t-btc"},
        "$18.70": {"kind": "tool", "call_id": "c1"},
        "4 %": {"kind": "chat"},
        "2 %": {"kind": "fact"},
        "99 %": None,
    }


def test_check_names_both_figures_of_a_sum():
    found = list_sources(
        "BTC made $28.40 and ETH $5.00.",
        make_sources(
            {
                "trades": [
                    {"trade_id": "a", "symbol": "BTC", "net_pnl_usd": 28.4},
                    {"trade_id": "b", "symbol": "ETH", "net_pnl_usd": 5.0},
                ]
            }
        ),
    )
    assert found["$5.00"] == {"kind": "trade", "id": "b"}

    [total] = check_figures(
        "Together they made $33.40.",
        make_sources(
            {
                "trades": [
                    {"trade_id": "a", "symbol": "BTC", "net_pnl_usd": 28.4},
                    {"trade_id": "b", "symbol": "ETH", "net_pnl_usd": 5.0},
                ]
            }
        ),
    )
    assert total["source"] == {"kind": "computed", "of": [{"kind": "trade", "id": "a"}, {"kind": "trade", "id": "b"}]}


def test_figures_of_two_results_are_not_added():
    sources = make_sources({"fees_usd": 10.0})
    sources.add_result("c2", {"fees_usd": 5.0})

    assert list_unknown("Fees of $10.00 and $5.00 are $15.00 together.", sources) == ["$15.00"]


def test_values_have_the_unit_that_their_answer_names():
    answer = {
        **{"measure": "net", "unit": "usd", "n": 43, "value": 270.12, "mean": 6.28, "interval_90pct": [-3.1, 15.9]},
        "groups": [{"group": "BTC", "n": 30, "value": 300.0}, {"group": "ETH", "n": 13, "value": -29.88}],
        "similar": {"n": 12, "expectancy_usd": 4.1, "interval_90pct": [-2.0, 9.0]},
    }
    text = "Net +$270.12 of 43 trades; a trade $6.28, about 90 % between -$3.10 and +$15.90. BTC: $300.00, n=30."

    assert list_unknown(text, make_sources(answer)) == []
    assert list_unknown("Net 270.12 %, or $43.", make_sources(answer)) == ["270.12 %", "$43"]


def test_times_may_be_those_of_the_users_zone():
    sources = make_sources(zone=ZoneInfo("Asia/Tokyo"))

    assert list_unknown("It opened at 23:30.", sources) == []
    assert list_unknown("It opened at 22:30.", sources) == ["22:30"]


def test_code_links_and_list_numbers_are_no_figures():
    text = "1. See [this](/trades/7/).\n2. `x = 55`\n3. https://example.com/99 BTC-5 R1_HALTED v3 2nd"

    assert check_figures(text, make_sources()) == []


@pytest.mark.parametrize("name", KINDS)
def test_altered_digits_are_marked_and_true_ones_are_not(name):
    rng, altered, caught, stated, marked = random.Random(11), 0, 0, 0, 0
    for seed in range(300):
        made = make_reply(seed, KINDS[name])
        checked = check_figures(made.text, made.read_sources())
        stated += len(checked)
        marked += sum(figure["source"] is None for figure in checked)
        figure = rng.choice(checked)
        text = made.text[: figure["start"]] + alter_digit(rng, figure["text"]) + made.text[figure["end"] :]
        after = check_figures(text, made.read_sources())
        altered += 1
        caught += any(
            one["source"] is None and one["start"] <= figure["end"] and figure["start"] <= one["end"] for one in after
        )

    assert altered == 300
    assert caught / altered >= 0.98
    assert marked / stated <= 0.03


@pytest.mark.parametrize(
    "text",
    ["1 " * 30_000, "1" * 60_000, "5\n" * 30_000, "a-" * 30_000, "$1.5, " * 10_000, "1 h " * 15_000, "1.a" * 20_000],
)
def test_no_text_takes_long(text):
    assert len(check_figures(text, make_sources())) <= MAX_FIGURES


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("last decision 2026-11-23 07:00 UTC", ["2026-11-23 07:00"]),
        ("between 13 h 17 min and 1 d 5 h", ["13 h 17 min", "1 d 5 h"]),
        ("held 3 hours and 5 minutes", ["3 hours and 5 minutes"]),
        ("since 4 December 2026 and March 2027", ["4 December 2026", "March 2027"]),
        ("on 3 Mar. and Sept 2026", ["3 Mar.", "Sept 2026"]),
        ("08:00: it fell. On 1 April. At 6 pm, 2 a.m.", ["08:00", "1 April", "6 pm", "2 a.m."]),
        ("25 euros, 1.5m usd, .5% and 1,5 x", ["25 euros", "1.5m usd", ".5%", "1,5 x"]),
        ("3 times in 3 months, 2nd, 3abc, 1.2.3", ["3", "3"]),
    ],
)
def test_find_figures_reads_instants_and_spans_as_they_are_written(text, figures):
    assert [figure.text for figure in find_figures(text)] == figures


GROUPS = {
    "n": 11,
    "value": 30.44,
    "unit": "usd",
    "groups": [{"group": "Long", "n": 8, "value": 61.81}, {"group": "Short", "n": 3, "value": -31.37}],
    "left_out": [],
}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Long: +$61.81 (n = 8).", []),
        ("Long: +$61.81 (n = 3).", ["3"]),  # of the other row
        ("Long made +$61.81 of 11 trades.", []),  # of the whole result
        ("Both of these 2 groups:\n\n- Long\n- Short", []),
        ("These 4 sides:\n\n- Long\n- Short", ["4"]),
        ("- Long: +$61.81 (n = 1)\n- Short: -$31.37 (n = 3)", ["1"]),  # no head of a list
        ("Try “How big can it be with a stop 4% away?”.", []),  # a question that the user may ask
    ],
)
def test_count_is_of_the_row_that_its_sentence_states(text, unknown):
    assert list_unknown(text, make_sources(GROUPS)) == unknown


BOOK = {
    "net_pnl_usd": 18.7,
    "trades": [{"trade_id": "t", "symbol": "BTC", "net_pnl_usd": 28.4}],
    "deployments": [{"deployment_id": "d", "closed_trades": 7}],
}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("BTC made $28.40 in 7 trades.", ["7"]),  # of the agent's row
        ("BTC made $28.40 of $18.70 in 7 trades.", ["7"]),  # the total is beside the row, and no row of its own
        ("BTC made $28.40, beside 9 open trades.", []),  # of the whole of another result
        ("7 trades are closed.", []),
    ],
)
def test_count_without_a_word_for_its_row_is_of_a_row_that_the_sentence_states(text, unknown):
    sources = make_sources(BOOK)
    sources.add_result("c2", {"open_trades": 9})

    assert list_unknown(text, sources) == unknown


def test_names_of_values_state_spans_and_empty_lists_a_zero():
    sources = make_sources({"change_24h_pct": 3.29, "lookahead_hours": 72, "events": []})

    assert list_unknown("It rose 3.29 % in 24 h; there are 0 events in 72 hours.", sources) == []
    assert list_unknown("It rose 3.29 % in 36 h.", sources) == ["36 h"]


def test_names_of_skills_measure_nothing_and_totals_stand_beside_a_trade():
    row = {"deployment_id": "d", "skill_id": "s", "skill_name": "Funding fade", "net_pnl_usd": -23.43}
    position = {"trade_id": "t", "symbol": "BTC", "size_usd": 1005.9}
    sources = make_sources({"deployments": [{**row, "positions": [position]}], "all": {"size_usd": 3515.5}})

    found = list_sources("Funding fade made -$23.43.\nBTC is $1,005.90 of $3,515.50 open in all.", sources)

    assert found == {
        "-$23.43": {"kind": "deployment", "id": "d"},
        "$1,005.90": {"kind": "trade", "id": "t"},
        "$3,515.50": {"kind": "tool", "call_id": "c1"},
    }


LISTED = {
    "trades": [
        {"trade_id": "a", "symbol": "BTC", "side": "long", "net_pnl_usd": 28.4},
        {"trade_id": "b", "symbol": "ETH", "side": "short", "net_pnl_usd": -9.7},
        {"trade_id": "c", "symbol": "SOL", "side": "long", "net_pnl_usd": 5.25},
        {"trade_id": "d", "symbol": "SOL", "side": "short", "net_pnl_usd": -1.5},
    ]
}
LINES = "- BTC long: +$28.40\n- ETH short: -$9.70\n- SOL long: +$5.25"


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        (f"{LINES}\n\nTogether: +$23.95.", []),
        (f"{LINES}\n\nTogether: +$22.45.", ["+$22.45"]),  # with a fourth, which is not listed
        (f"{LINES}\n- Total: +$23.95", []),
        (f"Your last trades: net +$23.95, 2 of 3 won.\n\n{LINES}", []),
        (f"Your last trades: net +$23.95, 1 of 3 won.\n\n{LINES}", ["1"]),
        (f"{LINES}\n\n1 older not shown.", []),
        (f"{LINES}\n\n2 older not shown.", ["2"]),
        ("BTC +$28.40, ETH -$9.70, SOL +$5.25: that makes +$23.95 in total.", []),
        ("BTC +$28.40, ETH -$9.70, SOL +$5.25: that makes +$24.95 in total.", ["+$24.95"]),
    ],
)
def test_sum_over_exactly_the_listed_rows_is_true(text, unknown):
    assert list_unknown(text, make_sources(LISTED)) == unknown


ANSWER = {
    "n": 19,
    "value": 2.9,
    "mean": 0.15,
    "unit": "usd",
    "interval_90pct": [0.0, 0.33],
    "groups": [
        {"group": "Shock", "n": 7, "value": 0.81, "mean": 0.12},
        {"group": "Trend", "n": 12, "value": 2.09, "mean": 0.39},
    ],
}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("Shock made $0.12 a trade.", []),
        ("Shock made $0.15 a trade.", ["$0.15"]),  # of all trades
        ("Shock: $0.81 (n = 19).", ["19"]),
        ("All 12 trades together made $2.90.", ["12"]),  # of a group
        ("A trade made $0.15, between $0.00 and $0.33.", []),
        ("A trade made $0.15, between $0.00 and $0.39.", ["$0.39"]),  # of a group that is not named
        ("- Shock: 2\n- Trend: 12", ["2"]),  # the number of groups
    ],
)
def test_figure_of_few_digits_is_of_the_row_that_its_sentence_names(text, unknown):
    assert list_unknown(text, make_sources(ANSWER)) == unknown


PLAN = {
    "check": {"symbol": "BTC", "stop_distance_pct": 4.0, "risk_pct": 1.0, "rules": [{"rule": "At most 1% at risk"}]}
}


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("The BTC stop is 4.0% away and 1.0% is at risk.", []),
        ("The BTC stop is 1.0% away.", ["1.0%"]),
        ("10 % is the difference between 90 % and 80 %.", ["10 %", "90 %", "80 %"]),
    ],
)
def test_percentage_is_of_what_its_words_measure(text, unknown):
    assert list_unknown(text, make_sources(PLAN)) == unknown


def test_figures_of_a_text_stay_in_their_sentence():
    sources = make_sources(
        {"notes": [{"note_id": "n", "text": "ETH: net -$21.03 over 2 trades.\nBTC: net $5.26 over 7."}]}
    )

    assert list_unknown("Net was -$21.03 over 2 trades.", sources) == []
    assert list_unknown("Net was -$21.03 over 7 trades.", sources) == ["7"]


def test_date_is_of_the_side_of_the_trade_that_the_words_name():
    trade = {"trade_id": "t", "symbol": "BTC", "entry_at": "2026-03-12T14:30:00Z", "exit_at": "2026-03-13T08:00:00Z"}
    sources = make_sources({"trades": [{**trade, "net_pnl_usd": 28.4}]})

    assert list_unknown("BTC, out on 13 March: +$28.40.", sources) == []
    assert list_unknown("BTC, out on 12 March: +$28.40.", sources) == ["12 March"]
