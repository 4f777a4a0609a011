"""ZooKeeper as Kafka uses it: the interface of a store, a store in memory, and the znodes that Kafka keeps in one."""
