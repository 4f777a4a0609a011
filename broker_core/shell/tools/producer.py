"""producer: the lab's producers, which stay open between commands."""

import re
from collections.abc import Callable, Sequence

from broker_core.clients.producer import Producer, ProducerSettings
from broker_core.eras import Era
from broker_core.shell.admin import RETRY_BACKOFF_US, Asking
from broker_core.shell.cluster_api import ClusterApi
from broker_core.shell.commands import Command, partition_of, register, usage_error
from broker_core.shell.completion_sources import partitions
from broker_core.shell.parser import ShellError
from broker_core.shell.process import Process, Running, Sleep, Until
from broker_core.shell.producer_config import ACKS
from broker_core.shell.producer_transactions import abort_open_transaction, end_or_begin, init_transactions, why_not

OPEN_OPTIONS = (
    "--acks",
    "--retries",
    "--idempotence",
    "--transactional-id",
    "--transaction-timeout",
    "--timeout",
    "--batch-size",
)
VERBS = ("open", "send", "begin", "commit", "abort", "burst", "stream", "close", "drop")
CLOSE_US = 120_000_000
RATE_MAX = 10_000
BURST_MAX = 100_000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]{0,39}")
_NODE = re.compile(r"b\d+|zk|shell|lab")


def client_name(command: str, word: str) -> str:
    """An argument that names a client. Raises ShellError for one that no client may have."""
    if _NAME.fullmatch(word) is None or _NODE.fullmatch(word):
        raise ShellError(
            f"{word!r} is no name for a client.",
            "a letter, then letters, digits, '.', '_' or '-', at most 40 together; not b1, zk, shell or lab.",
            f"Choose another name, such as {command[0]}1.",
        )
    return word


def _producer(process: Process, arguments: list[str]) -> Running:
    verb = arguments[0] if arguments else ""
    if verb not in VERBS or len(arguments) < 2:
        raise usage_error("producer", f"producer {' '.join(arguments)} is not understood.")
    name, rest = client_name("producer", arguments[1]), arguments[2:]
    if verb == "open":
        return _open(process, name, _settings(rest))
    if verb in ("close", "drop", "begin", "commit", "abort"):
        if rest:
            raise usage_error("producer", f"{' '.join(rest)} is too much.")
        if verb in ("close", "drop"):
            return _close(process, name, wait=verb == "close")
        return end_or_begin(process, name, verb)
    if len(rest) < 2 or (verb != "send" and len(rest) > 2):
        raise usage_error("producer", f"producer {' '.join(arguments)} is not complete.")
    partition = partition_of("producer", rest[0])
    if verb == "send":
        return _send(process, name, partition, rest[1:])
    least, most = (0, RATE_MAX) if verb == "stream" else (1, BURST_MAX)
    if not rest[1].isdigit() or not least <= int(rest[1]) <= most:
        raise usage_error("producer", f"{rest[1]!r} is no number from {least} to {most}.")
    return _make(process, name, partition, verb, int(rest[1]))


def _settings(words: list[str]) -> dict[str, str]:
    """The options of `open`. Raises ShellError."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or any(word not in OPEN_OPTIONS for word in words[::2]):
        raise usage_error("producer", f"{' '.join(words)}: these are no options of producer open here.")
    if given.get("--acks", "all") not in ACKS:
        raise usage_error("producer", f"acks is {given['--acks']!r}, expected all, -1, 0 or 1.")
    if given.get("--idempotence", "false") not in ("true", "false"):
        raise usage_error("producer", f"idempotence is {given['--idempotence']!r}, expected true or false.")
    if _asks_for_idempotence(given) and ACKS[given.get("--acks", "all")] != -1:
        raise usage_error("producer", "an idempotent producer needs --acks all.")
    if _asks_for_idempotence(given) and given.get("--retries") == "0":
        raise usage_error("producer", "an idempotent producer needs retries.")
    if "--transactional-id" in given and given.get("--idempotence") == "false":
        raise usage_error("producer", "a transactional producer is idempotent, too: leave out --idempotence false.")
    for option in ("--retries", "--timeout", "--batch-size", "--transaction-timeout"):
        if not given.get(option, "0").isdigit():
            raise usage_error("producer", f"{option} is {given[option]!r}, expected a number.")
    return given


def _asks_for_idempotence(given: dict[str, str]) -> bool:
    return given.get("--idempotence") == "true" or "--transactional-id" in given


def _is_idempotent(given: dict[str, str], era: Era) -> bool:
    """As in the Java client: unless that was switched off, or acks or retries rule it out (KIP-679)."""
    if "--idempotence" in given or "--transactional-id" in given:
        return _asks_for_idempotence(given)
    return era.transactions and ACKS[given.get("--acks", "all")] == -1 and given.get("--retries") != "0"


def _open(process: Process, name: str, given: dict[str, str]) -> Running:
    clients = process.cluster.clients
    era = process.cluster.era
    if _asks_for_idempotence(given) and not era.transactions:
        process.err(f"Brokers of era {era.name} know no producer ids: these came with 0.11 (KIP-98).")
        return 1
    if not clients.is_free(name):
        process.err(f"There is a node named {name} already; producer close {name} ends it.")
        return 1
    acks = ACKS[given.get("--acks", "all")]
    settings = ProducerSettings(
        acks=acks,
        retries=int(given.get("--retries", ProducerSettings().retries)),
        request_timeout_ms=5_000,
        delivery_timeout_ms=int(given.get("--timeout", 15_000)),
        max_block_ms=15_000,
        batch_size=int(given.get("--batch-size", ProducerSettings().batch_size)),
        enable_idempotence=_is_idempotent(given, era),
        transactional_id=given.get("--transactional-id", ""),
        transaction_timeout_ms=int(given.get("--transaction-timeout", 60_000)),
    )
    shown = [("acks", str(acks)), ("linger.ms", "0"), ("request.timeout.ms", "5000")]
    shown.append(("delivery.timeout.ms", str(settings.delivery_timeout_ms)))
    if settings.enable_idempotence:
        shown.append(("enable.idempotence", "true"))
    if settings.transactional_id:
        shown.append(("transactional.id", settings.transactional_id))
        shown.append(("transaction.timeout.ms", str(settings.transaction_timeout_ms)))
    for option in ("--retries", "--batch-size"):
        if option in given:
            shown.append((option.removeprefix("--").replace("-", "."), given[option]))
    producer = clients.open_producer(name, settings, tuple(shown))
    if settings.transactional_id:
        yield from init_transactions(process, producer)
    return 0


def _missing(process: Process, name: str) -> int:
    process.out(f"no such producer: {name}")
    return 1


def _bytes(text: str) -> bytes | None:
    return None if text == "null" else text.encode()


def _send(process: Process, name: str, partition: str, records: list[str]) -> Running:
    """One record after the other; each waits for its acknowledgement."""
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return _missing(process, name)
    for record in records:
        key, colon, value = record.partition(":")
        if name not in process.cluster.clients.producers:
            return _missing(process, name)
        refused = why_not(producer, partition) or (yield from wait_for_partition(process, name, partition))
        if refused:
            process.out(refused)
            continue
        sequence = producer.send(
            partition, _bytes(key) if colon else None, _bytes(value) if colon else _bytes(record), keep_result=True
        )
        yield Until(result_is_in(producer, sequence), process.now_us + 2 * CLOSE_US, poll_us=1_000)
        result = producer.take_result(sequence)
        if result is None:
            return _missing(process, name)
        if result.exception:
            process.out(f"{result.exception}: {result.message}")
        else:
            process.out(f"{partition}@{result.base_offset}" if result.base_offset >= 0 else f"{partition} sent")
    return 0


def result_is_in(producer: Producer, sequence: int) -> Callable[[ClusterApi], bool]:
    """Whether a batch that was sent with `keep_result` has ended."""
    return lambda cluster: sequence in producer.results


def wait_for_partition(process: Process, name: str, partition: str) -> Asking[str]:
    """Waits until a producer knows a partition; what `KafkaProducer.send` throws if that takes too long, or nothing."""
    producer = process.cluster.clients.producers[name]
    topic, _, number = partition.rpartition("-")
    begun_us = process.now_us
    limit_ms = producer.settings.max_block_ms
    while partition not in producer.metadata.partitions:
        if process.now_us - begun_us >= limit_ms * 1000:
            count = producer.metadata.partition_counts.get(topic)
            if count is None:
                return f"TimeoutException: Topic {topic} not present in metadata after {limit_ms} ms."
            return (
                f"TimeoutException: Partition {number} of topic {topic} with partition count {count} is not present "
                f"in metadata "
                f"after {limit_ms} ms."
            )
        producer.want_topic(topic)
        yield Until(lambda _: not producer.asks_for_metadata, begun_us + limit_ms * 1000, poll_us=1_000)
        if partition not in producer.metadata.partitions:
            yield Sleep(RETRY_BACKOFF_US)
    return ""


def _make(process: Process, name: str, partition: str, verb: str, number: int) -> Running:
    producer = process.cluster.clients.producers.get(name)
    if producer is None:
        return _missing(process, name)
    refused = why_not(producer, partition)
    if refused and number:
        process.out(refused)
    elif verb == "burst":
        producer.burst(partition, number)
    else:
        producer.stream(partition, number)
    yield from ()
    return 0


def _close(process: Process, name: str, *, wait: bool) -> Running:
    clients = process.cluster.clients
    producer = clients.producers.get(name)
    if producer is None:
        return _missing(process, name)
    if producer.running_stream is not None:
        producer.stream(producer.running_stream.partition, 0)
    if wait:
        yield Until(lambda _: producer.is_idle, process.now_us + CLOSE_US)
        yield from abort_open_transaction(process, producer)
    if clients.producers.get(name) is producer:
        clients.close(name)
    return 0


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(VERBS)
    if len(words) == 2:
        return list(cluster.clients.producers) if words[0] != "open" else []
    if words[0] == "open":
        values = {"--acks": ["all", "0", "1"], "--idempotence": ["true", "false"]}
        return values.get(words[-2], list(OPEN_OPTIONS))
    return partitions(cluster) if len(words) == 3 and words[0] in ("send", "burst", "stream") else []


register(
    Command(
        "producer",
        "Producers that stay open.",
        (
            (
                "producer open NAME [--acks all|0|1] [--retries N] [--timeout MS] [--batch-size BYTES]",
                "linger.ms=0, delivery within 15 s",
            ),
            (
                "producer open NAME --idempotence true | --transactional-id ID [--transaction-timeout MS]",
                "with a producer id and sequence numbers; with an id also transactions",
            ),
            ("producer begin NAME", "begins a transaction"),
            ("producer commit NAME", "ends it: its records count"),
            ("producer abort NAME", "ends it: its records count for nobody who reads committed ones"),
            ("producer send NAME T-P K:V ...", "one after the other; null stands for null, no colon for a null key"),
            ("producer burst NAME T-P COUNT", "as many made-up records at once"),
            ("producer stream NAME T-P RATE", "so many made-up records a second; 0 stops"),
            ("producer close NAME", "waits for what is under way"),
            ("producer drop NAME", "does not wait"),
        ),
        _producer,
        complete=_complete,
    )
)
