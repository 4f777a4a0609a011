"""Goals about elections and what they cost, and what a prediction may wait for of that."""

from broker_core.events import control, log
from broker_core.events.envelope import Event
from lab.exercises.places import View, check_partition, check_replica, led_by
from lab.exercises.predicate import Answer, Moment, Predicate
from lab.exercises.texts import Text


class Offline(Predicate, frozen=True, kw_only=True, tag="offline"):
    """Nobody leads a partition."""

    partition: str

    def __post_init__(self) -> None:
        check_partition(self.partition)

    def _look(self, moment: Moment) -> Answer:
        leader = led_by(moment.view, self.partition)
        if leader < 0:
            return Answer(True, Text(f"nobody leads {self.partition}", f"{self.partition} 没有首领"))
        en = f"{self.partition} is led by broker {leader}; nobody should lead it."
        return Answer(False, Text(en, f"{self.partition} 的首领是代理 {leader}，应该没有首领。"))


class Elected(Predicate, frozen=True, kw_only=True, tag="elected"):
    """The controller has decided who leads a partition, if anybody: no goal, but something that a prediction may be
    about.
    """

    partition: str

    def __post_init__(self) -> None:
        check_partition(self.partition)

    def happens(self, view: View, event: Event) -> bool:
        """Whether an event is that; `view` is before it."""
        return isinstance(event, control.LeaderElected) and event.partition == self.partition


class Truncated(Predicate, frozen=True, kw_only=True, tag="truncated"):
    """A replica cuts its log: no goal, but something that a prediction may be about."""

    replica: str

    def __post_init__(self) -> None:
        check_replica(self.replica)

    def happens(self, view: View, event: Event) -> bool:
        """Whether an event is that; `view` is before it."""
        return isinstance(event, log.LogTruncated) and event.replica == self.replica
