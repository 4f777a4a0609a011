"""Logs for tests of their files."""

from typing import Any

from broker_core.log import LogConfig, UnifiedLog
from broker_core.sim.simulated_disk import SimulatedDisk


def open_log(disk: SimulatedDisk, config: LogConfig | None = None, **arguments: Any) -> UnifiedLog:
    settings: dict = {"now_ms": 0, "clean_shutdown": True, "topic_id": "sm2KO2JWTjK2Eta6C_hkDQ"} | arguments
    return UnifiedLog.load(disk, "broker-1/orders-0", "orders", 0, config or LogConfig(), **settings)
