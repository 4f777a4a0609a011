"""Assignment of the replicas of new partitions to brokers (`org.apache.kafka.admin.AdminUtils`).

The first replicas are assigned round-robin, the others at a distance that grows with each round, so that the load of a
failed broker is spread over all others.
"""

from collections.abc import Mapping

from broker_core.errors import Errors, KafkaException
from broker_core.sim.rng import RandomStream


def assign_replicas(
    racks: Mapping[int, str | None],
    partitions: int,
    replication_factor: int,
    *,
    stream: RandomStream | None = None,
    fixed_start: int | None = None,
    first_partition: int = 0,
    says_more: bool = True,
) -> dict[int, tuple[int, ...]]:
    """Assigns brokers to `partitions` new partitions, numbered from `first_partition`.

    Args:
        racks: broker id -> rack. If no broker has a rack, racks are ignored.
        stream: draws the broker of partition 0 and the first distance.
        fixed_start: replaces both draws.
        says_more: whether invalid counts are refused with whole sentences, as since 0.11.

    Raises KafkaException: INVALID_PARTITIONS, INVALID_REPLICATION_FACTOR, UNKNOWN_SERVER_ERROR if only some brokers
    have a rack.
    """
    refusal: tuple[Errors, str] | None = None
    if partitions <= 0:
        refusal = Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0."
    elif replication_factor <= 0:
        refusal = Errors.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0."
    elif replication_factor > len(racks):
        why = f"Replication factor: {replication_factor} larger than available brokers: {len(racks)}."
        refusal = Errors.INVALID_REPLICATION_FACTOR, why
    if refusal is not None:
        error, why = refusal
        raise KafkaException(error, why if says_more else f"{why[0].lower()}{why[1:-1]}")
    rack_of = {broker: rack for broker, rack in sorted(racks.items()) if rack is not None}
    if rack_of and len(rack_of) < len(racks):
        raise KafkaException(
            Errors.UNKNOWN_SERVER_ERROR, "Not all brokers have rack information for replica rack aware assignment."
        )
    rack_aware = bool(rack_of)
    brokers = rack_alternated(rack_of) if rack_aware else sorted(racks)
    if fixed_start is not None:
        start = shift = fixed_start
    elif stream is not None:
        start, shift = stream.below(len(brokers)), stream.below(len(brokers))
    else:
        raise ValueError("assign_replicas needs a stream or a fixed start")
    assignment = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(brokers) == 0:
            shift += 1
        first = (partition + start) % len(brokers)
        if rack_aware:
            assignment[partition] = _spread_over_racks(brokers, rack_of, first, shift, replication_factor)
        else:
            followers = (_follower(brokers, first, shift, j) for j in range(replication_factor - 1))
            assignment[partition] = (brokers[first], *followers)
    return assignment


def rack_alternated(rack_of: Mapping[int, str]) -> list[int]:
    """One broker of each rack in turn: racks sorted by name, brokers of a rack by id."""
    racks: dict[str, list[int]] = {}
    for broker, rack in sorted(rack_of.items()):
        racks.setdefault(rack, []).append(broker)
    rows = max(len(brokers) for brokers in racks.values())
    return [racks[rack][row] for row in range(rows) for rack in sorted(racks) if row < len(racks[rack])]


def _follower(brokers: list[int], first: int, shift: int, number: int) -> int:
    return brokers[(first + 1 + (shift + number) % (len(brokers) - 1)) % len(brokers)]


def _spread_over_racks(
    brokers: list[int], rack_of: Mapping[int, str], first: int, shift: int, replication_factor: int
) -> tuple[int, ...]:
    rack_count = len(set(rack_of.values()))
    replicas = [brokers[first]]
    racks = {rack_of[brokers[first]]}
    attempt = 0
    while len(replicas) < replication_factor:
        broker = _follower(brokers, first, shift * rack_count, attempt)
        attempt += 1
        new_rack = rack_of[broker] not in racks or len(racks) == rack_count
        if new_rack and broker not in replicas:
            replicas.append(broker)
            racks.add(rack_of[broker])
    return tuple(replicas)
