"""Transactions: producer ids, the partitions of each transaction, and its outcome (KIP-98)."""
