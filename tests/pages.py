"""Every page of Keel by name, for the tests of looks and the benchmark of pages."""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from string import Formatter
from typing import Any, Final

from django.db.models import Count, QuerySet

from chat.models import Conversation, Message, Receipt
from config.lib.owned import owned
from memory.models import MemoryEvent, UserFact
from tests.matrix.asks import OURS, read_view
from tests.strangers import KINDS
from trading.models import BacktestRun, DecisionSnapshot, Deployment, Skill, Trade, TradeFile, Trader

SIGNED_OUT: Final = {
    "landing": "/",
    "login": "/accounts/login/",
    "signup": "/accounts/signup/",
    "password-reset": "/accounts/password/reset/",
    "password-reset-done": "/accounts/password/reset/done/",
    "offline": "/offline/",
}
# Names in braces are rows of the user; without such a row there is no such page. Here are the pages of allauth, those
# whose view does not name its template, and those that show something else for a query; the others list themselves.
SIGNED_IN: Final = {
    "home": "/",
    "chat": "/chat/?new=1",
    "conversation": "/chat/{conversation}/",
    "receipt": "/chat/receipts/{receipt}/",
    "answers": "/chat/messages/{reply}/answers/",
    "chat-search": "/chat/search/?q=stop",
    "chat-search-nothing": "/chat/search/?q=zebra",
    "facts": "/profile/facts/",
    "facts-archived": "/profile/facts/?status=archived",
    "facts-search": "/profile/facts/?q=stop",
    "facts-nothing-found": "/profile/facts/?q=zebra",
    "facts-as-of": "/profile/facts/?as_of={day}",
    "facts-changes": "/profile/facts/changes/",
    "facts-review": "/profile/facts/review/",
    "facts-places": "/profile/facts/places/",
    "facts-preview": "/profile/facts/preview/",
    "facts-settings": "/profile/facts/settings/",
    "fact": "/profile/facts/{fact}/",
    "fact-edit": "/profile/facts/{fact}/?edit",
    "event": "/profile/facts/events/{event}/",
    "skill": "/skills/{skill}/",
    "skill-compare": "/skills/{skill}/?compare=1..{version}",
    "skill-new": "/skills/new/",
    "skill-new-form": "/skills/new/?view=form",
    "skill-edit": "/skills/{skill}/edit/",
    "skill-edit-form": "/skills/{skill}/edit/?view=form",
    "backtests": "/backtests/",
    "backtest-pair": "/backtests/compare/?first={run}&second={other_run}",
    "trades": "/trades/",
    "trades-days": "/trades/?show=days",
    "trades-groups": "/trades/?show=groups",
    "trades-paths": "/trades/?show=paths&columns=r&columns=tags&columns=mfe&columns=mae",
    "trades-filtered": "/trades/?side=long&status=closed&sort=worst",
    "trades-nothing-found": "/trades/?q=zebra",
    "trade": "/trades/{trade}/",
    "trade-open": "/trades/{open_trade}/",
    "ask": "/trades/ask/?group=symbol",
    "check": "/trades/check/?symbol=BTC&side=long",
    "imports": "/trades/import/",
    "import-file": "/trades/import/{file}/",
    "calendar": "/calendar/",
    "calendar-month": "/calendar/?view=month",
    "journal": "/journal/",
    "journal-kept": "/journal/kept/",
    "profile": "/profile/",
    "email": "/accounts/email/",
    "password-change": "/accounts/password/change/",
    "sign-out": "/accounts/logout/",
    "sessions": "/accounts/sessions/",
    "reauthenticate": "/accounts/reauthenticate/",
    "second-factor": "/accounts/2fa/",
    "second-factor-app": "/accounts/2fa/totp/activate/",
    "recovery-codes": "/accounts/2fa/recovery-codes/generate/",
    "passkeys": "/accounts/2fa/webauthn/",
    "passkey-add": "/accounts/2fa/webauthn/add/",
    "connections": "/accounts/connections/",
}


def list_pages(user: Trader) -> dict[str, str]:
    """Return the pages that a user has, each with its address."""
    with owned(user):
        rows = dict(_iter_rows())
    pages = {name: _fill(address, rows) for name, address in {**SIGNED_IN, **find_others()}.items()}
    return {name: address for name, address in pages.items() if address}


def find_others() -> dict[str, str]:
    """Return the pages of addresses that SIGNED_IN leaves out, by the names of their URLs."""
    listed = {_without_names(address.partition("?")[0]) for address in SIGNED_IN.values()}
    return {
        entry.name.replace(":", "-"): address
        for entry in OURS.values()
        if re.search(r'"\w+/[a-z]\w*\.html"', read_view(entry))
        and _without_names(address := "/" + entry.path.replace("_id}", "}")) not in listed
    }


def _without_names(address: str) -> str:
    return re.sub(r"\{\w+\}", "{}", address)


def _fill(address: str, rows: Mapping[str, object]) -> str:
    names = [name for _, name, _, _ in Formatter().parse(address) if name]
    return "" if None in [rows[name] for name in names] else address.format(**rows)


def _iter_rows() -> Iterator[tuple[str, object]]:
    """Yield the rows that addresses name: the first of each kind, then those with most to show."""
    yield from ((kind, _first(model.objects.order_by(*order))) for kind, (model, order) in KINDS.items())
    yield "conversation", _first(Conversation.objects.annotate(n=Count("messages")).order_by("-n"))
    yield "receipt", Receipt.objects.order_by("-id").values_list("reply", flat=True).first()
    yield "reply", _first(Message.objects.filter(role="assistant").order_by("-id"))
    fact = UserFact.objects.filter(archived_at__isnull=True).order_by("supersedes", "-created_at").first()
    yield "fact", fact and fact.pk
    yield "day", fact and f"{fact.created_at + timedelta(days=1):%Y-%m-%d}"
    yield "event", _first(MemoryEvent.objects.filter(after__isnull=False).order_by("-created_at"))
    skill = Skill.objects.filter(deployments__label="").order_by("-latest_version", "name").first()
    yield "skill", skill and skill.pk
    yield "version", skill and skill.latest_version
    runs = list(BacktestRun.objects.order_by("-created_at").values_list("pk", flat=True)[:2])
    yield "run", runs[0] if runs else None
    yield "other_run", runs[-1] if runs else None
    agents = Deployment.objects.filter(broker_kind="paper")
    deployment = _first(agents.annotate(n=Count("trades")).order_by("-n"))
    yield "deployment", deployment
    decisions = DecisionSnapshot.objects.filter(deployment=deployment).order_by("-tick")
    yield "tick", decisions.values_list("tick", flat=True).first()
    yield "trade", _first(Trade.objects.closed().filter(deployment=deployment).newest_first())
    yield "open_trade", _first(Trade.objects.open().newest_first())
    yield "file", _first(TradeFile.objects.order_by("name"))


def _first(rows: QuerySet[Any]) -> object:
    return rows.values_list("pk", flat=True).first()
