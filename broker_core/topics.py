"""The topics that brokers create for themselves (`org.apache.kafka.common.internals.Topic`)."""

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
INTERNAL_TOPICS = (OFFSETS_TOPIC, TRANSACTION_TOPIC)
