"""The log layer: segments, indexes, leader epochs, producers' state. `UnifiedLog` is the facade, one per replica."""

from broker_core.log.append.append_info import AppendInfo, ReadInfo
from broker_core.log.config import LogConfig
from broker_core.log.local_log import RollFact
from broker_core.log.segment import BatchFact, TimestampAndOffset
from broker_core.log.unified_log import UnifiedLog

__all__ = ["AppendInfo", "BatchFact", "LogConfig", "ReadInfo", "RollFact", "TimestampAndOffset", "UnifiedLog"]
