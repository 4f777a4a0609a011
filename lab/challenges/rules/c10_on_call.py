"""c10: a partition is offline and all its brokers are down; the entry is the recovery procedure."""

from random import Random

from broker_core.events import Envelope
from broker_core.events.control import LeaderElected
from broker_core.partitions import broker_node
from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.runtime.host import RunConfig
from lab.trials.trial import Ended, Limits, Trial, leader_id
from lab.trials.watchers import Promises

BROKERS = (1, 2, 3)
CONFIG = {"auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "4000"}
GONE_PERCENT = 30
"""Percentage of scenarios in which the last member of the ISR never starts again."""
TOPIC = "votes"
ONLINE_US = 15_000_000


class BackOnline:
    """Notes when the partition first has a leader again."""

    def __init__(self) -> None:
        self.at_us: int | None = None
        self.is_watching = False

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        _, at_us, _, _, event = envelope
        is_one = isinstance(event, LeaderElected) and event.partition == f"{TOPIC}-0" and event.leader >= 0
        if is_one and self.is_watching and self.at_us is None:
            self.at_us = at_us


def check(entry: Entry) -> None:
    """Every combination of the settings is a valid entry."""


def play(entry: Entry, seed: int) -> Outcome:
    """One scenario, and the procedure."""
    random = Random(seed)
    promises, back = Promises(), BackOnline()
    trial = Trial(RunConfig(name="wreck", seed=seed, broker_config=CONFIG), (promises.see, back.see), Limits())
    try:
        deaths, gone = _wreck(trial, random)
        offline_us = trial.now_us
        least = _least_loss(trial, promises, gone)
        back.is_watching = True
        _repair(trial, entry, deaths, gone)
        online = trial.advance_until(lambda view: leader_id(view, f"{TOPIC}-0") is not None, ONLINE_US)
        seconds = ((back.at_us or trial.now_us) - offline_us) / 1_000_000
        trial.advance(8_000_000)
        lost = sum(each.records for each in promises.lost(trial.view, trial.disk))
    except Ended as end:
        return ended(trial, end)
    scores = {"lost": float(max(0, lost - least)), "offline": seconds}
    if not online:
        return outcome_of(trial, False, text("verdict.still_offline"), scores, at_us=offline_us)
    if lost > least:
        return outcome_of(trial, False, text("verdict.lost_more", n=lost, least=least), scores, at_us=offline_us)
    return outcome_of(trial, True, text("verdict.back", n=lost, seconds=round(seconds)), scores, at_us=offline_us)


def _wreck(trial: Trial, random: Random) -> tuple[list[int], int | None]:
    """Brokers fail one by one, with records in between; the last one is the ISR. Returns them in the order in which
    they failed, and the broker that cannot be restarted.
    """
    first, second, last = random.sample(BROKERS, 3)
    trial.type_all(
        [
            f"kafka-topics.sh --create --topic {TOPIC} --replica-assignment 1:2:3 --config min.insync.replicas=1",
            f'wait "isr {TOPIC}-0 == [1,2,3]" 30s',
            "producer open p1 --acks all",
            f"producer send p1 {TOPIC}-0 a:1",
        ]
    )
    together = random.random() < 0.3
    for broker in (first, second):
        trial.type(f"broker kill {broker}")
        if not together:
            trial.type("sleep 8s")
            trial.type(f"producer send p1 {TOPIC}-0 {' '.join(f'k:{n}' for n in range(random.randint(1, 4)))}")
    if together:
        trial.type("sleep 8s")
        trial.type(f"producer send p1 {TOPIC}-0 k:1 k:2")
    trial.type(f"broker kill {last}")
    trial.type("producer drop p1")
    trial.type("sleep 8s")
    gone = last if random.randint(0, 99) < GONE_PERCENT else None
    return [first, second, last], gone


def _repair(trial: Trial, entry: Entry, deaths: list[int], gone: int | None) -> None:
    """Executes the procedure on the brokers that can be started."""
    orders = {
        "last_dead_first": deaths[::-1],
        "first_dead_first": deaths,
        "by_id": list(BROKERS),
    }
    elects = f"kafka-leader-election.sh --election-type unclean --topic {TOPIC} --partition 0"
    for broker in orders[entry["order"]]:
        if broker != gone:
            trial.type(f"broker start {broker}")
            trial.type(f"sleep {entry['wait_s']}s")
            if entry["elect"] == "at_once" and leader_id(trial.view, f"{TOPIC}-0") is None:
                trial.type(elects)
    if entry["elect"] == "last" and leader_id(trial.view, f"{TOPIC}-0") is None:
        trial.type(elects)


def _least_loss(trial: Trial, promises: Promises, gone: int | None) -> int:
    """Number of acknowledged records that no startable broker has."""
    if gone is None:
        return 0
    ends = [
        replica["log_end_offset"]
        for replica in trial.view["replicas"].values()
        if replica["node"] != broker_node(gone) and replica["partition"] == f"{TOPIC}-0"
    ]
    longest = max(ends, default=0)
    return sum(each.records for each in promises.made if each.base_offset >= longest)
