"""What brokers of older eras offer to clients by TCP, against what real ones answered."""

import json
from typing import Any

import pytest

from broker_core.eras import ERAS
from broker_core.errors import Errors
from broker_core.records.compression import CompressionType
from broker_core.records.legacy import build_message_set
from broker_core.records.record_batch import build_batch
from broker_core.run import Run, RunConfig
from broker_core.sim.simulated_disk import SimulatedDisk
from broker_core.wire.framing import decode_response, encode_request
from broker_core.wire.schemas import BY_NAME, SCHEMAS, offered
from broker_core.zk.memory_store import MemoryStore
from tests.support.paths import DATA

SURVEYS = DATA / "eras"
SECOND_US = 1_000_000
NAMED = {"client_software_name": "kit", "client_software_version": "1.0"}


def outputs(era: str, api: str, version: int, **fields: Any) -> list[bytes | None]:
    """The response of a broker of the era to one request; None: it closes the connection."""
    return ask(run_of(era), api, version, **fields)


def run_of(era: str, brokers: tuple[int, ...] = (0,)) -> Run:
    run = Run(RunConfig(brokers=brokers, era=era, latency_us=0, jitter_us=0), disk=SimulatedDisk(), zk=MemoryStore())
    run.advance(2 * SECOND_US)
    return run


def ask(run: Run, api: str, version: int, client_id: str = "kit", **fields: Any) -> list[bytes | None]:
    connection = run.connect(0, "127.0.0.1")
    schema = BY_NAME[api]
    run.frame(connection, encode_request(schema, version, schema.request.type(**fields), client_id=client_id)[4:])
    run.advance(run.now_us + SECOND_US)
    return [data for _, data in run.take_outputs()]


def produced(run: Run, topic: str, version: int, data: bytes, client_id: str = "kit", *, acks: int = 1) -> str:
    """The error of a Produce to partition 0."""
    request = BY_NAME["Produce"].request
    partition = request.PartitionProduceData(index=0, records=data)
    sent = request.TopicProduceData(name=topic, partition_data=[partition])
    (answer,) = ask(run, "Produce", version, client_id, acks=acks, timeout_ms=900, topic_data=[sent])
    assert answer is not None
    _, body = decode_response(BY_NAME["Produce"], version, answer[4:])
    return Errors.of(body.responses[0].partition_responses[0].error_code).name


def api_versions(era: str, version: int, answered_in: int) -> tuple[int, list[tuple[int, int, int]]]:
    """The error and the ranges."""
    (data,) = outputs(era, "ApiVersions", version, **NAMED)
    assert data is not None
    _, answer = decode_response(BY_NAME["ApiVersions"], answered_in, data[4:])
    return answer.error_code, [(each.api_key, each.min_version, each.max_version) for each in answer.api_keys]


@pytest.mark.parametrize("era", ["0.10", "1.1", "2.4", "3.9"])
def test_api_versions_are_those_of_real_brokers(era: str) -> None:
    survey = json.loads((SURVEYS / ERAS[era].release / "survey.json").read_text())
    error, ranges = survey["api_versions(error,[key,min,max])"]
    assert api_versions(era, 0, answered_in=0) == (error, [tuple(versions) for versions in ranges])


@pytest.mark.parametrize("era", list(ERAS))
def test_every_offered_version_has_a_schema(era: str) -> None:
    for key, (least, greatest) in offered(ERAS[era]).items():
        assert SCHEMAS[key].offers(least) and SCHEMAS[key].offers(greatest)


def test_client_with_a_newer_api_versions_gets_the_supported_range() -> None:
    """Since 2.4 with the versions that it may use (KIP-511); the answer has version 0."""
    assert api_versions("0.10", 3, answered_in=0) == (35, [])
    assert api_versions("1.1", 2, answered_in=0) == (35, [])
    assert api_versions("2.4", 4, answered_in=0) == (35, [(18, 0, 3)])
    assert api_versions("2.4", 3, answered_in=3)[0] == 0


@pytest.mark.parametrize(
    ("era", "said"), [("1.1", "UNKNOWN_PRODUCER_ID"), ("2.4", "UNKNOWN_PRODUCER_ID"), ("3.9", "NONE")]
)
def test_unknown_producer_starts_at_sequence_0_before_kip_360(era: str, said: str) -> None:
    run = run_of(era)
    run.submit("kafka-topics.sh --create --topic t --partitions 1 --replication-factor 1")
    run.advance(run.now_us + SECOND_US)
    for epoch, sequence, error in ((-2, 0, "INVALID_PRODUCER_EPOCH"), (0, 3, said), (1, 0, "NONE")):
        sent = build_batch([(0, b"k", b"v", ())], producer_id=9, producer_epoch=epoch, base_sequence=sequence)
        assert produced(run, "t", 5, sent) == error


@pytest.mark.parametrize(("era", "said"), [("0.8", "INVALID_TOPIC_EXCEPTION"), ("0.10", "NONE"), ("3.9", "NONE")])
def test_admin_client_writes_to_internal_topics_since_0_9(era: str, said: str) -> None:
    run = run_of(era)
    run.submit("kafka-topics.sh --create --topic __consumer_offsets --partitions 1 --replication-factor 1")
    run.advance(run.now_us + SECOND_US)
    sent = build_message_set([(0, -1, b"k", b"v")], 0, CompressionType.NONE)
    assert produced(run, "__consumer_offsets", 0, sent, "kit") == "INVALID_TOPIC_EXCEPTION"
    assert produced(run, "__consumer_offsets", 0, sent, "__admin_client") == said


@pytest.mark.parametrize(
    ("acks", "said"), [(1, "NONE"), (2, "NONE"), (3, "REQUEST_TIMED_OUT"), (-1, "REQUEST_TIMED_OUT")]
)
def test_produce_in_era_0_8_waits_for_as_many_replicas_as_acks_says(acks: int, said: str) -> None:
    run = run_of("0.8", (0, 1, 2))
    run.submit("kafka-topics.sh --create --topic orders --replica-assignment 0:1:2")
    run.advance(run.now_us + 5 * SECOND_US)
    run.submit("broker freeze 2")
    sent = build_message_set([(0, -1, b"k", b"v")], 0, CompressionType.NONE)
    assert produced(run, "orders", 0, sent, acks=acks) == said


@pytest.mark.parametrize(("era", "said"), [("2.4", "UNKNOWN_SERVER_ERROR"), ("3.9", "INVALID_REQUEST")])
def test_key_type_of_share_groups_is_unknown_before_they_exist(era: str, said: str) -> None:
    (answer,) = outputs(era, "FindCoordinator", 3, key="group", key_type=2)
    assert answer is not None
    _, body = decode_response(BY_NAME["FindCoordinator"], 3, answer[4:])
    assert Errors.of(body.error_code).name == said


def test_broker_closes_the_connection_on_apis_unknown_to_its_era() -> None:
    assert outputs("0.8", "ApiVersions", 0) == [None]
    assert outputs("0.10", "Metadata", 3, topics=None) == [None]
    assert outputs("0.10", "Metadata", 2, topics=None) != [None]
    assert outputs("1.1", "DeleteGroups", 1) == [None]
