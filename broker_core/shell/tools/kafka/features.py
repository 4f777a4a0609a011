"""kafka-features.sh (`org.apache.kafka.tools.FeatureCommand`; KIP-584): versions of features, of which a cluster with
ZooKeeper supports none.
"""

from collections.abc import Sequence

from broker_core.broker.translation.update_features import SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, UPGRADE, refusal
from broker_core.config_defs.java_text import parse_integer
from broker_core.shell.admin.admin_client import COMMAND_CONFIG, check_client
from broker_core.shell.admin.requests import metadata
from broker_core.shell.grammar.cluster_api import ClusterApi
from broker_core.shell.grammar.parser import Option, ParsedOptions
from broker_core.shell.grammar.process import Process, Running
from broker_core.shell.grammar.registry import Command
from broker_core.shell.java import argparse_help
from broker_core.shell.java.argparse4j import BadArguments, Tool, complain, parse
from broker_core.shell.java.errors import JavaException, TerseException, load_properties
from broker_core.texts import text

_METADATA = Option("metadata", "The version of the metadata, such as 3.3-IV3.", "METADATA")
_LEVEL = Option("feature", "A feature and its level, such as metadata.version=5.", "FEATURE", repeats=True)
_UNSAFE = Option("unsafe", "Even if metadata may be lost.")
_DRY_RUN = Option("dry-run", "Only say what would be done.")
_COMMANDS: dict[str, tuple[Option, ...]] = {
    "describe": (),
    "upgrade": (_METADATA, _LEVEL, _DRY_RUN),
    "downgrade": (_METADATA, _LEVEL, _UNSAFE, _DRY_RUN),
    "disable": (Option("feature", "A feature to disable.", "FEATURE", repeats=True), _UNSAFE, _DRY_RUN),
}
_OPTIONS = (
    Option("bootstrap-server", "The brokers to connect to; the lab adds those that are up.", "BOOTSTRAP_SERVER"),
    COMMAND_CONFIG,
    *dict.fromkeys(option for options in _COMMANDS.values() for option in options if option.name != "feature"),
    _LEVEL,
)
_SERVERS = (
    "(--bootstrap-server BOOTSTRAP_SERVER |",
    "                      --bootstrap-controller BOOTSTRAP_CONTROLLER)",
)


def _usage(command: str, *lines: str) -> tuple[str, ...]:
    first, last = _SERVERS
    return f"usage: kafka-features {first}", f"{last} {command}".rstrip(), *(f"{' ' * 22}{line}" for line in lines)


_USAGE = {
    "": (
        "usage: kafka-features [-h] [--command-config COMMAND_CONFIG]",
        f"{' ' * 22}{_SERVERS[0]}",
        _SERVERS[1],
        f"{' ' * 22}{{describe,upgrade,downgrade,disable}} ...",
    ),
    "describe": _usage("describe", "[-h]"),
    "upgrade": _usage("upgrade", "[-h] [--metadata METADATA] [--feature FEATURE]", "[--dry-run]"),
    "downgrade": _usage("", "downgrade [-h] [--metadata METADATA]", "[--feature FEATURE] [--unsafe] [--dry-run]"),
    "disable": _usage("disable", "[-h] [--feature FEATURE] [--unsafe] [--dry-run]"),
}
_BEFORE = ("--bootstrap-server", "--command-config")
_TOOL = Tool("kafka-features", _BEFORE, _COMMANDS, {}, _USAGE, argparse_help.FEATURES, {})

METADATA_VERSION = "metadata.version"
_SUPPORTED = (
    *(f"3.3-IV{number}" for number in range(4)),
    "3.4-IV0",
    *(f"3.5-IV{number}" for number in range(3)),
    *(f"3.6-IV{number}" for number in range(3)),
    *(f"3.7-IV{number}" for number in range(5)),
    "3.8-IV0",
    "3.9-IV0",
)
_FIRST_LEVEL = 4


def _run(process: Process, arguments: list[str]) -> Running:
    try:
        command, options, before = parse(_TOOL, arguments)
        config = before.get("--command-config")
        properties = {} if config is None else load_properties(process, config)
        check_client(process, properties, before.get("--bootstrap-server"))
        updates = {} if command == "describe" else _updates(command, options)
        yield from metadata(process, (), "describeFeatures" if command == "describe" else "updateFeatures")
    except BadArguments as error:
        return complain(process, _TOOL, error)
    except (JavaException, TerseException) as error:
        process.err(str(error))
        return 1
    if not updates:
        return 0
    kind = UPGRADE if command == "upgrade" else UNSAFE_DOWNGRADE if "unsafe" in options else SAFE_DOWNGRADE
    verb = "Can not" if "dry-run" in options else "Could not"
    for feature, level in sorted(updates.items()):
        what = feature if command == "disable" else f"{feature} to {level}"
        process.out(f"{verb} {command} {what}. {refusal(feature, kind, level)}")
    process.err(f"{len(updates)} out of {len(updates)} operation(s) failed.")
    return 1


def _updates(command: str, options: ParsedOptions) -> dict[str, int]:
    """The named features with their levels. Raises TerseException."""
    updates: dict[str, int] = {}
    version = options.values("metadata")
    if version:
        updates[METADATA_VERSION] = _level_of(version[-1])
    for given in options.values("feature"):
        feature, level = (given, 0) if command == "disable" else _name_and_level(given)
        if feature in updates:
            raise TerseException(f"Feature {feature} was specified more than once.")
        if level < 0:
            raise TerseException("Cannot specify a negative version level.")
        if level == 0 and command == "upgrade":
            raise TerseException(
                "The downgradeType flag should be set to SAFE or UNSAFE when the provided maxVersionLevel:0 is < 1."
            )
        updates[feature] = level
    if any(not feature.strip() for feature in updates):
        raise TerseException("Provided feature can not be empty.")
    if not updates:
        raise TerseException(f"You must specify at least one feature to {command}")
    return updates


def _level_of(version: str) -> int:
    """The feature level of a metadata version; a release means its last version (`MetadataVersion`)."""
    levels = {name: level for level, name in enumerate(_SUPPORTED, _FIRST_LEVEL)}
    levels |= {name.partition("-")[0]: level for name, level in levels.items()}
    if version not in levels:
        raise TerseException(
            f"Unsupported metadata.version {version}. Supported metadata.version are {', '.join(_SUPPORTED)}"
        )
    return levels[version]


def _name_and_level(text: str) -> tuple[str, int]:
    name, equals, level = text.partition("=")
    if not equals:
        raise TerseException(f"Can't parse feature=level string {text}: equals sign not found.")
    number = parse_integer(level, 16)
    if number is None:
        raise TerseException(f"Can't parse feature=level string {text}: unable to parse {level} as a short.")
    return name, number


def _complete(cluster: ClusterApi, words: Sequence[str]) -> list[str]:
    if len(words) == 1:
        return list(_COMMANDS)
    return [f"--{option.name}" for option in _COMMANDS.get(words[0], ())]


COMMAND = Command(
    "kafka-features.sh",
    text("help.kafka_features"),
    (
        ("kafka-features.sh describe", text("help.kafka_features_describe")),
        ("kafka-features.sh upgrade --feature F=LEVEL", text("help.kafka_features_upgrade")),
        ("kafka-features.sh downgrade --feature F=LEVEL | disable --feature F", text("help.kafka_features_downgrade")),
    ),
    _run,
    _OPTIONS,
    complete=_complete,
)
