"""The broker core: Kafka's storage, replication and control plane as a deterministic, event-sourced simulation.

Nothing in here reads a clock, draws an unnamed random number or knows Django. `broker_core.run` is the door.
"""
