"""The controller: which broker leads which partition, decided by one broker and recorded in ZooKeeper.

`controller.py` holds the life of a controller (elected, loading, deciding, resigned); `partition_state_machine.py` and
`replica_state_machine.py` the states of partitions and replicas; `election.py` and `assignment.py` are pure;
`request_batch.py` and `channel_manager.py` carry decisions to the brokers; `admin.py` handles administrators' requests
and `topic_deletion.py` deletes topics; `registration.py` registers each broker in ZooKeeper at its start.
"""
