"""The checker: receives every event in order and returns the violations.

The rules live in modules of their own (`*_rules`), each function for the kinds of event that could break it. An event
updates the shadows and only what it touched is checked, so that the cost does not grow with the length of a run.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeAlias, TypeVar

from broker_core.eras import DEFAULT_ERA, ERAS, Era
from broker_core.events import Envelope, Event
from broker_core.events.world import InvariantViolated
from broker_core.partitions import partition_of, topic_of
from broker_core.sim.invariants.catalogue import INVARIANTS, MAY_BREAK, Explanation, explain_by_mode, message
from broker_core.sim.invariants.shadow import (
    AcknowledgedProduce,
    ProducerShadow,
    ShadowClient,
    ShadowGroup,
    ShadowPartition,
    ShadowReplica,
)
from broker_core.texts import Text, code_of, text

#: invariants about lost records: the era explains a violation only if its truncation removed them
_ABOUT_LOSS = frozenset({"I-COMMIT", "I-COMPLETE"})


KEPT_DELETED = 1_000
"""Partitions of deleted topics that are remembered."""


class Checker:
    """Checks events, all of them in order. Raises one alarm per invariant, subject and explanation: the first.

    Attributes:
        invariants: those that it checks; violations of others are not reported.
        kinds: the kinds of event that it needs; callers may skip others.
        replicas, partitions: the shadows, by `orders-0@b1` and by `orders-0`.
        topics: the configuration of each topic in ZooKeeper; `settings`: each broker's view of it and its own.
        produce_acks: acks and number of records (0: unknown) of the Produce requests in flight, by correlation.
        coordinators: (leader epoch, broker) of each partition of `__consumer_offsets` with a coordinator.
        groups: each group as its newest coordinator has it; `members`: a client's membership, by its name.
        producer_logs: the producer state of each replica's log, by `orders-0@b1`.
        positions: the position of each consumer, by (client, partition).
        controllers: the broker of each controller epoch.
        excuses: explanations for the whole cluster, by kind.
        envelope: that of the current event.
    """

    def __init__(self, era: Era | None = None, invariants: Iterable[str] = INVARIANTS) -> None:
        self.era = ERAS[DEFAULT_ERA] if era is None else era
        self.invariants = frozenset(invariants)
        self.kinds = frozenset(_checks(self.invariants))
        self.replicas: dict[str, ShadowReplica] = {}
        self.partitions: dict[str, ShadowPartition] = {}
        self._of_topic: dict[str, dict[str, None]] = {}
        self.topics: dict[str, dict[str, str]] = {}
        self.settings: dict[str, dict[str, dict[str, str]]] = {}
        self.produce_acks: dict[int, tuple[int, int]] = {}
        self.coordinators: dict[str, tuple[int, str]] = {}
        self.groups: dict[str, ShadowGroup] = {}
        self.members: dict[str, ShadowClient] = {}
        self.producer_logs: dict[str, ProducerShadow] = {}
        self.positions: dict[tuple[str, str], int] = {}
        self.controllers: dict[int, int] = {}
        self.controller_epoch = 0
        self.excuses: dict[str, Explanation] = {}
        self.envelope: Envelope = (0, 0, "", 0, Event())
        self._by_mode = explain_by_mode(self.era.replication.truncation, self.era.name)
        self._diverged: set[str] = set()
        self._raised: set[tuple[str, str, str]] = set()
        self._found: list[Event] = []
        self._deleted: dict[str, None] = {}
        self._checks = _checks(self.invariants)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_checks"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._checks = _checks(self.invariants)

    def observe(self, envelope: Envelope) -> Sequence[Event]:
        """Returns the alarms of this event, mostly none.

        They may include a loss of records acknowledged with acks=1, which violates no invariant.
        """
        check = self._checks.get(type(envelope[4]))
        if check is None:
            return ()
        self.envelope = envelope
        check(self, envelope[4])
        if not self._found:
            return ()
        found, self._found = self._found, []
        return found

    @property
    def seq(self) -> int:
        """The number of the current event."""
        return self.envelope[0]

    @property
    def node(self) -> str:
        """The node that emitted the current event."""
        return self.envelope[2]

    def state(self, event: Event) -> None:
        """Adds a notice that is not an alarm."""
        self._found.append(event)

    def partition(self, name: str) -> ShadowPartition:
        """The shadow of a partition, created if it does not exist."""
        partition = self.partitions.get(name)
        if partition is None:
            partition = self.partitions[name] = ShadowPartition()
            self._of_topic.setdefault(topic_of(name), {})[name] = None
        return partition

    def partitions_of(self, topic: str) -> list[str]:
        """The names of a topic's partitions that have a shadow."""
        return list(self._of_topic.get(topic, ()))

    def partition_deleted(self, name: str) -> None:
        """Records that a topic was deleted. The last ones are remembered: requests for them may still be in flight."""
        self._deleted.pop(name, None)
        self._deleted[name] = None
        if len(self._deleted) > KEPT_DELETED:
            oldest = next(iter(self._deleted))
            del self._deleted[oldest]
            partition = self.partitions.get(oldest)
            if partition is not None and partition.version < 0 and not partition.replicas:
                topic = topic_of(oldest)
                del self.partitions[oldest]
                del self._of_topic[topic][oldest]
                if not self._of_topic[topic]:
                    del self._of_topic[topic]
                for settings in self.settings.values():
                    settings.pop(f"topics/{topic}", None)

    def violated(
        self,
        invariant: str,
        subject: str,
        rule: str,
        *,
        cause: int = 0,
        taken_by_cut: bool = False,
        promise: AcknowledgedProduce | None = None,
        **values: object,
    ) -> None:
        """Raises an alarm, unless it was raised before.

        Args:
            subject: a replica, a partition, or something of the cluster as a whole.
            rule: the id of the message that says what is wrong; `values` are its values.
            cause: the event that probably led to it, if that is not the cause of the current event.
            taken_by_cut: the record was truncated by a follower as in the era.
            promise: the response to a producer that is violated.
        """
        if invariant not in self.invariants:
            return
        explanations = self._explanations(invariant, subject, taken_by_cut)
        if not self._is_first(invariant, subject, explanations):
            return
        self._raised.add(_key(invariant, subject, explanations))
        if invariant in ("I-LOGMATCH", "I-WEAKISR"):
            self._diverged.add(partition_of(subject))
        happened = [explanation.seq for explanation in explanations if explanation.seq]
        self._found.append(
            InvariantViolated(
                invariant=invariant,
                subject=subject,
                detail=message(rule, **values).code,
                explained_by=_all_of([explanation.words for explanation in explanations]),
                cause=happened[0] if happened else cause or self.envelope[3],
                promise=_promised(promise),
                setting="; ".join(code_of(explanation.setting) for explanation in explanations),
            )
        )

    def is_news(self, invariant: str, subject: str, *, taken_by_cut: bool = False) -> bool:
        """Whether an alarm would be the first of its kind; otherwise a closer check is not needed."""
        return self._is_first(invariant, subject, self._explanations(invariant, subject, taken_by_cut))

    def _is_first(self, invariant: str, subject: str, explanations: list[Explanation]) -> bool:
        return _key(invariant, subject, explanations) not in self._raised

    def _explanations(self, invariant: str, subject: str, taken_by_cut: bool) -> list[Explanation]:
        """The explanations of a violation, events before the era."""
        kinds = MAY_BREAK[invariant]
        name = partition_of(subject)
        partition = self.partitions.get(name)
        excuses = {**self.excuses, **partition.excuses} if partition is not None else self.excuses
        found = [excuse for kind, excuse in excuses.items() if kind in kinds]
        by_mode = self._by_mode
        if (
            by_mode is not None
            and by_mode.kind in kinds
            and (invariant not in _ABOUT_LOSS or taken_by_cut or name in self._diverged)
        ):
            found.append(by_mode)
        return found


Rule: TypeAlias = Callable[[Checker, Any], None]


class _Watch(NamedTuple):
    """A rule and its kinds of event. `only_for`: see `watches`."""

    kinds: tuple[type[Event], ...]
    rule: Rule
    only_for: frozenset[str]


_WATCHES: list[_Watch] = []

R = TypeVar("R", bound=Rule)


def watches(*kinds: type[Event], only_for: tuple[str, ...] = ()) -> Callable[[R], R]:
    """Registers a rule for kinds of event. A kind may have several; they run in the order of their registration.

    `only_for`: the rule serves these invariants only, so it is skipped if none of them is checked.
    """

    def register(rule: R) -> R:
        _WATCHES.append(_Watch(kinds, rule, frozenset(only_for)))
        return rule

    return register


@cache
def _checks(invariants: frozenset[str]) -> dict[type[Event], Rule]:
    """The rules for each kind of event, for these invariants."""
    checks: dict[type[Event], Rule] = {}
    for kinds, rule, only_for in _WATCHES:
        if not only_for or only_for & invariants:
            for kind in kinds:
                earlier = checks.get(kind)
                checks[kind] = rule if earlier is None else _both(earlier, rule)
    return checks


def _both(first: Rule, second: Rule) -> Rule:
    def both(checker: Checker, event: Any) -> None:
        first(checker, event)
        second(checker, event)

    return both


def _key(invariant: str, subject: str, explanations: list[Explanation]) -> tuple[str, str, str]:
    return invariant, subject, ",".join([explanation.kind for explanation in explanations])


def _all_of(causes: list[Text]) -> str:
    if not causes:
        return ""
    *earlier, last = causes
    for one in reversed(earlier):
        last = text("cause.two", first=one, second=last)
    return last.code


def _promised(answer: AcknowledgedProduce | None) -> str:
    if answer is None:
        return ""
    acks = "all" if answer.acks == -1 else answer.acks
    return text(
        "violation.promise", leader=answer.leader, base=answer.base, last=answer.last, client=answer.client, acks=acks
    ).code
