# pip install kafka-python
from kafka import KafkaConsumer, KafkaProducer

SERVERS = "BOOTSTRAP"

producer = KafkaProducer(bootstrap_servers=SERVERS, acks="all")
producer.send("orders", key=b"k1", value=b"hello").get(30)
producer.close()

consumer = KafkaConsumer(
    "orders",
    bootstrap_servers=SERVERS,
    group_id="mine",
    auto_offset_reset="earliest",
)
record = next(consumer)
print(record.partition, record.offset, record.value.decode())
consumer.close()
