"""Names of topics."""

from broker_core.groups.offsets import OFFSETS_TOPIC
from broker_core.transactions.log import TRANSACTION_TOPIC

INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTION_TOPIC)
