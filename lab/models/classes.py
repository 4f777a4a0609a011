"""Classes: their participants, how they are admitted, and the texts that can be erased. Events are in the class's
log.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone

from lab.class_rights import roles_with

MAX_TITLE_LENGTH = 80
MAX_NICKNAME_LENGTH = 24


class Role(models.TextChoices):
    """What a participant may do. The log's `RoleGiven` decides; the row holds the newest of them."""

    INSTRUCTOR = "instructor"
    CO_INSTRUCTOR = "co-instructor"
    LEARNER = "learner"
    OBSERVER = "observer"
    PROJECTOR = "projector"


class Presence(models.TextChoices):
    """Whether a participant is admitted."""

    WAITING = "waiting"
    IN = "in"
    LEFT = "left"
    KICKED = "kicked"
    MERGED = "merged"
    ERASED = "erased"


class Consent(models.TextChoices):
    """How a participant appears in the recording of the class."""

    NUMBER = "number"
    NICKNAME = "nickname"
    NOT_RECORDED = "not_recorded"


class Class(models.Model):
    """One lesson with people in it. `slug` names it in addresses and is its folder's name.

    `chapter` is a chapter or a lesson of the course; `origin` an instant of a run, as `run/branch/seq`; at most one of
    them is set. `code` is the number of the class code, `link_key` the 128 bits of the link; the code is None while the
    door is closed. `door_until` is None while the door stays open until it is closed by hand.
    """

    class State(models.TextChoices):
        PREPARED = "prepared"
        OPEN = "open"
        ENDED = "ended"

    slug = models.SlugField(max_length=16, unique=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="classes")
    title = models.CharField(max_length=MAX_TITLE_LENGTH)
    chapter = models.SlugField(max_length=80, blank=True, default="")
    origin = models.CharField(max_length=80, blank=True, default="")
    languages = models.JSONField(default=list)
    settings = models.JSONField(default=dict)
    state = models.CharField(max_length=12, choices=State.choices, default=State.PREPARED)
    code = models.PositiveIntegerField(null=True, unique=True)
    link_key = models.CharField(max_length=32, unique=True)
    door_is_open = models.BooleanField(default=False)
    door_until = models.DateTimeField(null=True)
    admits = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at", "-pk")

    def __str__(self) -> str:
        return f"{self.title} ({self.slug})"


STAFF_ROLES = tuple(role for role in Role if role in roles_with("staff"))


class Participant(models.Model):
    """A person in a class. `number` is what the logs know: `p7`. A guest's `user` is a row without a name or password
    that exists for this participation alone; it is None when the person was erased.

    `skeleton` is the nickname reduced to visually distinct characters, unique in the class. `key_hash` is that of the
    return key. `epoch` is in every cookie of the participant: another epoch makes those of before void. `claims` is the
    participant that a person who is waiting says to be; of a merged one, the one that they became.
    """

    classroom = models.ForeignKey(Class, on_delete=models.CASCADE, related_name="participants")
    number = models.PositiveIntegerField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="participations"
    )
    is_guest = models.BooleanField(default=True)
    nickname = models.CharField(max_length=MAX_NICKNAME_LENGTH, blank=True, default="")
    skeleton = models.CharField(max_length=120, blank=True, default="")
    language = models.CharField(max_length=8, default="en")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.LEARNER)
    presence = models.CharField(max_length=12, choices=Presence.choices, default=Presence.IN)
    consent = models.CharField(max_length=16, choices=Consent.choices, default=Consent.NUMBER)
    key_hash = models.CharField(max_length=128, blank=True, default="")
    epoch = models.PositiveIntegerField(default=1)
    claims = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="claimed_by")
    run = models.ForeignKey("lab.Run", on_delete=models.SET_NULL, null=True, related_name="learners")
    joined_at = models.DateTimeField(default=timezone.now)
    seen_at = models.DateTimeField(default=timezone.now)

    class Meta:
        # By its column: ordering by the class would join it and sort by its own order, in each query.
        ordering = ("classroom_id", "number")
        constraints = (
            models.UniqueConstraint(fields=("classroom", "number"), name="one_participant_a_number"),
            models.UniqueConstraint(fields=("classroom", "user"), name="one_participation_a_user"),
            models.UniqueConstraint(
                fields=("classroom", "skeleton"), condition=~models.Q(skeleton=""), name="one_participant_a_name"
            ),
        )

    def __str__(self) -> str:
        return f"{self.classroom.slug}/{self.source}"

    @property
    def source(self) -> str:
        """The participant's id in logs."""
        return source_name(self.number)

    @property
    def is_staff(self) -> bool:
        return self.role in STAFF_ROLES


def source_name(number: int) -> str:
    """A participant in logs: `p7`."""
    return f"p{number}"


class DevicePass(models.Model):
    """Lets a participant continue on another device, once, for some minutes. Only the hash of its 8 characters is
    stored.
    """

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="passes")
    code_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.participant} until {self.expires_at}"


class ClassText(models.Model):
    """Free text of a class, to which events refer by `number`, so that it can be changed and erased."""

    classroom = models.ForeignKey(Class, on_delete=models.CASCADE, related_name="texts")
    number = models.PositiveIntegerField()
    author = models.ForeignKey(Participant, on_delete=models.SET_NULL, null=True, related_name="texts")
    language = models.CharField(max_length=8)
    body = models.TextField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("classroom", "number"), name="one_text_a_number"),)

    def __str__(self) -> str:
        return f"{self.classroom.slug} text {self.number}"
