"""Compares surveys of real brokers of each release with new Highwater clusters: znodes, files, bytes, defaults, ISR."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from broker_core.config_defs import BROKER_CONFIGS, RETIRED_CONFIGS, text_of, topic_values
from broker_core.eras import Era
from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.legacy import encode_message
from broker_core.records.record_batch import build_batch
from broker_core.sim.disk import SimulatedDisk
from devtools.oracle.era_cluster import EraCluster

BROKERS = (1, 2, 3)
_RECORD_MS = 1_531_477_349_286
_PASSING = ("timestamp", "port", "endpoints", "id", "topic_id", "broker")
"""What differs from cluster to cluster."""


def survey_cases(
    era: Era, directory: Path, defaults: Mapping[str, str]
) -> Iterable[tuple[str, Callable[[], list[str]]]]:
    """The parts of a release's survey, each with a function that returns the differences."""
    survey = json.loads((directory / "survey.json").read_text(encoding="utf-8"))
    yield "znodes of a new cluster", lambda: _new_cluster(era, survey)
    yield "znodes of topics", lambda: _topics(era, survey)
    yield "bytes of records", lambda: _bytes(era, (directory / "fmt-0.log").read_bytes())
    yield "files", lambda: _files(era, survey)
    yield "defaults", lambda: _defaults(era, defaults)
    yield "ISR experiment", lambda: _isr(era, survey)


def _cluster(era: Era, survey: Mapping[str, Any], **config: str) -> EraCluster:
    overrides = {name: str(value) for name, value in survey["config_overrides"].items()}
    return EraCluster(era.name, BROKERS, {**overrides, **config})


# znodes


def _new_cluster(era: Era, survey: Mapping[str, Any]) -> list[str]:
    lab = _cluster(era, survey)
    return _compare(_tree(lab), {each["path"]: each for each in survey["znodes_empty_cluster"]})


def _topics(era: Era, survey: Mapping[str, Any]) -> list[str]:
    """A topic created by the current tool, and one whose znodes were written directly, as the old tools did."""
    lab = _cluster(era, survey)
    lab.sh("kafka-topics.sh --create --topic demo --partitions 2 --replication-factor 3")
    own = {each["path"]: each for each in survey["znodes_with_topics"]}["/config/topics/fmt"]["json"]
    lab.sh(f"zk create /config/topics/fmt '{json.dumps(own)}'")
    lab.sh("""zk create /brokers/topics/fmt '{"version":1,"partitions":{"0":[1,2,3]}}'""")
    lab.sleep(2)
    recorded = {
        each["path"]: each
        for each in survey["znodes_with_topics"]
        if re.match(r"/(brokers/topics|config/topics)/(demo|fmt)(/|$)", each["path"])
    }
    mine = {path: each for path, each in _tree(lab).items() if path in recorded or re.search("/(demo|fmt)", path)}
    return _compare(mine, recorded)


def _tree(lab: EraCluster) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {"/": {"version": 0, "ephemeral": False, "text": ""}}
    for path, data, stat in lab.store.tree():
        found[path] = {"version": stat.version, "ephemeral": bool(stat.ephemeral_owner)}
        text = data.decode()
        found[path] |= {"json": json.loads(text)} if text.startswith("{") else {"text": text}
    return found


def _compare(mine: Mapping[str, dict[str, Any]], real: Mapping[str, dict[str, Any]]) -> list[str]:
    found = [f"{path} is missing" for path in real if path not in mine]
    found += [f"{path} is there, the real cluster has none" for path in mine if path not in real]
    for path, znode in real.items():
        here = mine.get(path)
        if here is None:
            continue
        for name in ("version", "ephemeral", "text", "json"):
            ours, theirs = _lasting(path, here.get(name)), _lasting(path, znode.get(name))
            # Blocks of producer ids are allocated in the order in which the brokers started, which varies.
            if ours != theirs or (isinstance(ours, dict) and list(ours) != list(theirs)):
                found.append(f"{path}: {name} is {ours}, expected {theirs}")
    return found


def _lasting(path: str, value: Any) -> Any:
    """Without what differs from cluster to cluster; the order of replicas is random."""
    if not isinstance(value, dict):
        return value
    kept = {name: "..." if name in _PASSING else each for name, each in value.items()}
    if path.startswith("/brokers/topics/"):
        for name in ("leader", "isr"):
            if name in kept:
                kept[name] = "..."
        if "partitions" in kept:
            kept["partitions"] = {number: sorted(kept["partitions"][number]) for number in sorted(kept["partitions"])}
    return kept


# bytes


def _bytes(era: Era, recorded: bytes) -> list[str]:
    """The bytes that a leader writes for a record of a current producer, for one of magic 0, and for two in one message
    set.
    """
    config = LogConfig.of(topic_values(era.defaults, {"retention.ms": "-1"}))
    disk = SimulatedDisk()
    log = UnifiedLog.load(disk, "fmt-0", "fmt", 0, config, now_ms=_RECORD_MS, clean_shutdown=True)
    sent = (
        build_batch([(_RECORD_MS, b"k1", b"message_0", ())]),
        encode_message(0, 0, 0, -1, b"k2", b"message_1"),
        build_batch([(_RECORD_MS, b"k3", b"x", ()), (_RECORD_MS, None, b"y", ())]),
    )
    for data in sent:
        log.append_as_leader(data, 0, _RECORD_MS)
    written = disk.read_file(f"fmt-0/{0:020}.log")
    if written == recorded:
        return []
    at = next((i for i, (here, there) in enumerate(zip(written, recorded, strict=False)) if here != there), 0)
    return [f"byte {at} of {len(recorded)} differs ({len(written)} bytes): {written.hex()}, expected {recorded.hex()}"]


# files

_LISTED_AFTER = {"1.1.1": 72}
"""How long after the deletion of a topic the recorder listed the files, in seconds, where that was later than usual:
after file.delete.delay.ms.
"""


def _files(era: Era, survey: Mapping[str, Any]) -> list[str]:
    """The names of all files and the sizes of indexes and snapshots, while a broker runs and after it has stopped."""
    lab = _cluster(era, survey)
    lab.sh("kafka-topics.sh --create --topic a.b --partitions 1 --replication-factor 3")
    lab.sh("kafka-topics.sh --delete --topic a.b")
    lab.create([1, 2, 3])
    lab.produce("m0")
    lab.sleep(_LISTED_AFTER.get(era.release, 40))
    running = _listing(lab)
    found = _compare_files("running", running, survey["files_running"]["1"])
    left = any(name.endswith("-delete") for name in running)
    if left != any(name.endswith("-delete") for folders in survey["files_running"].values() for name in folders):
        found.append(f"running: the folder of a deleted replica is {'still there' if left else 'gone'}")
    lab.produce("m1")
    lab.sh("broker stop 1")
    stopped = _listing(lab)
    found += _compare_files("stopped", stopped, survey["files_of_1_after_clean_stop"])
    texts = survey["texts_of_1_after_clean_stop"]
    marker = lab.disk.read_file("broker-1/.kafka_cleanshutdown").decode()
    if marker != texts[".kafka_cleanshutdown"]:
        found.append(f".kafka_cleanshutdown holds {marker!r}, expected {texts['.kafka_cleanshutdown']!r}")
    if "meta.properties" in texts:
        mine = [line.partition("=")[0] for line in lab.disk.read_file("broker-1/meta.properties").decode().splitlines()]
        theirs = [line.partition("=")[0] for line in texts["meta.properties"].splitlines()]
        if [line for line in mine if line[:1] != "#"] != [line for line in theirs if line[:1] != "#"]:
            found.append(f"meta.properties has {mine}, expected {theirs}")
    return found


def _listing(lab: EraCluster) -> dict[str, dict[str, int]]:
    folders: dict[str, dict[str, int]] = {".": {}}
    for name in lab.disk.list("broker-1"):
        files = lab.disk.list(f"broker-1/{name}")
        if files:
            folders[name] = {file: lab.disk.size_of(f"broker-1/{name}/{file}") for file in files}
        else:
            folders["."][name] = lab.disk.size_of(f"broker-1/{name}")
    return folders


def _compare_files(when: str, mine: dict[str, dict[str, int]], real: dict[str, dict[str, int]]) -> list[str]:
    """Compares a partition of ours with one of theirs: both have records, none deleted."""
    found = []
    ours, theirs = sorted(mine["."]), sorted(name for name in real["."])
    if ours != theirs:
        found.append(f"{when}: the broker's folder has {ours}, expected {theirs}")
    like = "t-0" if "t-0" in real and when == "stopped" else "demo-0"
    here, there = _sizes(mine["t-0"]), _sizes(real[like])
    if like == "t-0" and "0.index" in there and there["0.index"]:
        there["0.index"] = here["0.index"]  # It has more than one batch.
    if here != there:
        found.append(f"{when}: the folder of a partition has {here}, expected {there}")
    return found


def _sizes(files: Mapping[str, int]) -> dict[str, int | str]:
    """Names without their offsets; sizes of the files that do not depend on the records."""
    return {
        re.sub(r"^0*(\d+)(?=\.)", lambda match: "0" if not int(match[1]) else "end", name): size
        if name.endswith(("index", "metadata", ".snapshot"))
        else "..."
        for name, size in sorted(files.items())
    }


# defaults

_NEVER_SET = ("broker.id", "node.id", "log.dir", "log.dirs", "listeners")
"""Settings that differ between the brokers of a cluster."""


def _defaults(era: Era, recorded: Mapping[str, str]) -> list[str]:
    found = []
    for name, theirs in recorded.items():
        key = BROKER_CONFIGS.get(name) or RETIRED_CONFIGS.get(name)
        if key is None or name in _NEVER_SET or theirs == "-":
            continue
        ours = era.defaults.get(name, "" if key.default is None else text_of(key.default))
        if ours != _plain(theirs):
            found.append(f"{name} is {ours!r}, expected {_plain(theirs)!r}")
    return found


def _plain(text: str) -> str:
    """A default in the notation in which it is set, instead of Java's `toString`."""
    text = text.removeprefix("class ")
    if text.startswith("["):
        text = text[1:-1].replace(", ", ",")
    return "" if text in ("null", "Map()") else text


_OTHER_NAMES = {
    "log.cleaner.min.clean.ratio": "log.cleaner.min.cleanable.ratio",
    "min.in.sync.replicas": "min.insync.replicas",
    "offset.commit.required.acks": "offsets.commit.required.acks",
    "offset.commit.timeout.ms": "offsets.commit.timeout.ms",
    "offset.metadata.max.size": "offset.metadata.max.bytes",
    "offsets.topic.partitions": "offsets.topic.num.partitions",
    "log.cleanup.interval.ms": "log.retention.check.interval.ms",
    "log.delete.delay.ms": "log.segment.delete.delay.ms",
    "log.cleaner.dedupe.buffer.load.factor": "log.cleaner.io.buffer.load.factor",
}
_OTHER_FORMS = {"offsets.topic.compression.codec": {"NoCompressionCodec": "0"}, "log.flush.interval.ms": {}}


def read_defaults(directory: Path, release: str) -> dict[str, str]:
    """The default settings of a release, by their current names; for 0.8.2 they come from the getters of its class."""
    if release == "0.8.2.2":
        lines = (directory / "defaults-0.8.2.2.txt").read_text(encoding="utf-8").splitlines()
        pairs = [line.partition(" = ") for line in lines]
        named = {re.sub("[A-Z]", lambda match: "." + match[0].lower(), name): text for name, _, text in pairs}
        renamed = {_OTHER_NAMES.get(name, name): text for name, text in named.items()}
        # No limit and no value are the same here.
        renamed.pop("log.flush.interval.ms", None)
        return {name: _OTHER_FORMS.get(name, {}).get(text, text) for name, text in renamed.items()}
    rows = [line.split("\t") for line in (directory / "defaults.tsv").read_text(encoding="utf-8").splitlines()]
    column = rows[0].index(release)
    return {row[0]: row[column] for row in rows[1:]}


# the ISR


def _isr(era: Era, survey: Mapping[str, Any]) -> list[str]:
    """A follower is suspended, resumed and suspended again; then the leader stops cleanly and restarts."""
    lab = _cluster(era, survey)
    seen: list[dict[str, Any]] = []
    lag = int(survey["config_overrides"]["replica.lag.time.max.ms"]) / 1000
    lab.create([1, 2, 3], min_insync_replicas="1")
    lab.produce("m0")
    lab.sleep(2)

    def isr_has(broker_id: int, wanted: bool = True) -> bool:
        state = lab.state()
        if not seen or (seen[-1]["isr"], seen[-1]["leader"]) != (state["isr"], state["leader"]):
            seen.append(state)
        return (broker_id in state["isr"]) == wanted

    isr_has(3)
    lab.sleep(0.5)
    lab.sh("broker freeze 3")
    lab.until(lambda: isr_has(3, False), lag * 3)
    if not isr_has(3):
        lab.sh("broker thaw 3")
        lab.until(lambda: isr_has(3), 30)
        lab.sleep(1)
        lab.sh("broker freeze 3")
    lab.produce("m1", acks="one")
    lab.until(lambda: isr_has(3, False))
    lab.sleep(6)
    lab.sh("broker thaw 3")
    lab.until(lambda: isr_has(3))
    if era.isr.lag == "fetches_and_messages":
        lab.sleep(9)
        lab.sh("broker freeze 3")
        lab.produce(*(f"g{n}" for n in range(11)), acks="one")
        lab.until(lambda: isr_has(3, False), lag)
        lab.sh("broker thaw 3")
        lab.until(lambda: isr_has(3))
        lab.sleep(18)
    lab.sleep(7)
    lab.sh("broker stop 1")
    isr_has(1)
    lab.sleep(1)
    lab.sh("broker start 1")
    lab.until(lambda: isr_has(1), 40)
    recorded = [each["state"] for each in survey["isr_states_seen"]]
    found = [
        f"state {number} is {here}, expected {there}"
        for number, (here, there) in enumerate(zip(seen, recorded, strict=False))
        if here != there
    ]
    if len(seen) != len(recorded):
        found.append(f"the ISR had {len(seen)} states, expected {len(recorded)}")
    has_notified = bool(lab.isr_notifications)
    if has_notified != bool(survey["isr_change_notifications_seen"]):
        found.append(f"leaders {'told' if has_notified else 'did not tell'} the controller by /isr_change_notification")
    return found
