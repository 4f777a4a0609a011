"""The classic anomalies of replication, step by step as they were produced on real brokers, compared with ours.

A=1, B=2 and C=3 host replicas of t-0; D=9 is only the controller.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from devtools.oracle.era_cluster import EraCluster

A, B, C, D = 1, 2, 3, 9


def lost_record(lab: EraCluster, *, with_m2: bool) -> None:
    """S1: an acknowledged record is lost without any unclean election."""
    lab.create([A, B, C], min_insync_replicas="2")
    ack = lab.produce("m0")
    settle_high_watermark(lab, 1, A, B, C)
    lab.step("m0 acknowledged, all high watermarks are 1", ack=ack)
    lab.sleep(1)
    lab.sh("hold fetch 3 2")
    ack = lab.produce("m1")
    settle_high_watermark(lab, 2, A)
    lab.step("m1 acknowledged; the followers hold it", ack=ack)
    lab.sh("broker kill 1")
    lab.step("A killed")
    lab.until(lambda: lab.state()["leader"] == B)
    lab.sleep(2.5)
    lab.step("B elected; C follows it, its requests to B are held")
    lab.sh("broker kill 2")
    lab.until(lambda: lab.state()["leader"] == C)
    lab.sleep(0.1)
    lab.step("B killed; C elected", at_once=True)
    lab.steps[-1]["consumer_reads_from_C"] = lab.read()
    if with_m2:
        lab.sh("producer open strict --acks all --retries 0")
        refused = lab.produce("m2", acks="strict")
        lab.step("m2 produced to C", acks_all=refused, acks_1=lab.produce("m2", acks="one"))
    lab.sh("release fetch 3 2")
    lab.start(A)
    lab.step("A started again")
    if lab.gave_up(A):
        lab.step("A has begun to exit")
        if lab.is_exiting(A):
            lab.sh("broker kill 1")
        lab.until(lambda: A not in lab.live(), 30)
        lab.sh(
            "kafka-configs.sh --alter --entity-type topics --entity-name t "
            "--add-config unclean.leader.election.enable=true"
        )
        lab.start(A)
        lab.step("A's process ended by hand; unclean elections allowed, A started again")
    lab.start(B)
    lab.step("B started again")
    lab.sleep(9)
    before = lab.read()
    lab.preferred()
    lab.until(lambda: lab.state()["leader"] == A, 20)
    lab.sleep(2)
    lab.step("preferred election: A leads again", reads_from_C_before=before, reads_from_A=lab.read())


def lost_record_of_two(lab: EraCluster) -> None:
    """S1 with two replicas: B is also the controller, and D takes over."""
    lab.create([A, B], min_insync_replicas="1")
    ack = lab.produce("m0")
    settle_high_watermark(lab, 1, A, B)
    lab.step("m0 acknowledged, both high watermarks are 1", ack=ack)
    lab.sleep(1)
    ack = lab.produce("m1")
    settle_high_watermark(lab, 2, A)
    lab.step("m1 acknowledged; B holds it", ack=ack)
    lab.sh("broker freeze 1")
    lab.sh("broker kill 2")
    lab.step("A frozen, B (follower and controller) killed")
    lab.until(lambda: lab.controller() == D)
    lab.sleep(1.5)
    lab.step("B's session ended; D is controller")
    lab.sh("broker start 2")
    lab.sleep(4)
    lab.step("B restarted: follower of A, whose answers do not come")
    lab.sh("broker kill 1")
    if lab.until(lambda: lab.state()["leader"] == B, 25):
        lab.step("A killed, B elected from the ISR", consumer_reads_from_B=lab.read())
    else:
        lab.step("A killed; B is not elected")
    lab.start(A)
    lab.step("A started again")
    if not lab.gave_up(A):
        lab.steps[-1]["leader_reads"] = lab.read()


def lost_tail(lab: EraCluster) -> None:
    """S2: a power failure loses the unflushed tail of one replica."""
    lab.create([A, B], min_insync_replicas="1", flush_messages="1")
    ack = lab.produce("m0")
    settle_high_watermark(lab, 1, A, B)
    lab.step("m0 acknowledged, both high watermarks are 1", ack=ack)
    lab.sh("kafka-configs.sh --alter --entity-type topics --entity-name t --delete-config flush.messages")
    lab.sleep(1)
    ack = lab.produce("m1")
    settle_high_watermark(lab, 2, A)
    lab.step("m1 acknowledged", ack=ack)
    lab.sh("broker kill 1")
    lab.sh("broker powerloss 2")
    lab.step("power cut: B's unflushed tail (m1) did not reach its disk")
    lab.until(lambda: not lab.live() and lab.controller() is None)
    lab.keep_pace(before=2.5)
    lab.sh("broker start 2 &")
    lab.until(lambda: lab.state()["leader"] == B, poll_us=100)
    lab.step("B starts first and is elected, it is in the ISR", at_once=True)
    lab.step("m2 produced with acks=all", ack=lab.produce("m2"))
    lab.start(A)
    lab.sleep(4)
    lab.step("A starts")
    ack = lab.produce("m3")
    lab.sleep(1)
    before = lab.read()
    lab.preferred()
    lab.until(lambda: lab.state()["leader"] == A)
    lab.sleep(1.5)
    lab.step("m3, then preferred election: A leads", ack=ack, reads_from_B_before=before, reads_from_A=lab.read())


def fast_leader_changes(lab: EraCluster, *, one_batch: bool = False, writes: bool = True) -> None:
    """S3: leadership alternates before a broker has truncated (KIP-279)."""
    lab.create([B, A], min_insync_replicas="1")
    lab.produce_together(*(f"a{n}" for n in range(10)))
    settle_high_watermark(lab, 10, A, B)
    lab.step("0-9 replicated in epoch 0")
    lab.move([A, B])
    lab.until(lambda: lab.state()["leader"] == A)
    lab.sleep(2)
    lab.step("A leads")
    lab.sh("hold fetch 2 1")
    lab.sleep(2.5)
    values = [f"b{n}" for n in range(10, 20)]
    if one_batch:
        lab.produce_together(*values, acks="1")
        lab.step("10-19 produced to A, not replicated")
    else:
        lab.step("10-19 produced to A, not replicated", ack=lab.produce(*values, acks="one"))
    lab.sh("hold fetch 1 2")
    lab.move([B, A])
    lab.until(lambda: lab.state()["leader"] == B)
    lab.sleep(1.5)
    lab.step("B leads, still in the ISR")
    lab.step("10-14 produced to B", ack=lab.produce(*(f"c{n}" for n in range(10, 15)), acks="one"))
    lab.move([A, B])
    lab.until(lambda: lab.state()["leader"] == A)
    lab.sleep(1.5)
    if writes:
        lab.step("A leads again, one record produced to it", ack=lab.produce("d20", acks="one"))
    else:
        lab.step("A leads again")
    lab.sh("release fetch 1 2")
    lab.sh("release fetch 2 1")
    lab.sleep(12)
    lab.step("everything released")
    differing = [
        [int(mine.partition(":")[0]), _value(mine), _value(other)]
        for mine, other in zip(lab.log(A), lab.log(B), strict=False)
        if _value(mine) != _value(other)
    ]
    lab.step("comparison", diverged_at=differing, reads_from_A=lab.read())
    if differing:
        lab.move([B, A])
        lab.until(lambda: lab.state()["leader"] == B, 15)
        lab.sleep(1.5)
        lab.step("B leads", reads_from_B=lab.read())


def unclean_election(lab: EraCluster, *, is_allowed: bool) -> None:
    """S4: the only replica in the ISR dies."""
    lab.create([A, B], min_insync_replicas="1", unclean_leader_election_enable=str(is_allowed).lower())
    ack = lab.produce("m0")
    settle_high_watermark(lab, 1, A, B)
    lab.step("m0 produced with acks=all", ack=ack)
    lab.sh("hold fetch 2 1")
    lab.sleep(12)
    lab.step("B's fetches held for 12 s while nothing is produced")
    ack = lab.produce("m1", acks="one")
    lab.until(lambda: lab.state()["isr"] == [A])
    lab.step("m1 produced with acks=1; the leader has removed B from the ISR", ack=ack)
    ack = lab.produce("m2")
    settle_high_watermark(lab, 3, A)
    lab.step("m2 produced with acks=all, ISR is A alone", ack=ack)
    lab.sh("broker kill 1")
    lab.until(lambda: A not in lab.live())
    lab.sleep(2.5)
    lab.step("A killed")
    if is_allowed:
        lab.steps[-1]["reads_from_B"] = lab.read()
    lab.sh("release fetch 2 1")
    if is_allowed:
        lab.step("state right after the unclean election")
        lab.step("n1 produced with acks=all to B", ack=lab.produce("n1"))
    lab.start(A)
    lab.sleep(6)
    lab.step("A started again")
    lab.step("end", reads_from_leader=lab.read())


def settle_high_watermark(lab: EraCluster, offset: int, *brokers: int) -> None:
    """Waits until the checkpoints of these brokers have this value."""
    lab.until(lambda: all(lab.checkpoint(broker_id) == offset for broker_id in brokers), 40)


def _value(record: str) -> str:
    return record.partition(":")[2].partition("@")[0]


class Anomaly(NamedTuple):
    """How an anomaly is produced, and which brokers start in which order."""

    replay: Callable[[EraCluster], None]
    brokers: tuple[int, ...]


ANOMALIES: dict[str, Anomaly] = {
    "s1a": Anomaly(lambda lab: lost_record(lab, with_m2=False), (D, A, B, C)),
    "s1b": Anomaly(lambda lab: lost_record(lab, with_m2=True), (D, A, B, C)),
    "s1two": Anomaly(lost_record_of_two, (B, D, A)),
    "s2": Anomaly(lost_tail, (A, B)),
    "s3": Anomaly(fast_leader_changes, (D, A, B)),
    "s3batch": Anomaly(lambda lab: fast_leader_changes(lab, one_batch=True), (D, A, B)),
    "s3nowrite": Anomaly(lambda lab: fast_leader_changes(lab, writes=False), (D, A, B)),
    "s4on": Anomaly(lambda lab: unclean_election(lab, is_allowed=True), (D, A, B)),
    "s4off": Anomaly(lambda lab: unclean_election(lab, is_allowed=False), (D, A, B)),
}


ROLES = {"A": A, "B": B, "C": C, "D": D}


def with_our_numbers(recording: Mapping[str, Any]) -> dict[str, Any]:
    """A recording with its broker ids replaced by those of the replays."""
    ours = {number: ROLES[role] for role, number in recording.get("roles", ROLES).items() if role in ROLES}

    def renamed(broker_id: int) -> int:
        return ours.get(broker_id, broker_id)

    steps = []
    for step in recording["steps"]:
        state = step["state"]
        state = state and {**state, "leader": renamed(state["leader"]), "isr": [renamed(each) for each in state["isr"]]}
        replicas = {str(renamed(int(broker_id))): replica for broker_id, replica in step["replicas"].items()}
        live, controller = sorted(map(renamed, step["live"])), renamed(step["controller"])
        steps.append({**step, "state": state, "replicas": replicas, "live": live, "controller": controller})
    own = {str(renamed(int(broker_id))): configs for broker_id, configs in recording["config_per_broker"].items()}
    return {**recording, "steps": steps, "config_per_broker": own}


def replayed(era: str, recording: Mapping[str, Any]) -> EraCluster:
    """Replays a recorded anomaly on a Highwater cluster."""
    anomaly = ANOMALIES[recording["scenario"]]
    config = {name: str(value) for name, value in recording["config"].items()}
    own = {
        int(broker_id): {name: str(value) for name, value in configs.items()}
        for broker_id, configs in recording["config_per_broker"].items()
    }
    lab = EraCluster(era, anomaly.brokers, config, own, tuple(step["t"] for step in recording["steps"]))
    anomaly.replay(lab)
    return lab


_STATE = ("leader", "leader_epoch", "isr", "controller_epoch", "leader_recovery_state", "zkVersion")
_READS = (
    "consumer_reads_from_B",
    "consumer_reads_from_C",
    "leader_reads",
    "reads_from_A",
    "reads_from_B",
    "reads_from_B_before",
    "reads_from_C_before",
    "reads_from_leader",
)


CAUGHT_EARLIER = {
    ("s1a", "3.9.1", 7): "broker 3 leader epochs",
    ("s1two", "2.4.1", 6): "isr",
}
"""States that the recorder caught in transit. Both times a leader had answered its follower that it did not know yet
that it leads (errors 75 and 3 in the traces), and the follower retried a second later, after the recorder had sampled
the state.
"""


def differences(ours: list[dict[str, Any]], recording: Mapping[str, Any]) -> list[str]:
    """The differences, one line each, in the order of the steps."""
    recorded = recording["steps"]
    found = []
    before: dict[str, Any] = {"replicas": {}}
    for number, (mine, real) in enumerate(zip(ours, recorded, strict=False)):
        in_passing = CAUGHT_EARLIER.get((recording["scenario"], recording["version"], number))
        found += [
            f"step {number} ({real['what']}): {line}"
            for line in _of_step(mine, real, before)
            if in_passing is None or not line.startswith((in_passing, "zkVersion"))
        ]
        before = mine
    if len(ours) != len(recorded):
        found.append(f"there are {len(ours)} steps, expected {len(recorded)}")
    return found


def _of_step(mine: dict[str, Any], real: dict[str, Any], before: dict[str, Any]) -> list[str]:
    pairs: list[tuple[str, Any, Any]] = [(name, mine[name], real[name]) for name in ("live", "controller")]
    pairs += [(name, mine["state"].get(name), real["state"].get(name)) for name in _STATE]
    for broker_id, replica in real["replicas"].items():
        here = mine["replicas"].get(broker_id)
        if here is None:
            pairs.append((f"broker {broker_id}", "no replica", "one"))
            continue
        epochs = [tuple(entry) for entry in replica["epochs"]] if replica.get("epochs") is not None else None
        own_epochs = [tuple(entry) for entry in here["epochs"]] if here["epochs"] is not None else None
        pairs += [(f"broker {broker_id} {name}", here[name], replica[name]) for name in ("up", "leo", "log")]
        pairs.append((f"broker {broker_id} leader epochs", own_epochs, epochs))
        # The file is written at intervals: it holds a value that the broker had at some point since the last step.
        held = here["hw"] | before["replicas"].get(broker_id, {"hw": set()})["hw"]
        if replica["hw_checkpoint"] not in held:
            pairs.append((f"broker {broker_id} high watermark", sorted(here["hw"]), replica["hw_checkpoint"]))
    for name in _READS:
        answer = real.get(name)
        if isinstance(answer, dict) and name in mine and not answer["error"]:
            pairs.append((name, mine[name], [f"{offset}:{value}" for offset, value in answer["records"]]))
    for name in ("ack", "acks_all", "acks_1"):
        if real.get(name) is not None and name in mine:
            pairs.append((name, "refused" if "Exception" in mine[name][-1] else mine[name][-1], _answer(real[name])))
    if "diverged_at" in real:
        pairs.append(("diverged_at", mine.get("diverged_at"), real["diverged_at"]))
    return [f"{name} is {here}, expected {there}" for name, here, there in pairs if here != there]


def _answer(ack: Mapping[str, int]) -> str:
    return "refused" if ack["error"] else f"t-0@{ack['base_offset']}"
