"""The events of a class, one file per family. Importing this package registers all kinds.

A class event is a fact with its result, in the past tense. Its envelope is `(seq, at_us, who, act, event)`: `at_us` is
class time, `who` a participant (`p7`), `room` for what follows from time or from a lab, or empty if the actor must not
be named; `act` is the id of the act that caused it, or empty. No event contains a name or a free text: those are in the
database by id, where they can be erased.
"""

from lab.classroom.events import help, lead, pace, poll, room, seen, tape, work
from lab.classroom.events.kinds import CLASS, ROOM, SEES, ClassEnvelope, Sees

__all__ = [
    "CLASS",
    "ROOM",
    "SEES",
    "ClassEnvelope",
    "Sees",
    "help",
    "lead",
    "pace",
    "poll",
    "room",
    "seen",
    "tape",
    "work",
]
