"""The record of a deployment that another program runs, pushed over REST."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.utils import timezone

from config.lib.rest.operations import NEW_OR_KNOWN, write
from config.lib.rest.views import ApiView
from trading.api.serializers.pushes import FillsInput, PushedSerializer, TickedSerializer, TickInput
from trading.market.queries import get_regime
from trading.market.tape import REAL
from trading.models import EntrySource, OrderOrigin
from trading.record.deployments import get_pushed_deployment
from trading.record.executions import Execution
from trading.record.intake.entries import Entries
from trading.record.intake.fees import price_fees
from trading.record.intake.services import add_entries
from trading.record.ledger import lock_deployment, record_tick
from trading.record.ledger_rows import Intent
from trading.record.positions import Check, Funding, PathBar, Tick


class FillsView(ApiView):
    max_body_bytes = 256 * 1024

    @write("push_fills", "deployments", PushedSerializer, FillsInput)
    def post(self, deployment_id: UUID, fills: list[Any], funding: list[Any], openings: list[Any]) -> Any:
        """Add fills, funding and opening positions of any age and rebuild the trades; idempotent."""
        entries = Entries(
            _build_fills(fills),
            [Funding(**payment) for payment in funding],
            [Check(**opening, is_opening=True) for opening in openings],
        )
        deployment = get_pushed_deployment(deployment_id)
        return asdict(
            add_entries(deployment_id=deployment.pk, entries=entries, source=EntrySource.API, now=timezone.now())
        )


class TicksView(ApiView):
    max_body_bytes = 1024 * 1024

    @write("push_tick", "deployments", TickedSerializer, TickInput, status=NEW_OR_KNOWN)
    def post(self, deployment_id: UUID, **fields: Any) -> Any:
        """Write the next tick; 200, without change, if applied before."""
        deployment = get_pushed_deployment(deployment_id)
        before = lock_deployment(deployment.pk)
        number = fields.get("number") or before.last_tick + 1
        tick = _build_tick(fields)
        held = {symbol for symbol, quantity in (tick.positions or {}).items() if quantity}
        beginning = {fill.symbol for fill in tick.fills} | held  # symbols in which a trade may begin
        record = record_tick(
            deployment_id=deployment.pk,
            number=number,
            tick=tick,
            skill_version=deployment.version.version,
            intents={one["fill_id"]: _build_intent(one) for one in fields["reasons"] if "fill_id" in one},
            symbol_intents={one["symbol"]: _build_intent(one) for one in fields["reasons"] if "symbol" in one},
            regimes={symbol: get_regime(symbol, tick.at, REAL) for symbol in beginning},
            equity_usd=fields["equity_usd"],
            now=timezone.now(),
        )
        done = {
            "number": number,
            "applied": record.is_applied,
            **{name: getattr(record, name) for name in ("opened", "closed", "fills")},
            "conflicts": [asdict(conflict) for conflict in record.conflicts],
        }
        return done, record.is_applied


def _build_fills(given: list[dict[str, Any]]) -> list[Execution]:
    """Return the fills, numbered in the order of the request."""
    return [Execution(**fill, source_order=place) for place, fill in enumerate(given, start=1)]


def _build_tick(fields: dict[str, Any]) -> Tick:
    at, marks = fields["at"], fields["marks"]
    return Tick(
        at=at,
        fills=price_fees(_build_fills(fields["fills"])),
        funding=[Funding(**payment) for payment in fields["funding"]],
        # A mark is a point of the price's path; no bar has the prices between two ticks.
        bars={symbol: [PathBar(at, at, mark, mark, mark)] for symbol, mark in marks.items()},
        marks=marks,
        positions=fields["positions"],
        is_complete=fields["is_complete"],
    )


def _build_intent(given: dict[str, Any]) -> Intent:
    return Intent(OrderOrigin(given["origin"]), given["reason"], leverage=given.get("leverage"))
