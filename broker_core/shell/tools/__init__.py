"""One file a tool. Importing this package fills the grammar."""

from broker_core.shell.tools import (
    broker,
    console_consumer,
    console_producer,
    consumer,
    get_offsets,
    help,
    interrupt,
    link,
    log,
    producer,
    topics,
    wait,
    zk,
)

__all__ = [
    "broker",
    "console_consumer",
    "console_producer",
    "consumer",
    "get_offsets",
    "help",
    "interrupt",
    "link",
    "log",
    "producer",
    "topics",
    "wait",
    "zk",
]
