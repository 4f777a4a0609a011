"""The lab's producer, as Kafka's Java client (`org.apache.kafka.clients.producer`).

A record goes from `producer.py` (`send`) through the partitioner into a batch of the accumulator; the sender sends
batches that are full or have lingered. The transaction manager gets the producer id, and numbers the batches.
"""
