"""The options of `producer open`, and the defaults of a producer in the cluster's era."""

import msgspec

from broker_core.clients.producer.partitioners import PARTITIONERS
from broker_core.clients.producer.producer_settings import ProducerSettings
from broker_core.eras import Era
from broker_core.records.compression import CompressionType
from broker_core.shell.grammar.registry import UsageError
from broker_core.shell.java.producer_config import ACKS, era_settings, fitted, with_era_defaults
from broker_core.shell.java.producer_config import settings_of as settings_of_configs
from broker_core.texts import text

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
    "--max-request-size": "max.request.size",
    "--metadata-max-age-ms": "metadata.max.age.ms",
}
"""Numeric options, and their settings."""
TEXTS = {
    "--acks": "acks",
    "--idempotence": "enable.idempotence",
    "--compression": "compression.type",
    "--transactional-id": "transactional.id",
}
"""Options whose text is the value of a setting."""
CHOICES = {
    "--acks": tuple(ACKS),
    "--idempotence": TRUTH,
    "--partitioner": tuple(PARTITIONERS),
    "--ignore-keys": TRUTH,
    "--compression": tuple(codec.name.lower() for codec in CompressionType),
}
OPEN_OPTIONS = (*CHOICES, *NUMBERS, "--transactional-id")


def parse_options(words: list[str]) -> dict[str, str]:
    """Parses the options of `open`. Raises ShellError."""
    given = dict(zip(words[::2], words[1::2], strict=False))
    if len(words) % 2 or any(word not in OPEN_OPTIONS for word in words[::2]):
        raise UsageError(text("shell.invalid_options", words=" ".join(words)))
    for option in ("--partitioner", "--ignore-keys"):
        if option in given and given[option] not in CHOICES[option]:
            choices = ", ".join(CHOICES[option])
            what = text("shell.option_choice", option=option, value=given[option], choices=choices)
            raise UsageError(what)
    return given


def wants_ids(given: dict[str, str]) -> bool:
    """Whether idempotence was requested."""
    return given.get("--idempotence") == "true" or "--transactional-id" in given


def settings_of(given: dict[str, str], era: Era) -> ProducerSettings:
    """The settings of a producer with these options; others are defaults of the cluster's era. Raises ConfigException,
    and JavaException for conflicting values.
    """
    configs = {"request.timeout.ms": "5000", "delivery.timeout.ms": "15000", "max.block.ms": "15000"}
    configs |= {name: given[option] for option, name in NUMBERS.items() if option in given}
    configs |= {name: given[option] for option, name in TEXTS.items() if option in given}
    settings = era_settings(settings_of_configs(with_era_defaults(configs, era)), era)
    return msgspec.structs.replace(
        fitted(settings, era, is_given="--timeout" in given),
        partitioner=given.get("--partitioner", era.producer.partitioner),
        partitioner_ignore_keys=given.get("--ignore-keys") == "true",
    )


def what_to_change(given: dict[str, str], message: str) -> str:
    """The options that an error in a producer's settings refers to; all of them if it names none."""
    blamed = [option for option in given if (NUMBERS | TEXTS).get(option, "") in message.split()]
    return " / ".join(blamed or given)


def shown_settings(settings: ProducerSettings) -> tuple[tuple[str, str], ...]:
    """The settings that the page shows, by Kafka's names."""
    shown = [
        ("acks", str(settings.acks)),
        ("linger.ms", str(settings.linger_ms)),
        ("batch.size", str(settings.batch_size)),
        ("buffer.memory", str(settings.buffer_memory)),
        ("max.request.size", str(settings.max_request_size)),
        ("max.in.flight.requests.per.connection", str(settings.max_in_flight_requests_per_connection)),
        ("retries", str(settings.retries)),
        ("request.timeout.ms", str(settings.request_timeout_ms)),
        ("delivery.timeout.ms", str(settings.delivery_timeout_ms)),
        ("metadata.max.age.ms", str(settings.metadata_max_age_ms)),
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
