"""What can happen in a class: acts sent by pages, and facts from the server, which become events in the same way."""

from lab.classroom.acts.facts import AnyFact, Fact
from lab.classroom.acts.given import Given
from lab.classroom.acts.ops import AnyAct, At, DoorAct, Op

__all__ = ["AnyAct", "AnyFact", "At", "DoorAct", "Fact", "Given", "Op"]
