"""The deterministic simulation: the scheduler, the network, disks, faults and invariants."""
