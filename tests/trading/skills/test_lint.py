from trading.skills.lint import lint_draft
from trading.skills.patches import default_payload, merge_patch
from trading.skills.schemas import parse_payload
from trading.skills.templates import TEMPLATES

GOOD = parse_payload(TEMPLATES["funding_mean_reversion"]).stored()


def titles(patch: dict, of: dict = GOOD) -> list[str]:
    return [finding.title for finding in lint_draft(merge_patch(of, patch))]


def test_a_doubtful_draft_is_found():
    for patch, title in (
        ({"strategy": {"exit": "", "thesis": "Crowds pay"}}, "No exit"),
        ({"strategy": {"mode": "rules", "exit": ""}}, "Rules without rules"),
        ({"strategy": {"mode": "rules", "entry": ""}}, "Rules without rules"),
        ({"strategy": {"exit": "At the mean", "risk_management": "Half size"}}, "No stop"),
        ({"schedule": {"value": "15m"}}, "It decides more often than a bar closes"),
        (
            {"schedule": {"value": "1d"}, "context": {"bars_interval": "15m", "bars_lookback": 48}},
            "It does not see what happened since it last looked",
        ),
        ({"trading_style": "day", "schedule": {"value": "12h"}}, "Too seldom for day trading"),
        (
            {"trading_style": "position", "schedule": {"value": "5m"}, "context": {"bars_interval": "5m"}},
            "Very often for position trading",
        ),
        ({"risk": {"max_leverage": 3}}, "More leverage than the caps can use"),
        ({"risk": {"daily_loss_halt_pct": 20}}, "The daily halt can hardly ever come"),
        ({"risk": {"daily_loss_halt_pct": 15}}, "A wide daily halt"),
        ({"strategy": {"avoid": ["Never trade ETH."]}}, "ETH is traded and avoided"),
        ({"strategy": {"avoid": ["no new positions in btc"]}}, "BTC is traded and avoided"),
        ({"context": {"symbols": ["BTC/USDT:USDT"]}, "strategy": {"avoid": ["Avoid BTC"]}}, "BTC/USDT:USDT is traded"),
        ({"tools": {"built_in": ["get_bars"]}}, "It cannot trade"),
        (
            {"tools": {"mcp_servers": [{"name": "x", "url": "https://example.com"}]}},
            "Its own servers are not called yet",
        ),
        (
            {"strategy": {"style": "event"}, "context": {"events": {"lookahead_hours": 0}}},
            "An event strategy that sees",
        ),
        ({"context": {"memory": {"enabled": False}}}, "It does not see its own record"),
        ({"strategy": {"avoid": []}}, "No hard rules"),
    ):
        assert [found for found in titles(patch) if found.startswith(title)] != []


def test_a_draft_that_is_right_is_left_alone():
    for patch in (
        {"strategy": {"exit": "", "thesis": "Crowds pay; take profit at the mean"}},
        {"strategy": {"risk_management": "", "exit": "At the mean, or 2 % against the entry"}},
        {"strategy": {"avoid": ["No BTC longs before FOMC"]}},
        {"strategy": {"avoid": ["Never trade ETH on Sundays"]}},
        {"strategy": {"avoid": ["Never trade SOL"]}},
        {"strategy": {"avoid": ["No trade in ETHFI"]}},
        {"risk": {"max_leverage": 2, "max_position_pct": 10, "max_total_exposure_pct": 20}},
        {"schedule": {"type": "daily", "value": "13:30"}},
        {"schedule": {"value": "4h"}},
    ):
        found = set(titles(patch))

        assert found & {"No exit", "ETH is traded and avoided", "BTC is traded and avoided"} == set()
        assert not {
            title for title in found if title.startswith(("More leverage", "It decides", "It does not see what"))
        }


def test_a_rule_is_quoted_as_one_line_and_a_schedule_left_to_the_schema():
    # As an older version may have stored it.
    payload = {**GOOD, "strategy": {**GOOD["strategy"], "avoid": ["Never trade BTC```"]}}

    [finding] = lint_draft(payload)
    assert "“Never trade BTC`”" in finding.detail

    assert titles({"schedule": {"type": "daily", "value": "1h"}}) == []

    for payload in ({}, default_payload(), *(parse_payload(one).stored() for one in TEMPLATES.values())):
        assert lint_draft(payload) == []
