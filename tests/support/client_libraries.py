"""Three client libraries behind one small interface, so that a test can use each in the same way.

As a program it is a member of a group that a test can kill: `python -m tests.support.client_libraries LIBRARY BOOTSTRAP
GROUP TOPIC` prints a line of JSON at each change, `{"partitions": [0, 1], "values": ["a"]}`, and commits what it
printed. It leaves when its standard input ends.
"""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin import NewTopic as AioNewTopic
from aiokafka.errors import CommitFailedError as AioCommitFailedError
from aiokafka.errors import RebalanceInProgressError as AioRebalanceInProgressError
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonTopicPartition
from kafka.errors import CommitFailedError, RebalanceInProgressError
from kafka.structs import OffsetAndMetadata

PATIENCE_S = 90.0
SESSION_MS = 6_000
HEARTBEAT_MS = 500
CONSUMER: dict[str, Any] = {
    "auto_offset_reset": "earliest",
    "enable_auto_commit": False,
    "isolation_level": "read_committed",
    "session_timeout_ms": SESSION_MS,
    "heartbeat_interval_ms": HEARTBEAT_MS,
}
"""Settings of a member, in the form that kafka-python and aiokafka share."""
REPLICAS = 3

#: What a member owns and what it just read; False: it must leave.
OnProgress = Callable[[list[int], list[str]], bool]


class Library(Protocol):
    def __init__(self, bootstrap: str) -> None: ...

    def create(self, topic: str, partitions: int) -> None: ...

    def topics(self) -> set[str]: ...

    def delete(self, topic: str) -> None: ...

    def produce(self, topic: str, values: Iterable[str], compression: str) -> None:
        """Idempotent, with acks=all. Each value is acknowledged."""

    def transact(self, topic: str, transactional_id: str, aborted: Iterable[str], good: Iterable[str]) -> None:
        """Two transactions, of which the first is aborted."""

    def follow(self, group: str, topic: str, on_progress: OnProgress) -> None:
        """A group member that reads committed records, prints them, and commits what it printed.

        A commit that a rebalance overtook is refused, as Kafka does it; the partition's next owner then reads those
        records again.
        """

    def committed(self, group: str, topic: str, partitions: int) -> list[int]: ...

    def reset(self, group: str, topic: str, partitions: int) -> None:
        """Sets all offsets of an empty group to 0."""


@contextmanager
def suppress_overtaken() -> Iterator[None]:
    """Ignores librdkafka's error that a rebalance overtook a commit, and no other error."""
    try:
        yield
    except KafkaException as raised:
        overtaken = {KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS, KafkaError.UNKNOWN_MEMBER_ID}
        if raised.args[0].code() not in overtaken:
            raise


class ConfluentKafka:
    def __init__(self, bootstrap: str) -> None:
        self._servers: dict[str, Any] = {"bootstrap.servers": bootstrap}
        self._admin = AdminClient(self._servers)

    def create(self, topic: str, partitions: int) -> None:
        self._admin.create_topics([NewTopic(topic, partitions, REPLICAS)])[topic].result(PATIENCE_S)

    def topics(self) -> set[str]:
        return set(self._admin.list_topics(timeout=PATIENCE_S).topics)

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(PATIENCE_S)

    def produce(self, topic: str, values: Iterable[str], compression: str) -> None:
        failed: list[KafkaError] = []

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                failed.append(error)

        producer = Producer({**self._servers, "enable.idempotence": True, "compression.type": compression})
        for value in values:
            producer.produce(topic, value.encode(), callback=on_delivery)
        assert producer.flush(PATIENCE_S) == 0
        assert failed == []

    def transact(self, topic: str, transactional_id: str, aborted: Iterable[str], good: Iterable[str]) -> None:
        producer = Producer({**self._servers, "transactional.id": transactional_id})
        producer.init_transactions(PATIENCE_S)
        for values, end in ((aborted, producer.abort_transaction), (good, producer.commit_transaction)):
            producer.begin_transaction()
            for value in values:
                producer.produce(topic, value.encode())
            producer.flush(PATIENCE_S)
            end(PATIENCE_S)

    def _consumer(self, group: str, **more: Any) -> Consumer:
        return Consumer({**self._servers, "group.id": group, "enable.auto.commit": False, **more})

    def follow(self, group: str, topic: str, on_progress: OnProgress) -> None:
        more = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": HEARTBEAT_MS}
        consumer = self._consumer(group, **{"auto.offset.reset": "earliest", **more})
        consumer.subscribe([topic])
        keeps_fetching = True
        while keeps_fetching:
            messages = consumer.consume(100, 0.1)
            values = [(message.value() or b"").decode() for message in messages if message.error() is None]
            keeps_fetching = on_progress([each.partition for each in consumer.assignment()], values)
            if values:
                with suppress_overtaken():
                    consumer.commit(asynchronous=False)
        consumer.close()

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        consumer = self._consumer(group)
        wanted = [TopicPartition(topic, number) for number in range(partitions)]
        found = [max(each.offset, 0) for each in consumer.committed(wanted, PATIENCE_S)]
        consumer.close()
        return found

    def reset(self, group: str, topic: str, partitions: int) -> None:
        wanted = [TopicPartition(topic, number, 0) for number in range(partitions)]
        requested = self._admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)])
        requested[group].result(PATIENCE_S)


class KafkaPython:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def _requested(self, question: Callable[[KafkaAdminClient], Any]) -> Any:
        admin = KafkaAdminClient(bootstrap_servers=self._bootstrap)
        answer = question(admin)
        admin.close()
        return answer

    def create(self, topic: str, partitions: int) -> None:
        wanted = {topic: {"num_partitions": partitions, "replication_factor": REPLICAS}}
        self._requested(lambda admin: admin.create_topics(wanted))

    def topics(self) -> set[str]:
        return {each["name"] for each in self._requested(lambda admin: admin.describe_topics())}

    def delete(self, topic: str) -> None:
        self._requested(lambda admin: admin.delete_topics([topic]))

    def produce(self, topic: str, values: Iterable[str], compression: str) -> None:
        producer = KafkaProducer(
            bootstrap_servers=self._bootstrap,
            enable_idempotence=True,
            compression_type=None if compression == "none" else compression,
        )
        for future in [producer.send(topic, value.encode()) for value in values]:
            future.get(PATIENCE_S)
        producer.close()

    def transact(self, topic: str, transactional_id: str, aborted: Iterable[str], good: Iterable[str]) -> None:
        producer = KafkaProducer(bootstrap_servers=self._bootstrap, transactional_id=transactional_id)
        producer.init_transactions()
        for values, end in ((aborted, producer.abort_transaction), (good, producer.commit_transaction)):
            producer.begin_transaction()
            for future in [producer.send(topic, value.encode()) for value in values]:
                future.get(PATIENCE_S)
            end()
        producer.close()

    def follow(self, group: str, topic: str, on_progress: OnProgress) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap,
            group_id=group,
            **CONSUMER,
        )
        # A leader that has no metadata yet assigns nothing, and again once it has them.
        consumer.partitions_for_topic(topic)
        consumer.subscribe([topic])
        keeps_fetching = True
        while keeps_fetching:
            records = consumer.poll(timeout_ms=100)
            values = [record.value.decode() for several in records.values() for record in several]
            keeps_fetching = on_progress([each.partition for each in consumer.assignment()], values)
            if values:
                with suppress(CommitFailedError, RebalanceInProgressError):
                    consumer.commit()
        consumer.close()

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        consumer = KafkaConsumer(bootstrap_servers=self._bootstrap, group_id=group)
        found = [consumer.committed(PythonTopicPartition(topic, number)) or 0 for number in range(partitions)]
        consumer.close()
        return found

    def reset(self, group: str, topic: str, partitions: int) -> None:
        wanted = {PythonTopicPartition(topic, number): OffsetAndMetadata(0, "", -1) for number in range(partitions)}
        self._requested(lambda admin: admin.alter_group_offsets(group, wanted))


class Aiokafka:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        admin = AIOKafkaAdminClient(bootstrap_servers=self._bootstrap)
        await admin.start()
        yield admin
        await admin.close()

    def create(self, topic: str, partitions: int) -> None:
        async def ask() -> None:
            async with self._admin() as admin:
                await admin.create_topics([AioNewTopic(topic, partitions, REPLICAS)])

        asyncio.run(ask())

    def topics(self) -> set[str]:
        async def ask() -> set[str]:
            async with self._admin() as admin:
                return set(await admin.list_topics())

        return asyncio.run(ask())

    def delete(self, topic: str) -> None:
        async def ask() -> None:
            async with self._admin() as admin:
                await admin.delete_topics([topic])

        asyncio.run(ask())

    def produce(self, topic: str, values: Iterable[str], compression: str) -> None:
        async def send() -> None:
            async with AIOKafkaProducer(
                bootstrap_servers=self._bootstrap,
                enable_idempotence=True,
                compression_type=None if compression == "none" else compression,
            ) as producer:
                for future in [await producer.send(topic, value.encode()) for value in values]:
                    await asyncio.wait_for(future, PATIENCE_S)

        asyncio.run(send())

    def transact(self, topic: str, transactional_id: str, aborted: Iterable[str], good: Iterable[str]) -> None:
        async def send() -> None:
            async with AIOKafkaProducer(
                bootstrap_servers=self._bootstrap, transactional_id=transactional_id
            ) as producer:
                for values, end in ((aborted, producer.abort_transaction), (good, producer.commit_transaction)):
                    await producer.begin_transaction()
                    for value in values:
                        await producer.send_and_wait(topic, value.encode())
                    await end()

        asyncio.run(send())

    def _consumer(self, group: str, *topics: str) -> AIOKafkaConsumer:
        return AIOKafkaConsumer(
            *topics,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            **CONSUMER,
        )

    def follow(self, group: str, topic: str, on_progress: OnProgress) -> None:
        async def read() -> None:
            async with self._consumer(group, topic) as consumer:
                keeps_fetching = True
                while keeps_fetching:
                    records = await consumer.getmany(timeout_ms=100)
                    values = [record.value.decode() for several in records.values() for record in several]
                    keeps_fetching = on_progress([each.partition for each in consumer.assignment()], values)
                    if values:
                        with suppress(AioCommitFailedError, AioRebalanceInProgressError):
                            await consumer.commit()

        asyncio.run(read())

    def committed(self, group: str, topic: str, partitions: int) -> list[int]:
        async def ask() -> list[int]:
            async with self._consumer(group) as consumer:
                wanted = [AioTopicPartition(topic, number) for number in range(partitions)]
                consumer.assign(wanted)
                return [await consumer.committed(each) or 0 for each in wanted]

        return asyncio.run(ask())

    def reset(self, group: str, topic: str, partitions: int) -> None:
        async def ask() -> None:
            async with self._consumer(group) as consumer:
                wanted = {AioTopicPartition(topic, number): 0 for number in range(partitions)}
                consumer.assign(list(wanted))
                await consumer.commit(wanted)

        asyncio.run(ask())


LIBRARIES: dict[str, type[Library]] = {
    "confluent-kafka": ConfluentKafka,
    "kafka-python": KafkaPython,
    "aiokafka": Aiokafka,
}


def main(library: str, bootstrap: str, group: str, topic: str) -> None:
    owned: list[int] = []
    left = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        left.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()

    def on_progress(partitions: list[int], values: list[str]) -> bool:
        nonlocal owned
        if values or sorted(partitions) != owned:
            owned = sorted(partitions)
            print(json.dumps({"partitions": owned, "values": values}), flush=True)
        return not left.is_set()

    LIBRARIES[library](bootstrap).follow(group, topic, on_progress)


if __name__ == "__main__":
    main(*sys.argv[1:])
