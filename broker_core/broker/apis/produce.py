"""Produce (API key 0): what is refused before a replica sees it (`KafkaApis.handleProduceRequest`).

Framing that cannot be read, and transactions, concern the request as a whole; the number and kind of batches that a
version of the API allows concern each partition.
"""

from typing import TYPE_CHECKING

from broker_core.broker.coordinators.transaction_verifier import Batch, Verification
from broker_core.broker.replicas.record_deletion import INTERNAL_TOPICS
from broker_core.broker.translation.common import CLIENT_PREFIX
from broker_core.errors import Errors, KafkaException
from broker_core.log.append.append_check import batch_size_at
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import (
    COMPRESSION_MASK,
    MAGIC_POSITION,
    MAGIC_V2,
    TRANSACTIONAL_FLAG,
    parse_header,
)
from broker_core.sim.kernel import Message
from broker_core.wire.messages import ProducePartitionResponse, ProduceRequest

if TYPE_CHECKING:
    from broker_core.broker.process.broker import Broker

_ONE_BATCH_VERSION = 3
"""From here on a producer sends one batch of magic 2 a partition."""
_ZSTD_VERSION = 7
_ATTRIBUTES_LOW_BYTE = 22


def handle(broker: "Broker", message: Message) -> None:
    """Appends what a producer sends; the answer depends on acks."""
    body: ProduceRequest = message.body
    if has_fatal_null(broker, body):
        if not message.source.startswith(CLIENT_PREFIX):
            # a client's connection waits for ever; who asks in memory need not
            broker.kernel.close_connection(message)
        return
    refusal = _refusal(broker, body)
    if refusal is not None:
        _refuse_all(broker, message, refusal)
        return
    refused: dict[str, ProducePartitionResponse] = {}
    appended = []
    for name, data in body.partitions:
        answer = _check(broker, name, data or b"", body)
        if answer is None:
            appended.append(name)
            answer = _check_append(name, body)
        if answer is not None:
            refused[name] = answer
    if body.transactional_id is not None and _is_transactional(body):
        _produce_verified(broker, message, body.transactional_id, appended, refused)
    else:
        broker.replicas.produces.take(message, body, refused)


def has_fatal_null(broker: "Broker", body: ProduceRequest) -> bool:
    """Whether the request has null for records where Kafka fails on it, and fails to say so: in a partition that is
    there, and in any partition of a request that is refused as a whole.
    """
    without = [name for name, data in body.partitions if data is None]
    if not without:
        return False
    return any(name in broker.metadata.partitions for name in without) or _refusal(broker, body) is not None


def _refusal(broker: "Broker", body: ProduceRequest) -> KafkaException | None:
    """Why the request as a whole is refused."""
    try:
        is_transactional = _is_transactional(body)
    except KafkaException as unreadable:
        return unreadable
    if is_transactional and body.transactional_id is None:
        return KafkaException(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if _ONE_BATCH_VERSION <= body.version < _ZSTD_VERSION:
        known = (data for name, data in body.partitions if data and name in broker.metadata.partitions)
        if any(map(_has_unknown_codec, known)):
            # these versions look for zstd, and do not expect that a codec has no name
            return KafkaException(Errors.UNKNOWN_SERVER_ERROR)
    return None


def _is_transactional(body: ProduceRequest) -> bool:
    """Raises KafkaException where no batch can be told."""
    return any(_begins_transactional(data) for _, data in body.partitions if data is not None)


def _has_unknown_codec(data: bytes) -> bool:
    if batch_size_at(data, 0) is None or data[MAGIC_POSITION] != MAGIC_V2:
        return False
    return data[_ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK > max(CompressionType)


def _produce_verified(
    broker: "Broker",
    message: Message,
    transactional_id: str,
    appended: list[str],
    refused: dict[str, ProducePartitionResponse],
) -> None:
    """Appends once the coordinator has said that the partitions are in the transaction (KIP-890). `appended`: those
    that it is asked about, though nothing may be appended to some of them.
    """
    verifier = broker.transactions.verifier
    guards = {}
    batch = None
    for name, data in message.body.partitions:
        if name in appended and data and _begins_transactional(data):
            header = parse_header(data)
            if not header.has_producer_id:
                continue  # nobody's transaction: there is nothing to ask
            partition = broker.replicas.partitions.get(name)
            if verifier.is_on and (partition is None or not partition.is_leader):
                refused[name] = ProducePartitionResponse(name, broker.replicas.not_leader(name))
                continue
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
        return ProducePartitionResponse(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    if body.version >= _ONE_BATCH_VERSION:
        try:
            _check_single_batch(data, body.version)
        except KafkaException as refusal:
            return ProducePartitionResponse(name, refusal.error)
    return None


def _check_append(name: str, body: ProduceRequest) -> ProducePartitionResponse | None:
    """Why nothing may be appended to a partition, whatever it is."""
    if body.acks not in (-1, 0, 1):
        return ProducePartitionResponse(name, Errors.INVALID_REQUIRED_ACKS)
    if name.rpartition("-")[0] in INTERNAL_TOPICS:
        return ProducePartitionResponse(name, Errors.INVALID_TOPIC_EXCEPTION)
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
        raise KafkaException(Errors.INVALID_RECORD, "the request holds no whole batch for the partition")
    if data[MAGIC_POSITION] != MAGIC_V2:
        raise KafkaException(Errors.INVALID_RECORD, f"the batch has magic {data[MAGIC_POSITION]}, expected 2")
    if version < _ZSTD_VERSION and data[_ATTRIBUTES_LOW_BYTE] & COMPRESSION_MASK == CompressionType.ZSTD:
        raise KafkaException(Errors.UNSUPPORTED_COMPRESSION_TYPE)
    if batch_size_at(data, size) is not None:
        raise KafkaException(Errors.INVALID_RECORD, "the request holds more than one batch for the partition")
