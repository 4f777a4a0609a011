"""The vocabulary: every kind of event that a cluster can emit, one file per family.

Importing this package registers all kinds; `KINDS` maps a kind's name to its class.
"""

from broker_core.events import client, console, control, group, log, replica, rpc, transaction, waiting, world
from broker_core.events.envelope import CORE, KINDS, Envelope, Event, family_of
from broker_core.events.vocabulary import Vocabulary

__all__ = [
    "CORE",
    "KINDS",
    "Envelope",
    "Event",
    "Vocabulary",
    "client",
    "console",
    "control",
    "family_of",
    "group",
    "log",
    "replica",
    "rpc",
    "transaction",
    "waiting",
    "world",
]
