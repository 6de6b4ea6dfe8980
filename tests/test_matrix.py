"""The matrix: every request as Ann, naming Bob's rows.

Both answers must be the same, Bob's words and ids in none, and his rows as they were. An address, a tool, a frame or
a command that has no case here fails the test that looks for it. (Frames: `test_matrix_socket.py`.)
"""

import json
import os
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from io import BytesIO, StringIO
from urllib.parse import urlencode
from uuid import UUID
from zipfile import ZipFile

import pytest
import time_machine
from django.contrib import admin
from django.core.management import CommandError, call_command, get_commands, load_command_class
from django.db import connection, transaction
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone
from jsonschema import validate

from chat.tools import TOOLS as CATALOGUE
from chat.tools import find_tool
from chat.tools.base import ToolContext
from config.lib.admin import ActAdmin
from config.lib.rest.views import ApiView
from memory.claims.sentences import find_untyped
from tests.factories.memory import JULY
from tests.strangers import (
    CANARY,
    Answer,
    Names,
    Person,
    dump,
    filled,
    make_person,
    make_unused_message_id,
    unknown_names,
)
from trading.models import Trader

pytestmark = pytest.mark.django_db

METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
PROJECT = ("chat", "config", "memory", "offline", "trading")


@dataclass(frozen=True)
class Case:
    """What a route is asked beyond its bare address; braces stand for names of Bob's, or of nobody."""

    queries: tuple[str, ...] = ()
    posts: tuple[dict[str, str], ...] = ({},)
    headers: tuple[dict[str, str], ...] = ()
    sends: tuple[tuple[str, dict[str, object]], ...] = ()  # methods with JSON, as the API is written to
    is_public: bool = False  # for people who are not signed in, too
    is_nowhere: bool = False  # there is nothing, for anybody


def from_htmx(target: str) -> dict[str, str]:
    return {"HX-Request": "true", "HX-Target": target}


OF_A_FACT = (from_htmx("slot-{fact_id}"), from_htmx("fact-page"))
OF_A_PROPOSAL = (from_htmx("proposal-{proposal_id}"),)
LINK = {"relation": "relates_to", "to": "{words}"}
PLACE = {"name": "{words}", "notes": "{words}"}
BACKTEST = {
    **{"first_day": "2026-04-01", "last_day": "2026-04-30", "starting_equity_usd": "10000"},
    **{"fee_bps": "4", "slippage_bps": "2", "volume_pct": "10"},
}
FACT = {"content": "{words}", "topic": "goal", "category": "fact"}
EMPTY_DOCUMENT = {
    **{"facts": [], "placer_user_datapoints": []},
    "metadata": {
        **{"last_updated": "2026-05-01T12:00:00Z", "total_facts": 0, "total_active_facts": 0, "total_pois": 0},
        **{"token_count": 0, "schema_version": "1.0"},
    },
}
FILL = {"fill_id": "{client_id}", "symbol": "SOL", "at": "2026-05-01T12:00Z", "quantity": "1", "price": "100"}
ADDRESS = "0x" + "cd" * 20
OWN_FILL = "fill_id,time,symbol,side,quantity,price\n1,2025-03-01T10:00:00Z,BTC,buy,1,90000\n"
# What a chat beside a page can be about.
ABOUT = (
    {"trade": "{trade_id}"},
    {"backtest": "{run_id}"},
    {"skill": "{skill_id}", "version": "1"},
    {"fact": "{fact_id}"},
)

ROUTES = {
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
    "trading:profile": Case(posts=({"time_zone": "UTC", "id": "{user_id}", "user": "{user_id}", "pk": "{user_id}"},)),
    "trading:access": Case(),
    "trading:tier": Case(
        posts=({"tier": "expert", "user": "{user_id}"}, {"tier": "", "next": "/skills/{skill_id}/edit/"}, {"tier": "x"})
    ),
    "trading:add_token": Case(
        posts=({"name": "{words}", "scope": "read", "days": "30", "id": "{token_id}", "user": "{user_id}"},)
    ),
    "trading:revoke_token": Case(),
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
    "trading:trade": Case(),
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
    "trading:skills": Case(),
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
    "trading:version": Case(),
    "trading:deployments": Case(queries=("deployment={deployment_id}",)),
    "trading:deployment": Case(queries=("page=2", "page=x", "verdict=none")),
    "trading:deployment_live": Case(queries=("seen=0123456789abcdef",)),
    "trading:deployment_prices": Case(queries=("symbol=BTC", "symbol=ETH", "symbol={words}")),
    "trading:export_decisions": Case(queries=("format=json", "verdict=none", "user={user_id}")),
    "trading:command": Case(posts=tuple({"kind": kind} for kind in ("pause", "stop", "flatten", "redeploy", "x"))),
    "trading:agent_prompt": Case(),
    "trading:decision": Case(),
    "trading:keep_note": Case(),
    "trading:calendar": Case(
        queries=("symbols=ETH", "view=month", "first_day=2026-06-01&last_day=2026-08-01"),
        headers=(from_htmx("results"),),
    ),
    "api:schema": Case(),
    "api:docs": Case(),
    "api:trading:me": Case(queries=("user={user_id}", "id={user_id}")),
    "api:trading:skills-list": Case(queries=("archived=true", "cursor={skill_id}")),
    "api:trading:skills-detail": Case(),
    "api:trading:skills-versions": Case(queries=("cursor={skill_id}",)),
    "api:trading:skills-version": Case(),
    "api:trading:skills-deploy": Case(sends=(("post", {}), ("post", {"id": "{deployment_id}", "user": "{user_id}"}))),
    "api:trading:skills-performance": Case(),
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
    "api:trading:deployments-detail": Case(),
    "api:trading:deployments-trades": Case(queries=("words={words}", "skill_id={skill_id}", "cursor={trade_id}")),
    "api:trading:deployments-notes": Case(queries=("cursor={note_id}",)),
    "api:trading:deployments-decisions": Case(queries=("verdict=none",)),
    "api:trading:deployments-decision": Case(),
    "api:trading:deployments-equity": Case(queries=("since=2026-04-01T00:00Z",)),
    "api:trading:deployments-commands": Case(sends=(("post", {"kind": "pause"}), ("post", {"kind": "flatten"}))),
    "api:trading:deployments-memory": Case(),
    "api:trading:deployments-prompt": Case(),
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
    "api:trading:trades-detail": Case(),
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
    "api:trading:backtests-detail": Case(),
    "api:trading:backtests-cancel": Case(sends=(("post", {}),)),
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
    "api:memory:facts-history": Case(),
    "api:memory:facts-confirm": Case(sends=(("post", {}),)),
    "api:memory:facts-promote": Case(sends=(("post", {}),)),
    "api:memory:facts-demote": Case(sends=(("post", {}),)),
    "api:memory:facts-archive": Case(sends=(("post", {}),)),
    "api:memory:facts-restore": Case(sends=(("post", {}),)),
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
    "api:memory:events-undo": Case(sends=(("post", {}),)),
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
    "api:chat:conversations-close": Case(sends=(("post", {}),)),
    "api:chat:conversations-stop": Case(sends=(("post", {}),)),
    "api:chat:export": Case(queries=("user={user_id}",)),
    "api:chat:usage": Case(queries=("cursor={message_id}",)),
    "api:nowhere": Case(queries=("id={fact_id}",), is_nowhere=True),
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
    "chat:trashed": Case(queries=("page=2",)),
    "chat:archive": Case(posts=({}, {"next": "/chat/{conversation_id}/"}), headers=(from_htmx("thread-list"),)),
    "chat:unarchive": Case(posts=({}, {"next": "/chat/{conversation_id}/"}), headers=(from_htmx("thread-list"),)),
    "chat:trash": Case(posts=({}, {"next": "/chat/{conversation_id}/"}), headers=(from_htmx("thread-list"),)),
    "chat:restore": Case(posts=({}, {"act": "undo"}), headers=(from_htmx("thread-list"),)),
    "chat:answers": Case(headers=({"HX-Request": "true"},)),
    "chat:bookmark": Case(posts=({"to": "on"}, {"to": "off"}), headers=({"HX-Request": "true"},)),
    "chat:receipt": Case(),
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
    "chat:ask_about_fact": Case(),
    "chat:close": Case(),
    "chat:leave": Case(posts=({}, {"here": "1"})),
    "chat:quotes": Case(headers=({"HX-Request": "true"},)),
    "chat:erase_fact": Case(posts=({}, {"confirmed": "yes"}, {"confirmed": "yes", "with_messages": "yes"})),
    "chat:erase_account": Case(posts=({"email": "{words}", "id": "{user_id}", "user": "{user_id}"},)),
    "chat:export": Case(),
    "chat:export_everything": Case(queries=("user={user_id}",)),
    "chat:fact_rule": Case(headers=({"HX-Request": "true"},)),
    "chat:rules": Case(queries=("rule={rule_id}", "unread")),
    "chat:rule_record": Case(headers=({"HX-Request": "true"},)),
    "chat:decide_rule": Case(posts=({"state": "dismissed"}, {"state": "confirmed", "user": "{user_id}"}, {})),
    "chat:usage": Case(queries=("user={user_id}",)),
    "chat:rename": Case(posts=({"title": "Mine now"},), headers=({"Accept": "application/json"},)),
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
    "memory:changes": Case(queries=("page=2",)),
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
# Groups of addresses, by their path and their names, that are not about one user's rows. Each address is still asked
# by strangers and by Ann, below.
EXEMPT = {
    ("admin/", "admin:"): "staff look at everybody's rows, under the system's scope",
    ("accounts/", ("account_", "mfa_", "socialaccount_", "openid_connect_")): "allauth's own, which know no owned row",
}
# Those of allauth's that a person must reach before signing in.
PUBLIC_ACCOUNT_PAGES = {
    "account_login",
    "account_signup",
    "account_inactive",
    "account_confirm_email",
    "account_email_verification_sent",
    "account_confirm_login_code",
    "account_reset_password",
    "account_reset_password_done",
    "account_reset_password_from_key",
    "account_reset_password_from_key_done",
    "account_logout",
    "mfa_authenticate",
    "mfa_login_webauthn",
    "socialaccount_login_cancelled",
    "socialaccount_login_error",
    "socialaccount_signup",
    "openid_connect_login",
    "openid_connect_callback",
}
TOOLS = {
    "remember": ({"fact": "{words}", "topic": "goal", "confidence": "asserted"}, {"fact": "{words}"}),
    "forget": ({"fact_id": "{fact_id}"}, {"fact_id": "{words}"}, {"fact_id": "{words}", "reason": "user_corrected"}),
    "save_preference": ({"category": "profile", "content": "{words}", "detail": "{words}"},),
    "update_preference": tuple(
        {"id_or_substring": reference, "new_content": "Trades silver"} for reference in ("{fact_id}", "{words}")
    ),
    "forget_preference": ({"id_or_substring": "{fact_id}"}, {"id_or_substring": "{words}"}),
    "confirm_preference": ({"id_or_substring": "{fact_id}"}, {"id_or_substring": "{words}"}),
    "link_preferences": (
        {"from_id": "{fact_id}", "to_id": "in full", "relation": "relates_to"},
        {"from_id": "in full", "to_id": "{words}", "relation": "relates_to"},
    ),
    "list_preferences": ({}, {"category": "profile"}),
    "recall_preferences": ({"query": CANARY}, {"query": "{fact_id}"}),
    "manage_user_memory": (
        {"operation": "add_fact", "content": "{words}"},
        {"operation": "deactivate_fact", "fact_id": "{fact_id}"},
        {"operation": "deactivate_fact", "fact_id": "{words}"},
        {"operation": "add_poi", "place_id": "{place_id}", "place_name": "{words}"},
        {"operation": "get_memory"},
    ),
    # Whose draft they write is in the chat's opening: tests/chat/tools/test_drafts.py.
    "set_basics": ({"name": "{words}", "description": "{words}"}, {"user": "{user_id}"}),
    "set_strategy": ({"thesis": "{words}", "avoid": ["{words}"]}, {"template": "range_fade"}),
    "set_context": ({"symbols": ["ETH"], "memory": {"recentTradesK": 3}}, {"symbols": ["{words}"]}),
    "set_risk": ({"maxLeverage": 2}, {"maxLeverage": "{draft_id}"}),
    "set_schedule": ({"type": "interval", "value": "4h"},),
    "set_tools": ({"builtIn": ["propose_order"]},),
    "critique_draft": ({},),
    "list_my_skills": ({},),
    "get_skill_performance": tuple(
        {"skill_id": "{skill_id}", "detail": detail} for detail in ("summary", "trades", "lessons", "full")
    ),
    "get_my_deployments": (
        {},
        {"detail": "full"},
        *({"deployment_id": "{deployment_id}", "detail": detail} for detail in ("list", "trades", "lessons", "full")),
    ),
    "get_market_overview": ({}, {"symbols": ["BTC", "ETH"]}),
    "get_recent_news": ({}, {"symbols": ["ETH"], "lookbackHours": 168}),
    "get_upcoming_events": ({}, {"deploymentId": "{deployment_id}", "lookaheadHours": 72}),
    "query_trades": (
        *({"measure": measure, "group": group} for measure in ("net", "r") for group in ("deployment", "trade")),
        *({"where": {name: f"{{{name}_id}}"}} for name in ("deployment", "skill")),
        {"where": {"symbol": "{words}"}, "period": "{words}"},
        {"check": {"symbol": "BTC", "side": "long", "deployment": "{deployment_id}"}},
    ),
    "prepare_action": (
        *({"type": kind, "skill_id": "{skill_id}"} for kind in ("deploy", "start_backtest")),
        *(
            {"type": kind, "deployment_id": "{deployment_id}"}
            for kind in ("redeploy", "stop", "pause", "resume", "flatten")
        ),
    ),
}
# Tools that write nothing here, and what is in a result that found rows of its user.
LOOKING = {
    "forget": '"candidates": [{',  # no message of the chat names the fact, so the tool asks
    "forget_preference": '"candidates": [{',
    "list_preferences": '"content": "',
    "recall_preferences": '"total": ',
    "list_my_skills": '"running_deployments": 2',
    "get_skill_performance": '"trade_id"',
    "get_my_deployments": '"positions": [{',
    "get_market_overview": '"symbol": "ETH"',  # held
    "get_recent_news": '"news": [',
    "get_upcoming_events": '"your_exposure": [',
    "query_trades": '"trade_ids": ["',
    "prepare_action": '"card_id"',
    **dict.fromkeys(
        ("set_basics", "set_strategy", "set_context", "set_risk", "set_schedule", "set_tools"), '"still_missing"'
    ),
    "critique_draft": '"findings"',
}
COMMANDS = {
    "call_tool": ("--conversation", "{conversation_id}", "remember", '{"fact": "Trades silver"}'),
    "close_conversation": ("{conversation_id}",),
    "chat": ("--conversation", "{conversation_id}", "Hello"),
    "show_prompt": ("--conversation", "{conversation_id}"),
    "import_fills": ("no-such-file.csv", "--deployment", "{deployment_id}"),
    "export_trades": ("--deployment", "{deployment_id}"),
    "show_agent_prompt": ("{deployment_id}",),
    "reflect_on_trades": ("--deployment", "{deployment_id}"),
}


# --- What there is ---


@dataclass(frozen=True)
class Entry:
    """One address of the site."""

    name: str
    path: str  # with braces for its arguments
    callback: object

    @property
    def group(self) -> str | None:
        return next((p for p, names in EXEMPT if self.path.startswith(p) and self.name.startswith(names)), None)


def entries(patterns=None, path: str = "", namespace: str = "") -> list[Entry]:
    found = []
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        here = path + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", _without_regex(str(pattern.pattern)))
        if isinstance(pattern, URLPattern):
            found.append(Entry(namespace + (pattern.name or here), here, pattern.callback))
        else:
            inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
            found += entries(pattern.url_patterns, here, inner)
    return found


def _without_regex(route: str) -> str:
    return re.sub(r"\(\?P(<\w+>)(?:[^()]|\\.)*\)", r"\1", route).strip("^$")


ENTRIES = entries()
OURS = {entry.name: entry for entry in ENTRIES if entry.group is None}


def tool_names() -> set[str]:
    return {tool.name for tools in CATALOGUE.values() for tool in tools}


def commands_that_take_an_id() -> set[str]:
    ours = {name: app for name, app in get_commands().items() if app in PROJECT}
    parsers = {name: load_command_class(app, name).create_parser("manage.py", name) for name, app in ours.items()}
    return {name for name, parser in parsers.items() if any(action.type is UUID for action in parser._actions)}


@pytest.mark.parametrize(
    ("covered", "present"),
    [(ROUTES.keys(), OURS.keys()), (TOOLS.keys(), tool_names()), (COMMANDS.keys(), commands_that_take_an_id())],
    ids=["ROUTES", "TOOLS", "COMMANDS"],
)
def test_matrix_has_a_case_for_each_entry(covered, present):
    assert sorted(present - covered) == [], "no case in the matrix: say how to ask these for somebody else's rows"
    assert sorted(covered - present) == [], "a case in the matrix for what is gone"


# --- Who asks ---


@pytest.fixture(autouse=True)
def _noon():
    """Stop the clock, so that no two answers show different times."""
    with time_machine.travel(JULY, tick=False):
        yield


@pytest.fixture(autouse=True)
def _by_words_alone(settings):
    """Find one's own rows by words: what is near in meaning differs from name to name, and tells of nobody."""
    settings.MEMORY_EMBEDDING_MODEL = ""


@pytest.fixture(scope="module")
def world(django_db_setup, django_db_blocker):
    """Bob, names that fit no row, and Ann: made once, in a transaction around those of the tests.

    The names of nobody lie between Bob's and Ann's where they are numbers.
    """
    around = transaction.atomic()
    around._from_testcase = True
    with django_db_blocker.unblock():
        around.__enter__()
        with time_machine.travel(JULY, tick=False), override_settings(MEMORY_EMBEDDING_MODEL=""):
            people = make_person(CANARY), unknown_names(make_unused_message_id()), make_person("ann")
    yield people
    with django_db_blocker.unblock():
        transaction.set_rollback(True)
        around.__exit__(None, None, None)


@pytest.fixture
def bob(world, db):
    return world[0]


@pytest.fixture
def nobody(world, db):
    return world[1]


@pytest.fixture
def ann(world, db):
    return world[2]


@pytest.fixture
def as_ann(ann):
    client = Client()
    client.force_login(ann.user)
    return client


@dataclass(frozen=True)
class Ask:
    """One request, with braces for names."""

    method: str
    path: str
    query: str = ""
    body: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    json: str | None = None

    def telling_names(self, person: Person) -> list[Names]:
        """Return names of a person for all the ways to send it; one, if it only tries another header."""
        told = {filled(f"{self.path} {self.query} {self.body} {self.json}", names): names for names in person.names()}
        return list(told.values())[: 1 if self.headers else None]

    def send(self, client: Client, names: Names) -> HttpResponse:
        query = {key: filled(value, names) for key, _, value in (p.partition("=") for p in self.query.split("&") if p)}
        data = {filled(key, names): filled(value, names) for key, value in self.body}
        headers = {key: filled(value, names) for key, value in self.headers}
        content: dict[str, object] = {"data": data} if self.method == "post" else {}
        if self.json is not None:
            content = {"data": filled(self.json, names), "content_type": "application/json"}
        client.cookies.pop("messages", None)  # of an earlier request
        path = "/" + filled(self.path, names)
        assert "{" not in path, f"nobody bears a name for {path}: add it to tests/strangers.py"
        return getattr(client, self.method)(path, query_params=query, headers=headers, **content)


def asks(entry: Entry, case: Case) -> list[Ask]:
    """Return the requests that a route is tried with."""
    bare = [Ask(method, entry.path) for method in METHODS]
    reads = [Ask("get", entry.path, query) for query in ("", *case.queries)]
    writes = [Ask("post", entry.path, body=tuple(body.items())) for body in case.posts]
    sends = [Ask(method, entry.path, json=json.dumps(body)) for method, body in case.sends]
    fetches = [replace(ask, headers=tuple(head.items())) for ask in [*reads, *writes] for head in case.headers]
    return [*dict.fromkeys([*bare, *reads, *writes, *sends, *fetches])]


def read_body(response: HttpResponse) -> str:
    """Return the text of a response, streamed or not; of a zip that of its files, but for the one with the time."""
    body = b"".join(response)
    if not body or response.headers.get("Content-Type") != "application/zip":  # HEAD has no body
        return body.decode()
    with ZipFile(BytesIO(body)) as packed:
        return " ".join(packed.read(name).decode() for name in packed.namelist() if name != "schema.json")


def answer(response: HttpResponse, names: Names) -> Answer:
    cookies = {
        name: cookie.value for name, cookie in response.cookies.items() if name not in ("csrftoken", "sessionid")
    }
    headers = sorted((name, value) for name, value in response.headers.items() if name != "Content-Length")
    return Answer(f"{response.status_code} {headers} {cookies} {read_body(response)}", names)


class Undo(Exception):
    """Ends a transaction whose writes are not wanted."""


@contextmanager
def undone():
    """Take back what is written inside, so that every request finds the same rows."""
    with suppress(Undo), transaction.atomic():
        yield
        raise Undo


class Watch:
    """Compares a person's rows with those before, where something was written at all."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.before = dump(person.user)
        self._has_written = False

    def __call__(self, execute, sql, params, many, context):
        """Note whether a statement may write: each that Django executes passes by here."""
        self._has_written |= not sql.lstrip().startswith(("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK"))
        return execute(sql, params, many, context)

    def finds_the_same_rows(self) -> bool:
        """Tell whether the rows are as they were."""
        if self._has_written:
            self._has_written = False
            return dump(self.person.user) == self.before
        return True


# --- Routes ---

each_route = pytest.mark.parametrize("name", sorted(ROUTES.keys() & OURS.keys()))
PUBLIC = {name for name, case in ROUTES.items() if case.is_public}
API = {name for name, entry in OURS.items() if entry.path.startswith("api/")} - {"api:docs"}  # that one is a page


@each_route
def test_route_says_the_same_of_bobs_rows_as_of_none(name, as_ann, bob, nobody):
    watch = Watch(bob)
    for turn, ask in enumerate(asks(OURS[name], ROUTES[name])):
        with undone():
            response = ask.send(as_ann, nobody)
            of_nobody = answer(response, nobody)
        assert "{" not in ask.path or name not in API or response.status_code >= 400, f"{ask} found a row of nobody's"
        # A method that the route does not know is refused before any name is read: one of Bob's names is enough.
        # `make test` sends each request with one of them in turn, `make test-all` with each.
        told = ask.telling_names(bob)
        is_one_enough = response.status_code == 405 or os.environ.get("KEEL_TEST_SCOPE") == "usual"
        for names in [told[turn % len(told)]] if is_one_enough else told:
            with undone():
                with connection.execute_wrapper(watch):
                    of_bob = answer(ask.send(as_ann, names), names)
                assert watch.finds_the_same_rows(), f"{ask} wrote a row of Bob's"
            assert of_bob.gives_away(bob) == [], ask
            assert of_bob.comparable == of_nobody.comparable, ask
    assert dump(bob.user) == watch.before


def test_routes_answer_their_own_user(ann, as_ann):
    # Or both answers would be the same because nothing is ever found.
    for name in sorted(ROUTES.keys() & OURS.keys()):
        if ROUTES[name].is_nowhere:
            continue
        tried = asks(OURS[name], ROUTES[name])
        plain = [ask for ask in tried if (ask.method in ("get", "post") or ask.json is not None) and not ask.headers]
        with undone():
            answers = (ask.send(as_ann, names) for ask in plain for names in ask.telling_names(ann))
            assert any(response.status_code in {200, 201, 202, 204, 302} for response in answers), name


def test_operations_of_the_api_answer_as_they_are_described(ann, as_ann):
    described = as_ann.get(reverse("api:schema")).json()
    operations = {
        (path, method): operation
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    }
    answered = set()
    for name in sorted(API):
        for ask in asks(OURS[name], ROUTES[name]):
            key = (f"/{ask.path}", ask.method)
            for names in ask.telling_names(ann) if key in operations.keys() - answered else ():
                with undone():
                    response = ask.send(as_ann, names)
                if response.status_code < 300:
                    answered.add(key)
                    check_content(response, operations[key]["responses"][str(response.status_code)], described)
                    break
    assert sorted(operations.keys() - answered) == []


def check_content(response: HttpResponse, part: dict, described: dict) -> None:
    content = part.get("content", {}).get(response.headers.get("Content-Type"))
    assert content or response.status_code == 204, part
    if content and response.headers["Content-Type"] == "application/json":
        validate(response.json(), {**content["schema"], "components": described["components"]})


def test_routes_refuse_methods_they_do_not_know(as_ann, bob):
    for name in sorted(ROUTES.keys() & OURS.keys()):
        known = {method for method, _ in ROUTES[name].sends}
        for method in {"put", "patch", "delete"} - known if not ROUTES[name].is_nowhere else ():
            assert Ask(method, OURS[name].path).send(as_ann, bob.names()[0]).status_code == 405, (method, name)


def test_pages_need_their_token_to_write_and_are_kept_in_no_cache(ann):
    client, names = Client(enforce_csrf_checks=True), ann.names()[0]
    client.force_login(ann.user)
    for name in sorted((ROUTES.keys() & OURS.keys()) - API - PUBLIC):
        with undone():
            assert Ask("post", OURS[name].path).send(client, names).status_code == 403, name
            page = Ask("get", OURS[name].path).send(client, names)
            assert page.status_code != 200 or "no-store" in page["Cache-Control"], name


def test_routes_of_the_api_stand_on_its_ground():
    assert len(API) > 2
    for name in sorted(API):
        view = getattr(OURS[name].callback, "cls", object)
        assert issubclass(view, ApiView), name
        assert view.permission_classes == ApiView.permission_classes, name
        assert view.dispatch is ApiView.dispatch, name


def test_routes_tell_strangers_nothing(client, bob):
    names = bob.names()[0]
    before = dump(bob.user)
    for name in sorted(ROUTES.keys() & OURS.keys()):
        for ask in asks(OURS[name], ROUTES[name]):
            said = answer(response := ask.send(client, names), names)
            assert said.gives_away(bob) == [], ask
            assert response.status_code == 401 if name in API else is_turned_away(response) or name in PUBLIC, ask
            assert response.status_code < 500
    assert dump(bob.user) == before


def is_turned_away(response: HttpResponse) -> bool:
    is_sent_to_login = response.status_code == 302 and response["Location"].startswith(reverse("account_login"))
    return is_sent_to_login or response.status_code == 401


# --- The groups that are exempt ---

ADMIN_IDS = {
    "userfact": "fact_id",
    "memoryevent": "event_id",
    "conversation": "conversation_id",
    "message": "message_id",
    "apitoken": "token_id",
    "skill": "skill_id",
    "skilldraft": "draft_id",
    "deployment": "deployment_id",
    "backtestrun": "run_id",
    "trade": "trade_id",
    "reflectionnote": "note_id",
    "actioncard": "card_id",
}


def asks_of_group(prefix: str, names: Names) -> list[tuple[Entry, Ask, Names]]:
    """Return a read and a write of each address of a group, with names for the arguments that its library knows."""
    found = []
    for entry in ENTRIES:
        if entry.group == prefix:
            model = [*entry.path.split("/"), "", ""][2]
            row = names[ADMIN_IDS.get(model, "user_id")]
            given = {"object_id": row, "id": row, "content_type_id": "1", "app_label": "chat", "url": "nowhere"}
            given |= {"pk": "1", "provider_id": "nowhere"}
            filling = {**names, **given, "uidb36": "1", "key": "set-password"}
            found += [(entry, Ask(method, entry.path), filling) for method in ("get", "post")]
    return found


@pytest.mark.parametrize("who", ["client", "as_ann"], ids=["stranger", "ann"])
def test_admin_is_shut_to_who_is_not_staff(who, request, bob):
    before = dump(bob.user)
    for _, ask, names in asks_of_group("admin/", bob.names()[0]):
        response = ask.send(request.getfixturevalue(who), names)

        assert response.status_code in (302, 403), ask
        assert answer(response, names).gives_away(bob) == [], ask
    assert dump(bob.user) == before


@pytest.mark.parametrize("is_staff", [False, True], ids=["ann", "staff-without-permissions"])
def test_acts_of_staff_change_nothing_of_bobs(is_staff, client, ann, bob):
    Trader.objects.filter(pk=ann.user.pk).update(is_staff=is_staff)
    client.force_login(Trader.objects.get(pk=ann.user.pk))
    before = dump(bob.user)
    rows = {"trader": bob.user.pk, "apitoken": bob.tokens[0].pk, "memoryproposal": bob.proposals[0].pk}
    registered = [(model._meta, one) for model, one in admin.site._registry.items() if isinstance(one, ActAdmin)]
    acts = [(meta, act.name) for meta, one in registered for act in one.acts]
    assert len(acts) > 15
    for meta, name in acts:
        names = bob.names()[0]
        row = rows.get(meta.model_name, names.get(ADMIN_IDS.get(meta.model_name, ""), names["fact_id"]))
        sent = {"action": name, "_selected_action": row, "confirmed": "yes", "reason": "none", "email": bob.user.email}

        response = client.post(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"), sent)

        assert response.status_code == (403 if is_staff else 302), (meta, name)
        assert bob.word not in response.content.decode()
    assert dump(bob.user) == before


def test_account_pages_send_strangers_to_the_login(client, bob):
    for entry, ask, names in asks_of_group("accounts/", bob.names()[0]):
        response = ask.send(client, names)

        assert is_turned_away(response) or entry.name in PUBLIC_ACCOUNT_PAGES, ask
        assert response.status_code < 500, ask
        assert answer(response, names).gives_away(bob) == [], ask


def test_account_pages_tell_ann_nothing_of_bob(client, ann, bob):
    for _, ask, names in asks_of_group("accounts/", bob.names()[0]):
        client.force_login(ann.user)  # again, since one of the pages signs out
        response = ask.send(client, names)

        assert response.status_code < 500, ask
        assert answer(response, names).gives_away(bob) == [], ask


# --- Tools ---


@pytest.mark.parametrize("name", sorted(TOOLS.keys() & tool_names()))
def test_tool_says_the_same_of_bobs_rows_as_of_none(name, ann, bob, nobody):
    watch = Watch(bob)
    context = ToolContext(user_id=ann.user.pk, now=timezone.now(), conversation_id=ann.conversations[0].pk)
    for arguments in TOOLS[name]:
        of_nobody = {}
        for words in ("nobody said this", "nobody said 5x"):  # a number that Ann did not type waits, whoever said it
            with undone():
                others = {**nobody, "words": words}
                of_nobody["5" in words] = Answer(call(name, context, arguments, others), others)
        for names in bob.names():
            with undone():
                with connection.execute_wrapper(watch):
                    of_bob = Answer(call(name, context, arguments, names), names)
                assert watch.finds_the_same_rows()
            assert of_bob.gives_away(bob) == []
            assert of_bob.comparable == of_nobody[bool(find_untyped(names["words"], []))].comparable
    assert dump(bob.user) == watch.before


def call(name: str, context: ToolContext, arguments: dict[str, object], names: Names) -> str:
    tool = find_tool(name)
    assert tool is not None
    return json.dumps(tool.call(context, filled(json.dumps(arguments), names)))


@pytest.mark.parametrize("name", sorted(TOOLS.keys() & tool_names()))
def test_tool_works_on_rows_of_its_own_user(name, ann):
    context = ToolContext(user_id=ann.user.pk, now=timezone.now(), conversation_id=ann.conversations[0].pk)
    results = [call(name, context, arguments, names) for arguments in TOOLS[name] for names in ann.names()]

    assert any(LOOKING.get(name, '"memoryEvent"') in result for result in results)


# --- Commands ---


@pytest.mark.parametrize("name", sorted(COMMANDS.keys() & commands_that_take_an_id()))
def test_command_says_the_same_of_bobs_rows_as_of_none(name, ann, bob, nobody):
    before = dump(bob.user)

    of_bob = [Answer(run(name, ann, names), names) for names in bob.names()]

    assert {said.comparable for said in of_bob} == {Answer(run(name, ann, nobody), nobody).comparable}
    assert [said.gives_away(bob) for said in of_bob] == [[]] * len(of_bob)
    assert dump(bob.user) == before


def run(name: str, person: Person, names: Names) -> str:
    output = StringIO()
    arguments = [filled(argument, names) for argument in COMMANDS[name]]
    with pytest.raises(CommandError) as refusal:
        call_command(name, "--user", person.user.email, *arguments, stdout=output, stderr=output)
    return f"{refusal.value} {output.getvalue()}"


def test_strangers_own_a_row_of_every_kind(bob):
    rows = dump(bob.user)

    assert [table for table, theirs in rows.items() if not theirs] == [], "let tests/strangers.py make one"
