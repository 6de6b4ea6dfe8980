"""What the storm must not lose or double, read from the rows."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from datetime import timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, Max, Q
from django.utils import timezone

from chat.models import Conversation, ConversationStatus, Message, MessageStatus, Role
from config.lib.owned import system
from config.lib.work.jobs import list_tasks
from config.lib.work.models import Mail, WorkRun
from config.lib.work.runs import list_due, run_again
from memory.models import MemoryEvent
from tests.faults.storm_outages import MailServer, Outages, TakenMail
from tests.faults.storm_process import list_fills
from trading.models import (
    DecisionSnapshot,
    Deployment,
    DeploymentCommand,
    EquityPoint,
    Fill,
    Order,
    OrderState,
    Trade,
    VenueAccount,
    WorkStatus,
)

LONG_WAIT = timedelta(minutes=6)
REST = {ConversationStatus.IDLE, ConversationStatus.ARCHIVED}


def list_unfinished() -> list[str]:
    """Return what still waits or runs: a job that is stuck stays in it."""
    now = timezone.now()
    with system("storm"):
        counts = {
            "streaming replies": Message.objects.streaming().count(),
            "chats being closed": Conversation.objects.filter(status=ConversationStatus.CLOSING).count(),
            "extractions to be tried again": Conversation.objects.filter(extraction_pending=True).count(),
            "leased deployments": Deployment.objects.filter(lease_until__gt=now).count(),
            "mails": Mail.objects.count(),
            "commands": DeploymentCommand.objects.exclude(status=WorkStatus.DONE).count(),
            "tasks to be tried again": WorkRun.objects.exclude(key="").exclude(next_at=None).count(),
        }
        counts |= {f"due for {task.name}": len(list_due(task, now)) for task in list_tasks()}
    with connection.cursor() as cursor:
        # A try at a later instant is counted above; "Run now" leaves it in the queue, where it finds nothing to do.
        cursor.execute(
            "SELECT count(*) FROM procrastinate_jobs"
            " WHERE status = 'doing' OR status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())"
        )
        counts["queued tasks"] = cursor.fetchone()[0]
    return [f"{count} {what}" for what, count in counts.items() if count]


def run_late_tries() -> None:
    """Run at once, as staff may, what failed so often that its next try is 25 minutes away or more."""
    now = timezone.now()
    for run in WorkRun.objects.exclude(key="").filter(next_at__gt=now + LONG_WAIT):
        run_again(run, now)


def find_message_losses(sent: Collection[UUID]) -> list[str]:
    """Compare the sent messages with the rows: each once, with one reply that is whole or says why not."""
    problems = []
    with system("storm"):
        stored = dict(
            Message.objects.filter(role=Role.USER, client_id__in=sent)
            .values_list("client_id")
            .annotate(count=Count("pk"))
        )
        replies = Message.objects.shown().filter(role=Role.ASSISTANT, reply_to__client_id__in=sent)
        answered = dict(replies.values_list("reply_to__client_id").annotate(count=Count("pk")))
        silent = replies.exclude(status=MessageStatus.COMPLETE).filter(error="").count()
        running = replies.filter(status=MessageStatus.STREAMING).count()
        empty = replies.filter(status=MessageStatus.COMPLETE, content="").count()
    for what, found in (("message", stored), ("reply", answered)):
        problems += [f"{what} of {one} lost" for one in sent if one not in found]
        problems += [f"{what} of {one} is there {count} times" for one, count in found.items() if count > 1]
    for count, text in ((silent, "broken without a reason"), (running, "still streaming"), (empty, "complete, empty")):
        problems += [f"{count} replies {text}"] if count else []
    return problems


def find_closing_losses(closed: Collection[UUID]) -> list[str]:
    """Look for chats whose closing was lost, stopped half way or done twice."""
    with system("storm"):
        rows = Conversation.objects.filter(pk__in=closed).annotate(newest=Max("messages__pk"))
        found = list(rows.values_list("pk", "status", "extracted_through", "newest"))
        batches = (
            MemoryEvent.objects.filter(conversation_id__in=closed, batch_id__isnull=False)
            .values_list("conversation_id")
            .annotate(count=Count("batch_id", distinct=True))
        )
        twice = [pk for pk, count in batches if count > 1]
    problems = [f"chat {pk} is {status}" for pk, status, _, _ in found if status not in REST]
    problems += [f"chat {pk} was read up to {through} of {last}" for pk, _, through, last in found if through != last]
    problems += [f"{len(set(closed)) - len(found)} chats are gone"] if len(found) != len(set(closed)) else []
    return problems + [f"chat {pk} was learned from twice" for pk in twice]


def find_tick_losses() -> list[str]:
    """Look for instants that ticked twice, ticks without their rows, orders that filled twice."""
    problems = []
    with system("storm"):
        for model, at in ((DecisionSnapshot, "tick_at"), (EquityPoint, "at")):
            rows = model.objects.values("deployment", at).annotate(count=Count("pk")).filter(count__gt=1)
            problems += [f"{model.__name__}: {row['count']} at {row[at]}" for row in rows]
        ticks = Deployment.objects.annotate(points=Count("equity", distinct=True)).exclude(points=F("last_tick"))
        problems += [f"deployment {one.pk} has {one.points} of {one.last_tick} ticks" for one in ticks]
        per_snapshot = Order.objects.exclude(snapshot=None).values("snapshot").annotate(count=Count("pk"))
        problems += [f"{row['count']} orders of one decision" for row in per_snapshot.filter(count__gt=1)]
        filled = set(Order.objects.filter(state=OrderState.FILLED).values_list("pk", flat=True))
        fills = dict(Fill.objects.exclude(order=None).values_list("order").annotate(count=Count("pk")))
        problems += [f"order {pk} has {fills.get(pk, 0)} fills" for pk in filled if fills.get(pk, 0) != 1]
        problems += [f"order {pk} filled without being sent" for pk in fills if pk not in filled]
        problems += _compare_positions()
    return problems


def _compare_positions() -> list[str]:
    """Compare what each paper account holds with its fills and its open trades."""
    problems = []
    for deployment in Deployment.objects.filter(broker_kind="paper"):
        fills = sum(fill.quantity for fill in Fill.objects.filter(deployment=deployment))
        trades = sum(trade.quantity for trade in Trade.objects.open().filter(deployment=deployment))
        if fills != trades:
            problems.append(f"deployment {deployment.pk} holds {trades}, its fills say {fills}")
    return problems


def find_sync_losses(began: float) -> list[str]:
    """Compare the fills of the fake venue with those that were read."""
    problems = []
    with system("storm"):
        for account in VenueAccount.objects.all():
            if account.read_until is None:
                problems.append(f"account {account.pk} was never read: {account.error}")
                continue
            rows = Fill.objects.filter(user=account.user_id, symbol="ETH", tick=0)
            wanted = len(list_fills(began, account.read_until.timestamp()))
            count, instants = rows.count(), rows.values("at").distinct().count()
            if not count == instants == wanted:
                problems.append(f"account {account.pk}: {count} fills at {instants} instants, {wanted} wanted")
    return problems


def find_mail_losses(
    promised: Counter[str], asked: Counter[str], taken: Iterable[TakenMail], outages: Outages
) -> list[str]:
    """Compare the mails that were promised with those that the mail server took.

    Each arrives at least once. Twice it arrives, with the same Message-ID, only if its worker was killed after the
    server took it and before the row was deleted: nobody can tell the two apart then, and a lost mail is worse.
    """
    arrivals = _group_by_id(taken)
    mails = Counter(copies[0].address for copies in arrivals.values())
    problems = [f"{promised[one] - mails[one]} mails to {one} lost" for one in promised if mails[one] < promised[one]]
    problems += [
        f"{count} mails to {one}, asked for {asked[one]}" for one, count in mails.items() if count > asked[one]
    ]
    for message_id, copies in arrivals.items():
        if not all(outages.explains(copy.at) for copy in copies[:-1]):
            problems.append(f"{message_id} was taken {len(copies)} times, and no kill explains it")
    return problems


def _group_by_id(taken: Iterable[TakenMail]) -> dict[str, list[TakenMail]]:
    arrivals = defaultdict(list)
    for mail in taken:
        arrivals[mail.message_id].append(mail)
    return arrivals


def describe_mails(promised: Counter[str], server: MailServer) -> str:
    """Return how many mails there were, how many twice, and how the server behaved."""
    arrivals = _group_by_id(server.taken)
    return (
        f"{promised.total()} mails promised, {len(arrivals)} arrived, {len(server.taken) - len(arrivals)} copies more"
        f" after a kill; connections {dict(server.failures)} ('': served)"
    )


def describe_rows() -> str:
    """Return how much there was to lose."""
    with system("storm"):
        replies = Message.objects.shown().filter(role=Role.ASSISTANT)
        counts = replies.aggregate(
            complete=Count("pk", filter=Q(status=MessageStatus.COMPLETE)),
            marked=Count("pk", filter=~Q(status=MessageStatus.COMPLETE)),
        )
        return (
            f"{counts['complete']} replies complete, {counts['marked']} marked as broken;"
            f" {DecisionSnapshot.objects.count()} decisions, {Order.objects.count()} orders,"
            f" {Trade.objects.count()} trades, {Fill.objects.count()} fills,"
            f" {MemoryEvent.objects.count()} writes to memory"
        )
