"""c8: two brokers lead one partition for as long as possible; then name the setting that halves that time."""

from broker_core.events import Envelope
from broker_core.events.replica import ReplicaBecameFollower, ReplicaBecameLeader
from broker_core.events.world import BrokerStopped
from broker_core.texts import text
from lab.challenges.outcome import Entry, Outcome, ended, outcome_of
from lab.challenges.scripts import FAULTS, FREE, fault_count, script_lines
from lab.runtime.host import RunConfig
from lab.texts.refusal import Refusal
from lab.trials.aftermath import complaints
from lab.trials.trial import Ended, Limits, Trial
from lab.trials.watchers import Alarms, Promises

WINDOW_US = 60_000_000
HEAL_US = 60_000_000
MAX_FAULTS = 4
MIN_SECONDS = 20
ALLOWED = FREE | FAULTS
CONFIG = {"auto.leader.rebalance.enable": "false", "zookeeper.session.timeout.ms": "6000"}
SETUP = (
    "kafka-topics.sh --create --topic orders --replica-assignment 1:2:3 --config min.insync.replicas=2",
    'wait "isr orders-0 == [1,2,3]" 30s',
    "producer open p1 --acks all --timeout 60000",
    "producer send p1 orders-0 first:1",
    "producer stream p1 orders-0 5",
    "sleep 2s",
)


class TwoLeaders:
    """How long two replicas of the partition led at the same time, within the window."""

    def __init__(self) -> None:
        self.total_us = 0
        self.from_us = self.until_us = 0
        self._leading: set[str] = set()
        self._since_us = 0

    def see(self, envelope: Envelope) -> None:
        """Observes an event."""
        _, at_us, _, _, event = envelope
        if isinstance(event, ReplicaBecameLeader) and event.replica.startswith("orders-0@"):
            self.count(at_us)
            self._leading.add(event.replica)
        elif isinstance(event, ReplicaBecameFollower):
            self.count(at_us)
            self._leading.discard(event.replica)
        elif isinstance(event, BrokerStopped):
            self.count(at_us)
            self._leading.discard(f"orders-0@{event.broker}")

    def count(self, now_us: int) -> None:
        """Counts the time up to an instant."""
        if len(self._leading) > 1:
            begin, end = max(self._since_us, self.from_us), min(now_us, self.until_us)
            self.total_us += max(0, end - begin)
        self._since_us = now_us


def check(entry: Entry) -> None:
    """Raises Refusal."""
    faults = fault_count(script_lines("script", entry["script"], ALLOWED))
    if faults > MAX_FAULTS:
        raise Refusal("refusal.entry_faults", field="script", faults=faults, max=MAX_FAULTS)


def play(entry: Entry, seed: int) -> Outcome:
    """Plays the script with the given settings, and again with the setting that the entry names."""
    first = _play(entry, seed, {})
    if not first.passed:
        return first
    again = _play(entry, seed, {entry["setting"]: entry["value"]})
    scores = {"seconds": first.scores["seconds"], "halved": again.scores.get("seconds", 0.0)}
    if "seconds" not in again.scores or scores["halved"] * 2 > scores["seconds"]:
        why = text("verdict.not_halved", setting=entry["setting"], seconds=round(scores["halved"], 1))
        return _with(again, passed=False, why=why.code, scores=scores)
    return _with(first, passed=True, why=first.why, scores=scores)


def _with(outcome: Outcome, *, passed: bool, why: str, scores: dict[str, float]) -> Outcome:
    fields = {name: getattr(outcome, name) for name in outcome.__struct_fields__}
    return Outcome(**fields | {"passed": passed, "why": why, "scores": scores})


def _play(entry: Entry, seed: int, more: dict[str, str]) -> Outcome:
    leaders, promises, alarms = TwoLeaders(), Promises(), Alarms()
    config = RunConfig(name="leaders", seed=seed, broker_config=CONFIG | more)
    trial = Trial(config, (leaders.see, promises.see, alarms.see), Limits())
    try:
        trial.type_all(SETUP)
        leaders.from_us, leaders.until_us = trial.now_us, trial.now_us + WINDOW_US
        trial.type_all(script_lines("script", entry["script"], ALLOWED))
        at_us = trial.now_us
        if trial.now_us > leaders.until_us:
            return outcome_of(trial, False, text("verdict.window_exceeded", seconds=WINDOW_US // 1_000_000))
        trial.advance(leaders.until_us - trial.now_us)
        trial.type("producer stream p1 orders-0 0")
        healed = trial.advance_until(lambda view: not complaints(view), HEAL_US)
        leaders.count(trial.now_us)
        lost = promises.lost(trial.view, trial.disk)
    except Ended as end:
        return ended(trial, end)
    scores = {"seconds": leaders.total_us / 1_000_000}
    if not healed:
        return outcome_of(trial, False, text("verdict.not_healed_by_itself"), scores, at_us=at_us)
    if lost or alarms.unexplained:
        return outcome_of(trial, False, text("verdict.false_answer"), scores, at_us=at_us)
    if not more and scores["seconds"] < MIN_SECONDS:
        why = text("verdict.two_leaders_too_short", seconds=round(scores["seconds"], 1), min=MIN_SECONDS)
        return outcome_of(trial, False, why, scores, at_us=at_us)
    return outcome_of(
        trial, True, text("verdict.two_leaders", seconds=round(scores["seconds"], 1)), scores, at_us=at_us
    )
