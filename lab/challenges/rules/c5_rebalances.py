"""c5: a group undergoes ten changes; the score is the time its partitions had no polling owner."""

from random import Random

from broker_core.events import Envelope
from broker_core.events.group import ConsumerAssigned
from broker_core.events.world import ClientFrozen, ClientThawed, NodeRemoved
from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Handling

PARTITIONS = 20
MAX_UNOWNED = 260
"""Partition-seconds over the whole trial."""
CONFIG = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}


class Unowned:
    """Partition-seconds without an owner whose process is running."""

    def __init__(self) -> None:
        self.partitions = 0
        self.total_us = 0
        self._owned: dict[str, frozenset[str]] = {}
        self._frozen: set[str] = set()
        self._since_us = 0

    def begin(self, partitions: int, now_us: int) -> None:
        """Starts to count, for this number of partitions."""
        self.until(now_us)
        self.partitions = partitions

    def until(self, now_us: int) -> None:
        """Counts the time up to an instant."""
        covered: set[str] = set()
        for name, owned in self._owned.items():
            if name not in self._frozen:
                covered |= owned
        self.total_us += max(0, self.partitions - len(covered)) * (now_us - self._since_us)
        self._since_us = now_us

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        _, at_us, _, _, event = envelope
        if isinstance(event, ConsumerAssigned | ClientFrozen | ClientThawed | NodeRemoved):
            self.until(at_us)
        if isinstance(event, ConsumerAssigned):
            self._owned[event.client] = frozenset(event.partitions)
        elif isinstance(event, ClientFrozen):
            self._frozen.add(event.client)
        elif isinstance(event, ClientThawed):
            self._frozen.discard(event.client)
        elif isinstance(event, NodeRemoved):
            self._owned.pop(event.node, None)
            self._frozen.discard(event.node)


def check(entry: Entry) -> None:
    """Raises Refusal."""
    if int(entry["heartbeat_ms"]) >= int(entry["session_ms"]):
        raise Refusal("refusal.entry_heartbeat", field="heartbeat_ms")


def _start(entry: Entry, number: int) -> str:
    static = f" --instance i{number}" if entry["static"] == "true" else ""
    return (
        f"consumer start c{number} --group g --topic work --assignor {entry['assignor']}{static}"
        f" --session-timeout-ms {entry['session_ms']} --heartbeat-interval-ms {entry['heartbeat_ms']}"
        f" --max-poll-interval-ms {entry['max_poll_ms']} --metadata-max-age-ms 5000"
    )


def play(entry: Entry, seed: int) -> Outcome:
    """The ten changes, some seconds apart."""
    random = Random(seed)
    unowned, handling = Unowned(), Handling()
    trial = Trial(
        RunConfig(name="work", seed=seed, broker_config=CONFIG), (unowned.see, handling.see), Limits(events=400_000)
    )
    try:
        trial.type(f"kafka-topics.sh --create --topic work --partitions {PARTITIONS} --replication-factor 1")
        trial.type_all(_start(entry, number) for number in range(1, 6))
        trial.type("producer open p1")
        trial.type("producer stream p1 work 6")
        trial.type("sleep 15s")
        begun_us = trial.now_us
        unowned.begin(PARTITIONS, begun_us)
        unowned.total_us = 0
        for change in _changes(entry):
            trial.type(f"sleep {random.randint(9_000, 12_000)}ms")
            for line in change:
                trial.type(line)
            if "work --partitions 24" in change[0]:
                unowned.begin(24, trial.now_us)
        trial.type("sleep 12s")
        trial.view  # noqa: B018  (the watchers see the last events)
        unowned.until(trial.now_us)
    except Ended as end:
        return ended(trial, end)
    seconds = unowned.total_us / 1_000_000
    scores = {"unowned": seconds, "twice": float(handling.twice)}
    if seconds > MAX_UNOWNED:
        why = text("verdict.unowned_too_long", seconds=int(seconds), max=MAX_UNOWNED)
        return outcome_of(trial, False, why, scores, at_us=begun_us)
    return outcome_of(trial, True, text("verdict.unowned", seconds=int(seconds)), scores, at_us=begun_us)


def _changes(entry: Entry) -> list[list[str]]:
    """The ten changes: deploys, a crash, a pause of 8 s, two more members, new partitions, deploys."""

    def deploy(number: int) -> list[str]:
        return [f"consumer stop c{number}", "sleep 2s", _start(entry, number)]

    return [
        deploy(1),
        deploy(2),
        deploy(3),
        ["consumer kill c4", "sleep 4s", _start(entry, 4)],
        ["consumer freeze c2", "sleep 8s", "consumer thaw c2"],
        [_start(entry, 6)],
        [_start(entry, 7)],
        ["kafka-topics.sh --alter --topic work --partitions 24"],
        deploy(4),
        deploy(5),
    ]
