"""Shared by several parts of a broker: the metadata cache, texts of RPCs, handling of unexpected failures."""
