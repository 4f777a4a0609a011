"""A run of the core and its clients over TCP: frames go in, frames come out."""

from collections.abc import Callable
from typing import Any

from broker_core.records.record_batch import SimpleRecord, build_batch
from broker_core.run import Run, RunConfig
from broker_core.sim.simulated_disk import SimulatedDisk
from broker_core.wire.framing import decode_response, encode_request
from broker_core.wire.schemas import BY_NAME
from broker_core.zk.memory_store import MemoryStore

CONFIG = RunConfig(brokers=(0, 1, 2), latency_us=0, jitter_us=0)
SECOND_US = 1_000_000
CLOSED = "closed"
"""In place of a response: the broker has closed the connection."""


class OneBroker:
    """A broker of an era. Each request is sent on a connection of its own, so that one that waits does not hold back
    the next. `settings`: of the broker, with `_` for `.`.
    """

    def __init__(self, era: str, **settings: str) -> None:
        broker_config = {name.replace("_", "."): value for name, value in settings.items()}
        broker_config["offsets.topic.replication.factor"] = "1"
        config = RunConfig(brokers=(0,), era=era, latency_us=0, jitter_us=0, broker_config=broker_config)
        self.era = era
        self.run = Run(config, disk=SimulatedDisk(), zk=MemoryStore())
        self._sent: dict[int, tuple[str, int]] = {}
        self.pass_time(5)

    def pass_time(self, seconds: float = 1) -> None:
        self.run.advance(self.run.now_us + int(seconds * SECOND_US))

    def post(self, api: str, version: int, client_id: str | None = "kit", **fields: Any) -> int:
        """The number of the connection."""
        connection = self.run.connect(0, "127.0.0.1")
        self.run.frame(connection, frame(api, version, client_id=client_id, **fields))
        self._sent[connection] = api, version
        return connection

    def responses(self) -> dict[int, Any]:
        """What has come since the last call, by connection; CLOSED of one that was closed."""
        found = {}
        for connection, data in self.run.take_outputs():
            api, version = self._sent[connection]
            found[connection] = CLOSED if data is None else decode_response(BY_NAME[api], version, data[4:])[1]
        return found

    def ask(self, api: str, version: int, client_id: str | None = "kit", **fields: Any) -> Any:
        """The response; None if there is none within a second."""
        connection = self.post(api, version, client_id, **fields)
        self.pass_time()
        return self.responses().get(connection)


def started(survives: Callable[[Exception], bool] | None = None) -> Run:
    run = Run(CONFIG, disk=SimulatedDisk(), zk=MemoryStore(), survives=survives)
    run.advance(5 * SECOND_US)
    return run


def frame(api: str, version: int, correlation_id: int = 1, client_id: str | None = "test", **fields: Any) -> bytes:
    """A request without its length."""
    schema = BY_NAME[api]
    return encode_request(
        schema, version, schema.request.type(**fields), correlation_id=correlation_id, client_id=client_id
    )[4:]


def answers(run: Run, *apis: tuple[str, int]) -> list[tuple[int, Any]]:
    """What went out, decoded: (correlation id, response)."""
    frames = [data for _, data in run.take_outputs() if data]
    assert len(frames) == len(apis)
    return [decode_response(BY_NAME[api], version, data[4:]) for (api, version), data in zip(apis, frames, strict=True)]


def ask(run: Run, connection: int, api: str, version: int, within_us: int = SECOND_US, **fields: Any) -> Any:
    run.frame(connection, frame(api, version, **fields))
    run.advance(run.now_us + within_us)
    ((_, response),) = answers(run, (api, version))
    return response


def produce_fields(topic: str, data: bytes, acks: int = -1) -> dict[str, Any]:
    request = BY_NAME["Produce"].request
    partition = request.PartitionProduceData(index=0, records=data)
    return {
        "acks": acks,
        "timeout_ms": 5_000,
        "topic_data": [request.TopicProduceData(name=topic, partition_data=[partition])],
    }


def fetch_fields(topic: str, max_wait_ms: int = 100) -> dict[str, Any]:
    request = BY_NAME["Fetch"].request
    partition = request.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
    return {
        "max_wait_ms": max_wait_ms,
        "min_bytes": 1,
        "topics": [request.FetchTopic(topic=topic, partitions=[partition])],
    }


def batch(*values: bytes) -> bytes:
    return build_batch([SimpleRecord(CONFIG.start_wall_ms, None, value) for value in values], leader_epoch=-1)


def create(run: Run, connection: int, topic: str) -> int:
    """A topic, made as clients do that ask for one that is not there; returns its leader."""
    request = BY_NAME["Metadata"].request
    topics = [request.MetadataRequestTopic(name=topic)]
    ask(run, connection, "Metadata", 9, topics=topics)
    leader: int = ask(run, connection, "Metadata", 9, topics=topics).topics[0].partitions[0].leader_id
    return leader
