"""Ids of topics and clusters, drawn from a stream (`org.apache.kafka.common.Uuid`)."""

from base64 import urlsafe_b64encode

from broker_core.sim.rng import RandomStream


def random_uuid(stream: RandomStream) -> str:
    """A random UUID of version 4 in Kafka's 22 characters of Base64; as in Kafka, it never starts with a dash."""
    while True:
        drawn = bytearray(stream.bytes(16))
        drawn[6] = drawn[6] & 0x0F | 0x40
        drawn[8] = drawn[8] & 0x3F | 0x80
        text = urlsafe_b64encode(drawn).decode().rstrip("=")
        if not text.startswith("-"):
            return text
