"""Every quantity that content may name; `registry.py` says how to add one."""

from lab.exercises.quantities import clients, groups, logs, partitions
from lab.exercises.quantities.registry import (
    QUANTITIES,
    Quantity,
    check_quantity,
    is_word,
    number_of,
    parse,
    quantity_text,
    shown,
    value_of,
)

__all__ = [
    "QUANTITIES",
    "Quantity",
    "check_quantity",
    "clients",
    "groups",
    "is_word",
    "logs",
    "number_of",
    "parse",
    "partitions",
    "quantity_text",
    "shown",
    "value_of",
]
