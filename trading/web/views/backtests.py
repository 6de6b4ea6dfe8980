"""Backtests: the list, the form and each run's page."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.vary import vary_on_headers

from config.lib.lists import ListForm
from config.lib.owned import owned_tx
from config.lib.web import AuthedRequest, PageRequest, goes_into, owned_act, owned_form, owned_page
from trading.models import BacktestRun
from trading.record import backtests
from trading.record.notes import list_notes
from trading.skills.queries import SkillNotFound
from trading.skills.reading import read_draft
from trading.web.backtest_charts import compare_runs, picture_run
from trading.web.filters import BacktestRangeForm, RunPairForm
from trading.web.forms import BacktestForm
from trading.web.views.deployments import list_decisions

COSTS = ("starting_equity_usd", "fee_bps", "slippage_bps", "volume_pct", "reflects", "by_rules")


@owned_form
@vary_on_headers("HX-Request", "HX-Target")
def show_backtests(request: PageRequest) -> HttpResponse:
    """List runs or start one; htmx gets the list or bars."""
    now = timezone.now()
    if request.method == "POST":
        return _start_run(request, now)
    if goes_into(request, "backtest-bars"):
        return TemplateResponse(
            request, "trading/_backtest_bars.html", {"bars": _count_bars(_parse_query(request.GET), now)}
        )
    if goes_into(request, "backtest-runs"):
        return TemplateResponse(request, "trading/_backtest_runs.html", _list_runs(request))
    return _render_page(request, now)


@owned_page
@vary_on_headers("HX-Request", "HX-Target")
def show_run(request: PageRequest, run_id: UUID) -> HttpResponse:
    """Show a run; htmx gets the part that changes."""
    [shown] = backtests.show_backtests([run_id])
    reading = read_draft(shown.run.deployment.version.payload)
    left = None if shown.numbers else shown.measure_time_left(timezone.now())
    context: dict[str, object] = {"shown": shown, "run": shown.run, "reading": reading, "time_left": left}
    if shown.numbers is not None:
        context["picture"] = picture_run(shown)
    is_piece = goes_into(request, "backtest-run")
    # The piece is asked for every few seconds; the record comes with the last, when it is whole.
    if not is_piece or shown.numbers is not None:
        home = reverse("trading:backtest", args=[run_id])
        context |= list_decisions(shown.run.deployment_id, request.GET, home=home)
        context |= {"notes": list_notes(shown.run.deployment_id), "is_piece": is_piece}
    return TemplateResponse(request, "trading/_backtest_run.html" if is_piece else "trading/backtest.html", context)


@owned_page
def compare_two(request: AuthedRequest) -> HttpResponse:
    """Show two finished backtests side by side."""
    form = RunPairForm(request.GET, runs=backtests.list_finished())
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        context["compared"] = compare_runs(*(UUID(form.cleaned_data[name]) for name in ("first", "second")))
    return TemplateResponse(request, "trading/backtest_pair.html", context)


@owned_act
def cancel_run(request: AuthedRequest, run_id: UUID) -> HttpResponse:
    """End a run that waits or runs."""
    try:
        with owned_tx(request.user):
            backtests.cancel_backtest(run_id=run_id, now=timezone.now())
    except backtests.BacktestIsOver as error:
        messages.info(request, str(error))
    else:
        messages.success(request, "Cancelled. What it did so far is kept.")
    return redirect("trading:backtest", run_id)


def _start_run(request: PageRequest, now: datetime) -> HttpResponse:
    form = BacktestForm(request.POST, skills=backtests.list_backtest_skills())
    if form.is_valid():
        try:
            run = _queue_run(request, form, now)
        except (backtests.BacktestRefused, SkillNotFound) as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "The backtest waits for its runner. This page shows how far it is.")
            return redirect("trading:backtest", run.pk)
    return _render_page(request, now, form, status=422)


def _queue_run(request: PageRequest, form: BacktestForm, now: datetime) -> BacktestRun:
    given = form.cleaned_data
    skill_id = UUID(given["skill"])
    starts_at, ends_at = backtests.get_instants(given["first_day"], given["last_day"], now)
    bars = backtests.count_bars(skill_id, starts_at, ends_at)
    if starts_at < ends_at and not bars.total:
        symbols = ", ".join(bars.symbols)
        raise backtests.BacktestRefused(
            f"There are no {bars.interval} bars for {symbols} on these days. Choose other days, or import bars"
            " with manage.py import_bars."
        )
    with owned_tx(request.user):
        return backtests.start_backtest(
            skill_id=skill_id, starts_at=starts_at, ends_at=ends_at, now=now, **{name: given[name] for name in COSTS}
        )


def _render_page(
    request: PageRequest, now: datetime, form: BacktestForm | None = None, *, status: int = 200
) -> HttpResponse:
    if form is None:
        skills = backtests.list_backtest_skills()
        initial = _suggest_values(skills, _parse_query(request.GET), now)
        form, bars = BacktestForm(skills=skills, initial=initial), _count_bars(initial, now)
    else:
        bars = _count_bars(form.cleaned_data, now)
    has_skills = bool(list(form["skill"].subwidgets))
    context = {**_list_runs(request), "form": form, "bars": bars, "has_skills": has_skills}
    return TemplateResponse(request, "trading/backtests.html", context, status=status)


def _list_runs(request: PageRequest) -> dict[str, object]:
    filters = ListForm(request.GET, home=reverse("trading:backtests"))
    page = backtests.get_backtest_page(filters.number)
    return {"filters": filters, "page": page, "is_under_way": any(backtests.is_under_way(run) for run, _ in page)}


def _suggest_values(skills: list[tuple[str, str]], asked: dict[str, Any], now: datetime) -> dict[str, object]:
    """Return the form's initial skill and last days with bars."""
    known = [skill_id for skill_id, _ in skills]
    skill_id = str(asked["skill"]) if str(asked.get("skill")) in known else next(iter(known), "")
    if not skill_id:
        return {}
    first_day, last_day = backtests.suggest_days(UUID(skill_id), now)
    usual = {"skill": skill_id, "first_day": first_day, "last_day": last_day}
    return {**usual, **{name: value for name, value in asked.items() if value and name != "skill"}}


def _parse_query(query: QueryDict) -> dict[str, object]:
    form = BacktestRangeForm(query)
    form.is_valid()
    return form.cleaned_data


def _count_bars(given: dict[str, Any], now: datetime) -> backtests.BarsInRange | None:
    skill_id, first, last = given.get("skill"), given.get("first_day"), given.get("last_day")
    if not (skill_id and first and last) or last < first:
        return None
    try:
        return backtests.count_bars(UUID(str(skill_id)), *backtests.get_instants(first, last, now))
    except SkillNotFound:
        return None
