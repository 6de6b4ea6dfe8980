from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar, Final
from uuid import uuid4

from django.db import models
from django.db.models import F, Q

from config.lib.owned import OwnedModel
from trading.models.columns import amount_column, one_of_rule, over_rule, refused_rule, together_rule
from trading.models.packing import unpack_text
from trading.models.skills import Skill, SkillVersion


class BrokerKind(models.TextChoices):
    """Who executes a deployment's orders; a backtest's deployment is in no list."""

    BACKTEST = "backtest", "Backtest"
    PAPER = "paper", "Paper"
    LIVE = "live", "Live"


class DeploymentStatus(models.TextChoices):
    """Whether the runner ticks it; positions stay (settled 32)."""

    RUNNING = "running", "Running"
    PAUSED = "paused", "Paused"
    STOPPED = "stopped", "Stopped"


class ExcursionFrom(models.TextChoices):
    HIGH_LOW = "high_low", "Highs and lows"
    CLOSE = "close", "Closes"


class CommandKind(models.TextChoices):
    PAUSE = "pause", "Pause"
    RESUME = "resume", "Resume"
    STOP = "stop", "Stop"
    FLATTEN = "flatten", "Close all positions"
    REDEPLOY = "redeploy", "Move to the newest version"


class WorkStatus(models.TextChoices):
    PENDING = "pending", "Waiting"
    RUNNING = "running", "Running"
    DONE = "done", "Done"
    FAILED = "failed", "Failed"
    CANCELLED = "cancelled", "Cancelled"


AT_ONCE: Final = datetime(1970, 1, 1, tzinfo=UTC)
UNFINISHED: Final = (WorkStatus.PENDING, WorkStatus.RUNNING)


class Verdict(models.TextChoices):
    NONE = "none", "No order"
    ACCEPTED = "accepted", "Accepted"
    REFUSED = "refused", "Refused"
    FAILED = "failed", "Failed"


class OrderOrigin(models.TextChoices):
    AGENT = "agent", "Agent"
    STOP = "stop", "Stop price"
    HALT = "halt", "Risk halt"
    COMMAND = "command", "Command"


class OrderSide(models.TextChoices):
    """The side to trade towards; `close` only reduces."""

    LONG = "long", "Long"
    SHORT = "short", "Short"
    CLOSE = "close", "Close"


class OrderState(models.TextChoices):
    REFUSED = "refused", "Refused by risk"
    PENDING = "pending", "Sent"
    PARTLY_FILLED = "partly_filled", "Partly filled"
    FILLED = "filled", "Filled"
    CANCELLED = "cancelled", "Cancelled"
    REJECTED = "rejected", "Rejected by the broker"


class Deployment(OwnedModel):
    """A version of a skill, set to run."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    skill = models.ForeignKey(Skill, on_delete=models.RESTRICT, related_name="deployments", db_index=False)
    version = models.ForeignKey(SkillVersion, on_delete=models.RESTRICT, related_name="+", db_index=False)
    broker_kind = models.CharField(max_length=8, choices=BrokerKind)
    label = models.CharField(max_length=60, blank=True)  # of an account of the user's own trades, such as Binance spot
    status = models.CharField(max_length=7, choices=DeploymentStatus, default=DeploymentStatus.RUNNING)
    starting_equity_usd = amount_column(null=True, blank=True)  # None: not known
    excursion_from = models.CharField(max_length=8, choices=ExcursionFrom, default=ExcursionFrom.HIGH_LOW)
    halt_code = models.CharField(max_length=32, blank=True)  # a RiskCode; empty: not halted
    halted_until = models.DateTimeField(null=True, blank=True)
    last_tick = models.PositiveIntegerField(default=0)  # number of the last tick in the ledger
    last_tick_at = models.DateTimeField(null=True, blank=True)
    account: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)  # on paper: brokers.paper
    created_at = models.DateTimeField()
    stopped_at = models.DateTimeField(null=True, blank=True)
    # When the runner looks at it next: a new one at once. None: only after a command.
    due_at = models.DateTimeField(null=True, blank=True, default=AT_ONCE)
    lease = models.UUIDField(null=True, blank=True)  # of the runner that ticks it now
    lease_until = models.DateTimeField(null=True, blank=True)

    frozen_columns: ClassVar[frozenset[str]] = frozenset({"skill", "skill_id", "broker_kind", "starting_equity_usd"})

    class Meta(OwnedModel.Meta):
        db_table = "deployments"
        indexes = (
            models.Index(fields=("user", "status", "-created_at"), name="deployments_by_status"),
            models.Index(fields=("user", "skill", "-created_at"), name="deployments_by_skill"),
            models.Index(
                fields=("due_at",),
                name="deployments_due",
                condition=Q(due_at__isnull=False) & ~Q(broker_kind=BrokerKind.BACKTEST),
            ),
        )
        constraints = (
            one_of_rule("broker_kind", BrokerKind.values, "deployment_broker_known"),
            one_of_rule("status", DeploymentStatus.values, "deployment_status_known"),
            one_of_rule("excursion_from", ExcursionFrom.values, "deployment_excursion_known"),
            models.CheckConstraint(condition=Q(starting_equity_usd__gt=0), name="deployment_starts_with_money"),
            models.CheckConstraint(
                condition=Q(halt_code="", halted_until__isnull=True)
                | (~Q(halt_code="") & Q(halted_until__isnull=False)),
                name="deployment_halted_for_a_reason",
            ),
            models.CheckConstraint(
                condition=Q(last_tick=0, last_tick_at__isnull=True) | Q(last_tick__gt=0, last_tick_at__isnull=False),
                name="deployment_tick_has_its_time",
            ),
            together_rule("deployment_lease_ends", "lease", "lease_until"),
            models.UniqueConstraint(fields=("user", "label"), condition=~Q(label=""), name="deployment_label_once"),
        )

    def __str__(self) -> str:
        return self.label or f"{self.get_broker_kind_display()} since {self.created_at:%Y-%m-%d %H:%M}"

    @property
    def title(self) -> str:
        return self.label or str(self.skill.name)

    def is_halted_at(self, at: datetime) -> bool:
        return self.halted_until is not None and at < self.halted_until


class DeploymentCommand(OwnedModel):
    """A user's command to a deployment, which a runner carries out."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="commands", db_index=False)
    kind = models.CharField(max_length=8, choices=CommandKind)
    status = models.CharField(max_length=9, choices=WorkStatus, default=WorkStatus.PENDING)
    outcome = models.CharField(max_length=280, blank=True)  # in words, once it is over
    is_by_staff = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta(OwnedModel.Meta):
        db_table = "deployment_commands"
        indexes = (models.Index(fields=("user", "deployment", "-created_at"), name="commands_by_deployment"),)
        constraints = (
            one_of_rule("kind", CommandKind.values, "command_kind_known"),
            one_of_rule("status", WorkStatus.values, "command_status_known"),
            models.UniqueConstraint(
                fields=("deployment", "kind"), condition=Q(status__in=["pending", "running"]), name="command_waits_once"
            ),
            over_rule("command_over_has_its_time"),
        )

    def __str__(self) -> str:
        return self.get_kind_display()


class BacktestRun(OwnedModel):
    """A deployment played over past bars."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    deployment = models.OneToOneField(Deployment, on_delete=models.CASCADE, related_name="backtest")
    status = models.CharField(max_length=9, choices=WorkStatus, default=WorkStatus.PENDING)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()
    fee_bps = models.DecimalField(max_digits=8, decimal_places=3, default=4)  # of notional; a rebate is negative
    slippage_bps = models.DecimalField(max_digits=8, decimal_places=3, default=2)
    volume_pct = models.DecimalField(max_digits=6, decimal_places=3, default=0)  # of a bar's volume; 0: no limit
    reflects = models.BooleanField(default=True)
    by_rules = models.BooleanField(default=False)  # the rule-based model decides, whatever the skill's model
    is_simulated = models.BooleanField(default=False)  # on the simulated market
    ticks_done = models.PositiveIntegerField(default=0)
    ticks_total = models.PositiveIntegerField(default=0)
    summary: "models.JSONField[Any, Any]" = models.JSONField(default=dict, blank=True)
    error = models.CharField(max_length=280, blank=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)  # when a runner first took it
    finished_at = models.DateTimeField(null=True, blank=True)
    lease = models.UUIDField(null=True, blank=True)
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta(OwnedModel.Meta):
        db_table = "backtest_runs"
        indexes = (models.Index(fields=("user", "-created_at"), name="backtests_by_time"),)
        constraints = (
            one_of_rule("status", WorkStatus.values, "backtest_status_known"),
            models.CheckConstraint(condition=Q(ends_at__gt=F("starts_at")), name="backtest_ends_after_start"),
            models.CheckConstraint(condition=Q(ticks_done__lte=F("ticks_total")), name="backtest_progress_is_a_share"),
            models.CheckConstraint(condition=Q(slippage_bps__gte=0), name="backtest_slippage_costs"),
            models.CheckConstraint(condition=Q(volume_pct__range=(0, 100)), name="backtest_volume_is_a_share"),
            over_rule("backtest_over_has_its_time"),
        )

    def __str__(self) -> str:
        return f"Backtest {self.starts_at:%Y-%m-%d} to {self.ends_at:%Y-%m-%d}"


class SystemPrompt(OwnedModel):
    """A system prompt that a deployment's agent was sent, kept once for all ticks that sent it."""

    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="+", db_index=False)
    sha256 = models.CharField(max_length=64)  # of the text, hex
    text = models.TextField()

    class Meta(OwnedModel.Meta):
        db_table = "system_prompts"
        constraints = (
            models.UniqueConstraint(fields=("user", "deployment", "sha256"), name="system_prompt_kept_once"),
        )

    def __str__(self) -> str:
        return self.sha256[:12]


class DecisionSnapshot(OwnedModel):
    """One tick: the prompt, the proposal and the verdict.

    How its prompt is kept says `trading.record.decisions`; `system_prompt` and `context` are the texts.
    """

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="decisions", db_index=False)
    tick = models.PositiveIntegerField()
    tick_at = models.DateTimeField()
    skill_version = models.PositiveIntegerField()
    prompt_sha256 = models.CharField(max_length=64, blank=True)  # SHA-256 (hex) of `digest_prompt`
    system = models.ForeignKey(
        SystemPrompt, on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )
    packed = models.BinaryField(null=True, blank=True)  # the context by `pack_text`, on that of `packed_with`
    packed_with = models.ForeignKey(
        "self", on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )
    account: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)  # before it (decision 58)
    steps: "models.JSONField[Any, Any]" = models.JSONField(default=list, blank=True)  # calls of tools and their results
    proposal: "models.JSONField[Any, Any]" = models.JSONField(null=True, blank=True)  # trading.schemas.ProposedOrder
    verdict = models.CharField(max_length=8, choices=Verdict, default=Verdict.NONE)
    verdict_code = models.CharField(max_length=32, blank=True)  # a RiskCode
    verdict_text = models.CharField(max_length=500, blank=True)
    note_id = models.UUIDField(null=True, blank=True)  # of the lessons in the prompt
    model = models.CharField(max_length=120, blank=True)  # that answered
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_usd = amount_column(default=0)

    archived_as: ClassVar[Mapping[str, str]] = {"packed": "context"}
    written_again = ""

    class Meta(OwnedModel.Meta):
        db_table = "decision_snapshots"
        indexes = (models.Index(fields=("user", "deployment", "-tick"), name="decisions_by_deployment"),)
        constraints = (
            models.UniqueConstraint(fields=("deployment", "tick"), name="decision_once_per_tick"),
            one_of_rule("verdict", Verdict.values, "decision_verdict_known"),
            refused_rule("verdict", "decision_refused_by_a_rule"),
        )

    def __str__(self) -> str:
        return f"Tick {self.tick}: {self.get_verdict_display()}"

    @property
    def system_prompt(self) -> str:
        """The text, empty if it is not kept."""
        return self.system.text if self.system else ""

    @property
    def context(self) -> str:
        """The agent's user message; empty if it is not kept and was not `written_again`."""
        if self.packed is None:
            return self.written_again
        return unpack_text(bytes(self.packed), self.packed_with.context if self.packed_with else "")


class Order(OwnedModel):
    """A proposed order and its outcome, for the audit."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)  # also the broker's client id
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="orders", db_index=False)
    snapshot = models.ForeignKey(
        DecisionSnapshot, on_delete=models.SET_NULL, related_name="+", null=True, blank=True, db_index=False
    )
    tick = models.PositiveIntegerField()
    origin = models.CharField(max_length=7, choices=OrderOrigin, default=OrderOrigin.AGENT)
    symbol = models.CharField(max_length=32)
    side = models.CharField(max_length=5, choices=OrderSide)
    size_usd = amount_column(null=True, blank=True)  # None: the whole position, to close it
    leverage = amount_column(default=1)
    stop_price = amount_column(null=True, blank=True)
    reason = models.CharField(max_length=280)
    state = models.CharField(max_length=13, choices=OrderState)
    verdict_code = models.CharField(max_length=32, blank=True)  # a RiskCode
    venue_order_id = models.CharField(max_length=120, blank=True)
    error = models.CharField(max_length=280, blank=True)
    proposed_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta(OwnedModel.Meta):
        db_table = "orders"
        indexes = (models.Index(fields=("user", "deployment", "-proposed_at"), name="orders_by_deployment"),)
        constraints = (
            one_of_rule("origin", OrderOrigin.values, "order_origin_known"),
            one_of_rule("side", OrderSide.values, "order_side_known"),
            one_of_rule("state", OrderState.values, "order_state_known"),
            refused_rule("state", "order_refused_by_a_rule"),
            models.CheckConstraint(
                # A comparison with null is neither true nor false, and a check lets that through.
                condition=Q(size_usd__isnull=False, size_usd__gt=0) | Q(size_usd__isnull=True, side="close"),
                name="order_has_a_size",
            ),
            models.CheckConstraint(condition=Q(leverage__gte=1), name="order_leverage_from_one"),
        )

    def __str__(self) -> str:
        return f"{self.get_side_display()} {self.symbol}"


class EquityPoint(OwnedModel):
    deployment = models.ForeignKey(Deployment, on_delete=models.CASCADE, related_name="equity", db_index=False)
    tick = models.PositiveIntegerField()
    at = models.DateTimeField()
    equity_usd = amount_column()

    class Meta(OwnedModel.Meta):
        db_table = "equity_points"
        indexes = (models.Index(fields=("user", "deployment", "at"), name="equity_by_time"),)
        constraints = (models.UniqueConstraint(fields=("deployment", "tick"), name="equity_once_per_tick"),)

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M}: {self.equity_usd}"


class ActionType(models.TextChoices):
    """The action of a confirmed card (seed 003)."""

    DEPLOY = "deploy", "Deploy"
    REDEPLOY = "redeploy", "Redeploy"
    STOP = "stop", "Stop"
    PAUSE = "pause", "Pause"
    RESUME = "resume", "Resume"
    FLATTEN = "flatten", "Flatten"
    START_BACKTEST = "start_backtest", "Start backtest"
