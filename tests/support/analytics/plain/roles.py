"""Leaders, ISRs and their changes according to ZooKeeper, at the end of each instant."""

from collections import defaultdict
from itertools import groupby
from typing import Any

from tests.support.analytics.plain.dump import Row, Rows, spans
from tests.support.analytics.plain.topics import assignment_of, incarnation, leaders

Partition = tuple[str, int]
Step = tuple[int, int, str, Any]
"""seq, at_us, what changed, and to what."""


def _assignments(t: Any) -> dict[Partition, list[tuple[int, int, set[int]]]]:
    """Replicas of each partition whenever a topic's assignment changes."""
    found: dict[Partition, list[tuple[int, int, set[int]]]] = defaultdict(list)
    for event in t.of("ZnodeCreated", "ZnodeChanged", "ZnodeDeleted"):
        about = assignment_of(event)
        if about is not None:
            topic, assignment = about
            now = {(topic, number): set(brokers) for number, brokers in (assignment or {}).items()}
            before = {key: set[int]() for key in found if key[0] == topic}
            for key, brokers in {**before, **now}.items():
                if not found[key] or found[key][-1][2] != brokers:
                    found[key].append((event.seq, event.at_us, brokers))
    return found


def role_spans(t: Any) -> Rows:
    assignments, states = _assignments(t), leaders(t)
    rows: Rows = []
    for key, listed in states.items():
        steps: list[Step] = [(seq, at_us, "state", (leader, isr)) for seq, at_us, leader, isr in listed]
        steps += [(seq, at_us, "replicas", brokers) for seq, at_us, brokers in assignments[key]]
        state: Any = None
        brokers: set[int] = set()
        roles: dict[int, list[tuple[int, int, str | None]]] = defaultdict(list)
        for at_us, group in groupby(sorted(steps, key=lambda one: one[0]), key=lambda one: one[1]):
            last = {"state": 0, "replicas": 0}
            for seq, _, what, value in group:
                state, brokers = (value, brokers) if what == "state" else (state, value)
                last[what] = seq
            last_seq = last["state"] or last["replicas"]
            leader, isr = state or (-1, [])
            for broker in {*brokers, *roles}:
                role = "leader" if broker == leader else "isr" if broker in isr else "outisr"
                now = role if broker in brokers and isr else None
                if not roles[broker] or roles[broker][-1][2] != now:
                    roles[broker].append((last_seq, at_us, now))
        for broker, changes in roles.items():
            for seq, from_us, to_us, role in spans(changes):
                ends = t.end_us if to_us is None else to_us
                if role is not None and ends > from_us:
                    rows.append(
                        {
                            "topic": key[0], "incarnation": incarnation(t, key[0], seq), "partition": key[1],
                            "broker": broker, "role": role, "seq": seq,
                            "at_us": from_us, "from_us": from_us, "to_us": ends,
                        }
                    )  # fmt: skip
    return rows


class _Settings:
    """What brokers go by: of a topic, of the broker itself, of all brokers, of its file, Kafka's default."""

    def __init__(self, t: Any, setting: str, default: int) -> None:
        self._rows, self._setting, self._default = t["silver.settings"], setting, default

    def steps(self, topic: str) -> list[tuple[int, int]]:
        """Events after which the value may be another one, with their time."""
        known = ("brokers/", f"topics/{topic}")
        return [
            (row["seq"], row["at_us"]) for row in self._rows
            if row["source"] == "zookeeper" and row["entity"].startswith(known)
        ]  # fmt: skip

    def of(self, topic: str, broker: int, seq: int) -> int:
        """The value for a broker's replica of a topic after an event."""
        order = [
            ("zookeeper", f"topics/{topic}"), ("zookeeper", f"brokers/{broker}"), ("zookeeper", "brokers/<default>"),
            ("node", f"b{broker}"),
        ]  # fmt: skip
        for source, entity in order:
            own = [row["settings"] for row in self._rows
                   if (row["source"], row["entity"]) == (source, entity) and row["seq"] <= seq]  # fmt: skip
            if own and self._setting in own[-1]:
                return int(own[-1][self._setting])
        return self._default


def isr_churn(t: Any) -> Rows:
    assignments, states = _assignments(t), leaders(t)
    minimum = _Settings(t, "min.insync.replicas", 1)
    patience = _Settings(t, "replica.lag.time.max.ms", 30_000)
    rows: Rows = []
    for key, listed in states.items():
        steps: list[Step] = [(seq, at_us, "state", (leader, isr)) for seq, at_us, leader, isr in listed]
        steps += [(seq, at_us, "replicas", brokers) for seq, at_us, brokers in assignments[key]]
        steps += [(seq, at_us, "settings", None) for seq, at_us in minimum.steps(key[0])]
        now: dict[str, Any] = {"state": None, "replicas": set()}
        led_by = -1
        changes: list[tuple[int, int, Any]] = []
        for seq, at_us, what, value in sorted(steps, key=lambda one: one[0]):
            now[what] = value
            leader, isr = now["state"] or (-1, [])
            led_by = leader if leader >= 0 else led_by
            changes.append((seq, at_us, (leader, isr, now["replicas"], minimum.of(key[0], led_by, seq))))
        timed: dict[int | None, list[tuple[Any, ...]]] = defaultdict(list)
        for seq, from_us, to_us, (leader, isr, replicas, least) in spans(changes):
            if isr:
                lasts = (t.end_us if to_us is None else to_us) - from_us
                timed[incarnation(t, key[0], seq)].append((leader, isr, replicas, least, lasts))
        rows += [_churn(t, key, number, own, patience) for number, own in timed.items()]
    return rows


def _churn(t: Any, key: Partition, number: int | None, timed: list[tuple[Any, ...]], patience: _Settings) -> Row:
    """Of a partition of one topic: (leader, ISR, replicas, min.insync.replicas, how long)."""
    whole = sum(lasts for *_, lasts in timed)
    full = sum(lasts for _, isr, replicas, _, lasts in timed if replicas <= set(isr))
    return {
        "topic": key[0], "incarnation": number, "partition": key[1],
        "under_min_us": sum(lasts for _, isr, _, least, lasts in timed if len(isr) < least),
        "leaderless_us": sum(lasts for leader, _, _, _, lasts in timed if leader < 0),
        "full_share": full / whole if whole else None, "smallest": min(len(isr) for _, isr, *_ in timed),
        **_counted(t, key, number, patience),
    }  # fmt: skip


def _counted(t: Any, key: Partition, number: int | None, patience: _Settings) -> Row:
    own = [
        row for row in t["silver.isr_changes"]
        if (row["topic"], row["partition"]) == key and incarnation(t, key[0], row["seq"]) == number
    ]  # fmt: skip
    changes = [row for row in own if row["change"] in ("shrunk", "expanded")]
    flaps = 0
    out: dict[int, tuple[int, int]] = {}
    for row in changes:
        for broker in {*row["from_isr"]} - {*row["to_isr"]}:
            out[broker] = (row["at_us"], patience.of(key[0], row["broker"], row["seq"]))
        for broker in {*row["to_isr"]} - {*row["from_isr"]}:
            if broker in out:
                since_us, patience_ms = out.pop(broker)
                flaps += row["at_us"] - since_us <= patience_ms * 1000
    return {
        "shrinks": sum(row["change"] == "shrunk" for row in changes),
        "expands": sum(row["change"] == "expanded" for row in changes),
        "refused": sum(row["change"] == "refused" for row in own), "flaps": flaps,
        "seq": min((row["seq"] for row in changes), default=None),
        "at_us": min((row["at_us"] for row in changes), default=None),
    }  # fmt: skip


MAKERS = {"gold.role_spans": role_spans, "gold.isr_churn": isr_churn}
