"""Produce (API key 0): what is rejected before a replica is involved (`KafkaApis.handleProduceRequest`).

Unreadable framing and transactions concern the request as a whole; the number and kind of batches that a version of the
API allows concern each partition.
"""

from collections.abc import Container, Mapping

from broker_core.broker.apis.services import ProduceServices
from broker_core.broker.common.produce_rules import (
    ONE_BATCH_VERSION,
    begins_transactional,
    check_single_batch,
    is_transactional,
    refusal_of,
)
from broker_core.broker.coordinators.transaction_verifier import PendingVerification, ProducerSequence
from broker_core.errors import Errors, KafkaException
from broker_core.partitions import parse_requested
from broker_core.records.record_batch import parse_header
from broker_core.sim.kernel import Message
from broker_core.topics import INTERNAL_TOPICS
from broker_core.wire.messages import ProducePartitionResponse, ProduceRequest

_SEVERAL_PRODUCERS = "Transactional records contained more than one producer ID"


def handle(services: ProduceServices, message: Message) -> None:
    """Appends the batches of a producer; the response depends on acks."""
    body: ProduceRequest = message.body
    if body.is_unanswered:
        return
    era = services.era.requests
    refusal = refusal_of(
        services.metadata,
        body,
        checks_ids=era.checks_transactional_ids,
        looks_for_zstd=era.looks_for_zstd,
        reads_old_versions=era.reads_batches != "one",
    )
    if refusal is not None:
        _refuse_all(services, message, refusal)
        return
    refused: dict[str, ProducePartitionResponse] = {}
    appended = []
    for name, data in body.partitions:
        answer = _check(services, name, data, body)
        if answer is None:
            appended.append(name)
            answer = _check_append(services, name, body)
        if answer is not None:
            refused[name] = answer
    if body.transactional_id is None or not is_transactional(body):
        services.replicas.produces.take(message, body, refused)
        return
    batches = _transactional_batches(body, appended)
    producers = {batch[:2] for batch in batches.values()}
    if len(producers) > 1 and services.era.transactions.are_verified:
        _refuse_all(services, message, KafkaException(Errors.INVALID_PRODUCER_ID_MAPPING, _SEVERAL_PRODUCERS))
    else:
        _produce_verified(services, message, body.transactional_id, batches, refused)


def _produce_verified(
    services: ProduceServices,
    message: Message,
    transactional_id: str,
    batches: Mapping[str, ProducerSequence],
    refused: dict[str, ProducePartitionResponse],
) -> None:
    """Appends once the coordinator has confirmed that the partitions are in the transaction (KIP-890). `batches`: one
    for each partition to verify, though nothing may be appended to some of them.
    """
    verifier = services.transactions.verifier
    guards = {}
    verified = None
    for name, batch in batches.items():
        partition = services.replicas.partitions.get(name)
        if verifier.is_on and (partition is None or not partition.is_leader):
            refused[name] = ProducePartitionResponse(name, services.replicas.not_leader(name))
            continue
        verified = batch
        guard = verifier.guard(name, batch)
        if guard is not None:
            guards[name] = guard
    if verified is None or not guards:
        services.replicas.produces.take(message, message.body, refused)
        return
    if message.body.acks == 0:
        services.kernel.keep_open(message)
    verifier.verify(PendingVerification(message, guards, refused), transactional_id, verified)


def _transactional_batches(body: ProduceRequest, names: Container[str]) -> dict[str, ProducerSequence]:
    """The transactional batch of each of these partitions; one without a producer id belongs to no transaction."""
    begun = {name: data for name, data in body.partitions if name in names and data and begins_transactional(data)}
    headers = {name: parse_header(data) for name, data in begun.items()}
    return {name: ProducerSequence.of(header) for name, header in headers.items() if header.has_producer_id}


def _refuse_all(services: ProduceServices, message: Message, error: KafkaException) -> None:
    text = error.message if error.what else None
    refused = {name: ProducePartitionResponse(name, error.error, message=text) for name, _ in message.body.partitions}
    services.replicas.produces.take(message, message.body, refused)


def _check(
    services: ProduceServices, name: str, data: bytes | None, body: ProduceRequest
) -> ProducePartitionResponse | None:
    """Why a partition's batches are rejected; None if they are passed to a replica."""
    if not services.metadata.is_known(name):
        return ProducePartitionResponse(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    # Null, where the translation of the request did not know the partition yet, is not a valid batch in any version.
    if data is None or body.version >= ONE_BATCH_VERSION:
        try:
            check_single_batch(data or b"", body.version, knows_zstd=services.era.log.knows_zstd)
        except KafkaException as refusal:
            return ProducePartitionResponse(name, refusal.error, is_malformed=True)
    return None


def _check_append(services: ProduceServices, name: str, body: ProduceRequest) -> ProducePartitionResponse | None:
    """Why nothing may be appended to a partition, whatever the batch."""
    if body.acks not in (-1, 0, 1) and services.era.requests.checks_acks:
        return ProducePartitionResponse(name, Errors.INVALID_REQUIRED_ACKS)
    if parse_requested(name).topic in INTERNAL_TOPICS and not (
        body.is_from_admin_client and services.era.admin_client_writes_internal_topics
    ):
        return ProducePartitionResponse(name, Errors.INVALID_TOPIC_EXCEPTION)
    if name not in services.metadata.partitions:
        return ProducePartitionResponse(name, Errors.UNKNOWN_TOPIC_OR_PARTITION)
    return None
