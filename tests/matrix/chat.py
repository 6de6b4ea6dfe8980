"""What the matrix asks the pages of the chat, and those of the site."""

from urllib.parse import urlencode

from tests.matrix.asks import Case, from_htmx

ABOUT = (
    {"trade": "{trade_id}"},
    {"backtest": "{run_id}"},
    {"skill": "{skill_id}", "version": "1"},
    {"fact": "{fact_id}"},
)

CHAT = {
    "home": Case(queries=("conversation={conversation_id}",), is_public=True),
    "manifest": Case(is_public=True),
    "service_worker": Case(is_public=True),
    "offline": Case(is_public=True),
    "chat:first_steps": Case(
        posts=({"skip": "all", "user": "{user_id}"}, {"rule": "Never above 2x leverage", "id": "{fact_id}"}, {})
    ),
    "healthz": Case(is_public=True),
    "readyz": Case(is_public=True),
    "metrics": Case(is_nowhere=True, is_public=True),
    "usersessions_list": Case(posts=({"session": "1"}, {"session": "x"}, {})),
    "chat:index": Case(
        queries=(
            *("conversation={conversation_id}", "trade={trade_id}", "fact={fact_id}", "older"),
            *(f"{act}={{conversation_id}}" for act in ("archived", "unarchived", "trashed", "restored")),
        ),
        headers=(from_htmx("thread-list"),),
    ),
    "chat:new": Case(
        posts=(
            {"id": "{conversation_id}", "user": "{user_id}", "conversation": "{conversation_id}"},
            {"assistant": "{words}", "temporary": "on"},
            {"mode": "coach", "deployment": "{deployment_id}"},
            {"mode": "authoring", "skill": "{skill_id}"},
            *({"mode": "ops", **about} for about in ABOUT),
        )
    ),
    "chat:refocus": Case(posts=ABOUT),
    "chat:panel": Case(
        queries=(
            "conversation={conversation_id}",
            "conversation={message_id}",
            "mode=authoring&skill={skill_id}",
            "mode=authoring&conversation={conversation_id}",
            "mode=coach&deployment={deployment_id}",
            *(f"conversation={{conversation_id}}&{urlencode(about, safe='{}')}" for about in ABOUT),
        )
    ),
    "chat:search": Case(
        queries=("q={words}", "q={conversation_id}", "q={words}&page=2"),
        headers=(from_htmx("found"), from_htmx("results")),
    ),
    "chat:archive": Case(posts=({}, {"next": "/chat/{conversation_id}/"}), headers=(from_htmx("thread-list"),)),
    "chat:unarchive": Case(posts=({}, {"next": "/chat/{conversation_id}/"}), headers=(from_htmx("thread-list"),)),
    "chat:trash": Case(posts=({}, {"next": "/chat/{conversation_id}/"}), headers=(from_htmx("thread-list"),)),
    "chat:restore": Case(posts=({}, {"act": "undo"}), headers=(from_htmx("thread-list"),)),
    "chat:answers": Case(headers=({"HX-Request": "true"},)),
    "chat:bookmark": Case(posts=({"to": "on"}, {"to": "off"}), headers=({"HX-Request": "true"},)),
    "chat:journal": Case(queries=("week=2026-05-01", "week={words}")),
    "chat:kept": Case(queries=("q={words}", "page=2"), headers=(from_htmx("results"),)),
    "chat:review": Case(queries=("week=2026-05-01", "week={user_id}")),
    "chat:day_note": Case(posts=({"day": "2026-05-01", "text": "Mine", "user": "{user_id}"}, {"day": "x"})),
    "chat:edit_note": Case(
        posts=({"note": "{words}"}, {"note": "{words}", "user": "{user_id}"}, {"note": "x" * 501}),
        headers=(from_htmx("kept-{bookmark_id}"),),
    ),
    "chat:remove_bookmark": Case(headers=(from_htmx("kept-{bookmark_id}"),)),
    "chat:restore_bookmark": Case(
        posts=({"undo": "{bookmark_id}"}, {"undo": "", "message_id": "{message_id}"}), headers=({"HX-Request": "true"},)
    ),
    "chat:conversation": Case(queries=("message={message_id}",)),
    "chat:messages": Case(queries=("after={message_id}", "after=0", "before={message_id}&message={message_id}")),
    "chat:card": Case(headers=({"HX-Request": "true"},)),
    "chat:confirm_card": Case(posts=({}, {"digest": "{digest}"}), headers=({"HX-Request": "true"},)),
    "chat:cancel_card": Case(posts=({}, {"digest": "{digest}"}), headers=({"HX-Request": "true"},)),
    "chat:leave": Case(posts=({}, {"here": "1"})),
    "chat:quotes": Case(headers=({"HX-Request": "true"},)),
    "chat:erase_fact": Case(posts=({}, {"confirmed": "yes"}, {"confirmed": "yes", "with_messages": "yes"})),
    "chat:erase_account": Case(posts=({"email": "{words}", "id": "{user_id}", "user": "{user_id}"},)),
    "chat:export_everything": Case(queries=("user={user_id}",)),
    "chat:fact_rule": Case(headers=({"HX-Request": "true"},)),
    "chat:rules": Case(queries=("rule={rule_id}", "unread")),
    "chat:rule_record": Case(headers=({"HX-Request": "true"},)),
    "chat:decide_rule": Case(posts=({"state": "dismissed"}, {"state": "confirmed", "user": "{user_id}"}, {})),
    "chat:usage": Case(queries=("user={user_id}",)),
    "chat:rename": Case(posts=({"title": "Mine now"},), headers=({"Accept": "application/json"},)),
}
