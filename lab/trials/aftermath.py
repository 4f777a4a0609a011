"""Checks after all faults: all replicas are in sync and equal, and acknowledged records are present."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from broker_core.partitions import broker_node, replica_name, topic_of
from broker_core.records.record_batch import iterate_batches, iterate_records
from broker_core.sim.disk import Disk
from broker_core.view.tree import View

OFFSETS_TOPIC = "__consumer_offsets"
#: of a member; Kafka fails one that joins while the first rebalance of a group has lost all its members, and a consumer
#: of 0.8 gives up when its partitions stay owned for too long
_AT_REST = ("stable", "failed", "closed", "rebalance failed")

Records = dict[int, tuple[int, bytes | None, bytes | None]]
"""Offset -> leader epoch, key, value."""


class Acknowledged(NamedTuple):
    """A batch of generated records that were acknowledged to a producer with acks=all."""

    client: str
    partition: str
    base_offset: int
    records: int

    @property
    def topic(self) -> str:
        return topic_of(self.partition)

    @property
    def end(self) -> int:
        """The offset behind the last record."""
        return self.base_offset + self.records

    def without_below(self, offset: int) -> "Acknowledged":
        """What is left of it from an offset on."""
        base = max(self.base_offset, offset)
        return self._replace(base_offset=base, records=self.end - base)


def repair_commands(view: View) -> Iterator[str]:
    """Commands that revert every fault in the view and stop the streams."""
    for link in view["links"]:
        yield "link restore " + " ".join(link.split("|"))
    for link in view["link_faults"]:
        source, _, destination = link.partition(">")
        for what in ("latency", "loss", "reorder"):
            yield f"link {what} {source} {destination} 0 --one-way"
    for name, node in view["nodes"].items():
        if node["kind"] == "broker" and node["disk_latency_us"]:
            yield f"disk slow {node['broker_id']} 0"
        if node["kind"] == "broker" and node["fsync_latency_us"]:
            yield f"disk fsync {node['broker_id']} 0"
        if node["kind"] == "producer" and node["rate"]:
            yield f"producer stream {name} {node['partition']} 0"
        if node["kind"] == "broker" and node["state"] == "frozen":
            yield f"broker thaw {node['broker_id']}"
        if node["kind"] == "broker" and node["state"] == "down":
            yield f"broker start {node['broker_id']}"


def missing_brokers(view: View) -> list[int]:
    """Brokers that are up and have a replica that is not in sync, or that is unknown to them."""
    missing = set()
    for name, partition in view["partitions"].items():
        for broker_id in partition["replicas"]:
            replica = view["replicas"].get(replica_name(name, broker_node(broker_id)))
            is_reported = replica is not None and replica["role"] != "offline"
            if view["nodes"][broker_node(broker_id)]["state"] == "up" and not (
                is_reported and broker_id in partition["isr"]
            ):
                missing.add(broker_id)
    return sorted(missing)


def complaints(view: View) -> list[str]:
    """Problems of a cluster without faults."""
    wrong = [f"{a_line} is to be typed" for a_line in repair_commands(view)]
    wrong += [
        f"{name} is {node['state']}"
        for name, node in view["nodes"].items()
        if node["kind"] == "broker" and node["state"] != "up"
    ]
    wrong += [
        f"group {name} is {group['state']}"
        for name, group in view["groups"].items()
        if group["state"] not in ("Stable", "Empty")
    ]
    wrong += [
        f"{name} is {node['member']['state']}, {node['member']['why']}"
        for name, node in view["nodes"].items()
        if "member" in node and node["member"]["state"] not in _AT_REST
    ]
    for path, znode in view["zk"].items():
        if path.startswith("/admin/delete_topics/") or path == "/admin/reassign_partitions":
            wrong.append(f"{path}: is still there")
        elif path.count("/") == 3 and path.startswith("/brokers/topics/") and _is_moving(znode["data"]):
            wrong.append(f"{path}: a partition is still being moved")
    for name, partition in view["partitions"].items():
        wrong += _complaints_of(view, name, partition)
    return wrong


def _is_moving(assignment: str) -> bool:
    """Whether a partition is being reassigned according to the topic's znode."""
    said = json.loads(assignment)
    return any(any(said.get(key, {}).values()) for key in ("adding_replicas", "removing_replicas"))


def waiting_deletions(view: View) -> set[str]:
    """Topics to be deleted that are being reassigned and have no leader: a reassignment completes only with a
    leader.
    """
    led = {partition["topic"] for partition in view["partitions"].values() if partition["leader"] >= 0}
    wished = {path.rpartition("/")[2] for path in view["zk"] if path.startswith("/admin/delete_topics/")}
    return {
        topic
        for topic in wished - led
        if f"/brokers/topics/{topic}" in view["zk"] and _is_moving(view["zk"][f"/brokers/topics/{topic}"]["data"])
    }


def abandoned(view: View) -> set[str]:
    """Partitions without a leader whose ISR contains no assigned replica: a reassignment was cancelled when only new
    replicas were in sync. The last one stays in the ISR (`removeReplicasFromIsr`), so only an unclean election gives
    them a leader.
    """
    return {
        name
        for name, partition in view["partitions"].items()
        if partition["leader"] < 0 and not set(partition["isr"]) & set(partition["replicas"])
    }


def _complaints_of(view: View, name: str, partition: Mapping[str, Any]) -> Iterator[str]:
    if sorted(partition["isr"]) != sorted(partition["replicas"]) or partition["leader"] not in partition["isr"]:
        yield f"{name}: leader {partition['leader']}, ISR {partition['isr']} of replicas {partition['replicas']}"
        return
    leader = view["replicas"].get(replica_name(name, broker_node(partition["leader"])))
    for broker_id in partition["replicas"]:
        replica = view["replicas"].get(replica_name(name, broker_node(broker_id)))
        if replica is None or leader is None:
            yield f"{name}: broker {broker_id} has no replica"
        elif replica["role"] != ("leader" if replica is leader else "follower"):
            yield f"{name}: broker {broker_id} is {replica['role']}"
        elif partition["topic"] == OFFSETS_TOPIC and view["groups"]:
            continue  # members keep committing while nothing changes
        elif (replica["log_end_offset"], replica["high_watermark"]) != (leader["log_end_offset"],) * 2:
            yield (
                f"{name}: broker {broker_id} has log end {replica['log_end_offset']} and high watermark "
                f"{replica['high_watermark']}, the leader's log ends at {leader['log_end_offset']}"
            )


# what the files hold


def records_of(disk: Disk, broker_id: int, partition: str) -> Records:
    """The records in the files of a replica."""
    folder = f"broker-{broker_id}/{partition}"
    records: Records = {}
    for name in disk.list(folder):
        if name.endswith(".log"):
            file = disk.open(f"{folder}/{name}", create=False)
            data = file.read(0, file.size)
            for position, header in iterate_batches(data):
                for record in iterate_records(data, header, position):
                    records[record.offset] = (header.partition_leader_epoch, record.key, record.value)
    return records


def _start(view: View, partition: str, broker_ids: Iterable[int]) -> int:
    """The offset from which all these replicas have the records."""
    return max(
        int(view["replicas"][replica_name(partition, broker_node(broker_id))]["log_start_offset"])
        for broker_id in broker_ids
    )


def differing_logs(view: View, disk: Disk) -> Iterator[tuple[str, str]]:
    """Partitions whose replicas hold different records at the same offset, with the first difference.

    Records that only one of them still has may have been compacted in the other. If a partition cannot recover, as in
    Kafka, replicas may be missing.
    """
    for name, partition in view["partitions"].items():
        present = [
            broker_id
            for broker_id in partition["replicas"]
            if replica_name(name, broker_node(broker_id)) in view["replicas"]
        ]
        if not present:
            continue
        first, *others = present
        start = _start(view, name, present)
        ours = records_of(disk, first, name)
        for other in others:
            theirs = records_of(disk, other, name)
            for offset in sorted(ours.keys() & theirs.keys()):
                if offset >= start and ours[offset] != theirs[offset]:
                    yield (
                        name,
                        f"offset {offset} is {_shown(ours[offset])} at broker {first}, {_shown(theirs[offset])} at "
                        f"broker {other}",
                    )
                    break


def lost_records(view: View, disk: Disk, acknowledged: Iterable[Acknowledged]) -> Iterator[tuple[str, str]]:
    """Partitions whose leader lacks a record acknowledged with acks=all, with the first one.

    The invariants check that it is the same record; here it must be one of the same producer.
    """
    promised: dict[str, list[Acknowledged]] = defaultdict(list)
    for each in acknowledged:
        promised[each.partition].append(each)
    for name, batches in promised.items():
        partition = view["partitions"].get(name)
        if partition is None or replica_name(name, broker_node(partition["leader"])) not in view["replicas"]:
            continue
        start = _start(view, name, [partition["leader"]])
        held = records_of(disk, partition["leader"], name)
        is_compacted = "compact" in view["zk"].get(f"/config/topics/{partition['topic']}", {"data": ""})["data"]
        lost = next((lost for batch in batches for lost in _lost(batch, held, start, is_compacted)), None)
        if lost is not None:
            yield name, lost


def _lost(batch: Acknowledged, held: Records, start: int, is_compacted: bool) -> Iterator[str]:
    value = f"{batch.client}-".encode()
    for offset in range(max(start, batch.base_offset), batch.end):
        found = held.get(offset)
        if found is None and is_compacted:
            continue
        if found is None or found[2] is None or not found[2].startswith(value):
            yield f"a record of {batch.client} was acknowledged at {offset}, where there is {_shown(found)}"


def _shown(record: tuple[int, bytes | None, bytes | None] | None) -> str:
    if record is None:
        return "nothing"
    epoch, key, value = record
    return f"{_text(key)}:{_text(value)} of epoch {epoch}"


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode(errors="backslashreplace")
