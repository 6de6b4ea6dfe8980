"""What the matrix asks the pages of the memory."""

from tests.matrix.asks import Case, from_htmx

OF_A_FACT = (from_htmx("slot-{fact_id}"), from_htmx("fact-page"))
OF_A_PROPOSAL = (from_htmx("proposal-{proposal_id}"),)
LINK = {"relation": "relates_to", "to": "{words}"}
PLACE = {"name": "{words}", "notes": "{words}"}
FACT = {"content": "{words}", "topic": "goal", "category": "fact"}

MEMORY = {
    "memory:facts": Case(
        queries=(
            *("event={event_id}", "batch={batch_id}", "select=all", "page=2"),
            *("q={words}", "show=archived&q={words}", "show=trash&q={words}", "topic={words}", "group=none"),
            *("as_of=2026-06-01", "as_of=2026-06-01&by=now&q={words}"),
        ),
        posts=({**FACT, "id": "{fact_id}", "user": "{user_id}", "lineage": "{fact_id}"},),
        headers=(from_htmx("results"), from_htmx("more"), from_htmx("add-form")),
    ),
    "memory:fact": Case(queries=("edit", "event={event_id}"), headers=(*OF_A_FACT, from_htmx("menu-{fact_id}"))),
    "memory:edit": Case(posts=(FACT, {**FACT, "user": "{user_id}"}), headers=OF_A_FACT),
    "memory:promote": Case(headers=OF_A_FACT),
    "memory:demote": Case(headers=OF_A_FACT),
    "memory:confirm": Case(headers=OF_A_FACT),
    "memory:archive": Case(headers=OF_A_FACT),
    "memory:restore": Case(headers=OF_A_FACT),
    "memory:delete": Case(headers=OF_A_FACT),
    "memory:link": Case(
        posts=(LINK, {**LINK, "to": "{fact_id}"}, {**LINK, "pick": "{fact_id}"}, {**LINK, "to": "reads one book"}),
        headers=(from_htmx("fact-page"),),
    ),
    "memory:unlink": Case(headers=(from_htmx("fact-page"),)),
    "memory:bulk": Case(
        posts=tuple(
            {"fact": "{fact_id}", "act": act, "user": "{user_id}"}
            for act in ("promote", "demote", "archive", "delete", "restore", "erase")
        ),
        headers=(from_htmx("results"),),
    ),
    "memory:undo_batch": Case(headers=(from_htmx("results"),)),
    "memory:review": Case(
        queries=("page=2", "batch={batch_id}"),
        posts=(
            {"fact": "{fact_id}", "answer-{fact_id}": "right"},
            {"fact": "{fact_id}", "answer-{fact_id}": "forget", "content-{fact_id}": "{words}"},
        ),
    ),
    "memory:decide_all": Case(
        posts=tuple({"proposal": "{proposal_id}", "decision": decision} for decision in ("accept", "dismiss"))
    ),
    "memory:reopen_all": Case(posts=({}, {"decided": "2026-05-01T12:00:00+00:00"}, {"decided": "x"})),
    "memory:accept": Case(headers=OF_A_PROPOSAL),
    "memory:dismiss": Case(headers=OF_A_PROPOSAL),
    "memory:reopen": Case(headers=OF_A_PROPOSAL),
    "memory:places": Case(
        queries=("event={event_id}", "edit={place_id}"),
        posts=({**PLACE, "id": "{place_id}", "place_id": "{place_id}", "user": "{user_id}"},),
        headers=(from_htmx("places"),),
    ),
    "memory:edit_place": Case(posts=(PLACE, {**PLACE, "user": "{user_id}"}), headers=(from_htmx("places"),)),
    "memory:remove_place": Case(headers=(from_htmx("places"),)),
    "memory:preview": Case(queries=("assistant=advisor", "assistant=companion&page=2", "assistant={user_id}")),
    "memory:export": Case(queries=("user={user_id}", "fact={fact_id}")),
    "memory:import": Case(
        posts=(
            {"kind": "list", "text": "{words}", "user": "{user_id}"},
            {"kind": "document", "text": '{"facts": [{"id": "{fact_id}"}]}'},
        )
    ),
    "memory:settings": Case(
        posts=({"switch": "learns", "to": "off", "user": "{user_id}"},), headers=(from_htmx("switches"),)
    ),
    "memory:event": Case(headers=(from_htmx("memory-{event_id}"),)),
    "memory:undo": Case(
        posts=({}, {"surface": "chat"}, {"of": "{fact_id}"}), headers=(*OF_A_FACT, from_htmx("memory-{event_id}"))
    ),
}
