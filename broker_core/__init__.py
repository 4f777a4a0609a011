"""The broker core: Kafka's storage, replication and control plane as a deterministic, event-sourced simulation.

It does not read a clock, draw an unnamed random number or import Django. A run is driven through `broker_core.run`
alone. Besides, the lab reads what a run leaves behind (events, views, logs, wire messages) and implements what a run
needs (a disk, ZooKeeper): `PUBLIC` lists the modules and packages for that. import-linter refuses any other.
"""

PUBLIC = (
    # A run, and the exceptions for inputs that it does not accept.
    "broker_core.run",
    "broker_core.refusals",
    # Its parts: releases of Kafka, configurations, names, texts, tables of states.
    "broker_core.eras",
    "broker_core.config_defs",
    "broker_core.partitions",
    "broker_core.texts",
    "broker_core.state_machines",
    # Its events, and the view that is folded from them.
    "broker_core.events",
    "broker_core.view",
    # the disk and the ZooKeeper that it runs on
    "broker_core.sim.disk",
    "broker_core.zk.memory_store",
    "broker_core.zk.store",
    "broker_core.zk.znode_tree",
    # The files and messages that it writes.
    "broker_core.log",
    "broker_core.log.annotate",
    "broker_core.log.dump",
    "broker_core.records",
    "broker_core.wire.annotate",
    "broker_core.wire.framing",
    "broker_core.wire.schemas",
    # Where a group's offsets are stored; assignors without a group.
    "broker_core.groups.offsets",
    "broker_core.groups.preview",
)
"""A package in this list includes its modules; `broker_core.log` is what it exports, and its packages are listed
separately.
"""
