"""The database: runs and classes with their owners. What happened in them is in their logs, not here."""

from lab.models.classes import (
    MAX_NICKNAME_LENGTH,
    MAX_TITLE_LENGTH,
    STAFF_ROLES,
    Class,
    ClassText,
    Consent,
    DevicePass,
    Participant,
    Presence,
    Role,
    source_name,
)
from lab.models.runs import MAX_NAME_LENGTH, Bookmark, Branch, ChallengeEntry, ExerciseProgress, Run

__all__ = [
    "MAX_NAME_LENGTH",
    "MAX_NICKNAME_LENGTH",
    "MAX_TITLE_LENGTH",
    "STAFF_ROLES",
    "Bookmark",
    "Branch",
    "ChallengeEntry",
    "Class",
    "ClassText",
    "Consent",
    "DevicePass",
    "ExerciseProgress",
    "Participant",
    "Presence",
    "Role",
    "Run",
    "source_name",
]
