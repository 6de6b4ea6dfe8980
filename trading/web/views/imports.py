"""A user's own trades: files, accounts at venues, what was imported."""

from dataclasses import replace
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from config.lib.edge.second_factor import read_proof
from config.lib.errors import DomainError, NotFound
from config.lib.figures import format_count
from config.lib.owned import owned, owned_tx
from config.lib.proofs import ProofNeeded
from config.lib.web import AuthedRequest, owned_act, render_now, scoped_form
from config.lib.words.quantities import join_words
from trading.intake import files
from trading.intake.feeds import SOURCES
from trading.intake.formats import FORMATS, FillMapping
from trading.intake.keys import can_keep_keys
from trading.intake.ledgers import LedgerImport, find_twin, list_ledgers, name_venue, preview_reading
from trading.intake.reading import FileReading
from trading.intake.sync import add_account, check_account, list_accounts, make_due, remove_account
from trading.ledger.arrivals import add_entries, list_openings, list_starts_in_doubt, remove_opening, undo_batch
from trading.ledger.entries import Entries, EntriesRefused
from trading.ledger.positions import Check
from trading.models import EntrySource, ImportBatch, TradeFile
from trading.record.balances import BalanceRefused, enter_balance, list_balances, remove_balance
from trading.web.import_forms import AccountForm, BalanceForm, MappingForm, PositionForm, TradeFileForm

REFUSED = 422
BATCHES_SHOWN = 20


@scoped_form
def show_imports(request: AuthedRequest) -> HttpResponseBase:
    """Show the ways in and the past imports, or keep a file."""
    form = TradeFileForm(request.POST, request.FILES) if request.method == "POST" else None
    if form and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            new = files.read_upload(file.read(), zone=request.user.time_zone)
            with owned_tx(request.user):
                kept = files.keep_file(new, name=file.name, now=timezone.now())
        except DomainError as error:
            form.add_error("file", str(error))
        else:
            return redirect("trading:import_file", kept.pk)
    with owned(request.user):
        return render_now(_render_imports(request, file_form=form, status=REFUSED if form else HTTPStatus.OK))


@scoped_form
def show_file(request: AuthedRequest, file_id: UUID) -> HttpResponseBase:
    """Show what a file holds; correct the mapping, import the file or drop it."""
    with owned(request.user):
        file = files.get_file(file_id)
    act = request.POST.get("act", "")
    if act == "drop":
        with owned_tx(request.user):
            files.drop_file(file_id)
        messages.info(request, f"Dropped {file.name}. Nothing was imported.")
        return redirect("trading:imports")
    opened = files.open_file(file)
    if request.method != "POST":
        return _render_file(request, opened)
    form = MappingForm(request.POST, table=opened.table, mapping=opened.mapping)
    if not form.is_valid():
        return _render_file(request, opened, form=form, status=REFUSED)
    with owned_tx(request.user):
        corrected = files.correct_mapping(file_id, form.get_changes())
    if act != "import":
        return redirect(f"{reverse('trading:import_file', args=[file_id])}#found")
    return _import(request, replace(opened, file=corrected, mapping=FillMapping.from_json(corrected.mapping)))


@owned_act
def undo_import(request: AuthedRequest, import_id: UUID) -> HttpResponse:
    """Take an import out of the record."""
    with owned_tx(request.user):
        batch = undo_batch(batch_id=import_id, now=timezone.now())
    messages.success(request, f"Undone: {batch.new_fills} fills left the record. The file can be imported again.")
    return redirect(f"{reverse('trading:imports')}#past")


@owned_act
def change_openings(request: AuthedRequest) -> HttpResponse:
    """Enter, correct or remove a position from before the first fill, or a balance."""
    if request.POST.get("act") == "balance":
        return _change_balances(request)
    if opening_id := request.POST.get("remove"):
        with owned_tx(request.user):
            remove_opening(int(opening_id) if opening_id.isdecimal() else 0, now=timezone.now())
        messages.success(request, "Removed. The trades were built again.")
        return redirect(f"{reverse('trading:imports')}#openings")
    form = PositionForm(request.POST, ledgers=list_ledgers())
    if form.is_valid():
        ledger_id, position = UUID(form.cleaned_data.pop("account")), Check(**form.cleaned_data, is_opening=True)
        entries = Entries(openings=[position])
        try:
            with owned_tx(request.user):
                add_entries(deployment_id=ledger_id, entries=entries, source=EntrySource.HAND, now=timezone.now())
        except EntriesRefused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Saved. The trades were built again from this position on.")
            return redirect(f"{reverse('trading:imports')}#openings")
    return _render_imports(request, opening_form=form, status=REFUSED)


def _change_balances(request: AuthedRequest) -> HttpResponse:
    place = f"{reverse('trading:imports')}#balances"
    if balance_id := request.POST.get("remove"):
        with owned_tx(request.user):
            remove_balance(int(balance_id) if balance_id.isdecimal() else 0)
        messages.success(request, "Removed.")
        return redirect(place)
    form = BalanceForm(request.POST, ledgers=list_ledgers())
    if form.is_valid():
        ledger_id, now = UUID(form.cleaned_data.pop("account")), timezone.now()
        try:
            with owned_tx(request.user):
                enter_balance(deployment_id=ledger_id, **form.cleaned_data, now=now)
        except BalanceRefused as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Saved. Rules in percent of equity are judged by it from then on.")
            return redirect(place)
    return _render_imports(request, balance_form=form, status=REFUSED)


@owned_act
def start_reading(request: AuthedRequest) -> HttpResponse:
    """Add an account after its key was checked."""
    form = AccountForm(request.POST)
    if form.is_valid():
        new, proof = form.build_account(), read_proof(request, page=f"{reverse('trading:imports')}#accounts")
        try:
            check_account(new)
            with owned_tx(request.user):
                add_account(new, proof=proof, now=timezone.now())
        except ProofNeeded:
            raise
        except DomainError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"{SOURCES[new.venue].label} is read every few minutes from now on.")
            return redirect(f"{reverse('trading:imports')}#accounts")
    return _render_imports(request, account_form=form, status=REFUSED)


@owned_act
def change_account(request: AuthedRequest, account_id: UUID) -> HttpResponse:
    """Read an account at once, or remove it with its key."""
    with owned_tx(request.user):
        if request.POST.get("act") == "remove":
            remove_account(account_id)
            messages.success(request, "Removed, and the key is deleted. The trades stay.")
        else:
            make_due(account_id, now=timezone.now())
            messages.info(request, "The account is read within a minute. Reload to see what came.")
    return redirect(f"{reverse('trading:imports')}#accounts")


def _import(request: AuthedRequest, opened: files.OpenFile) -> HttpResponseBase:
    now = timezone.now()
    reading = files.read_file(opened, now=now)
    try:
        files.check_reading(reading, leaves_out=request.POST.get("leaves_out") == "on")
        with owned_tx(request.user):
            begins = set(" ".join(request.POST.getlist("begins")).split())
            is_twice = request.POST.get("counts_twice") == "on"
            done = files.import_file(opened, reading, counts_twice=is_twice, begins=begins, now=now)
    except NotFound as error:
        messages.info(request, str(error))
        return redirect("trading:imports")
    except DomainError as error:
        return _render_file(request, opened, reading, refusal=str(error), status=REFUSED)
    for one in done:
        messages.success(request, _describe_import(one))
    if len(done) == 1:
        return redirect("trading:deployment", done[0].deployment.pk)
    return redirect(f"{reverse('trading:imports')}#past")


def _describe_import(done: LedgerImport) -> str:
    record = done.record
    parts = [f"{record.new_fills} new fills", f"{record.known_fills} known already"]
    parts += [f"{record.new_funding} funding payments"] if record.new_funding else []
    parts += [f"{len(record.conflicts)} known ones with other numbers, kept as they were"] if record.conflicts else []
    trades = f"{format_count(record.opened, 'new trade')}, {record.closed} closed"
    return f"{done.label}: {', '.join(parts)}; {trades}."


def _render_imports(
    request: AuthedRequest,
    *,
    file_form: TradeFileForm | None = None,
    account_form: AccountForm | None = None,
    opening_form: PositionForm | None = None,
    balance_form: BalanceForm | None = None,
    status: int = 200,
) -> HttpResponse:
    ledgers = {ledger.pk: ledger for ledger in list_ledgers()}
    batches = ImportBatch.objects.filter(deployment__in=list(ledgers)).order_by("-created_at", "id")[:BATCHES_SHOWN]
    context: dict[str, Any] = {
        "form": file_form or TradeFileForm(),
        "account_form": account_form or AccountForm(),
        "can_keep_keys": can_keep_keys(),
        "venues": _name_venues(is_crypto=True),
        "brokers": _name_venues(is_crypto=False),
        "accounts": [(account, SOURCES[account.venue]) for account in list_accounts()],
        "files": TradeFile.objects.defer("content").order_by("-created_at"),
        "batches": [(batch, ledgers[batch.deployment_id]) for batch in batches],
        "openings": list_openings(ledgers),
        "starts": [(start, ledgers[start.deployment_id]) for start in list_starts_in_doubt(ledgers)],
        "balances": list_balances(),
        "balance_form": balance_form or BalanceForm(ledgers=ledgers.values()),
        "opening_form": opening_form or PositionForm(ledgers=ledgers.values()),
    }
    return TemplateResponse(request, "trading/imports.html", context, status=status)


def _name_venues(*, is_crypto: bool) -> str:
    """Return the venues of the formats, crypto or others, as words."""
    venues = [one.venue for key, one in FORMATS.items() if key != "keel" and (one.scope == "crypto") == is_crypto]
    return join_words(list(dict.fromkeys(venues)), "and")


def _render_file(
    request: AuthedRequest,
    opened: files.OpenFile,
    reading: FileReading | None = None,
    *,
    form: MappingForm | None = None,
    refusal: str = "",
    status: int = 200,
) -> HttpResponseBase:
    now = timezone.now()
    reading = reading or files.read_file(opened, now=now)
    context: dict[str, Any] = {
        "file": opened.file,
        "opened": opened,
        "reading": reading,
        "form": form or MappingForm(table=opened.table, mapping=opened.mapping),
        "problems": reading.problems[: files.PROBLEMS_SHOWN],
        "hidden_problems": max(0, len(reading.problems) - files.PROBLEMS_SHOWN),
        "period": reading.period,
        "fills_shown": reading.fills[:5],
        "left_out": sorted(reading.left_out.items()),
        "refusal": refusal,
    }
    with owned(request.user):
        venue = name_venue(opened.mapping)
        context["accounts"] = preview_reading(reading, venue=venue, now=now)
        if twin := find_twin(reading, venue=venue):
            context["twin"] = files.say_twin(twin, len(reading.fills))
        return render_now(TemplateResponse(request, "trading/import_file.html", context, status=status))
