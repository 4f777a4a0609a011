"""The C library inside the confluent-kafka package, as a client that costs next to nothing.

`Producer.produce` of the package itself takes longer for a message of 100 bytes than a broker does.
"""

import ctypes
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

_PRODUCER = 0
_AT_ONCE = 5_000
"""Messages handed over by one call."""
_GIVE_UP_MS = 120_000
_QUIET = {"log_level": "2"}


class _Message(ctypes.Structure):
    """rd_kafka_message_t."""

    _fields_ = (
        ("err", ctypes.c_int),
        ("topic", ctypes.c_void_p),
        ("partition", ctypes.c_int32),
        ("payload", ctypes.c_void_p),
        ("len", ctypes.c_size_t),
        ("key", ctypes.c_void_p),
        ("key_len", ctypes.c_size_t),
        ("offset", ctypes.c_int64),
        ("private", ctypes.c_void_p),
    )


def _load() -> Any:
    folder = Path(confluent_kafka.__file__).parent.parent / "confluent_kafka.libs"
    library = ctypes.CDLL(str(next(folder.glob("librdkafka*"))))
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    for name, result, arguments in (
        ("rd_kafka_conf_new", pointer, ()),
        ("rd_kafka_conf_set", ctypes.c_int, (pointer, text, text, text, size)),
        ("rd_kafka_new", pointer, (ctypes.c_int, pointer, text, size)),
        ("rd_kafka_topic_new", pointer, (pointer, text, pointer)),
        ("rd_kafka_topic_destroy", None, (pointer,)),
        ("rd_kafka_destroy", None, (pointer,)),
        ("rd_kafka_poll", ctypes.c_int, (pointer, ctypes.c_int)),
        ("rd_kafka_flush", ctypes.c_int, (pointer, ctypes.c_int)),
        (
            "rd_kafka_produce_batch",
            ctypes.c_int,
            (pointer, ctypes.c_int32, ctypes.c_int, ctypes.POINTER(_Message), ctypes.c_int),
        ),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Producer:
    """A producer of messages of one size to partition 0 of a topic, all settings but those given at their defaults."""

    def __init__(self, topic: str, message_bytes: int, settings: Mapping[str, str]) -> None:
        self._library = library = _load()
        error = ctypes.create_string_buffer(512)
        conf = library.rd_kafka_conf_new()
        for name, value in {**_QUIET, **settings}.items():
            if library.rd_kafka_conf_set(conf, name.encode(), value.encode(), error, len(error)):
                raise ValueError(error.value.decode())
        self._client = library.rd_kafka_new(_PRODUCER, conf, error, len(error))
        if not self._client:
            raise ValueError(error.value.decode())
        self._topic = library.rd_kafka_topic_new(self._client, topic.encode(), None)
        self._payload = ctypes.create_string_buffer(b"x" * message_bytes, message_bytes)
        self._messages = (_Message * _AT_ONCE)()
        for message in self._messages:
            message.payload, message.len = ctypes.addressof(self._payload), message_bytes

    def send(self, count: int) -> None:
        """Sends messages; returns when all are acknowledged. Raises TimeoutError."""
        library = self._library
        while count > 0:
            taken = library.rd_kafka_produce_batch(self._topic, 0, 0, self._messages, min(count, _AT_ONCE))
            count -= taken
            if not taken:
                # its queue is full
                library.rd_kafka_poll(self._client, 1)
        if library.rd_kafka_flush(self._client, _GIVE_UP_MS):
            raise TimeoutError("messages were not acknowledged")

    def close(self) -> None:
        self._library.rd_kafka_topic_destroy(self._topic)
        self._library.rd_kafka_destroy(self._client)


def create_topic(bootstrap: str, topic: str, factor: int) -> None:
    """A topic of one partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, factor)])[topic].result(30)


def consume_s(bootstrap: str, topic: str, count: int) -> float:
    """Seconds from the first message of partition 0 to message `count`. Raises TimeoutError."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False}
    # A client whose queue is full pauses for a second, which would be all that is measured.
    consumer = confluent_kafka.Consumer(settings | {"queued.min.messages": 10_000_000})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    try:
        got = len(consumer.consume(1, 30))
        began_s = time.perf_counter()
        while got < count:
            messages = consumer.consume(min(10_000, count - got), 30)
            if not messages:
                raise TimeoutError(f"{got} of {count} messages came")
            got += len(messages)
        return time.perf_counter() - began_s
    finally:
        consumer.close()
