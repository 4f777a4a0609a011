"""Transactions of producers: who has which producer id, what belongs together, and how each ends (KIP-98)."""
