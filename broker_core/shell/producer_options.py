"""What `producer open` may be told, and what a producer of the cluster's era does where nothing is said."""

import msgspec

from broker_core.clients.partitioners import PARTITIONERS
from broker_core.clients.producer_settings import ProducerSettings
from broker_core.config_defs import ConfigException
from broker_core.eras import Era
from broker_core.records.compression import CompressionType
from broker_core.shell.commands import usage_error
from broker_core.shell.producer_config import (
    ACKS,
    IN_FLIGHT_OF_IDEMPOTENT_MAX,
    era_settings,
    with_era_defaults,
)
from broker_core.shell.producer_config import settings_of as settings_of_configs

TRUTH = ("true", "false")
NUMBERS = {
    "--retries": "retries",
    "--timeout": "delivery.timeout.ms",
    "--linger": "linger.ms",
    "--batch-size": "batch.size",
    "--buffer-memory": "buffer.memory",
    "--max-block": "max.block.ms",
    "--max-in-flight": "max.in.flight.requests.per.connection",
    "--transaction-timeout": "transaction.timeout.ms",
}
"""Options with a number, and the settings that they mean."""
TEXTS = {
    "--acks": "acks",
    "--idempotence": "enable.idempotence",
    "--compression": "compression.type",
    "--transactional-id": "transactional.id",
}
"""Options that take a setting's text as it is."""
CHOICES = {
    "--acks": tuple(ACKS),
    "--idempotence": TRUTH,
    "--partitioner": tuple(PARTITIONERS),
    "--ignore-keys": TRUTH,
    "--compression": tuple(codec.name.lower() for codec in CompressionType),
}
OPEN_OPTIONS = (*CHOICES, *NUMBERS, "--transactional-id")


def parse_options(words: list[str]) -> dict[str, str]:
    """The options of `open` as they were typed. Raises ShellError."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or any(word not in OPEN_OPTIONS for word in words[::2]):
        raise usage_error("producer", f"{' '.join(words)}: these are no options of producer open here.")
    if given.get("--acks", "all") not in ACKS:
        raise usage_error("producer", f"acks is {given['--acks']!r}, expected all, -1, 0 or 1.")
    if given.get("--idempotence", "false") not in TRUTH:
        raise usage_error("producer", f"idempotence is {given['--idempotence']!r}, expected true or false.")
    if wants_ids(given):
        _check_idempotence(given)
    if given.get("--partitioner", "built-in") not in PARTITIONERS:
        names = ", ".join(PARTITIONERS)
        raise usage_error("producer", f"partitioner is {given['--partitioner']!r}, expected one of {names}.")
    if given.get("--ignore-keys", "false") not in TRUTH:
        raise usage_error("producer", f"ignore-keys is {given['--ignore-keys']!r}, expected true or false.")
    codecs = CHOICES["--compression"]
    if given.get("--compression", "none") not in codecs:
        raise usage_error(
            "producer", f"compression is {given['--compression']!r}, expected one of {', '.join(codecs)}."
        )
    for option in NUMBERS:
        if not given.get(option, "0").isdigit():
            raise usage_error("producer", f"{option} is {given[option]!r}, expected a number.")
    if int(given.get("--max-in-flight", "1")) < 1:
        raise usage_error("producer", "at least one request must be in flight, or nothing is ever sent.")
    return given


def wants_ids(given: dict[str, str]) -> bool:
    """Whether it was said that the producer numbers its batches."""
    return given.get("--idempotence") == "true" or "--transactional-id" in given


def _check_idempotence(given: dict[str, str]) -> None:
    if ACKS[given.get("--acks", "all")] != -1:
        raise usage_error("producer", "an idempotent producer needs --acks all.")
    if given.get("--retries") == "0":
        raise usage_error("producer", "an idempotent producer needs retries.")
    if "--transactional-id" in given and given.get("--idempotence") == "false":
        raise usage_error("producer", "a transactional producer is idempotent, too: leave out --idempotence false.")
    in_flight = given.get("--max-in-flight", "1")
    if in_flight.isdigit() and int(in_flight) > IN_FLIGHT_OF_IDEMPOTENT_MAX:
        raise usage_error("producer", "an idempotent producer may have 5 requests in flight at most.")


def settings_of(given: dict[str, str], era: Era) -> ProducerSettings:
    """The settings of a producer that was told this; the rest is as in the cluster's era. Raises ShellError."""
    configs = {"request.timeout.ms": "5000", "delivery.timeout.ms": "15000", "max.block.ms": "15000"}
    configs |= {name: given[option] for option, name in NUMBERS.items() if option in given}
    configs |= {name: given[option] for option, name in TEXTS.items() if option in given}
    try:
        settings = era_settings(settings_of_configs(with_era_defaults(configs, era)), era)
    except ConfigException as error:
        raise usage_error("producer", str(error)) from None
    return msgspec.structs.replace(
        settings,
        partitioner=given.get("--partitioner", era.producer.partitioner),
        partitioner_ignore_keys=given.get("--ignore-keys") == "true",
    )


def shown_settings(settings: ProducerSettings) -> tuple[tuple[str, str], ...]:
    """What the page names of a producer's settings: those that matter here, by Kafka's names."""
    shown = [
        ("acks", str(settings.acks)),
        ("linger.ms", str(settings.linger_ms)),
        ("batch.size", str(settings.batch_size)),
        ("buffer.memory", str(settings.buffer_memory)),
        ("max.in.flight.requests.per.connection", str(settings.max_in_flight_requests_per_connection)),
        ("retries", str(settings.retries)),
        ("request.timeout.ms", str(settings.request_timeout_ms)),
        ("delivery.timeout.ms", str(settings.delivery_timeout_ms)),
        ("enable.idempotence", str(settings.enable_idempotence).lower()),
        ("compression.type", settings.compression.name.lower()),
        ("partitioner", settings.partitioner),
    ]
    if settings.partitioner_ignore_keys:
        shown.append(("partitioner.ignore.keys", "true"))
    if settings.transactional_id:
        shown.append(("transactional.id", settings.transactional_id))
        shown.append(("transaction.timeout.ms", str(settings.transaction_timeout_ms)))
    return tuple(shown)
