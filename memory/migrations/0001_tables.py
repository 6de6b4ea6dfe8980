import uuid

import django.db.models.deletion
import django.db.models.functions.text
import django.db.models.lookups
from django.conf import settings
from django.db import migrations, models

import config.lib.fields
from config.lib.search.index import AddSearchIndex


class Migration(migrations.Migration):
    initial = True

    dependencies = [migrations.swappable_dependency(settings.AUTH_USER_MODEL)]

    operations = [
        migrations.CreateModel(
            name="UserFact",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("lineage", models.UUIDField(editable=False)),
                (
                    "supersedes",
                    models.OneToOneField(
                        blank=True,
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.RESTRICT,
                        related_name="superseded_by",
                        to="memory.userfact",
                    ),
                ),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("profile", "Profile"),
                            ("finance_context", "Finance context"),
                            ("response_style", "Response style"),
                            ("fact", "Facts"),
                        ],
                        default="fact",
                        max_length=20,
                    ),
                ),
                ("topic", models.CharField(blank=True, max_length=32)),
                ("content", models.CharField(max_length=500)),
                ("summary", models.CharField(blank=True, max_length=200)),
                ("body", models.TextField(blank=True, max_length=4000)),
                ("normalised", config.lib.fields.NormalFormField(editable=False, source="content")),
                ("content_key", config.lib.fields.ContentKeyField(editable=False, max_length=64, source="content")),
                ("subject", models.CharField(blank=True, editable=False, max_length=64)),
                (
                    "source",
                    models.CharField(
                        choices=[
                            ("chat", "Chat"),
                            ("profile", "You"),
                            ("extracted", "Learned"),
                            ("inferred", "Observed"),
                            ("imported", "Imported"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "confidence",
                    models.CharField(choices=[("asserted", "You said so"), ("inferred", "Inferred")], max_length=10),
                ),
                ("score", models.FloatField(blank=True, null=True)),
                ("valid_from", models.DateTimeField()),
                ("valid_until", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("learned_at", models.DateTimeField()),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                (
                    "archived_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("superseded", "Replaced by a newer version"),
                            ("user_archived", "Archived by you"),
                            ("staff_archived", "Archived by staff"),
                            ("user_deleted", "Deleted by you"),
                            ("user_corrected", "Corrected by you"),
                            ("agent_forget", "Forgotten in a chat"),
                            ("undone", "Undone"),
                            ("evicted", "Left out for space"),
                            ("merged", "Merged into another fact"),
                        ],
                        max_length=16,
                    ),
                ),
                ("trashed_at", models.DateTimeField(blank=True, null=True)),
                ("left_document_at", models.DateTimeField(blank=True, null=True)),
                ("last_referenced_at", models.DateTimeField()),
                ("last_confirmed_at", models.DateTimeField(blank=True, null=True)),
                ("conversation_id", models.UUIDField(blank=True, null=True)),
                ("quotes", models.JSONField(blank=True, default=list)),
                ("skill_id", models.UUIDField(blank=True, null=True)),
                ("external", models.JSONField(blank=True, default=dict)),
                (
                    "search_terms",
                    config.lib.fields.SearchTermsField(
                        default="", editable=False, sources=("content", "summary", "body")
                    ),
                ),
            ],
            options={
                "db_table": "user_facts",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(
                        condition=models.Q(("archived_at__isnull", True)),
                        fields=["user", "-last_referenced_at", "-created_at", "id"],
                        name="user_facts_by_reference",
                    ),
                    models.Index(fields=["user", "archived_at", "left_document_at"], name="user_facts_in_document"),
                    models.Index(
                        fields=[
                            "user",
                            "archived_at",
                            "category",
                            "score",
                            "-created_at",
                            "-id",
                            "valid_from",
                            "valid_until",
                        ],
                        name="user_facts_by_category",
                    ),
                    models.Index(fields=["user", "lineage", "created_at"], name="user_facts_by_lineage"),
                    models.Index(
                        condition=models.Q(("archived_at__isnull", True)),
                        fields=["user", "subject"],
                        name="user_facts_by_subject",
                    ),
                    models.Index(fields=["user", "-archived_at"], name="user_facts_archived"),
                    models.Index(
                        condition=models.Q(("trashed_at__isnull", False)),
                        fields=["user", "trashed_at"],
                        name="user_facts_trashed",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("archived_at__isnull", True)),
                        fields=("user", "content_key"),
                        name="user_fact_said_once",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("archived_at__isnull", True)),
                        fields=("user", "lineage"),
                        name="user_fact_one_believed_version",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("category__in", ["profile", "finance_context", "response_style", "fact"])),
                        name="user_fact_category_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("source__in", ["chat", "profile", "extracted", "inferred", "imported"])),
                        name="user_fact_source_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("confidence__in", ["asserted", "inferred"])),
                        name="user_fact_confidence_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            django.db.models.lookups.GreaterThanOrEqual(
                                django.db.models.functions.text.Length("content"), 4
                            ),
                            django.db.models.lookups.LessThanOrEqual(
                                django.db.models.functions.text.Length("content"), 500
                            ),
                        ),
                        name="user_fact_content_length",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("score__isnull", True), models.Q(("score__gte", 0), ("score__lte", 1)), _connector="OR"
                        ),
                        name="user_fact_score_is_a_share",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("score__isnull", True),
                            models.Q(("confidence", "inferred"), ("source__in", ["extracted", "inferred"])),
                            _connector="OR",
                        ),
                        name="user_fact_only_learned_has_score",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("archived_at__isnull", True), ("archived_reason", "")),
                            models.Q(
                                ("archived_at__isnull", False),
                                (
                                    "archived_reason__in",
                                    [
                                        "superseded",
                                        "user_archived",
                                        "staff_archived",
                                        "user_deleted",
                                        "user_corrected",
                                        "agent_forget",
                                        "undone",
                                        "evicted",
                                        "merged",
                                    ],
                                ),
                            ),
                            _connector="OR",
                        ),
                        name="user_fact_archived_for_a_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("trashed_at__isnull", True), ("archived_at__isnull", False), _connector="OR"
                        ),
                        name="user_fact_trash_is_archived",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("valid_until__isnull", True), ("valid_until__gt", models.F("valid_from")), _connector="OR"
                        ),
                        name="user_fact_ends_after_start",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("supersedes", models.F("id")), _negated=True),
                        name="user_fact_not_its_own_successor",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Place",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("place_id", models.CharField(max_length=100)),
                ("name", models.CharField(max_length=120)),
                ("notes", models.CharField(blank=True, max_length=500)),
                ("added_at", models.DateTimeField()),
                ("updated_at", models.DateTimeField()),
                ("removed_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "memory_places",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(fields=("user", "place_id"), name="memory_place_known_once"),
                    models.CheckConstraint(
                        condition=models.Q(("name__gt", ""), ("place_id__gt", "")), name="memory_place_has_a_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PlaceMention",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "place",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="mentions", to="memory.place"
                    ),
                ),
                ("conversation_ref", models.CharField(max_length=64)),
                ("message_ref", models.CharField(max_length=64)),
                ("mentioned_at", models.DateTimeField()),
            ],
            options={
                "db_table": "memory_place_mentions",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "conversation_ref"], name="place_mentions_by_chat")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "place", "conversation_ref", "message_ref"), name="memory_place_mentioned_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryEvent",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("save", "Memory saved"),
                            ("update", "Memory updated"),
                            ("confirm", "Memory confirmed"),
                            ("forget", "Memory forgotten"),
                            ("promote", "Memory confirmed as yours"),
                            ("demote", "Memory marked as inferred"),
                            ("archive", "Memory archived"),
                            ("restore", "Memory restored"),
                            ("merge", "Memory merged"),
                            ("delete", "Memory deleted"),
                            ("link", "Memories linked"),
                            ("unlink", "Memories unlinked"),
                            ("place", "Place saved"),
                            ("mention", "Place mentioned"),
                            ("evict", "Memory left out for space"),
                            ("import", "Memory imported"),
                        ],
                        max_length=10,
                    ),
                ),
                ("lineage", models.UUIDField(null=True)),
                (
                    "before",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.userfact"
                    ),
                ),
                (
                    "after",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.userfact"
                    ),
                ),
                (
                    "place",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="memory.place"
                    ),
                ),
                ("detail", models.JSONField(default=dict)),
                ("batch_id", models.UUIDField(null=True)),
                ("previous_confirmed_at", models.DateTimeField(null=True)),
                ("conversation_id", models.UUIDField(null=True)),
                ("message_id", models.BigIntegerField(null=True)),
                ("created_at", models.DateTimeField()),
                ("undone_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "memory_events",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [
                    models.Index(fields=["user", "lineage", "created_at"], name="memory_events_by_lineage"),
                    models.Index(fields=["user", "-created_at"], name="memory_events_by_time"),
                    models.Index(
                        condition=models.Q(("batch_id__isnull", False)),
                        fields=["user", "batch_id"],
                        name="memory_events_by_batch",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "save",
                                    "update",
                                    "confirm",
                                    "forget",
                                    "promote",
                                    "demote",
                                    "archive",
                                    "restore",
                                    "merge",
                                    "delete",
                                    "link",
                                    "unlink",
                                    "place",
                                    "mention",
                                    "evict",
                                    "import",
                                ],
                            )
                        ),
                        name="memory_event_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("before__isnull", False),
                            ("after__isnull", False),
                            ("place__isnull", False),
                            _connector="OR",
                        ),
                        name="memory_event_has_a_row",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="FactLink",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "from_fact",
                    models.ForeignKey(
                        db_column="from_id",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memory.userfact",
                    ),
                ),
                (
                    "to_fact",
                    models.ForeignKey(
                        db_column="to_id",
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memory.userfact",
                    ),
                ),
                ("relation", models.CharField(max_length=40)),
                (
                    "event",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memory.memoryevent",
                    ),
                ),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "memory_links",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("user", "from_fact", "to_fact", "relation"), name="memory_link_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("from_fact", models.F("to_fact")), _negated=True),
                        name="memory_link_not_to_itself",
                    ),
                    models.CheckConstraint(condition=models.Q(("relation__gt", "")), name="memory_link_has_a_relation"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Tombstone",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "category",
                    models.CharField(
                        choices=[
                            ("profile", "Profile"),
                            ("finance_context", "Finance context"),
                            ("response_style", "Response style"),
                            ("fact", "Facts"),
                        ],
                        max_length=20,
                    ),
                ),
                ("topic", models.CharField(blank=True, max_length=32)),
                ("digest", models.CharField(max_length=64)),
                ("message_ids", models.JSONField(blank=True, default=list)),
                (
                    "event",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="memory.memoryevent",
                    ),
                ),
                ("created_at", models.DateTimeField()),
            ],
            options={
                "db_table": "memory_tombstones",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "digest"], name="memory_tombstones_by_digest")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("category__in", ["profile", "finance_context", "response_style", "fact"])),
                        name="tombstone_category_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MemoryProposal",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("conflict", "Conflicts with what you said"),
                            ("untrusted", "Not in your own words"),
                            ("merge", "Says the same twice"),
                            ("import", "Brought from elsewhere"),
                        ],
                        max_length=10,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Waiting"), ("accepted", "Accepted"), ("dismissed", "Dismissed")],
                        default="pending",
                        max_length=10,
                    ),
                ),
                ("payload", models.JSONField()),
                (
                    "target",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="memory.userfact",
                    ),
                ),
                ("evidence", models.JSONField(blank=True, default=dict)),
                ("fingerprint", models.CharField(max_length=64)),
                ("conversation_id", models.UUIDField(blank=True, null=True)),
                ("batch_id", models.UUIDField(blank=True, null=True)),
                ("created_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "db_table": "memory_proposals",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "indexes": [models.Index(fields=["user", "status", "-created_at"], name="memory_proposals_by_status")],
                "constraints": [
                    models.UniqueConstraint(fields=("user", "kind", "fingerprint"), name="memory_proposal_made_once"),
                    models.CheckConstraint(
                        condition=models.Q(("kind__in", ["conflict", "untrusted", "merge", "import"])),
                        name="memory_proposal_kind_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("status__in", ["pending", "accepted", "dismissed"])),
                        name="memory_proposal_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("decided_at__isnull", True), ("status", "pending")),
                            models.Q(models.Q(("status", "pending"), _negated=True), ("decided_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="memory_proposal_decided_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="MemorySwitches",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "user",
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("uses_facts", models.BooleanField(default=True)),
                ("learns", models.BooleanField(default=True)),
                ("decay_reported_at", models.DateTimeField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "memory switches",
                "verbose_name_plural": "memory switches",
                "db_table": "memory_switches",
                "abstract": False,
                "base_manager_name": "objects",
                "default_manager_name": "objects",
                "constraints": [models.UniqueConstraint(fields=("user",), name="memory_switches_once")],
            },
        ),
        AddSearchIndex(model="UserFact", unless="archived_at"),
    ]
