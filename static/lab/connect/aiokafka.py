# pip install aiokafka
import asyncio

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

SERVERS = "BOOTSTRAP"


async def main():
    async with AIOKafkaProducer(bootstrap_servers=SERVERS, acks="all") as producer:
        await producer.send_and_wait("orders", key=b"k1", value=b"hello")

    async with AIOKafkaConsumer(
        "orders",
        bootstrap_servers=SERVERS,
        group_id="mine",
        auto_offset_reset="earliest",
    ) as consumer:
        record = await consumer.getone()
        print(record.partition, record.offset, record.value.decode())


asyncio.run(main())
