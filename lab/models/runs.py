"""Runs, their branches, and what a user keeps of them."""

from django.conf import settings
from django.db import models
from django.utils import timezone

MAX_NAME_LENGTH = 80


class Run(models.Model):
    """One cluster's history, from its first command on. `slug` names it in addresses and is its folder's name.

    A run of a class has a `classroom`, and is that of `participant`. `origin` is the instant that it began from, as
    `run/branch/seq`; empty for a run that began with its cluster.
    """

    slug = models.SlugField(max_length=16, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="runs")
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    seed = models.BigIntegerField()
    brokers = models.PositiveSmallIntegerField()
    era = models.CharField(max_length=8)
    classroom = models.ForeignKey("lab.Class", on_delete=models.SET_NULL, null=True, related_name="runs")
    participant = models.ForeignKey("lab.Participant", on_delete=models.SET_NULL, null=True, related_name="runs")
    origin = models.CharField(max_length=80, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.name} ({self.slug})"


class Branch(models.Model):
    """A line of a run. `parent_seq` is the last event that it shares with its parent; both are unset for `main`."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="branches")
    name = models.SlugField(max_length=32)
    parent = models.ForeignKey("self", on_delete=models.CASCADE, null=True, related_name="children")
    parent_seq = models.BigIntegerField(default=0)
    parent_at_us = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("run", "name"), name="one_branch_a_name"),)

    def __str__(self) -> str:
        return f"{self.run.slug}/{self.name}"


class Bookmark(models.Model):
    """A named instant of a branch."""

    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="bookmarks")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bookmarks")
    seq = models.BigIntegerField()
    at_us = models.BigIntegerField()
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("seq", "pk")

    def __str__(self) -> str:
        return f"{self.name} @{self.seq}"


class ExerciseProgress(models.Model):
    """A learner's progress in an exercise on a branch. `state` is the exercise session's own record."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="progress")
    branch = models.ForeignKey(Branch, on_delete=models.CASCADE, related_name="progress")
    exercise = models.SlugField(max_length=80)
    state = models.JSONField(default=dict)
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("user", "branch", "exercise"), name="one_progress_an_exercise"),)

    def __str__(self) -> str:
        return f"{self.user}: {self.exercise}"


class ChallengeEntry(models.Model):
    """What a user has submitted to a challenge. `fields` and the digest of its `verdict` allow a later engine to judge
    it again. `score` is the first figure of the verdict, for the spread of all entries.
    """

    class State(models.TextChoices):
        JUDGING = "judging"
        JUDGED = "judged"
        CANCELLED = "cancelled"
        FAILED = "failed"

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="challenge_entries")
    challenge = models.SlugField(max_length=80)
    fields = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=State.choices, default=State.JUDGING)
    passed = models.BooleanField(default=False)
    score = models.FloatField(null=True)
    digest = models.CharField(max_length=16, default="")
    verdict = models.JSONField(null=True)
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("challenge", "user"), name="entries_of_a_challenge"),)

    def __str__(self) -> str:
        return f"{self.user}: {self.challenge} {self.pk}"
