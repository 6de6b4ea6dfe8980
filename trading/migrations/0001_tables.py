import datetime
import uuid

import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import trading.models.users


class Migration(migrations.Migration):
    initial = True

    dependencies = [("auth", "0012_alter_user_first_name_max_length")]

    operations = [
        migrations.CreateModel(
            name="Trader",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                (
                    "email",
                    trading.models.users.LowerEmailField(max_length=254, unique=True, verbose_name="e-mail address"),
                ),
                (
                    "experience_tier",
                    models.CharField(
                        blank=True,
                        choices=[("novice", "Novice"), ("intermediate", "Intermediate"), ("expert", "Expert")],
                        default=None,
                        max_length=12,
                        null=True,
                    ),
                ),
                (
                    "time_zone",
                    models.CharField(
                        default="UTC", max_length=64, validators=[trading.models.users.validate_time_zone]
                    ),
                ),
                ("skipped_steps", models.JSONField(blank=True, default=list)),
                ("daily_token_budget", models.PositiveBigIntegerField(blank=True, null=True)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "db_table": "traders",
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("email"), name="trader_email_unique_without_case"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("experience_tier__isnull", True),
                            ("experience_tier__in", ["novice", "intermediate", "expert"]),
                            _connector="OR",
                        ),
                        name="trader_tier_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Skill",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                (
                    "trading_style",
                    models.CharField(
                        choices=[("day", "Day"), ("swing", "Swing"), ("position", "Position")], max_length=8
                    ),
                ),
                ("latest_version", models.PositiveIntegerField()),
                ("is_untrusted", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "skills",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "-updated_at"], name="skills_by_time")],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("user"),
                        django.db.models.functions.text.Lower("name"),
                        condition=models.Q(("archived_at__isnull", True)),
                        name="skill_name_unique",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("trading_style__in", ["day", "swing", "position"])),
                        name="skill_style_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("latest_version__gte", 1)), name="skill_has_a_version"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SkillVersion",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "skill",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="versions",
                        to="trading.skill",
                    ),
                ),
                ("version", models.PositiveIntegerField()),
                ("payload", models.JSONField()),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "skill_versions",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(fields=("skill", "version"), name="skill_version_once"),
                    models.CheckConstraint(condition=models.Q(("version__gte", 1)), name="skill_version_from_one"),
                ],
            },
        ),
        migrations.CreateModel(
            name="SkillDraft",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "base_skill",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="drafts",
                        to="trading.skill",
                    ),
                ),
                ("base_version", models.PositiveIntegerField(blank=True, null=True)),
                ("payload", models.JSONField(default=dict)),
                ("conversation_id", models.UUIDField(blank=True, null=True)),
                ("is_untrusted", models.BooleanField(default=False)),
                (
                    "status",
                    models.CharField(
                        choices=[("editing", "Editing"), ("saved", "Saved"), ("discarded", "Discarded")],
                        default="editing",
                        max_length=9,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "skill_drafts",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "status", "-updated_at"], name="skill_drafts_by_status")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["editing", "saved", "discarded"])),
                        name="skill_draft_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("base_skill__isnull", True), ("base_version__isnull", True)),
                            models.Q(("base_skill__isnull", False), ("base_version__isnull", False)),
                            _connector="OR",
                        ),
                        name="skill_draft_base_is_whole",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("base_skill__isnull", False), ("status", "editing")),
                        fields=("user", "base_skill"),
                        name="skill_draft_one_per_skill",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("base_skill__isnull", True), ("status", "editing")),
                        fields=("user",),
                        name="skill_draft_one_new",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Deployment",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "skill",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="deployments",
                        to="trading.skill",
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="+",
                        to="trading.skillversion",
                    ),
                ),
                (
                    "broker_kind",
                    models.CharField(
                        choices=[("backtest", "Backtest"), ("paper", "Paper"), ("live", "Live")], max_length=8
                    ),
                ),
                ("label", models.CharField(blank=True, max_length=60)),
                (
                    "status",
                    models.CharField(
                        choices=[("running", "Running"), ("paused", "Paused"), ("stopped", "Stopped")],
                        default="running",
                        max_length=7,
                    ),
                ),
                ("starting_equity_usd", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                (
                    "excursion_from",
                    models.CharField(
                        choices=[("high_low", "Highs and lows"), ("close", "Closes")], default="high_low", max_length=8
                    ),
                ),
                ("halt_code", models.CharField(blank=True, max_length=32)),
                ("halted_until", models.DateTimeField(blank=True, null=True)),
                ("last_tick", models.PositiveIntegerField(default=0)),
                ("last_tick_at", models.DateTimeField(blank=True, null=True)),
                ("account", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField()),
                ("stopped_at", models.DateTimeField(blank=True, null=True)),
                (
                    "due_at",
                    models.DateTimeField(
                        blank=True, default=datetime.datetime(1970, 1, 1, 0, 0, tzinfo=datetime.UTC), null=True
                    ),
                ),
                ("lease", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "deployments",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "status", "-created_at"], name="deployments_by_status"),
                    models.Index(fields=["user", "skill", "-created_at"], name="deployments_by_skill"),
                    models.Index(
                        condition=models.Q(
                            ("due_at__isnull", False), models.Q(("broker_kind", "backtest"), _negated=True)
                        ),
                        fields=["due_at"],
                        name="deployments_due",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("broker_kind__in", ["backtest", "paper", "live"])),
                        name="deployment_broker_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["running", "paused", "stopped"])),
                        name="deployment_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("excursion_from__in", ["high_low", "close"])),
                        name="deployment_excursion_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("starting_equity_usd__gt", 0)), name="deployment_starts_with_money"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("halt_code", ""), ("halted_until__isnull", True)),
                            models.Q(models.Q(("halt_code", ""), _negated=True), ("halted_until__isnull", False)),
                            _connector="OR",
                        ),
                        name="deployment_halted_for_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("last_tick", 0), ("last_tick_at__isnull", True)),
                            models.Q(("last_tick__gt", 0), ("last_tick_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="deployment_tick_has_its_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("lease__isnull", True), ("lease_until__isnull", True)),
                            models.Q(("lease__isnull", False), ("lease_until__isnull", False)),
                            _connector="OR",
                        ),
                        name="deployment_lease_ends",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("label", ""), _negated=True),
                        fields=("user", "label"),
                        name="deployment_label_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DeploymentCommand",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="commands",
                        to="trading.deployment",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("pause", "Pause"),
                            ("resume", "Resume"),
                            ("stop", "Stop"),
                            ("flatten", "Close all positions"),
                            ("redeploy", "Move to the newest version"),
                        ],
                        max_length=8,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("outcome", models.CharField(blank=True, max_length=280)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "deployment_commands",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "-created_at"], name="commands_by_deployment")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["pause", "resume", "stop", "flatten", "redeploy"])),
                        name="command_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "running", "done", "failed", "cancelled"])),
                        name="command_status_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status__in", ["pending", "running"])),
                        fields=("deployment", "kind"),
                        name="command_waits_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", True), ("status__in", ["pending", "running"])),
                            models.Q(("finished_at__isnull", False), ("status__in", ["done", "failed", "cancelled"])),
                            _connector="OR",
                        ),
                        name="command_over_has_its_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BacktestRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="backtest", to="trading.deployment"
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("fee_bps", models.DecimalField(decimal_places=3, default=4, max_digits=8)),
                ("slippage_bps", models.DecimalField(decimal_places=3, default=2, max_digits=8)),
                ("volume_pct", models.DecimalField(decimal_places=3, default=0, max_digits=6)),
                ("reflects", models.BooleanField(default=True)),
                ("by_rules", models.BooleanField(default=False)),
                ("is_simulated", models.BooleanField(default=False)),
                ("ticks_done", models.PositiveIntegerField(default=0)),
                ("ticks_total", models.PositiveIntegerField(default=0)),
                ("summary", models.JSONField(blank=True, default=dict)),
                ("error", models.CharField(blank=True, max_length=280)),
                ("created_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(blank=True, null=True)),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("lease", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "backtest_runs",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "-created_at"], name="backtests_by_time")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "running", "done", "failed", "cancelled"])),
                        name="backtest_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="backtest_ends_after_start"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ticks_done__lte", models.F("ticks_total"))),
                        name="backtest_progress_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("slippage_bps__gte", 0)), name="backtest_slippage_costs"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("volume_pct__range", (0, 100))), name="backtest_volume_is_a_share"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("finished_at__isnull", True), ("status__in", ["pending", "running"])),
                            models.Q(("finished_at__isnull", False), ("status__in", ["done", "failed", "cancelled"])),
                            _connector="OR",
                        ),
                        name="backtest_over_has_its_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DecisionSnapshot",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="decisions",
                        to="trading.deployment",
                    ),
                ),
                ("tick", models.PositiveIntegerField()),
                ("tick_at", models.DateTimeField()),
                ("skill_version", models.PositiveIntegerField()),
                ("system_prompt", models.TextField(blank=True)),
                ("context", models.TextField(blank=True)),
                ("steps", models.JSONField(blank=True, default=list)),
                ("proposal", models.JSONField(blank=True, null=True)),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("none", "No order"),
                            ("accepted", "Accepted"),
                            ("refused", "Refused"),
                            ("failed", "Failed"),
                        ],
                        default="none",
                        max_length=8,
                    ),
                ),
                ("verdict_code", models.CharField(blank=True, max_length=32)),
                ("verdict_text", models.CharField(blank=True, max_length=500)),
                ("note_id", models.UUIDField(blank=True, null=True)),
                ("model", models.CharField(blank=True, max_length=120)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                ("cost_usd", models.DecimalField(decimal_places=12, default=0, max_digits=36)),
            ],
            options={
                "db_table": "decision_snapshots",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "-tick"], name="decisions_by_deployment")],
                "constraints": [
                    models.UniqueConstraint(fields=("deployment", "tick"), name="decision_once_per_tick"),
                    models.CheckConstraint(
                        condition=models.Q(("verdict__in", ["none", "accepted", "refused", "failed"])),
                        name="decision_verdict_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verdict", "refused"), models.Q(("verdict_code", ""), _negated=True)),
                            models.Q(models.Q(("verdict", "refused"), _negated=True), ("verdict_code", "")),
                            _connector="OR",
                        ),
                        name="decision_refused_by_a_rule",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Order",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="orders",
                        to="trading.deployment",
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.decisionsnapshot",
                    ),
                ),
                ("tick", models.PositiveIntegerField()),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("agent", "Agent"),
                            ("stop", "Stop price"),
                            ("halt", "Risk halt"),
                            ("command", "Command"),
                        ],
                        default="agent",
                        max_length=7,
                    ),
                ),
                ("symbol", models.CharField(max_length=32)),
                (
                    "side",
                    models.CharField(choices=[("long", "Long"), ("short", "Short"), ("close", "Close")], max_length=5),
                ),
                ("size_usd", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("leverage", models.DecimalField(decimal_places=12, default=1, max_digits=36)),
                ("stop_price", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("reason", models.CharField(max_length=280)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("refused", "Refused by risk"),
                            ("pending", "Sent"),
                            ("partly_filled", "Partly filled"),
                            ("filled", "Filled"),
                            ("cancelled", "Cancelled"),
                            ("rejected", "Rejected by the broker"),
                        ],
                        max_length=13,
                    ),
                ),
                ("verdict_code", models.CharField(blank=True, max_length=32)),
                ("venue_order_id", models.CharField(blank=True, max_length=120)),
                ("error", models.CharField(blank=True, max_length=280)),
                ("proposed_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "orders",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "-proposed_at"], name="orders_by_deployment")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ["agent", "stop", "halt", "command"])),
                        name="order_origin_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("side__in", ["long", "short", "close"])), name="order_side_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["refused", "pending", "partly_filled", "filled", "cancelled", "rejected"])
                        ),
                        name="order_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "refused"), models.Q(("verdict_code", ""), _negated=True)),
                            models.Q(models.Q(("state", "refused"), _negated=True), ("verdict_code", "")),
                            _connector="OR",
                        ),
                        name="order_refused_by_a_rule",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("size_usd__gt", 0), ("size_usd__isnull", False)),
                            models.Q(("side", "close"), ("size_usd__isnull", True)),
                            _connector="OR",
                        ),
                        name="order_has_a_size",
                    ),
                    models.CheckConstraint(condition=models.Q(("leverage__gte", 1)), name="order_leverage_from_one"),
                ],
            },
        ),
        migrations.CreateModel(
            name="EquityPoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="equity",
                        to="trading.deployment",
                    ),
                ),
                ("tick", models.PositiveIntegerField()),
                ("at", models.DateTimeField()),
                ("equity_usd", models.DecimalField(decimal_places=12, max_digits=36)),
            ],
            options={
                "db_table": "equity_points",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "at"], name="equity_by_time")],
                "constraints": [models.UniqueConstraint(fields=("deployment", "tick"), name="equity_once_per_tick")],
            },
        ),
        migrations.CreateModel(
            name="Bar",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("symbol", models.CharField(max_length=32)),
                ("interval", models.CharField(max_length=3)),
                ("opened_at", models.DateTimeField()),
                ("open", models.DecimalField(decimal_places=12, max_digits=36)),
                ("high", models.DecimalField(decimal_places=12, max_digits=36)),
                ("low", models.DecimalField(decimal_places=12, max_digits=36)),
                ("close", models.DecimalField(decimal_places=12, max_digits=36)),
                ("volume", models.DecimalField(decimal_places=12, default=0, max_digits=36)),
                ("mark", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("index", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("source", models.CharField(max_length=80)),
                ("is_simulated", models.BooleanField(default=False)),
            ],
            options={
                "db_table": "bars",
                "constraints": [
                    models.UniqueConstraint(fields=("symbol", "interval", "opened_at"), name="bar_once"),
                    models.CheckConstraint(
                        condition=models.Q(("interval__in", ["1m", "5m", "15m", "30m", "1h", "4h", "1d"])),
                        name="bar_interval_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("high__gte", models.F("low")),
                            ("low__gt", 0),
                            ("volume__gte", 0),
                            ("close__gte", models.F("low")),
                            ("close__lte", models.F("high")),
                            ("open__gte", models.F("low")),
                            ("open__lte", models.F("high")),
                        ),
                        name="bar_is_within_its_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FundingRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("symbol", models.CharField(max_length=32)),
                ("at", models.DateTimeField()),
                ("rate", models.DecimalField(decimal_places=12, max_digits=20)),
                ("hours", models.PositiveSmallIntegerField(default=8)),
                ("source", models.CharField(max_length=80)),
                ("is_simulated", models.BooleanField(default=False)),
            ],
            options={
                "db_table": "funding_rates",
                "constraints": [
                    models.UniqueConstraint(fields=("symbol", "at"), name="funding_rate_once"),
                    models.CheckConstraint(
                        condition=models.Q(("hours__gte", 1), ("hours__lte", 24)), name="funding_rate_within_a_day"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="NewsItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(editable=False, max_length=64, unique=True)),
                ("headline", models.CharField(max_length=300)),
                ("source", models.CharField(max_length=80)),
                ("published_at", models.DateTimeField()),
                ("symbols", models.JSONField(blank=True, default=list)),
                ("sentiment", models.FloatField(blank=True, null=True)),
                ("is_simulated", models.BooleanField(default=False)),
            ],
            options={
                "db_table": "news_items",
                "indexes": [models.Index(fields=["-published_at"], name="news_by_time")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("sentiment__isnull", True),
                            models.Q(("sentiment__gte", -1), ("sentiment__lte", 1)),
                            _connector="OR",
                        ),
                        name="news_sentiment_in_range",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MarketEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(editable=False, max_length=64, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("fomc", "Fed decision"),
                            ("cpi", "Consumer prices"),
                            ("nfp", "Jobs report"),
                            ("ppi", "Producer prices"),
                            ("gdp", "Growth"),
                            ("token_unlock", "Token unlock"),
                            ("options_expiry", "Options expiry"),
                            ("upgrade", "Network upgrade"),
                            ("other", "Other"),
                        ],
                        max_length=14,
                    ),
                ),
                ("title", models.CharField(max_length=160)),
                ("starts_at", models.DateTimeField()),
                ("importance", models.FloatField()),
                ("symbols", models.JSONField(blank=True, default=list)),
                ("source", models.CharField(max_length=160)),
                ("is_simulated", models.BooleanField(default=False)),
            ],
            options={
                "db_table": "market_events",
                "indexes": [models.Index(fields=["starts_at"], name="events_by_time")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "fomc",
                                    "cpi",
                                    "nfp",
                                    "ppi",
                                    "gdp",
                                    "token_unlock",
                                    "options_expiry",
                                    "upgrade",
                                    "other",
                                ],
                            )
                        ),
                        name="event_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("importance__gte", 0), ("importance__lte", 1)),
                        name="event_importance_in_range",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("digest", models.CharField(max_length=64)),
                ("prefix", models.CharField(max_length=32)),
                ("scope", models.CharField(choices=[("read", "Read"), ("write", "Read and write")], max_length=5)),
                ("created_at", models.DateTimeField()),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "API token",
                "db_table": "api_tokens",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "-created_at"], name="api_tokens_by_time")],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "digest"), name="api_token_digest_once"),
                    models.CheckConstraint(
                        condition=models.Q(("scope__in", ["read", "write"])), name="api_token_scope_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name", ""), _negated=True), name="api_token_has_a_name"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("expires_at__isnull", True), ("expires_at__gt", models.F("created_at")), _connector="OR"
                        ),
                        name="api_token_expires_after_it_began",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ImportBatch",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="imports",
                        to="trading.deployment",
                    ),
                ),
                (
                    "source",
                    models.CharField(
                        choices=[("file", "File"), ("api", "API"), ("sync", "Sync"), ("hand", "Entered by hand")],
                        max_length=4,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(blank=True, null=True)),
                ("new_fills", models.PositiveIntegerField(default=0)),
                ("known_fills", models.PositiveIntegerField(default=0)),
                ("new_funding", models.PositiveIntegerField(default=0)),
                ("known_funding", models.PositiveIntegerField(default=0)),
                ("openings", models.PositiveIntegerField(default=0)),
                ("conflicts", models.JSONField(blank=True, default=list)),
                ("repeats", models.JSONField(blank=True, default=dict)),
                ("details", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "verbose_name_plural": "import batches",
                "db_table": "import_batches",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "-created_at"], name="imports_by_deployment")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["file", "api", "sync", "hand"])), name="import_source_known"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Fill",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="fills",
                        to="trading.deployment",
                    ),
                ),
                (
                    "order",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.order",
                    ),
                ),
                ("fill_id", models.CharField(max_length=120)),
                ("symbol", models.CharField(max_length=32)),
                ("at", models.DateTimeField()),
                ("quantity", models.DecimalField(decimal_places=12, max_digits=36)),
                ("price", models.DecimalField(decimal_places=12, max_digits=36)),
                ("fee_usd", models.DecimalField(blank=True, decimal_places=12, default=0, max_digits=36, null=True)),
                ("fee_coin", models.CharField(blank=True, max_length=16)),
                ("fee_in_coin", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("is_liquidation", models.BooleanField(default=False)),
                ("start_quantity", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("is_reducing", models.BooleanField(blank=True, null=True)),
                ("source_order", models.PositiveIntegerField(default=0)),
                ("settled_at", models.DateTimeField(blank=True, null=True)),
                ("tick", models.PositiveIntegerField(default=0)),
                ("intent", models.JSONField(blank=True, default=dict)),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="fills",
                        to="trading.importbatch",
                    ),
                ),
            ],
            options={
                "db_table": "fills",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "deployment", "symbol", "at"], name="fills_by_symbol"),
                    models.Index(
                        condition=models.Q(("fee_usd__isnull", True)),
                        fields=["user", "deployment"],
                        name="fills_without_a_fee_price",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "deployment", "symbol", "fill_id"), name="fill_once"),
                    models.CheckConstraint(
                        condition=models.Q(("quantity", 0), _negated=True), name="fill_moves_something"
                    ),
                    models.CheckConstraint(condition=models.Q(("price__gt", 0)), name="fill_has_a_price"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("fee_usd__isnull", False),
                            models.Q(models.Q(("fee_coin", ""), _negated=True), ("fee_in_coin__isnull", False)),
                            _connector="OR",
                        ),
                        name="fill_fee_is_known_in_its_coin",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Trade",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="trades",
                        to="trading.deployment",
                    ),
                ),
                (
                    "skill",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="trades",
                        to="trading.skill",
                    ),
                ),
                ("skill_version", models.PositiveIntegerField()),
                ("exit_skill_version", models.PositiveIntegerField(blank=True, null=True)),
                ("symbol", models.CharField(max_length=32)),
                ("side", models.CharField(choices=[("long", "Long"), ("short", "Short")], max_length=5)),
                ("status", models.CharField(choices=[("open", "Open"), ("closed", "Closed")], max_length=6)),
                ("quantity", models.DecimalField(decimal_places=12, max_digits=36)),
                ("peak_quantity", models.DecimalField(decimal_places=12, max_digits=36)),
                ("entry_decided_at", models.DateTimeField(blank=True, null=True)),
                ("entry_at", models.DateTimeField()),
                ("entry_tick_at", models.DateTimeField()),
                ("entry_price", models.DecimalField(decimal_places=12, max_digits=36)),
                ("entry_size_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("entry_leverage", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("entry_reason", models.CharField(blank=True, max_length=280)),
                (
                    "entry_snapshot",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.decisionsnapshot",
                    ),
                ),
                (
                    "entry_regime_tag",
                    models.CharField(
                        choices=[("trend", "Trend"), ("chop", "Chop"), ("shock", "Shock"), ("unknown", "Unknown")],
                        default="unknown",
                        max_length=7,
                    ),
                ),
                ("exit_decided_at", models.DateTimeField(blank=True, null=True)),
                ("exit_at", models.DateTimeField(blank=True, null=True)),
                ("exit_tick_at", models.DateTimeField(blank=True, null=True)),
                ("exit_price", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("exit_reason", models.CharField(blank=True, max_length=280)),
                (
                    "exit_snapshot",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.decisionsnapshot",
                    ),
                ),
                (
                    "exit_kind",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("signal", "The agent"),
                            ("stop", "Stop price"),
                            ("flip", "Turned to the other side"),
                            ("liquidation", "Liquidation"),
                            ("halt", "Risk halt"),
                            ("command", "Your command"),
                            ("external", "Outside of Keel"),
                        ],
                        max_length=11,
                    ),
                ),
                ("holding_minutes", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
                ("realized_pnl_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("gross_pnl_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("fees_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("converted_fees", models.JSONField(blank=True, default=dict)),
                ("unpriced_fees", models.JSONField(blank=True, default=dict)),
                ("funding_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("mfe_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("mae_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                ("path_minutes", models.PositiveIntegerField(blank=True, null=True)),
                (
                    "reconciled",
                    models.CharField(
                        choices=[
                            ("exact", "Complete"),
                            ("estimated", "Partly estimated"),
                            ("gap", "History missing"),
                            ("unconfirmed", "Start not confirmed"),
                        ],
                        max_length=11,
                    ),
                ),
                ("first_fill_id", models.CharField(max_length=140)),
                ("state", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "trade_history",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "deployment", "-entry_tick_at"], name="trades_by_deployment"),
                    models.Index(fields=["user", "skill", "-entry_tick_at"], name="trades_by_skill"),
                    models.Index(fields=["user", "-entry_tick_at"], name="trades_by_entry"),
                    models.Index(fields=["user", "deployment", "symbol", "-entry_at"], name="trades_by_symbol"),
                    models.Index(fields=["user", "deployment", "status", "reconciled"], name="trades_by_status"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("status", "open")),
                        fields=("deployment", "symbol"),
                        name="trade_one_open_per_symbol",
                    ),
                    models.UniqueConstraint(
                        fields=("deployment", "symbol", "first_fill_id"), name="trade_once_per_first_fill"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("side__in", ["long", "short"])), name="trade_side_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["open", "closed"])), name="trade_status_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reconciled__in", ["exact", "estimated", "gap", "unconfirmed"])),
                        name="trade_reconciled_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("entry_regime_tag__in", ["trend", "chop", "shock", "unknown"])),
                        name="trade_regime_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("exit_at__isnull", True),
                                ("exit_kind", ""),
                                ("exit_tick_at__isnull", True),
                                ("status", "open"),
                            ),
                            models.Q(
                                ("exit_at__isnull", False),
                                (
                                    "exit_kind__in",
                                    ["signal", "stop", "flip", "liquidation", "halt", "command", "external"],
                                ),
                                ("exit_price__isnull", False),
                                ("exit_tick_at__isnull", False),
                                ("holding_minutes__isnull", False),
                                ("status", "closed"),
                            ),
                            _connector="OR",
                        ),
                        name="trade_closed_has_its_exit",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("quantity", 0), ("status", "closed")),
                            models.Q(("quantity__gt", 0), ("side", "long"), ("status", "open")),
                            models.Q(("quantity__lt", 0), ("side", "short"), ("status", "open")),
                            _connector="OR",
                        ),
                        name="trade_quantity_fits_its_side",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("mae_usd__lte", 0), ("mfe_usd__gte", 0)), name="trade_excursion_around_zero"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "open"),
                            models.Q(
                                ("mae_usd__lte", models.F("gross_pnl_usd")), ("mfe_usd__gte", models.F("gross_pnl_usd"))
                            ),
                            _connector="OR",
                        ),
                        name="trade_gross_within_excursion",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("entry_price__gt", 0), ("entry_size_usd__gte", 0), ("peak_quantity__gt", 0)
                        ),
                        name="trade_had_a_size",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReflectionNote",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "skill",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="trading.skill",
                    ),
                ),
                ("skill_version", models.PositiveIntegerField()),
                (
                    "deployment",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notes",
                        to="trading.deployment",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("active", "Active"), ("superseded", "Superseded")], default="active", max_length=10
                    ),
                ),
                ("generated_at", models.DateTimeField()),
                ("superseded_at", models.DateTimeField(blank=True, null=True)),
                ("window_start", models.DateTimeField()),
                ("window_end", models.DateTimeField()),
                ("trades_considered", models.PositiveIntegerField()),
                ("trade_ids", models.JSONField(blank=True, default=list)),
                (
                    "built_on",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.reflectionnote",
                    ),
                ),
                (
                    "kept_from",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.reflectionnote",
                    ),
                ),
                ("lessons_text", models.TextField(max_length=2000)),
                ("findings", models.JSONField(blank=True, default=list)),
                ("model_used", models.CharField(max_length=120)),
                ("input_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("output_tokens", models.PositiveIntegerField(blank=True, null=True)),
                ("cost_usd", models.DecimalField(blank=True, decimal_places=12, max_digits=36, null=True)),
            ],
            options={
                "db_table": "reflection_notes",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "deployment", "-generated_at"], name="notes_by_deployment"),
                    models.Index(fields=["user", "skill", "-generated_at"], name="notes_by_skill"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "superseded"])), name="note_status_known"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "active")),
                        fields=("deployment",),
                        name="note_one_active_per_deployment",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("deployment__isnull", True), ("status", "active")),
                        fields=("skill",),
                        name="note_one_active_per_skill",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            django.db.models.lookups.LessThanOrEqual(
                                django.db.models.functions.text.Length("lessons_text"), 2000
                            )
                        ),
                        name="note_is_bounded",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("window_end__gte", models.F("window_start"))), name="note_window_in_order"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "active"), ("superseded_at__isnull", True)),
                            models.Q(("status", "superseded"), ("superseded_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="note_superseded_has_its_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReflectionRun",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="reflections",
                        to="trading.deployment",
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="running",
                        max_length=9,
                    ),
                ),
                (
                    "note",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="trading.reflectionnote",
                    ),
                ),
                ("error", models.CharField(blank=True, max_length=280)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("lease", models.UUIDField(blank=True, null=True)),
                ("lease_until", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "reflection_runs",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "-started_at"], name="reflections_by_time")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "running", "done", "failed", "cancelled"])),
                        name="reflection_status_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "running")),
                        fields=("deployment",),
                        name="reflection_one_at_a_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", True),
                                ("lease__isnull", False),
                                ("lease_until__isnull", False),
                                ("status", "running"),
                            ),
                            models.Q(("finished_at__isnull", False), ("status__in", ["done", "failed", "cancelled"])),
                            _connector="OR",
                        ),
                        name="reflection_over_has_its_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FundingPayment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="funding_payments",
                        to="trading.deployment",
                    ),
                ),
                ("symbol", models.CharField(max_length=32)),
                ("at", models.DateTimeField()),
                ("amount_usd", models.DecimalField(decimal_places=12, max_digits=36)),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="funding",
                        to="trading.importbatch",
                    ),
                ),
            ],
            options={
                "db_table": "funding_payments",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "symbol", "at"], name="funding_by_symbol")],
                "constraints": [
                    models.UniqueConstraint(fields=("deployment", "symbol", "at"), name="funding_paid_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="PositionCheck",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "deployment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="checks",
                        to="trading.deployment",
                    ),
                ),
                ("symbol", models.CharField(max_length=32)),
                ("at", models.DateTimeField()),
                ("quantity", models.DecimalField(decimal_places=12, max_digits=36)),
                ("price", models.DecimalField(decimal_places=12, max_digits=36)),
                ("is_opening", models.BooleanField(default=False)),
                ("intent", models.JSONField(blank=True, default=dict)),
                (
                    "batch",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="checks",
                        to="trading.importbatch",
                    ),
                ),
            ],
            options={
                "db_table": "position_checks",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "deployment", "symbol", "at"], name="checks_by_symbol")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("deployment", "symbol", "at", "is_opening"), name="check_once_per_instant"
                    ),
                    models.CheckConstraint(condition=models.Q(("price__gt", 0)), name="check_has_a_price"),
                ],
            },
        ),
        migrations.CreateModel(
            name="StaffEntry",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("staff_id", models.BigIntegerField()),
                ("act", models.CharField(max_length=40)),
                ("subject", models.CharField(max_length=200)),
                ("reason", models.CharField(max_length=280)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "verbose_name": "staff log entry",
                "verbose_name_plural": "staff log",
                "db_table": "staff_entries",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "-created_at"], name="staff_entries_by_time")],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("reason__gt", "")), name="staff_entry_has_a_reason")
                ],
            },
        ),
        migrations.CreateModel(
            name="TradeFile",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("content", models.BinaryField()),
                ("mapping", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "trade_files",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "-created_at"], name="trade_files_by_time")],
            },
        ),
        migrations.CreateModel(
            name="VenueAccount",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("venue", models.CharField(max_length=20)),
                ("name", models.CharField(blank=True, max_length=20)),
                ("address", models.CharField(blank=True, max_length=64)),
                ("sealed_key", models.TextField(blank=True)),
                ("key_hint", models.CharField(blank=True, max_length=12)),
                ("markets", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField()),
                ("due_at", models.DateTimeField()),
                ("read_from", models.DateTimeField(blank=True, null=True)),
                ("read_until", models.DateTimeField(blank=True, null=True)),
                ("gaps", models.JSONField(blank=True, default=list)),
                ("error", models.CharField(blank=True, max_length=280)),
            ],
            options={
                "db_table": "venue_accounts",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "-created_at"], name="venue_accounts_by_time"),
                    models.Index(fields=["due_at"], name="venue_accounts_due"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("address", ""), models.Q(("sealed_key", ""), _negated=True)),
                            models.Q(models.Q(("address", ""), _negated=True), ("sealed_key", "")),
                            _connector="OR",
                        ),
                        name="venue_account_has_one_way_in",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("address", ""), _negated=True),
                        fields=("user", "venue", "address"),
                        name="venue_account_once",
                    ),
                    models.UniqueConstraint(fields=("user", "venue", "name"), name="venue_account_has_its_record"),
                ],
            },
        ),
        migrations.CreateModel(
            name="TradingRule",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("fact_id", models.UUIDField()),
                ("lineage", models.UUIDField()),
                ("words", models.CharField(max_length=500)),
                ("payload", models.JSONField()),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "To confirm"), ("confirmed", "In use"), ("dismissed", "Not a rule")],
                        default="waiting",
                        max_length=9,
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "trading_rules",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "state", "valid_from"], name="trading_rules_by_state")],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "fact_id"), name="trading_rule_once_per_fact"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["waiting", "confirmed", "dismissed"])),
                        name="trading_rule_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_until__isnull", True), ("valid_until__gt", models.F("valid_from")), _connector="OR"
                        ),
                        name="trading_rule_ends_after_start",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("state", "waiting")),
                            models.Q(("decided_at__isnull", False), ("state__in", ["confirmed", "dismissed"])),
                            _connector="OR",
                        ),
                        name="trading_rule_decided_at_an_instant",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedFilter",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=1000)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "saved_filters",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [models.UniqueConstraint(fields=("user", "name"), name="saved_filter_once_per_name")],
            },
        ),
        migrations.CreateModel(
            name="TradeRemark",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("trade_id", models.UUIDField()),
                ("text", models.TextField(blank=True, max_length=2000)),
                ("tags", models.CharField(blank=True, max_length=301)),
                ("picture", models.BinaryField(blank=True, null=True)),
                ("picture_width", models.PositiveIntegerField(blank=True, null=True)),
                ("picture_height", models.PositiveIntegerField(blank=True, null=True)),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "trade_remarks",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "trade_id"), name="remark_once_per_trade"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("picture__isnull", True),
                                ("picture_height__isnull", True),
                                ("picture_width__isnull", True),
                            ),
                            models.Q(
                                ("picture__isnull", False),
                                ("picture_height__isnull", False),
                                ("picture_width__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="remark_picture_has_its_size",
                    ),
                ],
            },
        ),
    ]
