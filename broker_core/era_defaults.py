"""Broker defaults of older releases that differ from 3.9.

They are from the configuration class of each release; a setting that a release does not have gets the value closest to
the behaviour of its brokers.
"""

from collections.abc import Mapping

_TRANSACTION_TIMEOUTS = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "60000"}
_PROTOCOLS = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
_OLD_TLS = {"ssl.enabled.protocols": "TLSv1.2,TLSv1.1,TLSv1", "ssl.protocol": "TLS"}

DEFAULTS_2_4: Mapping[str, str] = {
    "inter.broker.protocol.version": "2.4-IV1",
    "listener.security.protocol.map": _PROTOCOLS,
    "log.message.format.version": "2.4-IV1",
    "message.max.bytes": "1000012",
    "principal.builder.class": "",
    "replica.lag.time.max.ms": "10000",
    "zookeeper.session.timeout.ms": "6000",
    **_OLD_TLS,
    **_TRANSACTION_TIMEOUTS,
}
DEFAULTS_1_1: Mapping[str, str] = {
    **DEFAULTS_2_4,
    "inter.broker.protocol.version": "1.1-IV0",
    "log.message.format.version": "1.1-IV0",
    "ssl.endpoint.identification.algorithm": "",
    "group.max.session.timeout.ms": "300000",
    "offsets.retention.minutes": "1440",
}
DEFAULTS_0_10: Mapping[str, str] = {
    **{name: text for name, text in DEFAULTS_1_1.items() if name not in _TRANSACTION_TIMEOUTS},
    "inter.broker.protocol.version": "0.10.2-IV0",
    "log.message.format.version": "0.10.2-IV0",
    "listener.security.protocol.map": "SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,TRACE:TRACE,SASL_SSL:SASL_SSL,"
    "PLAINTEXT:PLAINTEXT",
    "principal.builder.class": "org.apache.kafka.common.security.auth.DefaultPrincipalBuilder",
    "delete.topic.enable": "false",
    "unclean.leader.election.enable": "true",
}
DEFAULTS_0_8: Mapping[str, str] = {
    **{name: text for name, text in DEFAULTS_0_10.items() if name not in _OLD_TLS},
    "inter.broker.protocol.version": "0.8.2",
    "log.message.format.version": "0.8.2",
    "log.cleaner.enable": "false",
    "log.cleaner.dedupe.buffer.size": "524288000",
    "replica.lag.max.messages": "4000",
}
