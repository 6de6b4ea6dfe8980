"""What the matrix asks the pages of trading."""

from tests.matrix.asks import Case, from_htmx

BACKTEST = {
    **{"first_day": "2026-04-01", "last_day": "2026-04-30", "starting_equity_usd": "10000"},
    **{"fee_bps": "4", "slippage_bps": "2", "volume_pct": "10"},
}
ADDRESS = "0x" + "cd" * 20

TRADING = {
    "trading:profile": Case(posts=({"time_zone": "UTC", "id": "{user_id}", "user": "{user_id}", "pk": "{user_id}"},)),
    "trading:access": Case(),
    "trading:tier": Case(
        posts=({"tier": "expert", "user": "{user_id}"}, {"tier": "", "next": "/skills/{skill_id}/edit/"}, {"tier": "x"})
    ),
    "trading:add_token": Case(
        posts=(
            {
                "name": "{words}",
                "scope": "read",
                "areas": "facts",
                "days": "30",
                "id": "{token_id}",
                "user": "{user_id}",
            },
        )
    ),
    "trading:revoke_token": Case(),
    "trading:revoke_tokens": Case(posts=({"id": "{token_id}", "user": "{user_id}"},)),
    "trading:theme": Case(posts=({"theme": "dark", "next": "/chat/{conversation_id}/"},), is_public=True),
    "trading:trades": Case(
        queries=(
            *("deployment={deployment_id}", "skill={skill_id}", "backtests={run_id}", "backtests=with"),
            *("q={words}", "symbol=ETH&status=open", "page=2", "verdict=kept&rule={rule_id}"),
            *("show=days", "show=groups", "show=paths&columns=r&columns=tags", "tag={words}", "hour=14&weekday=mon"),
            "period=2026",
        ),
        headers=(from_htmx("results"),),
    ),
    "trading:export_trades": Case(
        queries=("deployment={deployment_id}", "skill={skill_id}&format=json", "backtests={run_id}", "user={user_id}")
    ),
    "trading:remark": Case(posts=({"text": "{words}", "tags": "{words}"}, {"text": "x" * 3000})),
    "trading:picture": Case(posts=({"act": "drop"}, {})),
    "trading:add_filter": Case(
        posts=({"name": "{words}", "query": "deployment={deployment_id}"}, {"name": "", "query": "?side=long"})
    ),
    "trading:remove_filter": Case(),
    "trading:ask": Case(
        queries=(
            *("deployment={deployment_id}", "skill={skill_id}", "symbol={words}", "group=skill", "group=deployment"),
            *("measure=r&group=trade", "period={words}", "user={user_id}"),
        )
    ),
    "trading:check": Case(
        queries=(
            *("symbol=BTC&side=long&stop=1&deployment={deployment_id}", "symbol=ETH&side=short&size_usd=10"),
            "symbol={words}&side=long",
        )
    ),
    "trading:imports": Case(),
    "trading:import_file": Case(
        posts=tuple({"act": act, "zone": "UTC", "decimal": ".", "fee_sign": "1"} for act in ("read", "import", "drop"))
    ),
    "trading:measure_trade": Case(),
    "trading:undo_import": Case(),
    "trading:change_openings": Case(
        posts=(
            {"remove": "{opening_id}"},
            {"account": "{deployment_id}", "symbol": "BTC", "at": "2025-01-01", "quantity": "1", "price": "1"},
        )
    ),
    "trading:start_reading": Case(
        posts=(
            {"venue": "hyperliquid", "name": "Second", "address": ADDRESS, "id": "{account_id}", "user": "{user_id}"},
        )
    ),
    "trading:change_account": Case(posts=({"act": "read"}, {"act": "remove"})),
    "trading:backtests": Case(
        queries=("skill={skill_id}&first_day=2026-04-01&last_day=2026-04-30", "page=2"),
        posts=(
            {"skill": "{skill_id}", "first_day": "2026-04-01", "last_day": "2026-04-30"},
            {**BACKTEST, "skill": "{skill_id}", "user": "{user_id}", "id": "{run_id}"},
        ),
        headers=(from_htmx("backtest-runs"), from_htmx("backtest-bars")),
    ),
    "trading:backtest": Case(queries=("page=2&verdict=none",), headers=(from_htmx("backtest-run"),)),
    "trading:compare_backtests": Case(queries=("first={run_id}&second={run_id}", "first={run_id}")),
    "trading:cancel_backtest": Case(),
    "trading:new_skill": Case(
        queries=("draft={draft_id}", "view=form&draft={draft_id}"),
        posts=(
            {"act": "template:range_fade", "id": "{draft_id}", "user": "{user_id}"},
            *(
                {**view, "act": act, "seen": "", "name": "{words}", "draft": "{draft_id}", "skill": "{skill_id}"}
                for act in ("keep", "save", "look")
                for view in ({}, {"view": "form"})
            ),
            {"act": "close", "draft": "{draft_id}"},
            {"act": "discard", "draft": "{draft_id}"},
        ),
    ),
    "trading:draft_preview": Case(
        queries=("seen=", "draft={draft_id}&skill={skill_id}"), headers=(from_htmx("draft-preview"),)
    ),
    "trading:skill": Case(queries=("compare={version}..{version}", "compare=1..1", "version={version}")),
    "trading:edit_skill": Case(
        queries=("view=form",),
        posts=tuple(
            {**view, "act": act, "seen": "", "description": "{words}", "user": "{user_id}"}
            for act in ("keep", "save", "save_over", "close", "discard", "template:range_fade")
            for view in ({}, {"view": "form"})
        ),
    ),
    "trading:edit_preview": Case(queries=("seen=", "draft={draft_id}"), headers=(from_htmx("draft-preview"),)),
    "trading:deploy": Case(posts=({"starting_equity_usd": "10000", "id": "{deployment_id}", "user": "{user_id}"},)),
    "trading:archive_skill": Case(),
    "trading:deployments": Case(queries=("deployment={deployment_id}",)),
    "trading:deployment": Case(queries=("page=2", "page=x", "verdict=none")),
    "trading:deployment_live": Case(queries=("seen=0123456789abcdef",)),
    "trading:deployment_prices": Case(queries=("symbol=BTC", "symbol=ETH", "symbol={words}")),
    "trading:export_decisions": Case(queries=("format=json", "verdict=none", "user={user_id}")),
    "trading:command": Case(posts=tuple({"kind": kind} for kind in ("pause", "stop", "flatten", "redeploy", "x"))),
    "trading:keep_note": Case(),
    "trading:calendar": Case(
        queries=("symbols=ETH", "view=month", "first_day=2026-06-01&last_day=2026-08-01"),
        headers=(from_htmx("results"),),
    ),
}
