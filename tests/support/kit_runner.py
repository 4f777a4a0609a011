"""Plays recorded conversations with a real Kafka 3.9.1 against a cluster, frame by frame, in simulated time.

The cases are data: tests/data/conformance, one file an area. A step is a request with the answer that the real broker
gave. Nothing sleeps: what a step waits for is simulated time.
"""

import json
import re
from typing import Any

import msgspec

from broker_core.eras import DEFAULT_ERA, ERAS
from broker_core.partitions import broker_node
from broker_core.run import Run, RunConfig
from broker_core.sim.disk import SimulatedDisk
from broker_core.wire.framing import FrameSplitter, decode_response, encode_request
from broker_core.wire.schemas import BY_NAME, offered
from broker_core.zk.memory_store import MemoryStore
from tests.support.kit_trees import Steadying, Tree, decode, encode
from tests.support.paths import DATA

FOLDER = DATA / "conformance"
CONFIG = RunConfig(
    brokers=(0, 1, 2),
    latency_us=0,
    jitter_us=0,
    # the cases know "now" by its distance from the timestamps that they send
    start_wall_ms=1_780_000_000_000,
    broker_config={
        "offsets.topic.replication.factor": "3",
        "transaction.state.log.replication.factor": "3",
        "transaction.state.log.min.isr": "2",
        "group.initial.rebalance.delay.ms": "0",
        "auto.leader.rebalance.enable": "false",
    },
)
_SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
CONFIGS = {
    "read_replicas": msgspec.structs.replace(
        CONFIG,
        broker_config={**CONFIG.broker_config, **_SELECTOR},
        config_of_broker={0: {"broker.rack": "r0"}, 1: {"broker.rack": "r1"}, 2: {"broker.rack": "r1"}},
    ),
    "no_selector": msgspec.structs.replace(
        CONFIG, config_of_broker={broker_id: {"broker.rack": f"r{broker_id}"} for broker_id in CONFIG.brokers}
    ),
}
"""The clusters of areas that were recorded with other settings."""
PATIENCE_US = 15_000_000
PAUSE_US = 100_000
STEP_US = 1_000
"""Between two steps some time passes, as it did when they were recorded."""
MOVES = {"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}
NOT_OFFERED = {"DescribeTopicPartitions": "0000000c 004b 0000 00000001 ffff 00 00"}
"""Requests of APIs that are not among ours."""
FIRST_ID: Tree = {"transactional_id": None, "transaction_timeout": 0}
CLOSED: Tree = {"_closed": True}


def cases(area: str) -> dict[str, Tree]:
    """The cases of an area by name."""
    return {case["name"]: case for case in json.loads((FOLDER / f"{area}.json").read_text())}


class Cluster:
    """Three brokers, and what comes out of their connections. `is_first`: no producer has had an id yet."""

    def __init__(self, *, is_first: bool, area: str = "", era: str = DEFAULT_ERA) -> None:
        config = msgspec.structs.replace(CONFIGS.get(area, CONFIG), era=era)
        self.run = Run(config, disk=SimulatedDisk(), zk=MemoryStore())
        self.run.advance(5_000_000)
        self.apis = offered(ERAS[era])
        self.received: dict[int, list[bytes]] = {}
        self.played = 0
        has_transactions = ERAS[era].transactions.are_supported
        for key in ("group:warm", "txn:warm")[: 1 + has_transactions]:
            Conversation(self).broker(key)
        if not is_first and has_transactions:
            # The first producer id is 0. It was allocated in the first area that allocates any, whose cases expect it.
            first = Conversation(self)
            while first.ask(0, "InitProducerId", 4, FIRST_ID)["error_code"] != "NONE":
                self.run.advance(self.run.now_us + PAUSE_US)
        self.run.advance(self.run.now_us + 1_000_000)

    @property
    def now_ms(self) -> int:
        """Its calendar."""
        return CONFIG.start_wall_ms + self.run.now_us // 1_000

    @property
    def has_admin_apis(self) -> bool:
        """Whether clients can create topics and look up the controller."""
        return BY_NAME["CreateTopics"].key in self.apis

    def pass_time(self, until_us: int) -> None:
        """Runs on, and sorts what comes out."""
        self.run.advance(until_us)
        for connection, frame in self.run.take_outputs():
            if frame is None:
                self.received[connection].append(b"")
            elif frame:
                self.received[connection].append(frame)


class Link:
    """A client's connection."""

    def __init__(self, cluster: Cluster, broker_id: int) -> None:
        self._cluster = cluster
        self._splitter = FrameSplitter()
        self.number = cluster.run.connect(broker_id, "127.0.0.1")
        cluster.received[self.number] = []

    def send(self, data: bytes) -> None:
        """Bytes as they come over TCP."""
        for frame in self._splitter.feed(data):
            self._cluster.run.frame(self.number, frame)
        if self._splitter.fault:
            self._cluster.run.disconnect(self.number)
            self._cluster.received[self.number].append(b"")

    def receive(self, patience_us: int = PATIENCE_US) -> bytes | None:
        """The next frame, without its length; b"" when the connection was closed, None when nothing came."""
        cluster, received = self._cluster, self._cluster.received[self.number]
        deadline_us = cluster.run.now_us + patience_us
        cluster.pass_time(cluster.run.now_us)
        while not received and cluster.run.now_us < deadline_us:
            due_us = cluster.run.next_due_us
            cluster.pass_time(deadline_us if due_us is None else min(due_us, deadline_us))
        return received.pop(0)[4:] if received else None


class Conversation:
    """One case against a cluster. `run`: what its names contain, if that matters; `in_order`: lists are not sorted."""

    def __init__(self, cluster: Cluster, run: str = "", *, in_order: bool = False) -> None:
        cluster.played += 1
        self._cluster = cluster
        self._brokers = sorted(CONFIG.brokers)
        self._steadying = Steadying(run or f"kitcase{cluster.played:03}", self._brokers, in_order=in_order)
        self._names: dict[str, Tree] = {"run": self._steadying.run}
        nodes = cluster.run.view["nodes"]
        for at, broker_id in enumerate(self._brokers):
            self._names[broker_node(at)] = broker_id
            self._names[f"epoch{at}"] = nodes[broker_node(broker_id)]["broker_epoch"]
            self._names[f"port{at}"] = 9092 + at
        self._names["controller"] = cluster.run.view["controller"]["broker"]
        self._names["controller_epoch"] = cluster.run.view["controller"]["controller_epoch"]
        self._links: dict[tuple[str, int], Link] = {}
        self._pending: dict[str, tuple[Link, dict[str, Tree], int]] = {}
        self._correlation_id = 0

    def answers(self, case: Tree) -> list[Tree]:
        """What each step of a case is answered, steadied; None where a step awaits nothing."""
        if case.get("topics"):
            self._create_topics(case["topics"])
        return [self._play(step) for step in case["steps"]]

    # places

    def broker(self, place: str) -> int:
        """The id behind `b1`, `controller`, `group:NAME`, `txn:NAME`; `not:...` is another one."""
        if place.startswith("not:"):
            other = self.broker(place[4:])
            return next(broker_id for broker_id in self._brokers if broker_id != other)
        if place == "controller" and not self._cluster.has_admin_apis:
            return int(self._names["controller"])
        if place == "controller":
            controller: int = self.ask(self._brokers[0], "Metadata", 1, {"topics": []})["controller_id"]
            return controller
        kind, _, key = place.partition(":")
        if kind not in ("group", "txn"):
            return int(self._names[place])
        for _ in range(100):
            found = self.ask(self._brokers[0], "FindCoordinator", 1, {"key": key, "key_type": int(kind == "txn")})
            if found["error_code"] == "NONE":
                return int(found["node_id"])
            self._cluster.pass_time(self._cluster.run.now_us + PAUSE_US)
        raise AssertionError(f"nobody coordinates {key}: {found}")

    def _link(self, broker_id: int, name: str) -> Link:
        key = (name, broker_id)
        if key not in self._links:
            self._links[key] = Link(self._cluster, broker_id)
        return self._links[key]

    def ask(self, broker_id: int, api: str, version: int, tree: Tree) -> Tree:
        """One request aside from the steps, in the latest version of the era."""
        schema = BY_NAME[api]
        version = min(version, self._cluster.apis[schema.key][1])
        known = {field.name for field in schema.request.structs[schema.request.name].fields if field.is_in(version)}
        tree = {name: part for name, part in tree.items() if {name, f"{name}_ms"} & known}
        link = self._link(broker_id, "aside")
        correlation_id = self._send(link, {"api": api, "version": version, "request": tree})
        return self._receive(link, {"api": api, "version": version}, correlation_id)

    def _create_topics(self, topics: dict[str, Tree]) -> None:
        if not self._cluster.has_admin_apis:
            self._create_with_tool(topics)
            return
        wanted = []
        for name, tree in topics.items():
            assignments = tree.get("assign", [["${b0}", "${b1}", "${b2}"]])
            configs = {"retention.ms": -1, **tree.get("configs", {})}
            wanted.append(
                {
                    "name": name,
                    "num_partitions": -1,
                    "replication_factor": -1,
                    "assignments": [
                        {"partition_index": at, "broker_ids": replicas} for at, replicas in enumerate(assignments)
                    ],
                    "configs": [{"name": key, "value": value} for key, value in configs.items()],
                }
            )
        created = self.ask(self.broker("controller"), "CreateTopics", 4, {"topics": wanted, "timeout": 10_000})
        assert {topic["error_code"] for topic in created["topics"]} == {"NONE"}
        self._cluster.pass_time(self._cluster.run.now_us + 1_000_000)

    def _create_with_tool(self, topics: dict[str, Tree]) -> None:
        """For a release without CreateTopics."""
        for name, tree in topics.items():
            rows = self._fill(tree.get("assign", [["${b0}", "${b1}", "${b2}"]]))
            assignment = ",".join(":".join(str(broker_id) for broker_id in row) for row in rows)
            configs = {"retention.ms": -1, **tree.get("configs", {})}
            options = " ".join(f"--config {key}={value}" for key, value in configs.items())
            topic = self._fill(name)
            line = f"kafka-topics.sh --create --topic {topic} --replica-assignment {assignment} {options}"
            self._cluster.run.submit(line)
        self._cluster.pass_time(self._cluster.run.now_us + 2_000_000)

    # variables

    def _fill(self, value: Tree) -> Tree:
        if isinstance(value, dict):
            return {key: self._fill(part) for key, part in value.items()}
        if isinstance(value, list):
            return [self._fill(part) for part in value]
        if not isinstance(value, str):
            return value
        whole = re.fullmatch(r"\$\{([\w.]+)([+-]\d+)?\}", value)
        if whole is not None:
            found = self._value(whole[1])
            return found + int(whole[2]) if whole[2] else found
        return re.sub(r"\$\{([\w.]+)\}", lambda found: str(self._value(found[1])), value)

    def _value(self, name: str) -> Tree:
        return self._cluster.now_ms if name == "now" else self._names[name]

    # steps

    def _play(self, step: dict[str, Tree]) -> Tree:
        self._cluster.pass_time(self._cluster.run.now_us + step.get("sleep", 0) * 1_000 + STEP_US)
        if "await" in step:
            link, requested, correlation_id = self._pending.pop(step["await"])
            return self._finish(requested | step, self._receive(link, requested, correlation_id))
        place = step.get("to", "b0")
        broker_id = self.broker(self._fill(place))
        again = {"COORDINATOR_LOAD_IN_PROGRESS", *step.get("retry", ())}
        if place.startswith(("group:", "txn:")):
            again |= MOVES
        deadline_us = self._cluster.run.now_us + PATIENCE_US
        while True:
            link = self._link(broker_id, step.get("conn", "main"))
            correlation_id = self._send(link, step)
            if "async" in step:
                self._pending[step["async"]] = link, step, correlation_id
                return None
            if step.get("reply") is False:
                return None
            answer = self._receive(link, step, correlation_id)
            text = json.dumps(answer)
            is_wanted = self._is_reached(step, answer) and not any(f'"{error}"' in text for error in again)
            if is_wanted or self._cluster.run.now_us > deadline_us:
                return self._finish(step, answer)
            self._cluster.pass_time(self._cluster.run.now_us + PAUSE_US)

    def _is_reached(self, step: dict[str, Tree], answer: Tree) -> bool:
        if "until" not in step:
            return True
        path, wanted = step["until"]
        try:
            return bool(_at(answer, path) == self._fill(wanted))
        except (KeyError, IndexError):
            return False

    def _send(self, link: Link, step: dict[str, Tree]) -> int:
        self._correlation_id = step.get("correlation_id", self._correlation_id + 1)
        if "bytes" in step:
            link.send(bytes.fromhex(step["bytes"]))
            return self._correlation_id
        if step["api"] in NOT_OFFERED:
            link.send(bytes.fromhex(NOT_OFFERED[step["api"]]))
            return self._correlation_id
        api, version = BY_NAME[step["api"]], step["version"]
        value = encode(api.request, version, self._fill(step.get("request", {})))
        client_id = step.get("client_id", "kit")
        frame = encode_request(api, version, value, correlation_id=self._correlation_id, client_id=client_id)[4:]
        length = None
        for change, *arguments in step.get("mutate", ()):
            if change == "length":
                length = arguments[0]
            else:
                frame = _changed(frame, change, *arguments)
        link.send((len(frame) if length is None else length).to_bytes(4, "big", signed=True) + frame)
        return self._correlation_id

    def _receive(self, link: Link, step: dict[str, Tree], correlation_id: int) -> Tree:
        frame = link.receive(step["wait"] * 1_000 if "wait" in step else PATIENCE_US)
        if frame is None:
            return {"_silent": True}
        if not frame:
            self._links = {key: each for key, each in self._links.items() if each is not link}
            return CLOSED
        api, version = BY_NAME[step["api"]], step["decode_version" if "decode_version" in step else "version"]
        answered_id, value = decode_response(api, version, frame)
        tree: Tree = decode(api.response, version, value)
        return tree if answered_id == correlation_id else tree | {"_correlation_id": answered_id}

    def _finish(self, step: dict[str, Tree], answer: Tree) -> Tree:
        for name, path in step.get("capture", {}).items():
            if name not in self._names:
                self._names[name] = _at(answer, path)
                self._steadying.captured[name] = path.split(".")[-1], self._names[name]
        mine = step.get("only_mine")
        if answer.get(mine):
            answer[mine] = [each for each in answer[mine] if self._steadying.run in json.dumps(each)]
        for key, wanted in step.get("keep", {}).items():
            if key in answer:
                names = self._fill(wanted)
                answer[key] = [each for each in answer[key] if each.get("name", each.get("key")) in names]
        self._steadying.now_ms = self._cluster.now_ms
        return self._steadying.steady(answer, masked=frozenset(step.get("mask", ())))


def _at(tree: Tree, path: str) -> Tree:
    """The value at `topics.0.topic_id`."""
    for part in path.split("."):
        tree = tree[int(part)] if isinstance(tree, list) else tree[part]
    return tree


def _changed(frame: bytes, change: str, *arguments: Any) -> bytes:
    """A frame that was damaged: `set` and `insert` at a place, `cut` and `append` at the end."""
    if change == "cut":
        return frame[: -arguments[0]]
    data = bytes.fromhex(arguments[-1])
    if change == "append":
        return frame + data
    at = arguments[0] % len(frame)
    return frame[:at] + data + frame[at + (len(data) if change == "set" else 0) :]
