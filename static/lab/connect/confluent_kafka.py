# pip install confluent-kafka
from confluent_kafka import Consumer, Producer

SERVERS = "BOOTSTRAP"

producer = Producer({"bootstrap.servers": SERVERS, "acks": "all"})
producer.produce("orders", key="k1", value="hello")
producer.flush()

consumer = Consumer(
    {
        "bootstrap.servers": SERVERS,
        "group.id": "mine",
        "auto.offset.reset": "earliest",
    }
)
consumer.subscribe(["orders"])
record = None
while record is None:
    record = consumer.poll(1.0)
print(record.partition(), record.offset(), record.value().decode())
consumer.close()
