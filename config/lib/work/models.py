"""The last run of each job and of each row's task; mails that wait; invitations; the site's tokens."""

from typing import ClassVar, Final
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import Q

BACKUP: Final = "backup"  # the run of the command; no job has this name


class WorkRun(models.Model):
    """The last run of a scheduled job, or of a task on one row.

    It belongs to no user and holds ids alone. A run that failed keeps its number of tries and the time of the next one.
    """

    name = models.CharField(max_length=40)
    key = models.CharField(max_length=60, blank=True)  # a `Key`; empty: a scheduled job
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    next_at = models.DateTimeField(null=True, blank=True)  # of a job: its next run; of a task: its next try
    tries = models.PositiveSmallIntegerField(default=0)  # that failed, one after another
    summary = models.CharField(max_length=200, blank=True)

    class Meta:
        db_table = "work_runs"
        constraints = (models.UniqueConstraint(fields=("name", "key"), name="work_run_once"),)
        indexes = (models.Index(fields=("next_at",), name="work_runs_to_try", condition=Q(next_at__isnull=False)),)

    def __str__(self) -> str:
        return f"{self.name} {self.key}".strip()


class Mail(models.Model):
    """A mail until it is sent; its policy shows one to an address without an account to the system alone."""

    id = models.UUIDField(primary_key=True, default=uuid4, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE)
    sealed = models.TextField()  # address, subject and text, encrypted: a link in it may open the account
    created_at = models.DateTimeField()
    lease_until = models.DateTimeField(db_index=True)  # until then a worker sends it

    objects: ClassVar[models.Manager["Mail"]] = models.Manager()  # mypy's plugin finds none of its own here

    class Meta:
        db_table = "mails"

    def __str__(self) -> str:
        return f"Mail {self.pk}"


class Invitation(models.Model):
    """Lets its address make one account; a row of the site, which goes with the account that it made."""

    address = models.EmailField()  # in small letters
    digest = models.CharField(max_length=64, unique=True)  # of the token, which is in the link alone
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    withdrawn_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.CASCADE, related_name="+")

    objects: ClassVar[models.Manager["Invitation"]] = models.Manager()

    class Meta:
        db_table = "invitations"
        constraints = (
            models.UniqueConstraint(
                fields=("address",), condition=Q(used_at=None, withdrawn_at=None), name="invitation_waits_once"
            ),
            models.CheckConstraint(
                condition=Q(used_at=None, used_by=None) | Q(used_at__isnull=False, used_by__isnull=False),
                name="invitation_is_used_by_somebody",
            ),
        )

    def __str__(self) -> str:
        return self.address


class SiteDay(models.Model):
    """What all models took in a day, whoever asked them; counts alone."""

    day = models.DateField(primary_key=True)  # UTC
    tokens = models.BigIntegerField(default=0)

    objects: ClassVar[models.Manager["SiteDay"]] = models.Manager()

    class Meta:
        db_table = "site_days"

    def __str__(self) -> str:
        return f"{self.day}"
