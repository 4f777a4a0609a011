"""Shared by the console producer and consumer: options, formatters, transactions."""
