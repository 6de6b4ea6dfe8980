"""What the matrix asks the REST API. An operation without a body and parameters needs no case."""

from tests.matrix.asks import Case
from tests.strangers import CANARY

EMPTY_DOCUMENT = {
    **{"facts": [], "placer_user_datapoints": []},
    "metadata": {
        **{"last_updated": "2026-05-01T12:00:00Z", "total_facts": 0, "total_active_facts": 0, "total_pois": 0},
        **{"token_count": 0, "schema_version": "1.0"},
    },
}
FILL = {"fill_id": "{client_id}", "symbol": "SOL", "at": "2026-05-01T12:00Z", "quantity": "1", "price": "100"}
OWN_FILL = "fill_id,time,symbol,side,quantity,price\n1,2025-03-01T10:00:00Z,BTC,buy,1,90000\n"

API = {
    "api:docs": Case(),
    "api:trading:me": Case(queries=("user={user_id}", "id={user_id}")),
    "api:trading:skills-list": Case(queries=("archived=true", "cursor={skill_id}")),
    "api:trading:skills-versions": Case(queries=("cursor={skill_id}",)),
    "api:trading:skills-deploy": Case(sends=(("post", {}), ("post", {"id": "{deployment_id}", "user": "{user_id}"}))),
    "api:trading:drafts-list": Case(
        queries=("cursor={draft_id}",), sends=(("post", {}), ("post", {"skill_id": "{skill_id}"}))
    ),
    "api:trading:drafts-detail": Case(
        sends=(("patch", {"name": "{words}"}), ("patch", {"name": "Mine", "user": "{user_id}"}), ("delete", {}))
    ),
    "api:trading:drafts-save": Case(sends=(("post", {}), ("post", {"over_newer": True}))),
    "api:trading:drafts-template": Case(sends=(("post", {"template": "range_fade"}),)),
    "api:trading:deployments-list": Case(
        queries=("skill_id={skill_id}", "status=running", "cursor={deployment_id}"),
        sends=(
            ("post", {"skill_id": "{skill_id}"}),
            ("post", {"skill_id": "{skill_id}", "id": "{deployment_id}", "user": "{user_id}"}),
        ),
    ),
    "api:trading:deployments-trades": Case(queries=("words={words}", "skill_id={skill_id}", "cursor={trade_id}")),
    "api:trading:deployments-notes": Case(queries=("cursor={note_id}",)),
    "api:trading:deployments-decisions": Case(queries=("verdict=none",)),
    "api:trading:deployments-equity": Case(queries=("since=2026-04-01T00:00Z",)),
    "api:trading:deployments-commands": Case(sends=(("post", {"kind": "pause"}), ("post", {"kind": "flatten"}))),
    "api:trading:pushes-push-fills": Case(sends=(("post", {"fills": []}), ("post", {"fills": [FILL]}))),
    "api:trading:pushes-push-tick": Case(
        sends=(
            ("post", {"at": "2026-06-01T00:00Z", "fills": [FILL], "positions": {}}),
            ("post", {"at": "2026-06-01T00:00Z", "reasons": [{"symbol": "BTC", "reason": "{words}"}]}),
        )
    ),
    "api:trading:trades-list": Case(
        queries=(
            *("deployment_id={deployment_id}", "deployment_id={deployment_id}&with_backtests=true"),
            *("skill_id={skill_id}", "words={words}", "cursor={trade_id}", "tag={words}"),
        )
    ),
    "api:trading:trades-check": Case(
        queries=("symbol=BTC&side=long&stop=1&deployment={deployment_id}", "symbol=ETH&side=short&size_usd=10")
    ),
    "api:trading:trades-ask": Case(
        queries=("deployment={deployment_id}", "skill={skill_id}", "group=deployment", "measure=r&group=trade")
    ),
    "api:trading:imports": Case(
        sends=(
            ("post", {"content": OWN_FILL, "name": "{words}", "dry_run": True}),
            ("post", {"content": OWN_FILL, "name": "{words}", "deployment": "{deployment_id}", "user": "{user_id}"}),
            ("post", {"content": OWN_FILL, "name": "{words}", "columns": {"symbol": "{words}"}}),
        )
    ),
    "api:trading:rules": Case(queries=("user={user_id}", "id={rule_id}")),
    "api:trading:events": Case(queries=("deployment_id={deployment_id}",)),
    "api:trading:backtests-list": Case(
        queries=("skill_id={skill_id}", "cursor={run_id}"),
        sends=(("post", {"skill_id": "{skill_id}", "starts_at": "2026-04-01T00:00Z", "ends_at": "2026-05-01T00:00Z"}),),
    ),
    "api:memory:facts-list": Case(
        queries=(
            "q={words}",
            "state=trash&q={words}",
            "topic={words}",
            "cursor={fact_id}",
            "known_at=2026-05-02T00:00Z",
        ),
        sends=(("post", {"content": "{words}"}), ("post", {"content": "{words}", "id": "{fact_id}"})),
    ),
    "api:memory:facts-recall": Case(queries=(f"query={CANARY}", "query={fact_id}&limit=50")),
    "api:memory:facts-detail": Case(
        sends=(("patch", {"content": "{words}"}), ("patch", {"topic": "risk", "user": "{user_id}"}), ("delete", {}))
    ),
    "api:memory:memory-block": Case(queries=("assistant=advisor", "assistant=companion")),
    "api:memory:memory-document": Case(
        sends=(("post", {"facts": [{"id": "{fact_id}"}], "metadata": {}}), ("post", EMPTY_DOCUMENT))
    ),
    "api:memory:memory-archive": Case(
        sends=(
            ("post", {"format": "keel-memory", "version": 1, "facts": [{"id": "{fact_id}", "lineage": "{fact_id}"}]}),
        )
    ),
    "api:memory:memory-import-list": Case(sends=(("post", {"text": "{words}"}),)),
    "api:memory:events-list": Case(queries=("cursor={event_id}",)),
    "api:memory:places-list": Case(sends=(("post", {"place_id": "{place_id}", "name": "{words}"}),)),
    "api:memory:places-detail": Case(sends=(("delete", {}),)),
    "api:chat:turns": Case(
        sends=(
            # What was sent before is answered from the rows; where nothing is found, no turn begins either.
            ("post", {"conversationId": "{conversation_id}", "client_id": "{client_id}", "message": "{words}"}),
            (
                "post",
                {"conversationId": "{conversation_id}", "client_id": "{client_id}", "message": "x", "stream": False},
            ),
            ("post", {"openingContext": {"mode": "coach", "deployment_id": "{deployment_id}"}, "message": "{words}"}),
            ("post", {"openingContext": {"mode": "authoring", "skill_id": "{skill_id}"}, "message": "{words}"}),
            ("post", {"conversationId": "{conversation_id}", "message": "Hello", "user": "{user_id}"}),
        )
    ),
    "api:chat:conversations-list": Case(
        queries=("status=archived", "trashed=true", "cursor={conversation_id}"),
        sends=(
            ("post", {"opening_context": {"mode": "coach", "deployment_id": "{deployment_id}"}}),
            ("post", {"opening_context": {"mode": "authoring", "skill_id": "{skill_id}"}}),
            ("post", {"opening_context": {"mode": "ops", "skill_id": "{skill_id}", "version": 1}}),
            ("post", {"opening_context": {"mode": "ops", "trade_id": "{trade_id}"}}),
            ("post", {"opening_context": {"mode": "ops", "backtest_id": "{run_id}"}}),
            ("post", {"opening_context": {"mode": "ops", "about_fact_id": "{fact_id}"}}),
            ("post", {"id": "{conversation_id}", "user": "{user_id}"}),
        ),
    ),
    "api:chat:conversations-search": Case(queries=(f"q={CANARY}", "q={words}", "q={conversation_id}")),
    "api:chat:conversations-detail": Case(
        sends=(("patch", {"title": "{words}"}), ("patch", {"title": "x", "user": "{user_id}"}), ("delete", {}))
    ),
    "api:chat:conversations-messages": Case(queries=("order=newest", "cursor={message_id}")),
    "api:chat:export": Case(queries=("user={user_id}",)),
    "api:chat:usage": Case(queries=("cursor={message_id}",)),
    "api:nowhere": Case(queries=("id={fact_id}",), is_nowhere=True),
}
