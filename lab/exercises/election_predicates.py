"""Goals about elections."""

from lab.exercises.places import check_partition, led_by
from lab.exercises.predicate import Answer, Moment, Predicate
from lab.exercises.texts import Text


class Offline(Predicate, frozen=True, kw_only=True, tag="offline"):
    """A partition has no leader."""

    partition: str

    def __post_init__(self) -> None:
        check_partition(self.partition)

    def _look(self, moment: Moment) -> Answer:
        leader = led_by(moment.view, self.partition)
        if leader < 0:
            return Answer(True, Text(f"nobody leads {self.partition}", f"{self.partition} 没有首领"))
        en = f"{self.partition} is led by broker {leader}; nobody should lead it."
        return Answer(False, Text(en, f"{self.partition} 的首领是代理 {leader}，应该没有首领。"))
