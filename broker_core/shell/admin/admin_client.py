"""The admin client that a tool opens before its first request (`AdminClientConfig`, `ClientUtils`): its configurations,
which a file may hold, and the brokers that the command line names.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from broker_core.config_defs.keys import INT_MAX, ConfigException, ConfigKey, ConfigType, table
from broker_core.shell.grammar.parser import Option, ParsedOptions, ShellError
from broker_core.shell.grammar.process import Process
from broker_core.shell.java.client_configs import check_connection
from broker_core.shell.java.errors import JavaException, ToolUsageError, load_properties

COMMAND_CONFIG = Option(
    "command-config", "A file of configurations of the admin client.", "command config property file", values="file"
)
_INT = ConfigType.INT
ADMIN_CONFIGS = table(
    ConfigKey("request.timeout.ms", _INT, 30_000, 0),
    ConfigKey("retries", _INT, INT_MAX, 0, INT_MAX),
    ConfigKey("default.api.timeout.ms", _INT, 60_000, 0),
)
"""The validated configurations, in the order in which the client reads them."""

NO_DEFAULTS: Mapping[str, str] = MappingProxyType({})
CONFIG_EXCEPTION = "org.apache.kafka.common.config.ConfigException"
_ADDRESS = re.compile(r"(?:[0-9a-zA-Z\-%._]*://)?\[?([0-9a-zA-Z\-%._:]*)\]?:([0-9]+)")


def open_admin_client(
    process: Process, options: ParsedOptions, option: str = "command-config", defaults: Mapping[str, str] = NO_DEFAULTS
) -> None:
    """Reads the file of the option, if given, and validates the brokers' addresses. The tool's timeout is the file's
    `default.api.timeout.ms`. `defaults`: the tool's configurations that the file may override.

    Raises JavaException for what the client is not made with, and ShellError for security, which brokers here have not.
    """
    name = options.value(option)
    given = {} if name is None else load_properties(process, name)
    check_client(process, {**defaults, **given}, options.value("bootstrap-server"))


def check_client(process: Process, given: dict[str, str], servers: str | None) -> None:
    """The same for configurations that have been read already."""
    try:
        values: dict[str, Any] = {
            key: row.parse(given[key]) if key in given else row.default for key, row in ADMIN_CONFIGS.items()
        }
        check_connection(given)
    except ConfigException as error:
        raise JavaException(CONFIG_EXCEPTION, str(error)) from None
    protocol = given.get("security.protocol", "PLAINTEXT")
    if protocol.upper() != "PLAINTEXT":
        raise ShellError("shell.security_protocol", protocol=protocol)
    timeout_ms, request_ms = values["default.api.timeout.ms"], values["request.timeout.ms"]
    if timeout_ms < request_ms and "default.api.timeout.ms" in given:
        raise _not_created(
            "The specified value of default.api.timeout.ms must be no smaller than the value of request.timeout.ms."
        )
    reporter = next(filter(None, given.get("metric.reporters", "").split(",")), None)
    if reporter is not None:
        raise JavaException(
            "org.apache.kafka.common.KafkaException",
            "Failed to create new KafkaAdminClient",
            (
                f"org.apache.kafka.common.KafkaException: Class {reporter.strip()} cannot be found",
                f"java.lang.ClassNotFoundException: {reporter.strip()}",
            ),
        )
    if given.get("bootstrap.controllers"):
        raise _not_created("You cannot set both bootstrap.servers and bootstrap.controllers")
    if servers is not None:
        bad = bad_address(servers) if servers else "You must set either bootstrap.servers or bootstrap.controllers"
        if bad:
            raise _not_created(bad)
    process.api_timeout_us = max(timeout_ms, request_ms) * 1_000


def bad_address(servers: str) -> str:
    """The client's error for a list of brokers of which none is host:port, or that is empty; nothing for other lists
    and for the name that transcripts give to the list.
    """
    if not servers.strip():
        return "No resolvable bootstrap urls given in bootstrap.servers"
    for each in servers.replace("<bootstrap>", "").split(","):
        address = each.strip()
        if address and _ADDRESS.fullmatch(address) is None:
            return f"Invalid url in bootstrap.servers: {address}"
    return ""


def check_address(servers: str | None) -> None:
    """The same in the words of tools that look at the addresses themselves (`ToolsUtils.validateBootstrapServer`).
    Raises ToolUsageError.
    """
    if servers is not None and bad_address(servers):
        raise ToolUsageError("Please provide valid host:port like host1:9091,host2:9092")


def _not_created(why: str) -> JavaException:
    return JavaException(
        "org.apache.kafka.common.KafkaException",
        "Failed to create new KafkaAdminClient",
        (f"{CONFIG_EXCEPTION}: {why}",),
    )
