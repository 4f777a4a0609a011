"""The lab's consumers, as Kafka's Java client (`org.apache.kafka.clients.consumer`).

`consumer.py` reads one partition, assigned manually; with a group id `manual_offsets.py` commits. `group_consumer.py`
is a member of a group: `consumer_coordinator.py` joins, syncs and sends heartbeats, `group_fetcher.py` fetches,
`member_offsets.py` commits. In era 0.8 members rebalance through ZooKeeper (`zookeeper_consumer.py`,
`zookeeper_group.py`).
"""
