"""The configurations of all Java clients for connections and metrics (`CommonClientConfigs`). They have no effect here,
but an invalid value ends a tool.
"""

from collections.abc import Mapping

from broker_core.config_defs.keys import ConfigException, ConfigKey, ConfigType, table

_INT, _LONG, _BOOLEAN, _STRING = ConfigType.INT, ConfigType.LONG, ConfigType.BOOLEAN, ConfigType.STRING
CONNECTION_CONFIGS = table(
    ConfigKey(
        "client.dns.lookup",
        _STRING,
        "use_all_dns_ips",
        words=("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    ),
    ConfigKey("send.buffer.bytes", _INT, 131_072, -1),
    ConfigKey("receive.buffer.bytes", _INT, 65_536, -1),
    ConfigKey("reconnect.backoff.ms", _LONG, 50, 0),
    ConfigKey("reconnect.backoff.max.ms", _LONG, 1_000, 0),
    ConfigKey("retry.backoff.ms", _LONG, 100, 0),
    ConfigKey("retry.backoff.max.ms", _LONG, 1_000, 0),
    ConfigKey("enable.metrics.push", _BOOLEAN, True),
    ConfigKey("metadata.max.age.ms", _LONG, 300_000, 0),
    ConfigKey("metrics.sample.window.ms", _LONG, 30_000, 0),
    ConfigKey("metrics.num.samples", _INT, 2, 1),
    ConfigKey("metrics.recording.level", _STRING, "INFO", words=("INFO", "DEBUG", "TRACE")),
    ConfigKey("auto.include.jmx.reporter", _BOOLEAN, True),
    ConfigKey("socket.connection.setup.timeout.ms", _LONG, 10_000),
    ConfigKey("socket.connection.setup.timeout.max.ms", _LONG, 30_000),
    ConfigKey("connections.max.idle.ms", _LONG, 540_000),
)
_CASELESS = {
    "security.protocol": ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT"),
    "metadata.recovery.strategy": ("REBOOTSTRAP", "NONE"),
}
NO_REPORTER = (
    'java.lang.NullPointerException: Cannot invoke "java.util.Optional.ifPresent(java.util.function.Consumer)" because '
    '"this.clientTelemetryReporter" is null'
)
"""The error of producers' and consumers' constructors when they clean up after a metrics reporter without a class."""


def check_connection(given: Mapping[str, str]) -> None:
    """Raises ConfigException for the first invalid value."""
    for name, key in CONNECTION_CONFIGS.items():
        if name in given:
            key.parse(given[name])
    for name, words in _CASELESS.items():
        value = given.get(name, words[-1])
        if value.upper() not in words:
            why = f"String must be one of (case insensitive): {', '.join(words)}"
            raise ConfigException.of(name, value, why)
