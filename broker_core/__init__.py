"""The broker core: Kafka's storage, replication and control plane as a deterministic, event-sourced simulation.

It does not read a clock, draw an unnamed random number or import Django. A run is driven through `broker_core.run`
alone. In addition the lab reads what a run leaves behind (events, views, logs, wire messages) and implements what a run
needs (a disk, ZooKeeper): `PUBLIC` lists the modules for that. import-linter refuses any other, except that the version
of an engine is a digest of the source of this package.
"""

PUBLIC = (
    # A run, and the exceptions for inputs that it does not accept.
    "broker_core.run",
    "broker_core.refusals",
    # Its parts: releases of Kafka, configurations, names, texts, strategies of elections, tables of states.
    "broker_core.eras",
    "broker_core.config_defs",
    "broker_core.partitions",
    "broker_core.texts",
    "broker_core.texts.**",
    "broker_core.controller.election",
    "broker_core.state_machines",
    # Its events, and the view that is folded from them.
    "broker_core.events",
    "broker_core.events.**",
    "broker_core.view",
    "broker_core.view.**",
    # The disk and the ZooKeeper that it runs on.
    "broker_core.sim.disk",
    "broker_core.zk.memory_store",
    "broker_core.zk.store",
    "broker_core.zk.znode_tree",
    # The files and messages that it writes.
    "broker_core.log",
    "broker_core.log.annotate.**",
    "broker_core.dump_log",
    "broker_core.records.**",
    "broker_core.wire.annotate",
    "broker_core.wire.framing",
    "broker_core.wire.schemas",
    # Where a group's offsets are stored; assignors without a group.
    "broker_core.groups.offsets",
    "broker_core.groups.preview",
)
"""The contract in pyproject.toml has the same list. A name with `.**` stands for the modules below a package, a package
without it for what the package exports.
"""
