"""Produce (API key 0): what is refused before a replica sees it (`KafkaApis.handleProduceRequest`).

Framing that cannot be read, and transactions, concern the request as a whole; the number and kind of batches that a
version of the API allows concern each partition.
"""

from typing import TYPE_CHECKING

from broker_core.broker.record_deletion import INTERNAL_TOPICS
from broker_core.broker.transaction_verifier import Batch, Verification
from broker_core.errors import KafkaError, KafkaException
from broker_core.log.append_check import batch_size_at
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import (
    COMPRESSION_MASK,
    MAGIC_POSITION,
    MAGIC_V2,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    parse_header,
)
from broker_core.sim.kernel import Message
from broker_core.wire.messages import ProducePartitionResponse, ProduceRequest

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

_ONE_BATCH_VERSION = 3
"""From here on a producer sends one batch of magic 2 a partition."""
_ZSTD_VERSION = 7
_ATTRIBUTES_LOW_BYTE = 22


def handle(broker: "Broker", message: Message) -> None:
    """Appends what a producer sends; the answer depends on acks. A request without records is not answered."""
    body: ProduceRequest = message.body
    sent = [data for _, data in body.partitions if data is not None]
    if len(sent) < len(body.partitions):
        broker.kernel.close_connection(message)
        return
    try:
        is_transactional = any(map(_begins_transactional, sent))
    except KafkaException as unreadable:
        _refuse_all(broker, message, unreadable)
        return
    if is_transactional and body.transactional_id is None:
        _refuse_all(broker, message, KafkaException(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    refused: dict[str, ProducePartitionResponse] = {}
    for name, data in body.partitions:
        answer = _check(broker, name, data or b"", body)
        if answer is not None:
            refused[name] = answer
    if is_transactional and body.transactional_id is not None:
        _produce_verified(broker, message, body.transactional_id, refused)
    else:
        broker.replicas.produces.take(message, body, refused)


def _produce_verified(
    broker: "Broker", message: Message, transactional_id: str, refused: dict[str, ProducePartitionResponse]
) -> None:
    """Appends once the coordinator has said that the partitions are in the transaction (KIP-890)."""
    verifier = broker.transactions.verifier
    guards = {}
    batch = None
    for name, data in message.body.partitions:
        if name not in refused and data and _begins_transactional(data):
            header = parse_header(data)
            if header.producer_id == NO_PRODUCER_ID:
                continue  # nobody's transaction: there is nothing to ask
            batch = Batch.of(header)
            guard = verifier.guard(name, batch)
            if guard is not None:
                guards[name] = guard
    if batch is None or not guards:
        broker.replicas.produces.take(message, message.body, refused)
    else:
        verifier.verify(Verification(message, guards, refused), transactional_id, batch)


def _refuse_all(broker: "Broker", message: Message, error: KafkaException) -> None:
    text = error.message if error.message != error.error.sentence else None
    refused = {name: ProducePartitionResponse(name, error.error, message=text) for name, _ in message.body.partitions}
    broker.replicas.produces.take(message, message.body, refused)


def _check(broker: "Broker", name: str, data: bytes, body: ProduceRequest) -> ProducePartitionResponse | None:
    """Why a partition's batches are refused; None where a replica is to have them."""
    if name not in broker.metadata.partitions:
        return ProducePartitionResponse(name, KafkaError.UNKNOWN_TOPIC_OR_PARTITION)
    if body.version >= _ONE_BATCH_VERSION:
        try:
            _check_single_batch(data, body.version)
        except KafkaException as refusal:
            return ProducePartitionResponse(name, refusal.error)
    if body.acks not in (-1, 0, 1):
        return ProducePartitionResponse(name, KafkaError.INVALID_REQUIRED_ACKS)
    if name.rpartition("-")[0] in INTERNAL_TOPICS:
        return ProducePartitionResponse(name, KafkaError.INVALID_TOPIC_EXCEPTION)
    return None


def _begins_transactional(data: bytes) -> bool:
    """Whether the first batch belongs to a transaction. Raises KafkaException where no batch can be told."""
    size = batch_size_at(data, 0)
    return (
        size is not None and data[MAGIC_POSITION] == MAGIC_V2 and bool(data[_ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG)
    )


def _check_single_batch(data: bytes, version: int) -> None:
    """The rules of `ProduceRequest.validateRecords`."""
    size = batch_size_at(data, 0)
    if size is None:
        raise KafkaException(KafkaError.INVALID_RECORD, "the request holds no whole batch for the partition")
    if data[MAGIC_POSITION] != MAGIC_V2:
        raise KafkaException(KafkaError.INVALID_RECORD, f"the batch has magic {data[MAGIC_POSITION]}, expected 2")
    if version < _ZSTD_VERSION and data[_ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK == CompressionType.ZSTD:
        raise KafkaException(KafkaError.UNSUPPORTED_COMPRESSION_TYPE)
    if batch_size_at(data, size) is not None:
        raise KafkaException(KafkaError.INVALID_RECORD, "the request holds more than one batch for the partition")
