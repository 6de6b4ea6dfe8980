"""The last run of each job and of each row's task."""

from typing import Final

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
