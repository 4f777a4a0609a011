"""Hands a Highwater cluster over to a real Apache Kafka, and back: `make oracle`.

Our brokers write real files and real znodes, through crashes and elections, and stop. Kafka's DumpLogSegments then
reads every file without an error; Kafka's brokers start on the folders and the znodes without recovery, serve every
record and append more; and our log layer opens the result.
"""

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from broker_core.events.console import shown
from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.record_batch import Record, iterate_batches, iterate_records
from broker_core.run import Run, RunConfig
from broker_core.shell.grammar.transcript import ready_line, run_command
from broker_core.sim.real_disk import RealDisk
from devtools.oracle.real_kafka import RealBroker, RealKafka, RealKafkaError, fetch_jars
from lab.runtime.zookeeper.kazoo_store import KazooStore
from lab.runtime.zookeeper.server import EmbeddedZookeeper

BROKERS = (1, 2, 3)
PARTITIONS = (0, 1)
CHROOT = "/handover"
#: Topic, configurations, records of each burst.
TOPICS = (
    ("plain", "", 40),
    ("rolling", "segment.bytes=4096,index.interval.bytes=512,segment.index.bytes=96", 200),
    ("zipped", "compression.type=gzip,segment.bytes=8192", 60),
    ("snappy", "compression.type=snappy", 60),
    ("lz4", "compression.type=lz4", 60),
    ("zstd", "compression.type=zstd", 60),
    ("stamped", "message.timestamp.type=LogAppendTime", 30),
    ("preallocated", "preallocate=true,segment.bytes=16384", 60),
    ("compacted", "cleanup.policy=compact,segment.bytes=2048,min.cleanable.dirty.ratio=0.01", 60),
)
#: Log messages of a broker about an inconsistent folder. ("rebuilding producer state from offset N" is not one of them:
#: with a snapshot at N there is nothing to read, and each start logs it.)
RECOVERY_WORK = re.compile(
    r"Recovering unflushed segment|Found (invalid|index|log|deletable)|orrupt|Rebuilding (index|log)|[Tt]runcat"
    r"|^(ERROR|FATAL|WARN).*\((kafka\.log|org\.apache\.kafka\.storage)"
)
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER = "kafka.tools.ConsoleProducer"
_PRINTED = ("print.timestamp", "print.partition", "print.offset", "print.key")
#: Kafka's cleaner and retention must not change what is compared.
BROKER_CONFIGS = {
    "log.cleaner.backoff.ms": "3600000",
    "log.retention.ms": "-1",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.replication.factor": "1",
    "controlled.shutdown.retry.backoff.ms": "500",
}
APPENDED = 20

#: partition, offset, timestamp, key, value
Row = tuple[int, int, int, str, str]


def script() -> Iterator[str]:
    """The commands that our cluster executes."""
    for topic, configs, _ in TOPICS:
        options = "".join(f" --config {config}" for config in configs.split(",") if config)
        yield f"kafka-topics.sh --create --topic {topic} --partitions {len(PARTITIONS)} --replication-factor 3{options}"
    yield "producer open p --acks all"
    yield from _bursts()
    yield "broker kill 2"
    yield from _bursts()
    yield "broker start 2"
    yield from _bursts()
    yield 'wait "isr plain-0 == [1,2,3]" 60s'
    yield "kafka-topics.sh --create --topic gone --partitions 1 --replication-factor 2"
    yield "kafka-topics.sh --delete --topic gone"
    yield "sleep 70s"
    for broker in BROKERS:
        yield f"broker stop {broker}"


def _bursts() -> Iterator[str]:
    for topic, _, count in TOPICS:
        for partition in PARTITIONS:
            if topic == "compacted":
                pairs = " ".join(f"k{n % 7}:value-{n}" for n in range(count))
                yield f"producer send p {topic}-{partition} {pairs}"
            else:
                yield f"producer burst p {topic}-{partition} {count}"


def play(run: Run, lines: Iterator[str]) -> None:
    """Raises SystemExit for a line that fails, since then the script above is wrong."""
    run_command(run, ready_line(range(1, len(BROKERS) + 1)))
    for line in lines:
        printed, exit_code = run_command(run, line)
        if exit_code:
            sys.exit(f"{line}\n" + "\n".join(map(shown, printed)))


class Handover:
    """The cluster's folder and ZooKeeper, and the problems found."""

    def __init__(self, work: Path, zookeeper: str, kafka: RealKafka) -> None:
        self._work = work
        self._root = work / "cluster"
        self._zookeeper = zookeeper + CHROOT
        self._kafka = kafka
        self._brokers: dict[int, RealBroker] = {}
        self.failures = 0

    def judge(self, what: str, faults: list[str]) -> None:
        """Prints one line, and the first faults below it."""
        print(f"{'FAIL' if faults else 'ok'} {what}" + "".join(f"\n     {fault}" for fault in faults[:5]), flush=True)
        self.failures += bool(faults)

    def dumps(self) -> None:
        """Runs Kafka's own tool on each file of each broker."""
        for broker in BROKERS:
            # On a copy: the tool opens indexes for writing.
            copy = shutil.copytree(self._data(broker), self._work / f"copy-{broker}")
            files = sorted(file for file in copy.glob("*-*/*") if file.suffix in (".log", ".index", ".timeindex"))
            printed = self._kafka.dump(files, "--deep-iteration", "--print-data-log")
            faults = [line for line in printed.splitlines() if _is_complaint(line)]
            seen = printed.count("Dumping ")
            if seen != len(files):
                faults.append(f"{seen} of {len(files)} files were dumped")
            self.judge(f"DumpLogSegments reads the {len(files)} files of broker {broker}", faults)

    def start(self) -> None:
        """Starts real brokers on the folders; they must not have to repair anything. The last one to stop may lead, so
        it starts first.
        """
        for broker in reversed(BROKERS):
            data = self._data(broker)
            process = self._kafka.start_broker(broker, data, self._zookeeper, BROKER_CONFIGS)
            self._brokers[broker] = process
            process.wait_until_it_serves()
            said = process.log.read_text()
            self.judge(
                f"broker {broker} of Kafka starts without recovery work",
                [line[:200] for line in said.splitlines() if RECOVERY_WORK.search(line)],
            )

    def consumes(self, expected: dict[str, list[Row]]) -> None:
        """Every record is served as it was written."""
        for topic, rows in expected.items():
            self.judge(
                f"Kafka serves all {len(rows)} records of {topic}", differences(rows, self._consume(topic, rows))
            )

    def appends(self, expected: dict[str, list[Row]]) -> None:
        """Records that Kafka appends follow ours."""
        for topic, rows in expected.items():
            keyed = ("--property", "parse.key=true", "--property", "key.separator=:", "--sync")
            lines = "".join(f"after-{n}:record {n}\n" for n in range(APPENDED))
            self._tool(PRODUCER, "--topic", topic, *keyed, stdin=lines)
            found = self._consume(topic, [*rows, *rows[:1] * APPENDED])
            faults = differences(rows, [row for row in found if not row[3].startswith("after-")])
            added = [row for row in found if row[3].startswith("after-")]
            if len(added) != APPENDED:
                faults.append(f"{len(added)} of {APPENDED} appended records are there")
            expected[topic] = found
            self.judge(f"Kafka appends {APPENDED} records to {topic}", faults)

    def stop(self) -> None:
        """Clean stops."""
        while self._brokers:
            self._brokers.popitem()[1].stop()

    def opens_again(self, expected: dict[str, list[Row]]) -> None:
        """Our log layer opens what Kafka's brokers left: nothing is truncated, and the same records are read."""
        disk = RealDisk(self._root)
        for topic, rows in expected.items():
            faults = []
            for broker in BROKERS:
                faults += [f"broker {broker}: {fault}" for fault in differences(rows, self.rows(topic, broker))]
                for partition in PARTITIONS:
                    directory = f"broker-{broker}/{topic}-{partition}"
                    log = UnifiedLog.load(disk, directory, topic, partition, LogConfig(), now_ms=0, clean_shutdown=True)
                    end = max(row[1] for row in rows if row[0] == partition) + 1
                    if log.log_end_offset != end:
                        faults.append(f"{directory} ends at {log.log_end_offset}, {end} was expected")
                    log.close()
            after = [fault for broker in BROKERS for fault in differences(rows, self.rows(topic, broker))]
            self.judge(f"{topic} opens here again, on all brokers", faults + after)

    def rows(self, topic: str, broker: int) -> list[Row]:
        """The records in the segments of a broker's folder."""
        return sorted(
            (partition, record.offset, record.timestamp, _text(record.key), _text(record.value))
            for partition in PARTITIONS
            for file in sorted((self._data(broker) / f"{topic}-{partition}").glob("*.log"))
            for record in _records(file.read_bytes())
        )

    def _consume(self, topic: str, rows: list[Row]) -> list[Row]:
        printed = [word for name in _PRINTED for word in ("--property", f"{name}=true")]
        limit = ("--max-messages", str(len(rows)), "--timeout-ms", "20000")
        out = self._tool(CONSUMER, "--topic", topic, "--from-beginning", *limit, *printed)
        return sorted(_row(line) for line in out.splitlines() if "Offset:" in line)

    def _tool(self, main_class: str, *arguments: str, stdin: str = "") -> str:
        addresses = ",".join(broker.address for broker in self._brokers.values())
        return self._kafka.tool(main_class, "--bootstrap-server", addresses, *arguments, stdin=stdin)

    def _data(self, broker: int) -> Path:
        return self._root / f"broker-{broker}"


def differences(expected: list[Row], found: list[Row]) -> list[str]:
    """The first row that differs, and the number of rows that differ."""
    if expected == found:
        return []
    first = next((f"{a} was expected, {b} was found" for a, b in zip(expected, found, strict=False) if a != b), "")
    return [one for one in (first, f"{len(expected)} records were expected, {len(found)} were found") if one]


def _records(data: bytes) -> Iterator[Record]:
    for position, header in iterate_batches(data):
        if not header.is_control:
            yield from iterate_records(data, header, position)


def _row(line: str) -> Row:
    stamp, partition, offset, key, value = line.split("\t")
    return int(partition.split(":")[1]), int(offset.split(":")[1]), int(stamp.split(":")[1]), key, value


def _text(data: bytes | None) -> str:
    return "null" if data is None else data.decode()


def _is_complaint(line: str) -> bool:
    return "isvalid: false" in line or line.startswith(("Found", "Index offset", "Non-consecutive", "Exception"))


def compare(jars_folder: Path, work: Path) -> int:
    """Runs all of it below `work`; returns the exit code. Raises RealKafkaError and ZookeeperError."""
    kafka = RealKafka(fetch_jars(jars_folder), work / "kafka")
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedZookeeper(work / "zookeeper"))
        store = KazooStore(server.address, CHROOT)
        config = RunConfig(name="handover", seed=7, brokers=BROKERS)
        play(Run(config, disk=RealDisk(work / "cluster"), zk=store), script())
        store.close()
        handover = Handover(work, server.address, kafka)
        expected = {topic: handover.rows(topic, 1) for topic, _, _ in TOPICS}
        handover.dumps()
        stack.callback(handover.stop)
        handover.start()
        handover.consumes(expected)
        handover.appends(expected)
        handover.stop()
        handover.opens_again(expected)
    print(f"{'FAILED' if handover.failures else 'ALL OK'}: {handover.failures} of the above failed")
    return 1 if handover.failures else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--jars", type=Path, default=Path(".oracle"), help="where Kafka's jars are kept (default .oracle)"
    )
    parser.add_argument("--work", type=Path, help="keep the cluster and the brokers' output in this folder")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="highwater-oracle-") as folder:
            sys.exit(compare(arguments.jars.resolve(), (arguments.work or Path(folder)).resolve()))
    except RealKafkaError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
