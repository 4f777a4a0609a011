"""Compaction: keeps the last record of each key and removes the others (`kafka.log.LogCleaner`)."""

from broker_core.log.cleaner.cleanable import LogToClean, OffsetsToClean, cleanable_offsets, log_to_clean
from broker_core.log.cleaner.cleaner import Cleaning, clean
from broker_core.log.cleaner.facts import CleaningFacts, Fate, GroupFact, RecordFate, Uncleanable, whole_pass
from broker_core.log.cleaner.offset_map import OffsetMap

__all__ = [
    "Cleaning",
    "CleaningFacts",
    "Fate",
    "GroupFact",
    "LogToClean",
    "OffsetMap",
    "OffsetsToClean",
    "RecordFate",
    "Uncleanable",
    "clean",
    "cleanable_offsets",
    "log_to_clean",
    "whole_pass",
]
