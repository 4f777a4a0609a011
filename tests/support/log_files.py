"""Logs for tests of their files, batches for them, and their dump."""

import io
from typing import Any

from broker_core.log import LogConfig, UnifiedLog
from broker_core.records.compression import CompressionType
from broker_core.records.record_batch import assemble, build_batch
from broker_core.sim.simulated_disk import SimulatedDisk
from lab.management.commands.dump_log import run


def open_log(disk: SimulatedDisk, config: LogConfig | None = None, **arguments: Any) -> UnifiedLog:
    settings: dict = {"now_ms": 0, "clean_shutdown": True, "topic_id": "sm2KO2JWTjK2Eta6C_hkDQ"} | arguments
    return UnifiedLog.load(disk, "broker-1/orders-0", "orders", 0, config or LogConfig(), **settings)


def batch_of(body: bytes, codec: CompressionType = CompressionType.NONE, count: int = 1) -> bytes:
    """A batch of these encoded records, which need not be valid."""
    return assemble(
        body,
        base_offset=0,
        leader_epoch=0,
        attributes=int(codec),
        last_offset_delta=max(count - 1, 0),
        base_timestamp=0,
        max_timestamp=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        record_count=count,
    )


GOOD = build_batch([(5, b"k", b"v", ())])
"""A valid batch of one record."""


def dump_command(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `manage.py dump_log`."""
    out, err = io.StringIO(), io.StringIO()
    return run(arguments, out, err), out.getvalue(), err.getvalue()
