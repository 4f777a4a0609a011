"""The bytes of messages: those of clients just as they came and went, those between nodes as Kafka would send them."""

import socket

import pytest

from broker_core.events.rpc import RpcSent
from broker_core.wire.annotate import LEFT_OVER, UNREADABLE
from broker_core.wire.framing import encode_request
from broker_core.wire.schemas import BY_NAME
from lab.recordings.folder import branch_folder
from lab.recordings.recording import Recording
from lab.runtime.exchange import exchanged
from lab.testing import Highwater
from lab.texts.refusal import Refusal
from tests.support.tcp_conversation import batch, produce_fields


def test_message_bytes_are_those_received_or_those_kafka_would_send(highwater: Highwater) -> None:
    highwater.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
    leader = highwater.view()["partitions"]["orders-0"]["leader"]
    request = BY_NAME["Produce"]
    sent = encode_request(
        request, 9, request.request.type(**produce_fields("orders", batch(b"a"))), correlation_id=77, client_id="me"
    )
    with socket.create_connection(("127.0.0.1", highwater.ports[leader])) as client:
        client.sendall(sent)
        got = client.recv(4)
        while len(got) < 4 + int.from_bytes(got[:4], "big"):
            got += client.recv(1000)
    endpoints = {broker: ("127.0.0.1", port) for broker, port in highwater.ports.items()}
    highwater.close()
    recording = Recording(branch_folder("test", "main", runs=highwater.folder))
    events = [event for *_, event in recording.events(1, recording.last_seq) if isinstance(event, RpcSent)]
    (requested,) = (each for each in events if each.api == "Produce" and each.kind == "request")
    (answered,) = (each for each in events if each.api == "Produce" and each.kind == "response")
    for event, data in ((requested, sent), (answered, got)):
        found = exchanged(recording, event.rpc, recording.last_seq, endpoints)
        assert (found.api, found.version, found.is_real, bytes.fromhex(found.data)) == ("Produce", 9, True, data)
        assert not {UNREADABLE, LEFT_OVER} & {field.type for field in found.fields}
    for api in ("Fetch", "LeaderAndIsr", "UpdateMetadata"):
        for kind in ("request", "response"):
            event = next(each for each in events if (each.api, each.kind) == (api, kind))
            found = exchanged(recording, event.rpc, recording.last_seq, endpoints)
            assert (found.api, found.is_request, found.is_real) == (api, kind == "request", False)
            assert not {UNREADABLE, LEFT_OVER} & {field.type for field in found.fields}
    with pytest.raises(Refusal, match="is not among the last events"):
        exchanged(recording, "r999999", recording.last_seq, endpoints)
    recording.close()


def test_requests_of_a_client_of_the_lab_carry_its_name(highwater: Highwater) -> None:
    highwater.run("kafka-topics.sh --create --topic orders --partitions 1 --replication-factor 3")
    highwater.run("producer open p1")
    highwater.run("producer send p1 orders-0 a:1")
    highwater.close()
    recording = Recording(branch_folder("test", "main", runs=highwater.folder))
    events = [event for *_, event in recording.events(1, recording.last_seq) if isinstance(event, RpcSent)]
    requested = next(each for each in events if (each.api, each.kind, each.source) == ("Produce", "request", "p1"))
    found = exchanged(recording, requested.rpc, recording.last_seq, {})
    assert [field.value for field in found.fields if field.path.endswith("client_id")] == ["p1"]
    recording.close()
