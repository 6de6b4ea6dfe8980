import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import config.lib.fields
from config.lib.search.index import AddSearchIndex


class Migration(migrations.Migration):
    initial = True

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="Conversation",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "assistant",
                    models.CharField(
                        choices=[("coach", "Coach"), ("advisor", "Advisor"), ("companion", "Companion")],
                        default="coach",
                        max_length=10,
                    ),
                ),
                ("opening_context", models.JSONField(blank=True, default=dict)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("closing", "Closing"),
                            ("idle", "Idle"),
                            ("archived", "Archived"),
                        ],
                        default="active",
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(blank=True, max_length=80)),
                ("is_temporary", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                ("last_message_at", models.DateTimeField()),
                ("left_at", models.DateTimeField(blank=True, null=True)),
                ("trashed_at", models.DateTimeField(blank=True, null=True)),
                ("closing_token", models.UUIDField(blank=True, null=True)),
                ("closing_until", models.DateTimeField(blank=True, null=True)),
                ("extracted_through", models.BigIntegerField(default=0)),
                ("summary", models.TextField(blank=True)),
                ("is_title_chosen", models.BooleanField(default=False)),
                ("extraction_pending", models.BooleanField(default=False)),
                ("extraction_tries", models.PositiveSmallIntegerField(default=0)),
                ("extraction_due_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "agent_conversations",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "-last_message_at"], name="conversations_by_recency"),
                    models.Index(fields=["status", "last_message_at"], name="conversations_to_close"),
                    models.Index(
                        condition=models.Q(("extraction_pending", True)),
                        fields=["extraction_due_at"],
                        name="conversations_to_extract",
                    ),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["trashed_at"],
                        name="conversations_trashed",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("assistant__in", ["coach", "advisor", "companion"])),
                        name="conversation_assistant_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["active", "closing", "idle", "archived"])),
                        name="conversation_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("closing_token__isnull", False),
                                ("closing_until__isnull", False),
                                ("status", "closing"),
                            ),
                            models.Q(
                                models.Q(("status", "closing"), _negated=True),
                                ("closing_token__isnull", True),
                                ("closing_until__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="conversation_closing_has_lease",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemorySnapshot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="snapshots", to="chat.conversation"
                    ),
                ),
                ("text", models.TextField(blank=True)),
                ("sha256", models.CharField(max_length=64)),
                ("fact_ids", models.JSONField(default=list)),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "memory_snapshots",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "conversation", "created_at"], name="snapshots_by_conversation")
                ],
            },
        ),
        migrations.AddField(
            model_name="conversation",
            name="snapshot",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="chat.memorysnapshot",
            ),
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="messages", to="chat.conversation"
                    ),
                ),
                ("role", models.CharField(choices=[("user", "You"), ("assistant", "Keel")], max_length=10)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("complete", "Complete"),
                            ("streaming", "Streaming"),
                            ("interrupted", "Interrupted"),
                            ("failed", "Failed"),
                        ],
                        default="complete",
                        max_length=12,
                    ),
                ),
                ("content", models.TextField(blank=True)),
                ("parts", models.JSONField(blank=True, default=list)),
                ("client_id", models.UUIDField(blank=True, null=True)),
                (
                    "reply_to",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="replies",
                        to="chat.message",
                    ),
                ),
                (
                    "snapshot",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chat.memorysnapshot",
                    ),
                ),
                ("preamble", models.JSONField(blank=True, default=list)),
                ("model", models.CharField(blank=True, max_length=120)),
                ("usage", models.JSONField(blank=True, null=True)),
                ("reserved_tokens", models.PositiveIntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                ("heartbeat_at", models.DateTimeField(blank=True, null=True)),
                ("stop_requested_at", models.DateTimeField(blank=True, null=True)),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
                ("is_continuation", models.BooleanField(default=False)),
                ("is_untrusted", models.BooleanField(default=False)),
                ("search_terms", config.lib.fields.SearchTermsField(default="", editable=False, sources=("content",))),
            ],
            options={
                "db_table": "agent_messages",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "conversation", "id"], name="messages_by_conversation"),
                    models.Index(fields=["user", "role", "created_at"], name="messages_by_time"),
                    models.Index(
                        condition=models.Q(("status", "streaming")), fields=["heartbeat_at"], name="messages_streaming"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["user", "assistant"])), name="message_role_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["complete", "streaming", "interrupted", "failed"])),
                        name="message_status_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("client_id__isnull", False)),
                        fields=("conversation", "client_id"),
                        name="message_sent_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("status", "streaming")),
                        fields=("conversation",),
                        name="message_one_turn_at_a_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("role", "assistant"),
                            models.Q(("content__gt", ""), ("status", "complete")),
                            _connector="OR",
                        ),
                        name="message_user_says_something",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "streaming"), _negated=True),
                            ("heartbeat_at__isnull", False),
                            _connector="OR",
                        ),
                        name="message_streaming_has_heartbeat",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reply_to", models.F("id")), _negated=True),
                        name="message_not_its_own_reply",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConversationSummary",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="summaries",
                        to="chat.conversation",
                    ),
                ),
                ("text", models.TextField()),
                ("sha256", models.CharField(max_length=64)),
                ("through", models.BigIntegerField()),
                ("is_untrusted", models.BooleanField(default=False)),
                ("model", models.CharField(max_length=120)),
                ("created_at", models.DateTimeField()),
                ("replaced_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name_plural": "conversation summaries",
                "db_table": "conversation_summaries",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "conversation", "-through"], name="summaries_by_conversation")
                ],
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("text__gt", "")), name="summary_says_something")
                ],
            },
        ),
        migrations.CreateModel(
            name="PromptText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("sha256", models.CharField(max_length=64)),
                ("text", models.TextField()),
            ],
            options={
                "db_table": "prompt_texts",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [models.UniqueConstraint(fields=("user", "sha256"), name="prompt_text_once")],
            },
        ),
        migrations.CreateModel(
            name="Receipt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "reply",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="receipt", to="chat.message"
                    ),
                ),
                ("segments", models.JSONField(default=list)),
                (
                    "summary",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chat.conversationsummary",
                    ),
                ),
                ("message_ids", models.JSONField(default=list)),
                ("tools_sha256", models.CharField(max_length=64)),
                ("models_asked", models.JSONField(default=list)),
                ("effort", models.CharField(blank=True, default="", max_length=10)),
                ("sha256", models.CharField(max_length=64)),
            ],
            options={
                "db_table": "prompt_receipts",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="ActionCard",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "conversation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cards",
                        to="chat.conversation",
                    ),
                ),
                (
                    "type",
                    models.CharField(
                        choices=[
                            ("deploy", "Deploy"),
                            ("redeploy", "Redeploy"),
                            ("stop", "Stop"),
                            ("pause", "Pause"),
                            ("resume", "Resume"),
                            ("flatten", "Flatten"),
                            ("start_backtest", "Start backtest"),
                        ],
                        max_length=14,
                    ),
                ),
                ("payload", models.JSONField()),
                ("lines", models.JSONField()),
                ("fingerprint", models.CharField(max_length=64)),
                ("digest", models.CharField(max_length=64)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting for you"),
                            ("confirmed", "Confirmed"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("outcome", models.JSONField(blank=True, default=dict)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "action_cards",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "conversation", "created_at"], name="cards_by_conversation"),
                    models.Index(
                        condition=models.Q(("status", "pending")), fields=["expires_at"], name="cards_waiting"
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("type__in", ["deploy", "redeploy", "stop", "pause", "resume", "flatten", "start_backtest"])
                        ),
                        name="card_type_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "confirmed", "cancelled", "expired"])),
                        name="card_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("status", "pending")),
                            models.Q(models.Q(("status", "pending"), _negated=True), ("decided_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="card_decided_has_its_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))), name="card_lives_a_while"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Bookmark",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "message",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="chat.message",
                    ),
                ),
                ("text", models.TextField()),
                ("note", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "bookmarks",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "-created_at"], name="bookmarks_by_time")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("message__isnull", False)),
                        fields=("user", "message"),
                        name="bookmark_once_per_reply",
                    ),
                    models.CheckConstraint(condition=models.Q(("text__gt", "")), name="bookmark_keeps_something"),
                ],
            },
        ),
        migrations.CreateModel(
            name="UsageDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("day", models.DateField()),
                ("turns", models.PositiveIntegerField(default=0)),
                ("prompt_tokens", models.PositiveBigIntegerField(default=0)),
                ("completion_tokens", models.PositiveBigIntegerField(default=0)),
                ("cached_tokens", models.PositiveBigIntegerField(default=0)),
                ("cache_write_tokens", models.PositiveBigIntegerField(default=0)),
                ("reserved_tokens", models.PositiveBigIntegerField(default=0)),
                ("cost_usd", models.DecimalField(decimal_places=6, default=0, max_digits=14)),
                ("saved_usd", models.DecimalField(decimal_places=6, default=0, max_digits=14)),
            ],
            options={
                "db_table": "usage_days",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [models.UniqueConstraint(fields=("user", "day"), name="usage_once_a_day")],
            },
        ),
        migrations.CreateModel(
            name="DayNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("day", models.DateField()),
                ("text", models.TextField(max_length=4000)),
                ("updated_at", models.DateTimeField()),
            ],
            options={
                "db_table": "day_notes",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "day"), name="day_note_once_a_day"),
                    models.CheckConstraint(condition=models.Q(("text__gt", "")), name="day_note_says_something"),
                ],
            },
        ),
        AddSearchIndex(model="Message", unless="replaced_at"),
    ]
