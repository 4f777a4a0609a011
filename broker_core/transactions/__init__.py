"""Transactions: producer ids, the partitions of each transaction, and its outcome (KIP-98).

The hash of a transactional id chooses a partition of `__transaction_state`; the broker that leads it coordinates the
id. InitProducerId returns a producer id and an epoch; a higher epoch fences the producer before, and aborts its open
transaction. The producer adds a partition before it writes there, and ends the transaction with EndTxn.

The decision to commit or abort is a record of the log (PrepareCommit, PrepareAbort), and is final once it is committed.
Then a marker is written to each partition of the transaction, with as many retries as it takes, and afterwards the
completion is recorded. A transaction that exceeds its timeout is aborted with a higher epoch. A new coordinator replays
the log and completes what was decided. Consumers with read_committed read below the last stable offset, the start of
the first open transaction, and skip the records of aborted ones.

`coordinator.py`        decides about each request and timer
`metadata.py`, `states.py`  the state of a transactional id and its transitions
`markers.py`            sends markers to the leaders of partitions (WriteTxnMarkers)
`log.py`, `loading.py`  the records, encoded and replayed
`producer_ids.py`       blocks of producer ids, allocated by ZooKeeper or the controller
`host.py`               what the coordinator needs of its broker
"""
